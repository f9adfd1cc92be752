"""Staying: a batch that looks again and again, and ends cleanly when it is told to."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ..schemas.errors import BusyError, StoreError
from .log import Log
from .result import Ended, Result
from .running import Batch


class Stop:
    """Whether somebody wants the work to end: a signal, of which the second does not wait."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __call__(self) -> bool:
        """Whether it should end."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait, but no longer than until it should end; whether it should."""
        return self._event.wait(seconds)

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Be told by SIGTERM and SIGINT."""

        def told(_number: int, _frame: FrameType | None) -> None:
            if self._event.is_set():
                raise KeyboardInterrupt
            self._event.set()

        before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def watch(batch: Batch, stop: Stop, log: Log, told: Callable[[Result], None]) -> Ended:
    """Run a batch every so often until it should stop.

    Args:
        told: gets what each run did that did anything.

    Returns:
        DONE: being told to stop is how it ends.
    """
    log.info("watching", every=batch.plan.every)
    while not stop():
        try:
            result = batch.run(idle=False)
            if result.did_something and not result.interrupted:
                told(result)
        except BusyError as error:
            log.warning("busy", reason=error)
        except StoreError as error:  # a full disk may have room the next time
            log.error("not done", reason=error)
        stop.wait(batch.plan.every)
    log.info("stopped")
    return Ended.DONE
