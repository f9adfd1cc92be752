"""A dump through the readers in memory, with reads of any size: what tests compare."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cpmon.cli.dump import diagnosis
from cpmon.cli.dump.diagnosis import check_dump
from cpmon.ingest.container import windows
from cpmon.ingest.container.monwrite import Framer
from cpmon.ingest.container.source import Container, Source
from cpmon.ingest.decode.reader import Reader
from cpmon.ingest.findings import Findings
from cpmon.ingest.inspect.inventory import Inventory, take_inventory
from cpmon.reduce.rules.layout_checks import DeltaCheck
from cpmon.reduce.rules.rule import Rule
from tools.fuzz_seeds import I64

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Reading:
    """`tables`: rows by table, in the order of the dump."""

    tables: dict[str, Rows]
    findings: Rows
    bytes: dict[str, int]


def source(data: bytes, container: Container) -> Source:
    """A dump in memory."""
    return Source(io.BytesIO(data), "a.mon", container=container)


def read(data: bytes, container: Container = Container.AUTO, chunk: int | None = None) -> Reading:
    """Records, findings and bytes of a dump that is read `chunk` bytes at a time."""
    with reads_of(chunk):
        reader = Reader(source(data, container))
        parts: dict[str, list[pa.Table]] = {}
        for window in windows.windows(reader.source, reader.framer):
            for name, table in reader.tables(window):
                parts.setdefault(name, []).append(table)
        for name, table in reader.rest():
            parts.setdefault(name, []).append(table)
        reader.finish()
    tables = {name: pa.concat_tables(some).to_pylist() for name, some in parts.items()}
    return Reading(tables, reader.findings.table().to_pylist(), reader.bytes.as_dict())


def check(data: bytes, container: Container, chunk: int | None = None) -> dict[str, Any]:
    """What a check reports of a dump that is read `chunk` bytes at a time."""
    with reads_of(chunk):
        return check_dump(source(data, container)).document()


def inventory(data: bytes, container: Container, chunk: int | None = None) -> Inventory:
    """What a list counts in a dump that is read `chunk` bytes at a time."""
    with reads_of(chunk):
        return take_inventory(source(data, container))


def record_offsets(data: bytes, container: Container) -> I64:
    """Where the records of a dump start, ascending."""
    found = windows.windows(source(data, container), Framer(Findings()))
    return np.sort(np.concatenate([window.index.start + window.base for window in found]))


@contextmanager
def reads_of(chunk: int | None) -> Iterator[None]:
    """Dumps are read `chunk` bytes at a time."""
    with pytest.MonkeyPatch.context() as patch:
        if chunk is not None:
            patch.setattr(windows, "CHUNK", chunk)
            patch.setattr(windows, "HEADROOM", chunk)
        yield


@contextmanager
def deltas_of(*tables: str) -> Iterator[None]:
    """A check judges the deltas of these tables alone.

    The rule is the same for all, and its SQL takes a check of a small dump nine tenths of its time.
    """
    every = diagnosis.load_rules

    def few(*arguments: Any, **options: Any) -> list[Rule]:
        rules = every(*arguments, **options)
        return [
            rule
            for rule in rules
            if not isinstance(rule.check, DeltaCheck) or rule.check.layout.name in tables
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagnosis, "load_rules", few)
        yield
