"""The exceptions for users: problem, place and remedy; nearest names for unknown ones.

What reads or writes files can fail where a disk or a network refuses it: with a `StoreError` for a
file of a store, a `CpmonError` for another one, and an `OSError` below the places that explain it
(`store.files.disk.writing`, the commands). `Raises:` of single functions does not repeat this.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from .text import printable


@dataclass(eq=False, repr=False)
class CpmonError(Exception):
    """An error of the user's input or environment; bugs of cpmon are other exceptions.

    Attributes:
        problem: one sentence that describes the problem.
        code: the kind of fault, for programs: kebab-case, stable while texts change. An error with
            a remedy has one; docs/errors.md lists them.
        place: its file, frame, offset, table or key.
        expected, found: the expected and the actual value.
        effect: what was done and what was not.
        remedy: what the user can do.
    """

    problem: str
    _: KW_ONLY
    code: str | None = None
    place: str | None = None
    expected: str | None = None
    found: str | None = None
    effect: str | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        """The problem on the first line, then each known part on a line.

        Since parts can contain names from dumps, control characters are escaped, and further lines
        of a part are indented, so that they cannot look like another part.
        """
        lines = [
            f"  {name:<9} " + printable(text).replace("\n", "\n" + " " * 12)
            for name in ("at", "expected", "found", "effect", "remedy")
            if (text := self.place if name == "at" else getattr(self, name))
        ]
        return "\n".join([printable(self.problem), *lines])


class LayoutError(CpmonError):
    """A layout file is inconsistent or cannot be read."""


class DumpError(CpmonError):
    """An input cannot be read as monitor data at all."""


class StoreError(CpmonError):
    """A store is missing, damaged, or of another kind."""


class UnreadableError(StoreError):
    """A file of a store is damaged or missing; work that does not need it can continue."""


class NothingToReportError(CpmonError):
    """A report or page has nothing in its span: no measured interval, or no line."""


class BusyError(CpmonError):
    """Another process holds a resource; try again later."""


def is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused an error, for instance one of a lock that could not be released."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def fold(name: str) -> str:
    """A name in normalized form: lower case, blanks and dashes as underscores."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that is most similar to `name`, or None."""
    folded = {fold(candidate): candidate for candidate in names}
    matches = difflib.get_close_matches(fold(name), folded, n=1, cutoff=0.5)
    return folded[matches[0]] if matches else None


def unknown(
    what: str,
    name: str,
    candidates: Iterable[str],
    *,
    also: Iterable[str] = (),
    place: str | None = None,
) -> CpmonError:
    """The error for an unknown name, with the nearest known one.

    Args:
        also: further names that are suggested, but not listed.
    """
    names = sorted(candidates)
    like = nearest(name, [*names, *also])
    return CpmonError(
        f"there is no {what} {name}",
        code="name-unknown",
        place=place,
        expected=", ".join(names) or f"any {what}; none is known",
        found=name,
        remedy=f"did you mean {like}?" if like else None,
    )


def unknown_of_many(
    what: str, name: str, like: str | None, look: str, kind: type[CpmonError] = CpmonError
) -> CpmonError:
    """The error for an unknown name if the known ones are too many to list.

    Args:
        like: the nearest one. look: command that lists them.
    """
    return kind(
        f"there is no {what} {name}",
        code="name-unknown",
        remedy=f"did you mean {like}? {look}" if like else look,
    )
