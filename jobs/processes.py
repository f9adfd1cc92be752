"""Maps units of work over processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for
from typing import Any

from ..core.errors import CpmonError
from .engine import Job, Outcome, Outcomes, Result, attempt


class Processes:
    """An engine with `jobs` concurrent processes, each with a Python of its own."""

    def __init__(self, jobs: int) -> None:
        """Create the engine; processes start in `run`."""
        self.jobs = jobs
        self.place = f"{jobs} processes"

    def run(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Outcomes[Result]:
        """Yields the number and the outcome of each unit as it ends.

        If the system kills a process, all running units are lost, and it is unknown which one was
        the cause; they are repeated at the end, one at a time.
        """
        lost: list[tuple[int, Job]] = []
        yield from self._run(function, enumerate(jobs), self.jobs, lost)
        again, lost = sorted(lost, key=lambda entry: entry[0]), []
        for entry in again:
            yield from self._run(function, [entry], 1, lost)
        for number, _ in lost:
            killed = CpmonError(
                "the system killed the process of a unit",
                code="worker-killed",
                found="it was killed twice, the second time running alone; usually memory is short",
                effect="the other units are done; partial output of this one is ignored",
                remedy="lower --jobs or memory_limit in the settings, then run the command again",
            )
            yield number, Outcome(error=killed)

    def _run(
        self,
        function: Callable[[Job], Result],
        numbered: Iterable[tuple[int, Job]],
        width: int,
        lost: list[tuple[int, Job]],
    ) -> Outcomes[Result]:
        """Map over units; those lost with a killed process are added to `lost`."""
        rest = deque(numbered)
        while rest:
            running: dict[Future[Outcome[Result]], tuple[int, Job]] = {}
            with _pool(width) as pool:
                try:
                    while rest or running:
                        while rest and len(running) < width:
                            running[pool.submit(attempt, function, rest[0][1])] = rest[0]
                            rest.popleft()
                        done, _ = wait(running, return_when=FIRST_COMPLETED)
                        for future in done:
                            outcome = future.result()
                            yield running.pop(future)[0], outcome
                except BrokenProcessPool:
                    lost += running.values()


@contextmanager
def _pool(width: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes end at once if this one is interrupted or ends."""
    others = set(multiprocessing.active_children())
    context: Any = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(width, mp_context=context, initializer=_begin)
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Ignore Ctrl-C, which reaches all processes of a terminal: the parent handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            wait_for([parent.sentinel])
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
