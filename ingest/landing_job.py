"""The landing of a dump as a unit of work, for those who land several at once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..schemas.registry import site_folder, use
from ..store import Store
from .landing import Landed, ingest


@dataclass(frozen=True, slots=True)
class LandingJob:
    """A dump and where it lands.

    Attributes:
        store: where it is: a path or a URL.
        layouts: the folder of the site's own layouts, if there is one.
        options: those of `ingest`.
    """

    dump: Path
    store: str
    layouts: Path | None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.dump)


def land(job: LandingJob) -> tuple[Landed, float]:
    """Land a dump; returns what landed, and the seconds it took.

    Raises:
        CpmonError: as `ingest`.
    """
    if job.layouts != site_folder():  # in another process
        use(job.layouts)
    started = time.perf_counter()
    landed = ingest(job.dump, Store(job.store), **job.options)
    return landed, time.perf_counter() - started
