"""What a catalogue is made from, as far as folders tell: nothing is opened, however much it is."""

from __future__ import annotations

from collections.abc import Iterator

from ..dumps.manifest import FOLDER as MANIFEST
from ..dumps.store import Store
from ..results.months import FOLDER as REDUCED
from ..results.months import MONTHS
from ..runs.classes import classes_text
from ..runs.runs import FOLDER as RUNS


def inputs(store: Store) -> Iterator[str]:
    """Parts that differ once a catalogue of a store on a disk might be another one.

    The files of results have their version in their name. Those of the manifest, of runs and of
    indexes of months may be written anew under the name that they had.
    """
    yield from sorted(store.files.names(REDUCED))
    for folder in (MANIFEST, RUNS, MONTHS):
        for file in store.files.below(folder):
            yield f"{file.name} {file.size} {store.files.changed(file.name)}"
    yield from (str(store.is_merging), classes_text(store))
