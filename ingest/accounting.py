"""Where every byte of a dump went; the parts must sum up to its size."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass
class Bytes:
    """Bytes of a dump, by what became of them.

    Attributes:
        size: of the dump, decompressed; counted where it was read.
        decoded: control records, and records with a layout.
        raw: records without one, kept as they are.
        quarantined: not understood, kept as they are.
        filler: between and behind records, as the format leaves it.
    """

    size: int = 0
    decoded: int = 0
    raw: int = 0
    quarantined: int = 0
    filler: int = 0

    @property
    def missing(self) -> int:
        """Bytes that no part accounts for; anything but 0 is a bug."""
        return self.size - self.decoded - self.raw - self.quarantined - self.filler

    def as_dict(self) -> dict[str, int]:
        """The parts by name."""
        return asdict(self)
