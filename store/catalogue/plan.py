"""What goes into the catalogue of a store, and a version that changes with any of it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import duckdb

from ...schemas.derived import derived
from ...schemas.registry import fingerprint
from ..dumps.manifest import FOLDER as MANIFEST
from ..dumps.store import Store
from ..results.lineage import digest
from ..results.months import FOLDER as REDUCED
from ..results.months import MONTHS
from ..results.reduced import Kept, kept
from ..runs.classes import classes_text
from ..runs.runs import FOLDER as RUNS
from ..runs.runs import run_names
from ..views.snapshot import snapshot
from ..views.sources import Landed, is_drifted, landed_files
from ..views.view import View

OWN_TEXT = (
    *("catalogue/catalogue.py", "catalogue/kept_views.py", "catalogue/plan.py"),
    *("views/views.py", "views/meta.py", "views/sources.py", "views/dictionary.py"),
    *("views/relations.py", "views/sql/deltas.sql", "views/entries.py", "runs/classes.py"),
    *("dumps/grace_period.py", "columns.csv"),
)
"""The code that makes the views."""


@dataclass(frozen=True)
class Plan:
    """What goes into a catalogue, found out when it is asked for.

    Attributes:
        live: nothing kept is read.
    """

    store: Store
    views: Sequence[View]
    live: bool = False

    @functools.cached_property
    def present(self) -> Landed:
        """Where the files of landed tables are."""
        return landed_files(self.store)

    @functools.cached_property
    def snapshot(self) -> dict[str, Path]:
        """Of what the dumps say, as `sources` has it."""
        return snapshot(self.store)

    @functools.cached_property
    def reduced(self) -> dict[str, Kept]:
        """What is kept of each reduction, as far as it is up to date."""
        return {} if self.live else kept(self.store, self.views)

    @functools.cached_property
    def version(self) -> str:
        """As `found`; that of an old store is remembered while no file differs.

        10,000 dumps of three years take 0.1 s to find out, and all results of three years as much.
        """
        if self.live or not (self.snapshot and self.store.files.is_local):
            return self.found
        known = digest([*self._fixed, *_files(self.store)])
        return derived(f"plan-{digest([self.store.location])}", str, lambda: self.found, known)

    @functools.cached_property
    def found(self) -> str:
        """Changes with any of it, as it was found: a catalogue that is made says this version.

        A store may change behind what is remembered of it, and before all is found out.
        """
        landed = (f"{table} {some}" for table, some in sorted(self.present.items()))
        parts = [*self._fixed, *landed, *(result.fingerprint for result in self.reduced.values())]
        parts += [str(bool(run_names(self.store))), classes_text(self.store)]
        parts += [str(bool(self.snapshot)), str(is_drifted(self.store.dumps()))]
        return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()

    @property
    def _fixed(self) -> list[str]:
        """What does not depend on the files of the store."""
        own = [self.store.files.engine_path(""), fingerprint(), duckdb.__version__, _own_text()]
        return own + [view.sql for view in self.views]


def _own_text() -> str:
    """Another version of it makes other views."""
    own = files(__package__.rpartition(".")[0])
    return "".join((own / f).read_text(encoding="utf-8") for f in OWN_TEXT)


def _files(store: Store) -> Iterator[str]:
    """Texts that differ once the catalogue of a store on a disk might be another one.

    Nothing but classes is opened, however much there is. Files of results have their version in
    their name; those of the manifest, of runs and of indexes of months may be written anew under
    the name that they had.
    """
    yield from sorted(store.manifest.left_out | store.left_out)
    yield from sorted(store.files.names(REDUCED))
    for folder in (MANIFEST, RUNS, MONTHS):
        for file in store.files.below(folder):
            yield f"{file.name} {file.size} {store.files.changed(file.name)}"
    yield from (str(store.is_merging), classes_text(store))
