"""The lines of a companion's text, numbered, without those that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ....core.errors import CpmonError

Figures = list[dict[str, Any]]
Response = TypeVar("Response")

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


def samples(
    responses: Sequence[Response], last: Line, user: str = ""
) -> Iterator[tuple[int, Response, Response]]:
    """The number of each sample, from 1, with the responses before and behind it.

    Args:
        last: the line of the last response.
        user: whose responses these are, for messages.

    Raises:
        CpmonError: the last response has no partner.
    """
    if len(responses) % 2:
        raise last.wrong(
            "has a response without a partner",
            "two responses a sample, before and behind it",
            f"{len(responses)} responses{user and f' for {user}'}",
        )
    yield from zip(range(1, len(responses)), responses[::2], responses[1::2], strict=False)
