"""Suggests the nearest known name for a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from .errors import CpmonError


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
