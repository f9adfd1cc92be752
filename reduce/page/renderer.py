"""Draws in a process of its own, which may die.

V8, inside vl_convert, ends its process when it gets no more memory, and takes more of it than the
limit of a command may leave.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from ...core.errors import CpmonError

DRAW_S = 60
"""Seconds after which a drawing is given up; one takes some 50 ms, the bundle some seconds."""
_PROGRAM = Path(__file__).with_name("draw.py")


def svg_of(spec: dict[str, Any]) -> str:
    """A Vega-Lite specification as SVG; errors are those of `Renderer.ask`."""
    return _renderer(os.getpid()).ask("svg", spec).decode()


def png_of(spec: dict[str, Any]) -> bytes:
    """A specification as PNG, with two pixels for each unit of the SVG."""
    return _renderer(os.getpid()).ask("png", spec)


def bundle() -> str:
    """The scripts that draw in a browser, as `vl_convert` bundles them in some seconds; ASCII."""
    return _renderer(os.getpid()).ask("bundle").decode("ascii")


class Renderer:
    """A process that draws one picture at a time; it starts with the first, and after its death."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(
        self, kind: Literal["svg", "png", "bundle"], spec: dict[str, Any] | None = None
    ) -> bytes:
        """A picture of a specification.

        Raises:
            CpmonError: the process died, or took longer than DRAW_S.
            ValueError: it is no specification that can be drawn.
        """
        request = json.dumps({"kind": kind, "spec": spec}).encode() + b"\n"
        with self._lock:
            try:
                fault, made = self._answer(request)
            except BaseException as error:  # what it would answer next belongs to this request
                ended = self.close()
                if isinstance(error, EOFError | BrokenPipeError):
                    raise _not_drawn(ended) from None
                raise
        if fault:
            raise ValueError(made.decode())
        return made

    def _answer(self, request: bytes) -> tuple[bool, bytes]:
        process = self._process = self._process or _started()
        assert process.stdin
        assert process.stdout
        process.stdin.write(request)
        process.stdin.flush()
        latest, out = time.monotonic() + DRAW_S, process.stdout.fileno()
        fault, *length = _read(out, 9, latest)
        return bool(fault), _read(out, int.from_bytes(length), latest)

    def close(self) -> int:
        """Ends the process; returns its status, below 0 if a signal ended it."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with suppress(OSError):  # what is buffered for a process that has ended
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):  # one that died has its status at once
            return process.wait(0.2)
        process.kill()
        return process.wait()


def _read(file: int, size: int, latest: float) -> bytes:
    """So many bytes of a pipe, without a thread: at its limit a process can start none.

    Raises:
        EOFError: it ends before, or they do not come up to a time of the monotonic clock.
    """
    data, ready = bytearray(), select.poll()
    ready.register(file, select.POLLIN)
    while len(data) < size:
        rest_ms = 1000 * max(0, latest - time.monotonic())
        part = os.read(file, size - len(data)) if ready.poll(rest_ms) else b""
        if not part:
            raise EOFError
        data += part
    return bytes(data)


@functools.lru_cache(maxsize=1)
def _renderer(_process: int) -> Renderer:
    """The renderer of this process."""
    renderer = Renderer()
    atexit.register(renderer.close)
    return renderer


def _started() -> subprocess.Popen[bytes]:
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    # Without the folder of the program on the path of modules.
    words = [sys.executable, "-P", str(_PROGRAM)]
    try:
        return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=nothing)
    except OSError as error:
        raise _not_drawn(0, str(error)) from None


def _not_drawn(status: int, reason: str = "") -> CpmonError:
    ended = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
    return CpmonError(
        "a chart cannot be drawn",
        code="chart-not-drawn",
        expected="a process that draws, which may have 2 GiB of data and a minute",
        found=reason or f"it ended by {ended}",
        effect="the next chart is drawn by a new process",
        remedy="free memory of the machine, or print the report as a table",
    )
