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

from ..core.errors import BusyError, CpmonError
from ..store.connection import Connection

Result = TypeVar("Result")
Gone = Callable[[], Awaitable[bool]]
"""Whether the reader of an answer has left."""
Make = Callable[[Gone], Awaitable[bytes]]

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
        since: when it left the queue, by the monotonic clock; None while it waits.
    """

    is_cancelled: bool = False
    since: float | None = None
    _connection: Connection | None = None

    @property
    def seconds(self) -> float:
        """How long it has been worked on."""
        return 0.0 if self.since is None else time.monotonic() - self.since

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
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="cpmon-serve")
        self._jobs: set[Job] = set()
        self._running: set[Job] = set()
        self._most = threads + MOST_WAITING
        self._is_closed = False

    async def run(
        self,
        work: Callable[[Job], Result],
        gone: Gone | None = None,
        *,
        finishes: bool = False,
        limit_s: float = float("inf"),
    ) -> Result:
        """Runs some work in a thread; cancels it when the reader leaves.

        Args:
            gone: whether the reader has left; by default it stays.
            finishes: work that has begun goes on without a reader; the next one needs it too.
            limit_s: work that takes longer is cancelled; the time in the queue does not count.

        Raises:
            ReaderLeft: the reader has left, or the server ends; the work has ended.
            BusyError: too much work is waiting.
            CpmonError: it took too long.
        """
        if self._is_closed:
            raise ReaderLeft
        if len(self._jobs) >= self._most:
            raise BusyError(
                "too many requests are waiting; ask again in some seconds",
                code="server-busy",
                expected=f"at most {MOST_WAITING} that wait",
            )
        job = Job()
        self._jobs.add(job)

        def start() -> Result:
            job.since = time.monotonic()
            self._running.add(job)
            try:
                job.check()
                return work(job)
            finally:
                self._running.discard(job)

        future = self._pool.submit(start)
        task = asyncio.wrap_future(future)
        try:
            while not (await asyncio.wait([task], timeout=POLL_S))[0]:
                is_kept = finishes and job.since is not None
                is_left = gone is not None and not is_kept and await gone()
                if job.is_cancelled or is_left or job.seconds > limit_s:
                    job.cancel()
                    future.cancel()  # effective while it waits in the queue
        except asyncio.CancelledError:
            job.cancel()
            raise
        finally:
            self._jobs.discard(job)
        if not job.is_cancelled:
            return task.result()
        if not task.cancelled():
            task.exception()  # retrieved: nobody waits for it
        if job.seconds > limit_s:
            raise CpmonError(
                "the query took too long",
                code="query-too-slow",
                expected=f"at most {limit_s:g} s, so that others get their turn",
                effect="it was cancelled; cpmon query has no such limit",
            )
        raise ReaderLeft

    @property
    def is_idle(self) -> bool:
        """Whether nothing is worked on, and nothing waits."""
        return not self._jobs

    def cancel(self) -> None:
        """Cancels all work, and accepts none; their readers get no answer."""
        self._is_closed = True
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
class _Made:
    """An answer that is being made, and the readers that wait for it."""

    task: asyncio.Task[bytes] | None = None
    readers: list[Gone] = field(default_factory=list)

    async def is_left(self) -> bool:
        """Whether all readers have left."""
        return all([await gone() for gone in self.readers])


@dataclass
class Cache:
    """Answers in memory, the most recently used ones, each for a state of what it depends on.

    Attributes:
        limit: maximum size in bytes.
    """

    limit: int = 128 * 2**20
    _answers: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    _states: dict[str, object] = field(default_factory=dict)
    _made: dict[tuple[object, str], _Made] = field(default_factory=dict)

    async def get(self, key: str, state: object, make: Make, gone: Gone) -> bytes:
        """The answer of a key; requests that come while it is made wait for the same one.

        Args:
            state: of what the answer depends on; another one than before has it made again.
            make: makes the answer for readers, of whom it is given whether all have left.
            gone: whether this reader has left.

        Raises:
            ReaderLeft: the reader has left before it was begun, or the server ends.
        """
        if key in self._answers and self._states[key] == state:
            self._answers.move_to_end(key)
            return self._answers[key]
        try:
            return await self._shared(key, state, make, gone)
        except ReaderLeft:
            if await gone():
                raise
        return await self._shared(key, state, make, gone)  # it came as the others left

    async def _shared(self, key: str, state: object, make: Make, gone: Gone) -> bytes:
        made = self._made.setdefault((state, key), _Made())
        made.readers.append(gone)
        if made.task is None:
            made.task = asyncio.ensure_future(make(made.is_left))
            made.task.add_done_callback(lambda done: self._keep(key, state, done))
        return await asyncio.shield(made.task)

    def _keep(self, key: str, state: object, task: asyncio.Task[bytes]) -> None:
        self._made.pop((state, key), None)
        if task.cancelled() or task.exception():
            return
        self._answers[key], self._states[key] = task.result(), state
        self._answers.move_to_end(key)
        while sum(map(len, self._answers.values())) > self.limit:
            del self._states[self._answers.popitem(last=False)[0]]
