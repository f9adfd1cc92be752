"""Engines map a function over units of work. They know nothing of what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from .outcome import Job, Outcome, Result, attempt


class Engine(Protocol):
    """Maps a function of a module over units of work, all of which can be sent elsewhere.

    Attributes:
        jobs: units at once that share the memory and the processors of this machine.
        place: where the work is done, for people.
    """

    jobs: int
    place: str

    def run(
        self, function: Callable[[Job], Result], jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Outcome[Result]]]:
        """The number of each unit and what became of it, as they end.

        Raises:
            CpmonError: the engine itself cannot work.
        """


class InOrder:
    """One unit after the other in this process."""

    jobs = 1
    place = "this process"

    def run(
        self, function: Callable[[Job], Result], jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Outcome[Result]]]:
        """The number of each unit and what became of it, in order."""
        for number, job in enumerate(jobs):
            yield number, attempt(function, job)
