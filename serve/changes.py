"""Tells open pages that data has landed, by server-sent events."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from ..core.errors import BusyError
from ..store import Store

MOST_STREAMS = 50
"""Pages that are told at once; each holds a connection."""
PING_S = 20
"""Seconds after which a stream sends something, so that connections of readers who left end."""


class Changes:
    """A thread that waits for data to land while a page is open, and the streams of these pages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._streams: set[asyncio.Event] = set()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def check(self) -> None:
        """Check that another page can be told.

        Raises:
            BusyError: it cannot.
        """
        if len(self._streams) >= MOST_STREAMS:
            raise BusyError(
                "too many pages wait for newer data; reload this one instead",
                code="server-busy",
                expected=f"at most {MOST_STREAMS}",
            )

    async def stream(self, state: Callable[[], Awaitable[str]], known: str) -> AsyncIterator[bytes]:
        """Yields an event `changed` whenever a state is another one than known before."""
        self._watch()
        landed = asyncio.Event()
        self._streams.add(landed)
        try:
            while not self._is_closed:
                landed.clear()
                now = await state()
                if now != known:
                    known = now
                    yield f"event: changed\ndata: {now}\n\n".encode()
                with suppress(TimeoutError):
                    await asyncio.wait_for(landed.wait(), PING_S)
                    continue
                yield b": still here\n\n"
        finally:
            self._streams.discard(landed)

    def close(self) -> None:
        """Ends all streams."""
        self._is_closed = True
        self._tell()

    def _watch(self) -> None:
        if self._thread is None:
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._wait, args=(loop,), daemon=True)
            self._thread.start()

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop has ended, and so does the process
            for _ in Store(self._folder).changes():
                loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        for landed in self._streams:
            landed.set()
