"""What became of a unit of work: its result, or the error that ended it."""

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
"""How often a unit is tried. What a CpmonError names would be the same again, but for this one:"""


class PassingError(CpmonError):
    """What may be gone at the next attempt, as a file that a disk of the network did not serve."""


def is_final(error: Exception) -> bool:
    """Whether another attempt would end the same way."""
    return isinstance(error, CpmonError) and not isinstance(error, PassingError)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """The result of a unit, or its error; both can be sent to another process."""

    result: Result | None = None
    error: Exception | None = None


def attempt(
    function: Callable[[Job], Result], job: Job, attempts: int = ATTEMPTS
) -> Outcome[Result]:
    """What becomes of a unit; where it may help there is another attempt.

    Raises:
        Exception: what Ctrl-C became where it came in between.
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
    """The error with its traceback as a note, or one with its text if it cannot be sent."""
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
