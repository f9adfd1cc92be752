"""Engines map any function over units of work; each ends with a result or an error."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ..core.errors import CpmonError, is_interrupt

Job = TypeVar("Job")
Result = TypeVar("Result")

ATTEMPTS = 2
"""Attempts for a unit. A CpmonError is final, except `PassingError`."""


class PassingError(CpmonError):
    """An error that another attempt can avoid, for instance of a network disk."""


def is_final(error: Exception) -> bool:
    """Whether another attempt would fail, too."""
    return isinstance(error, CpmonError) and not isinstance(error, PassingError)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """The result of a unit, or its error; both can be pickled."""

    result: Result | None = None
    error: Exception | None = None


Outcomes = Iterator[tuple[int, Outcome[Result]]]
"""The number and the outcome of each unit as it ends."""


def attempt(
    function: Callable[[Job], Result], job: Job, attempts: int = ATTEMPTS
) -> Outcome[Result]:
    """Run a unit, with another attempt after a passing error.

    Raises:
        Exception: Ctrl-C, or an error that it caused.
    """
    while True:
        attempts -= 1
        try:
            return Outcome(function(job))
        except Exception as error:
            if is_interrupt(error):
                raise
            if not attempts or is_final(error):
                return Outcome(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note; one with its text if it cannot be pickled."""
    if is_final(error):
        return error
    error.add_note("".join(traceback.format_exception(error)))
    try:
        copy: Any = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - whatever a class of a library does there
        copy = None
    if type(copy) is type(error) and str(copy) == str(error):
        return error
    portable = RuntimeError(f"{type(error).__name__}: {error}")
    portable.add_note(error.__notes__[-1])
    return portable


class Engine(Protocol):
    """Maps a function of a module over units of work; function and units can be pickled.

    Attributes:
        jobs: concurrent units that share the memory and the processors of this machine.
        place: description of where the work is done.
    """

    jobs: int
    place: str

    def run(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Outcomes[Result]:
        """Yields the number and the outcome of each unit as it ends.

        Raises:
            CpmonError: the engine itself cannot work.
        """


class InOrder:
    """Runs units sequentially in this process."""

    jobs = 1
    place = "this process"

    def run(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Outcomes[Result]:
        """Yields the number and the outcome of each unit in order."""
        for number, job in enumerate(jobs):
            yield number, attempt(function, job)
