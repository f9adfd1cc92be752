"""A source that is followed while it is shown, into a store that is removed at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...config.settings import PATTERNS
from ...core.errors import CpmonError
from ...ingest.following import follow
from ...store import Store

END_S = 5.0
"""Seconds that the thread has to end; one that waits for the writer of a FIFO does not."""
QUIET_S = 2.0
"""Seconds without another interval after which `--once` prints the last one."""
LOOK_S = 0.1


class FollowedSource:
    """A device, a file that grows, a FIFO, a folder or standard input ("-") that is followed.

    Attributes:
        error: what ended it, if that is none of its ends.
    """

    def __init__(self, source: Path, **options: Any) -> None:
        """Reads nothing yet. `options`: those of `follow`."""
        self._source, self._options = source, options
        self._is_over, self._has_ended = threading.Event(), threading.Event()
        self.error: Exception | None = None

    @property
    def state(self) -> str:
        """A few words for the screen where nothing comes any more, else an empty text."""
        if self.error:
            return str(self.error).partition("\n")[0]
        return f"{self._source} has ended" if self._has_ended.is_set() else ""

    @contextmanager
    def landing(self) -> Iterator[Store]:
        """The store in a temporary folder, into which the source lands in a thread.

        Raises:
            CpmonError: what ended it, at the end.
        """
        with TemporaryDirectory(prefix="cpmon-top-", ignore_cleanup_errors=True) as folder:
            store = Store(Path(folder, "store"), create=True)
            thread = threading.Thread(target=self._follow, args=(store,), daemon=True)
            thread.start()
            try:
                yield store
            finally:
                self._is_over.set()
                thread.join(END_S)
                if self.error:
                    raise self.error

    def wait(self, store: Store) -> None:
        """Wait until the source has ended, or intervals have landed and no more do for a while."""
        version, since = "", time.monotonic()
        while not self._has_ended.wait(LOOK_S):
            if version != store.manifest.version:
                version, since = store.manifest.version, time.monotonic()
            intervals = sum(about["intervals"] for about in store.abouts(store.dumps()))
            if intervals > 1 and time.monotonic() - since > QUIET_S:
                return

    def _follow(self, store: Store) -> None:
        try:
            stop = self._is_over.is_set
            for _ in follow(self._source, store, PATTERNS, is_stopped=stop, **self._options):
                pass
        except (CpmonError, OSError) as error:
            self.error = error
        finally:
            self._has_ended.set()
