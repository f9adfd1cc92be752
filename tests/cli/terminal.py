"""A command on a pseudo terminal: what a user types, and what stands on the screen."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from tests.waiting import PATIENCE_S

REACTION_S = 0.2
_STYLE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """One process with a terminal of its own; `screen` has all that it printed."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self.raw = b""
        self.status: int | None = None
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], list(words), {"COLUMNS": "200", **environment, "TERM": "xterm"})

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._end)

    @property
    def screen(self) -> str:
        """What was printed, without what only moves the cursor or sets colours."""
        return _STYLE.sub(b"", self.raw).replace(b"\r\n", b"\n").decode(errors="replace")

    def type(self, text: str) -> None:
        """Type something; Ctrl-C is the character 3, Ctrl-D 4.

        No sooner than a person could: Python's readline does not hear a signal between the prompt
        and its wait for a key.
        """
        time.sleep(REACTION_S)
        os.write(self._end, text.encode())

    def wait_for(self, text: str, times: int = 1, seconds: float = PATIENCE_S) -> None:
        """Wait until a text stands on the screen so many times."""
        until = time.monotonic() + seconds
        while self.screen.count(text) < times:
            assert self._read(until - time.monotonic()), f"no {text!r} on {self.screen!r}"

    def end(self, seconds: float = PATIENCE_S) -> int:
        """Wait until the process ends; its exit status."""
        until = time.monotonic() + seconds
        while self._read(until - time.monotonic()):
            pass
        done, how = os.waitpid(self.pid, os.WNOHANG)
        while not done:
            assert time.monotonic() < until, f"still running: {self.screen!r}"
            time.sleep(0.02)
            done, how = os.waitpid(self.pid, os.WNOHANG)
        self.status = os.waitstatus_to_exitcode(how)
        return self.status

    def _read(self, seconds: float) -> bool:
        if not select.select([self._end], [], [], max(0, seconds))[0]:
            return False
        try:
            found = os.read(self._end, 65536)
        except OSError:  # the other end is closed
            return False
        self.raw += found
        return bool(found)
