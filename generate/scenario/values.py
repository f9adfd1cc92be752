"""Types of the values in a scenario: numbers within limits, and texts that go into records."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from msgspec import Meta

from ...config import Place
from ...config.values import Text

NonNegative = Annotated[float, Meta(ge=0)]
NonNegativeInt = Annotated[int, Meta(ge=0)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)]
IntervalCount = Annotated[int, Meta(ge=1, le=100000)]
ProcessorCount = Annotated[int, Meta(ge=1, le=80)]
"""Number of processors of a machine, a partition or a guest."""


class Ebcdic(Text):
    """A text of limited length whose characters EBCDIC has."""

    LONGEST: ClassVar[int]

    def __init_subclass__(cls, longest: int) -> None:
        """Set the limit, and its text for messages."""
        cls.LONGEST = longest
        cls.EXPECTED = f"1 to {longest} characters of EBCDIC (code page 037)"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, if it fits."""
        text = super().parse(value)
        if len(text) > cls.LONGEST:
            raise ValueError(cls.EXPECTED)
        try:
            text.encode("cp037")
        except UnicodeEncodeError:
            raise ValueError(cls.EXPECTED) from None
        return text


class SystemText(Ebcdic, longest=8):
    """Name of a system or partition."""


def below(place: Place, above: str) -> Place:
    """Place of the keys of a nested table; the key "" is that of the table itself."""
    return lambda key: place(f"{above}.{key}" if key else above)
