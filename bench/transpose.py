"""The C loops of transpose.c, compiled for this machine and called by ctypes."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cpmon.schemas.arrow import arrow_type
from cpmon.schemas.field import Field
from cpmon.schemas.layout import Layout

from .machine import find_compiler

Column = npt.NDArray[Any]
Columns = dict[str, Column]
BLOCK_BYTES = 512 * 1024
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


@dataclass(frozen=True, eq=False)
class Job:
    """The records of one layout in one window: what one call decodes. All have one length.

    `window`: bytes; `starts`, `lengths`: (records,) of int64.
    """

    layout: Layout
    window: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]

    @property
    def length(self) -> int:
        """Bytes of each record."""
        return int(self.lengths[0])

    @property
    def bytes(self) -> int:
        """Bytes of all records."""
        return int(self.lengths.sum())

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields of fixed length that these records are long enough for."""
        return tuple(f for f in self.layout.columns if f.end <= self.length and not f.is_open)

    @cached_property
    def table(self) -> npt.NDArray[np.int32]:
        """(fields, 3): offset, length, kind."""
        return np.array([(f.offset, f.length, _kind(f)) for f in self.fields], np.int32)

    @cached_property
    def types(self) -> list[np.dtype[Any]]:
        """What each column is made of: numbers as they land, or bytes."""
        return [
            np.dtype(arrow_type(f).to_pandas_dtype() if f.is_number else f.wire)
            for f in self.fields
        ]

    @property
    def symbol(self) -> str:
        """Name of the function for records of this layout and length."""
        return f"{self.layout.name}_{self.length}"


class Transpose:
    """The compiled loops. Each returns freshly allocated columns, as decoding does."""

    def __init__(self, folder: Path, jobs: Iterable[Job], compiler: str) -> None:
        """Compile into a folder.

        Raises:
            CalledProcessError: the compiler failed; it has said why.
        """
        layouts = {job.symbol: job for job in jobs}
        header = "".join(_declared(job) for job in layouts.values())
        (folder / "layouts.h").write_text(header, encoding="ascii")
        library = folder / "transpose.so"
        source = Path(__file__).with_name("transpose.c")
        subprocess.run(
            [compiler, *FLAGS, "-I", str(folder), "-o", str(library), str(source)], check=True
        )
        self._library = ctypes.CDLL(str(library))
        self._fixed: dict[str, Callable[..., Any]] = {
            name: getattr(self._library, f"known_{name}") for name in layouts
        }

    def by_record(self, job: Job) -> Columns:
        """Record by record, field by field, from a table of fields."""
        columns, pointers = _allocate(job)
        self._library.by_record(
            *_where(job), ctypes.c_void_p(job.table.ctypes.data), len(columns), pointers
        )
        return columns

    def known(self, job: Job) -> Columns:
        """Record by record, in a function made for the layout."""
        columns, pointers = _allocate(job)
        self._fixed[job.symbol](*_where(job), pointers)
        return columns

    def by_field(self, job: Job) -> Columns:
        """Field by field, within blocks of records that fit the cache."""
        columns, pointers = _allocate(job)
        block = ctypes.c_int64(max(BLOCK_BYTES // job.length, 1))
        table = ctypes.c_void_p(job.table.ctypes.data)
        self._library.by_field(*_where(job), block, table, len(columns), pointers)
        return columns


def compiled(folder: Path, jobs: Iterable[Job]) -> Transpose | None:
    """The loops, or None where there is no compiler."""
    compiler = find_compiler()
    return Transpose(folder, jobs, compiler) if compiler else None


def _where(job: Job) -> tuple[ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]:
    window, starts = job.window.ctypes.data, job.starts.ctypes.data
    return ctypes.c_void_p(window), ctypes.c_void_p(starts), ctypes.c_int64(len(job.starts))


def _allocate(job: Job) -> tuple[Columns, Any]:
    count = len(job.starts)
    columns = {f.name: np.empty(count, t) for f, t in zip(job.fields, job.types, strict=True)}
    pointers = (ctypes.c_void_p * len(columns))(*(c.ctypes.data for c in columns.values()))
    return columns, pointers


def _declared(job: Job) -> str:
    """The fields of a layout as the macro that transpose.c expects."""
    moves = " ".join(
        f"F({number}, {f.offset}, {f.length}, {_kind(f)})" for number, f in enumerate(job.fields)
    )
    return f"#define FIELDS_{job.symbol}(F) {moves}\nDEFINE({job.symbol})\n"


def _kind(field: Field) -> int:
    """How transpose.c moves a field: ten times the bytes read and the bytes landed; 0: as bytes."""
    return 10 * field.length + arrow_type(field).bit_width // 8 if field.is_number else 0
