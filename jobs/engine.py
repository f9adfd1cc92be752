"""Engines map any function over units of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from .outcome import Job, Outcome, Result, attempt


class Engine(Protocol):
    """Maps a function of a module over units of work; function and units can be pickled.

    Attributes:
        jobs: concurrent units that share the memory and the processors of this machine.
        place: description of where the work is done.
    """

    jobs: int
    place: str

    def run(
        self, function: Callable[[Job], Result], jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Outcome[Result]]]:
        """Yields the number and the outcome of each unit as it ends.

        Raises:
            CpmonError: the engine itself cannot work.
        """


class InOrder:
    """Runs units sequentially in this process."""

    jobs = 1
    place = "this process"

    def run(
        self, function: Callable[[Job], Result], jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Outcome[Result]]]:
        """Yields the number and the outcome of each unit in order."""
        for number, job in enumerate(jobs):
            yield number, attempt(function, job)
