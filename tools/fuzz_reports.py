"""What reports print of a dump whose containers are damaged: another figure only with a finding.

The records are those of a good dump, byte by byte. What is around them is changed: frames of a
file, or record sets of a capture, are lost, come twice, change places or stand behind noise, and
what announces them names wrong addresses.
"""

from __future__ import annotations

import io
import struct
import tempfile
from pathlib import Path

import numpy as np

from cpmon.cli.dump.diagnosis import check_dump
from cpmon.ingest import Code
from cpmon.ingest.container.source import Container, Source
from tests.generate.plain_reader import FRAME, sets

from .fuzz_answers import answer
from .fuzz_readers import Lost, Read, land, read_tables
from .fuzz_seeds import Seed, both, generated

REPORTS = 3
"""Reports that are printed of a dump, drawn from all: each takes about a second."""
INTERVALS = 3
STEPS = (-FRAME, -100, -1, 1, 100, FRAME, 16 * FRAME)


class Reports:
    """Good dumps, and what is printed of the same in damaged containers.

    Attributes:
        folder: where they land.
    """

    def __init__(self, folder: Path) -> None:
        """Draws from all reports, and lands nothing yet."""
        self.folder = folder
        self._seeds = list(both("three", generated(INTERVALS)))
        lines = answer("report", "--list").out.decode().splitlines()
        self._names = [line.split()[0] for line in lines]
        self._good: dict[str, Read] = {}

    def damaged(self, rng: np.random.Generator) -> Containers:
        """A good dump with one to three changes to its containers."""
        containers = Containers(self._seeds[int(rng.integers(len(self._seeds)))], rng)
        for _ in range(int(rng.integers(1, 4))):
            containers.change()
        return containers

    def check(self, damaged: Containers, rng: np.random.Generator) -> int:
        """Land a dump, and print reports of it if it has no finding; returns how many.

        Raises:
            Lost: one of them is not that of the good dump.
        """
        seed, printed = damaged.seed, 0
        container = Container.MONREADER if seed.captured else Container.MONWRITE
        good = self.folder / seed.name
        if seed.name not in self._good:
            good.mkdir()
            self._good[seed.name] = land(seed.data, container, good)
        # Landing finds at least what reading in memory finds, which takes a tenth of the time.
        read = read_tables(damaged.data, container)
        if read.codes - self._good[seed.name].codes or self._is_shorter(damaged, read):
            return printed
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            if land(damaged.data, container, Path(folder)).codes - self._good[seed.name].codes:
                return printed
            for name in rng.permutation(self._names)[:REPORTS].tolist():
                printed += 1
                if _printed(name, Path(folder)) == _printed(name, good):
                    continue
                if _checked(damaged.data, container) <= _checked(seed.data, container):
                    raise Lost(f"{name} prints other figures, and there is no finding")
        return printed

    def _is_shorter(self, damaged: Containers, read: Read) -> bool:
        """Whether a dump is a part of the good one, or lacks intervals at an end of it only.

        Nothing can tell that it was longer.
        """
        good = _ends(self._good[damaged.seed.name])
        ends = _ends(read)
        some = [good[n : n + len(ends)] for n in range(len(good))]
        return damaged.data in damaged.seed.data or (len(ends) < len(good) and ends in some)


def _ends(read: Read) -> list[int]:
    table = read.tables.get("interval")
    return table["interval_end_us"].to_pylist() if table else []


def _checked(data: bytes, container: Container) -> set[Code]:
    """What `cpmon check` finds, which also knows what a sample lacks."""
    return set(
        check_dump(Source(io.BytesIO(data), "fuzz.mon", container=container)).findings.counts
    )


def _printed(report: str, folder: Path) -> bytes:
    return answer("report", report, "--store", folder / "store", "--format", "csv").out


class Containers:
    """Parts of a dump that are announced, or announce others, with changes to them.

    Attributes:
        seed: the good dump.
        parts: frames of a file, or record sets of a capture with what announces each.
        said: the changes.
    """

    def __init__(self, seed: Seed, rng: np.random.Generator) -> None:
        """The parts of a good dump."""
        self.seed = seed
        first = [unit.first for unit in seed.units]
        entries = [0] * len(first)
        if not seed.captured:
            first = list(range(0, len(seed.data), FRAME))
            controls = {part.control for part in sets(seed.data)}
            entries = [40 if at in controls else -1 for at in first]
        behind = [*first[1:], len(seed.data)]
        self.parts = [seed.data[a:b] for a, b in zip(first, behind, strict=True)]
        self.said: list[str] = []
        self._entries = {p: e for p, e in zip(self.parts, entries, strict=True) if e >= 0}
        self._rng = rng

    @property
    def data(self) -> bytes:
        """The parts, one after the other."""
        return b"".join(self.parts)

    def change(self) -> None:
        """Change something, anywhere."""
        changes = (self.lose, self.repeat, self.swap, self.add_noise, self.lie)
        change = changes[int(self._rng.integers(len(changes)))]
        at = self._place()
        self.said.append(f"{change.__name__} {at}")
        change(at)

    def lose(self, at: int) -> None:
        """A part is missing."""
        del self.parts[at]

    def repeat(self, at: int) -> None:
        """A part comes again, somewhere."""
        self.parts.insert(self._place(), self.parts[at])

    def swap(self, at: int) -> None:
        """Two parts change places."""
        other = self._place()
        self.parts[at], self.parts[other] = self.parts[other], self.parts[at]

    def add_noise(self, at: int) -> None:
        """A frame of noise comes in between."""
        self.parts.insert(at, self._rng.bytes(FRAME))

    def lie(self, at: int) -> None:
        """The next part from here that announces data names a wrong address."""
        for number in [*range(at, len(self.parts)), *range(at)]:
            part = self.parts[number]
            if part in self._entries:
                place = self._entries[part] + int(self._rng.choice([4, 8]))
                (address,) = struct.unpack_from(">I", part, place)
                wrong = struct.pack(">I", (address + int(self._rng.choice(STEPS))) % 2**32)
                self.parts[number] = part[:place] + wrong + part[place + 4 :]
                return

    def _place(self) -> int:
        return int(self._rng.integers(len(self.parts)))
