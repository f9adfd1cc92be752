"""Shares of wrong, blank and marked figures: `python -m tests.worlds.share FIRST SECONDS`.

Random worlds from a seed on are held to the truth for so many seconds of processor time, in stores
of 10. Printed are wrong figures, and counts of figures: in lines that no event touches (whole), in
those that one does though the records tell all of it (told), and in the others.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.worlds.held import Outcome, hold
from tests.worlds.test_worlds import NOT_TOGETHER, SETTLED
from tests.worlds.world import World, random_world

BATCH = 10
VERDICTS = ("wrong", "right", "blank", "marked")


def _seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _batches(first: int) -> Iterator[list[World]]:
    while True:
        yield [random_world(first + n, SETTLED, NOT_TOGETHER, most=5) for n in range(BATCH)]
        first += BATCH


def main(arguments: Sequence[str]) -> int:
    """Print the table, and what is wrong; 1 if anything is."""
    first, most = map(int, arguments)
    counts, wrong, worlds = Counter[tuple[str, str]](), 0, 0
    for batch in _batches(first):
        with tempfile.TemporaryDirectory() as folder:
            outcome: Outcome = hold(batch, Path(folder), explains=True)
        counts.update(outcome.counts)
        worlds += len(batch)
        for each in outcome.wrong:
            wrong += 1
            print(each.world.name, each.text, flush=True)
        if _seconds() > most:
            break
    print(f"{worlds} worlds in {_seconds():.0f} s of processor time")
    for line in ("whole", "told", "touched"):
        print(line, *(f"{verdict} {counts[line, verdict]}" for verdict in VERDICTS))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
