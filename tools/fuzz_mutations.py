"""Random changes to a dump that remember where each byte has been before."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tests.generate.plain_reader import FRAME

from .fuzz_seeds import I64, Seed

U8 = npt.NDArray[np.uint8]
ODD = (0, 1, 2, 11, 12, 18, 19, 20, 21, 255, 256, 4095, 4096, 4097, 0x7FFF, 0x8000, 0xFFFF)
WIDE = (0, 1, 4095, 4096, 0x3FFFFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFF000, 0xFFFFFFFF)
LONGEST = 64 * FRAME
"""Nothing is made to grow beyond this."""


@dataclass
class Bent:
    """A dump under change. `home`: (bytes,) offset in the seed of each byte; -1 if it is new.

    `said`: what was done, in words: the recipe.
    """

    seed: Seed
    rng: np.random.Generator
    data: U8 = field(init=False)
    home: I64 = field(init=False)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data = np.frombuffer(self.seed.data, np.uint8).copy()
        self.home = np.arange(len(self.data), dtype=np.int64)

    def write(self, at: int, new: bytes) -> None:
        """Overwrite bytes; those that are what they were keep their home."""
        fresh = np.frombuffer(new, np.uint8)[: max(len(self.data) - at, 0)]
        span = slice(at, at + len(fresh))
        self.home[span][self.data[span] != fresh] = -1
        self.data[span] = fresh
        self.said.append(f"write {len(fresh)} bytes at {at:#x}: {new[:8].hex(' ')}")

    def cut(self, first: int, behind: int) -> None:
        """Take bytes out."""
        self.data = np.delete(self.data, slice(first, behind))
        self.home = np.delete(self.home, slice(first, behind))
        self.said.append(f"cut {first:#x} to {behind:#x}")

    def insert(self, at: int, data: U8, home: I64) -> None:
        """Put bytes in."""
        self.data = np.concatenate([self.data[:at], data, self.data[at:]])
        self.home = np.concatenate([self.home[:at], home, self.home[at:]])
        self.said.append(f"insert {len(data)} bytes at {at:#x}")

    def place(self, align: int = 1) -> int:
        """A random place."""
        return int(self.rng.integers(0, max(len(self.data), 1))) // align * align

    def mark(self) -> int:
        """Where a header or an entry has been, if it is still there; else any place."""
        wanted = int(self.rng.choice(self.seed.landmarks))
        here = np.flatnonzero(self.home == wanted)
        return int(here[0]) if len(here) else self.place()

    def align(self) -> int:
        """Of what is moved: mostly whole frames, sometimes any bytes."""
        return FRAME if self.rng.random() < 0.7 else 1


Mutation = Callable[[Bent], None]


def flip_bits(bent: Bent) -> None:
    """Some bits anywhere."""
    for _ in range(int(bent.rng.integers(1, 9))):
        at = bent.place()
        if at < len(bent.data):
            bent.write(at, bytes([int(bent.data[at]) ^ (1 << int(bent.rng.integers(0, 8)))]))


def change_header(bent: Bent) -> None:
    """A field of a record's header or of an entry."""
    at = bent.mark() + int(bent.rng.choice([0, 0, 2, 4, 6, 8]))
    bent.write(at, struct.pack(">H", int(bent.rng.choice(ODD))))


def change_entry(bent: Bent) -> None:
    """An address, or the type, of what announces data."""
    at = bent.mark() + int(bent.rng.choice([0, 4, 8, 12, 16]))
    odd = int(bent.rng.choice(WIDE)) if bent.rng.random() < 0.6 else int(bent.rng.integers(2**32))
    bent.write(at, struct.pack(">I", odd))


def change_address(bent: Bent) -> None:
    """An address by a little: data of another length, or from another place in its frame."""
    at = bent.mark() + int(bent.rng.choice([4, 8]))
    if at + 4 <= len(bent.data):
        (now,) = struct.unpack(">I", bent.data[at : at + 4].tobytes())
        step = int(bent.rng.choice([-FRAME, -100, -1, 1, 100, FRAME, 16 * FRAME]))
        bent.write(at, struct.pack(">I", (now + step) % 2**32))


def change_body(bent: Bent) -> None:
    """A number within a record: how many entries, where they are."""
    at = bent.mark() + 20 + int(bent.rng.integers(0, 100))
    width, odd = [(">H", ODD), (">I", WIDE)][int(bent.rng.integers(0, 2))]
    bent.write(at, struct.pack(width, int(bent.rng.choice(odd))))


def overwrite(bent: Bent) -> None:
    """A stretch becomes zeros, ones, or noise."""
    at, size = bent.place(), int(2 ** bent.rng.uniform(0, 13))
    noise = bent.rng.integers(0, 256, size, np.uint8).tobytes()
    bent.write(at, [bytes(size), b"\xff" * size, noise][int(bent.rng.integers(0, 3))])


def remove(bent: Bent) -> None:
    """A stretch is missing."""
    align = bent.align()
    at = bent.place(align)
    bent.cut(at, at + align * int(bent.rng.integers(1, 4 if align > 1 else 5000)))


def repeat(bent: Bent) -> None:
    """A stretch comes again, somewhere."""
    align = bent.align()
    at, to = bent.place(align), bent.place(align)
    behind = at + align * int(bent.rng.integers(1, 4 if align > 1 else 5000))
    bent.insert(to, bent.data[at:behind].copy(), bent.home[at:behind].copy())


def insert_noise(bent: Bent) -> None:
    """Other bytes come in between."""
    align = bent.align()
    size = align * int(bent.rng.integers(1, 3 if align > 1 else 5000))
    noise = bent.rng.integers(0, 256, size, np.uint8)
    bent.insert(bent.place(align), noise, np.full(size, -1, np.int64))


def swap_frames(bent: Bent) -> None:
    """Two frames change places."""
    first, second = bent.place(FRAME), bent.place(FRAME)
    if max(first, second) + FRAME <= len(bent.data):
        for array in (bent.data, bent.home):
            kept = array[first : first + FRAME].copy()
            array[first : first + FRAME] = array[second : second + FRAME]
            array[second : second + FRAME] = kept
        bent.said.append(f"swap frames at {first:#x} and {second:#x}")


def truncate(bent: Bent) -> None:
    """The dump ends early."""
    bent.cut(bent.place(), len(bent.data))


Mutations = tuple[tuple[Mutation, float], ...]
MUTATIONS: Mutations = (
    (flip_bits, 3),
    (change_header, 4),
    (change_entry, 3),
    (change_address, 2),
    (change_body, 2),
    (overwrite, 2),
    (remove, 2),
    (repeat, 1),
    (insert_noise, 1),
    (swap_frames, 1),
    (truncate, 0.7),
)
"""With how often each is picked."""


def bend(seed: Seed, rng: np.random.Generator, mutations: Mutations = MUTATIONS) -> Bent:
    """A dump with one to four changes; one in ten of them with up to twenty."""
    bent = Bent(seed, rng)
    weights = np.array([weight for _, weight in mutations])
    most = 20 if rng.random() < 0.1 else 4
    for _ in range(int(rng.integers(1, most + 1))):
        chosen, _ = mutations[int(rng.choice(len(mutations), p=weights / weights.sum()))]
        if len(bent.data) and len(bent.data) <= LONGEST:
            bent.said.append(chosen.__name__)
            chosen(bent)
    return bent
