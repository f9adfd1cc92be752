"""Reads a dump once and keeps what somebody needs to know who cannot see it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from ...core.errors import DumpError
from ..checks.deltas import DeltaChecks
from ..checks.passes import Checked, DumpCheck
from ..container.source import Container, Progress, Source
from ..container.windows import prefetched
from ..decode.reader import Reader
from ..findings import Code, Findings
from .inventory import Inventory


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
    """
    diagnosis = Diagnosis(source.name, source.stored_size)
    inventory = Inventory(source.name)
    with DeltaChecks() as deltas:
        check = DumpCheck(Reader(source, release), Checked(source.name), deltas)
        try:
            for window in prefetched(source, check.reader.framer, progress):
                check.take(window)
                inventory.take(window)
        except DumpError as error:
            diagnosis.refused = error
        else:
            inventory.finish(source, Findings())
            diagnosis.inventory, diagnosis.checked = inventory, check.finish()
            diagnosis.mostly_lost = check.reader.mostly_lost()
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
