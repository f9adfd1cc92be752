"""Work of requests in threads: a limited number at once, cancelled when its reader leaves."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import duckdb

from ..core.errors import BusyError
from ..store.catalogue.connection import Connection

Result = TypeVar("Result")
Gone = Callable[[], Awaitable[bool]]
"""Whether the reader of an answer has left."""

POLL_S = 0.1
MOST_WAITING = 100
LEAVING_S = 10


class ReaderLeft(Exception):
    """The reader has left; there is nobody to answer."""


@dataclass(eq=False)
class Job:
    """One piece of work with a connection.

    Attributes:
        is_cancelled: it must end; work that loops looks at it.
    """

    is_cancelled: bool = False
    _connection: Connection | None = None

    def use(self, connection: Connection) -> None:
        """Names the connection that `cancel` interrupts."""
        self._connection = connection
        self.check()

    def check(self) -> None:
        """Ends this work if it is cancelled.

        Raises:
            ReaderLeft: it is.
        """
        if self.is_cancelled:
            raise ReaderLeft

    def cancel(self) -> None:
        """Ends this work soon; to be repeated, as a query that has not started ignores it."""
        self.is_cancelled = True
        if self._connection is not None:
            with suppress(duckdb.Error):
                self._connection.interrupt()


class Work:
    """Threads for work of one kind.

    Work beyond the number of threads waits in a queue; beyond `MOST_WAITING` it is refused.
    """

    def __init__(self, threads: int) -> None:
        """Starts nothing yet."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="cpmon-serve")
        self._jobs: set[Job] = set()
        self._running: set[Job] = set()
        self._most = threads + MOST_WAITING

    async def run(self, work: Callable[[Job], Result], gone: Gone | None = None) -> Result:
        """Runs some work in a thread; cancels it when the reader leaves.

        Args:
            gone: whether the reader has left; by default it stays.

        Raises:
            ReaderLeft: the reader has left; the work has ended.
            BusyError: too much work is waiting.
        """
        if len(self._jobs) >= self._most:
            raise BusyError("too many requests are waiting; ask again later")
        job = Job()
        self._jobs.add(job)

        def start() -> Result:
            self._running.add(job)
            try:
                job.check()
                return work(job)
            finally:
                self._running.discard(job)

        task = asyncio.get_running_loop().run_in_executor(self._pool, start)
        try:
            while not (await asyncio.wait([task], timeout=POLL_S))[0]:
                if job.is_cancelled or (gone is not None and await gone()):
                    job.cancel()
        except asyncio.CancelledError:
            job.cancel()
            raise
        finally:
            self._jobs.discard(job)
        if job.is_cancelled:
            task.exception()  # retrieved: nobody waits for it
            raise ReaderLeft
        return task.result()

    def cancel(self) -> None:
        """Cancels all work; their readers get no answer."""
        for job in [*self._jobs]:
            job.cancel()

    def close(self) -> None:
        """Cancels all work, and waits until queries have ended, at most LEAVING_S."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        deadline = time.monotonic() + LEAVING_S
        while self._running and time.monotonic() < deadline:
            for job in [*self._running]:
                job.cancel()
            time.sleep(POLL_S)


@dataclass
class Cache:
    """Answers in memory, the most recently used ones, for one state of the store.

    Attributes:
        limit: maximum size in bytes.
    """

    limit: int = 128 * 2**20
    _state: object = None
    _answers: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    _made: dict[tuple[object, str], asyncio.Task[bytes]] = field(default_factory=dict)

    async def get(self, key: str, state: object, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """The answer of a key; requests that come while it is made wait for the same one.

        Args:
            state: of the store; another one than before empties the cache.
        """
        if state != self._state:
            self._state = state
            self._answers.clear()
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key]
        task = self._made.get((state, key))
        if task is None:
            task = asyncio.ensure_future(make())
            self._made[state, key] = task
            task.add_done_callback(lambda done: self._keep(key, state, done))
        return await asyncio.shield(task)

    def _keep(self, key: str, state: object, task: asyncio.Task[bytes]) -> None:
        self._made.pop((state, key), None)
        if task.cancelled() or task.exception() or state != self._state:
            return
        self._answers[key] = task.result()
        while sum(map(len, self._answers.values())) > self.limit:
            self._answers.popitem(last=False)
