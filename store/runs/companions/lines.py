"""The lines of a companion's text, numbered, without those that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....schemas.errors import CpmonError

Figures = list[dict[str, Any]]

EFFECT = "the run and its companions are not taken"
_ECHO = re.compile(r"(#?CP\s+)?(Q(UERY)?\s+T(IME)?|IND(ICATE)?\s+USER(\s+\S+)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file; `number` counts from 1."""

    file: Path
    number: int
    text: str

    def wrong(self, problem: str, expected: str, found: str | None = None) -> CpmonError:
        """The error about this line; without `found` its text is shown."""
        return CpmonError(
            f"companion {self.file.name} {problem}",
            place=f"{self.file}, line {self.number}",
            expected=expected,
            found=self.text if found is None else found,
            effect=EFFECT,
        )


def lines(file: Path) -> Iterator[Line]:
    """Lines of UTF-8 text that carry figures.

    What begins with * is the operator's comment, which CP ignores as well; blank lines and echoed
    commands (QUERY TIME, INDICATE USER, in any case or abbreviation) say nothing either.

    Raises:
        CpmonError: the file cannot be read.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CpmonError(
            f"companion {file.name} cannot be read: {error}", place=str(file), effect=EFFECT
        ) from None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("*") and not _ECHO.fullmatch(stripped):
            yield Line(file, number, stripped)


def empty(file: Path, expected: str) -> CpmonError:
    """The error about a file without figures."""
    return CpmonError(
        f"companion {file.name} has no figures",
        place=str(file),
        expected=expected,
        found="none",
        effect=EFFECT,
    )
