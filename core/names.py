"""Names that a user typed: the nearest known one, for a message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from .errors import CpmonError


def fold(name: str) -> str:
    """A name as it is compared: lower case, blanks and dashes as underscores."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name most like `name`, or None when nothing comes near."""
    folded = {fold(candidate): candidate for candidate in names}
    matches = difflib.get_close_matches(fold(name), folded, n=1, cutoff=0.5)
    return folded[matches[0]] if matches else None


def unknown(
    what: str, name: str, candidates: Iterable[str], *, place: str | None = None
) -> CpmonError:
    """The error for a name that does not exist, with the nearest that does."""
    names = sorted(candidates)
    like = nearest(name, names)
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
    """The error for a name among too many to list.

    Args:
        like: the nearest one. look: how to see them.
    """
    return kind(
        f"there is no {what} {name}",
        code="name-unknown",
        remedy=f"did you mean {like}? {look}" if like else look,
    )
