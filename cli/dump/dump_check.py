"""What is wrong with a dump: it lands in a scratch store, where the rules of validation judge it.

A diagnosis, for somebody who cannot see the dump, counts what is in it in the same reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from ...core.errors import CpmonError, DumpError, StoreError
from ...ingest.container.source import Container, Progress, Source
from ...ingest.decode.reader import Reader
from ...ingest.findings import Code, Findings
from ...ingest.inspect.inventory import Inventory
from ...ingest.landing import Checked, Look, land_checked
from ...reduce.rules.rule import Purpose, load_rules
from ...reduce.rules.validation import breaches
from ...store import Store, connect
from ...store.sandbox.sandbox import Limits

LIMITS = Limits(memory="256MB")
"""What DuckDB may use; it puts on disk what does not fit."""


def check_dump(source: Source, release: str = "", progress: Progress | None = None) -> Checked:
    """What is wrong with a dump; nothing is left of it.

    Args:
        release: of the system that wrote the dump, if it is to be another than the dump states.
        progress: called after every window.

    Raises:
        DumpError: it is no monitor data.
        CpmonError: the disk has no room for the dump's tables.
    """
    return _checked(Reader(source, release), progress)


@dataclass
class Diagnosis:
    """What one input is.

    Attributes:
        stored_size: bytes on disk, None for a pipe.
        sha256: of the stored file, empty for a pipe or device.
        compression, wrapping, container: what is around the monitor's data.
        content: hash of the decompressed bytes, which names the dump in a store; empty where it
            was refused.
        refused: why it cannot be read; then inventory and check have nothing.
        mostly_lost: why it does not land although it can be read.
    """

    name: str
    stored_size: int | None
    sha256: str = ""
    compression: str = "none"
    wrapping: tuple[str, ...] = ()
    container: str = ""
    content: str = ""
    inventory: Inventory = field(default_factory=lambda: Inventory(""))
    checked: Checked = field(default_factory=lambda: Checked(""))
    refused: DumpError | None = None
    mostly_lost: DumpError | None = None

    @property
    def release(self) -> str:
        """CP level of the dump, empty if it names none."""
        return self.inventory.configuration.release

    def details(self, code: Code, *, names: bool) -> list[str]:
        """What is told of a finding; without `names` nothing that may quote the dump."""
        return self.checked.findings.details(code) if names or not code.quotes else []


def diagnose(source: Source, release: str = "", progress: Progress | None = None) -> Diagnosis:
    """Count and check a dump in one reading. What is no dump is no error here.

    Args:
        release: of the system that wrote it, if it is to be another than the dump states.

    Raises:
        CpmonError: the disk has no room for the dump's tables.
    """
    diagnosis, inventory = Diagnosis(source.name, source.stored_size), Inventory(source.name)
    reader = Reader(source, release)
    try:
        diagnosis.checked = _checked(reader, progress, inventory.take)
    except DumpError as error:
        diagnosis.refused = error
    else:
        inventory.finish(source, Findings())
        diagnosis.inventory = inventory
        diagnosis.mostly_lost = reader.mostly_lost()
        diagnosis.content = source.identity
        inventory.configuration.level = release or inventory.configuration.level
    diagnosis.compression, diagnosis.wrapping = source.compression, tuple(source.wrapping)
    diagnosis.container = "" if source.container is Container.AUTO else str(source.container)
    return diagnosis


def stored_hash(path: Path) -> str:
    """SHA-256 of a file as it is stored; empty for what can be read only once."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(reader: Reader, progress: Progress | None, look: Look | None = None) -> Checked:
    """A dump landed and judged.

    Args:
        look: called with each window of it.
    """
    with _scratch() as store:
        checked = land_checked(reader, store, progress, look)
        with connect(store, (), LIMITS) as connection:
            landed = connection.tables
            rules = load_rules(Purpose.VALIDATION, landed=landed)
            found = breaches(connection, rules, landed)
            for breach in sorted(found, key=lambda breach: breach.offset):
                code = Code[breach.finding]
                checked.findings.add(
                    code, breach.offset, breach.detail, breach.effect, count=breach.count
                )
    return checked


@contextmanager
def _scratch() -> Iterator[Store]:
    """A store that is gone at the exit; what a disk refuses becomes an error with a remedy."""
    try:
        with TemporaryDirectory(prefix="cpmon-check-") as folder:
            yield Store(Path(folder, "store"), create=True)
    except (OSError, StoreError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise CpmonError(
            "the check has no room for the rows that it compares",
            code="temporary-disk-full",
            expected="half the size of the dump, free on the disk",
            found=str(error).split("\n", maxsplit=1)[0],
            effect="nothing was checked",
            remedy="make room, or name a folder on another disk in TMPDIR",
        ) from error
