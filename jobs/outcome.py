"""The outcome of a unit of work: its result, or the error that ended it."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

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
