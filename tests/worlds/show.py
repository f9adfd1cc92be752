"""Wrong figures of random worlds: `python -m tests.worlds.show FIRST LAST KIND...`.

A line for each, and for each that an event makes unknown; the exit status is 1 if one is wrong.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.worlds.held import hold
from tests.worlds.world import random_world


def main(arguments: Sequence[str]) -> int:
    """Print what is wrong or unknown in worlds of some seeds with one or two kinds of events."""
    first, last, *kinds = arguments
    worlds = [random_world(seed, kinds, most=2) for seed in range(int(first), int(last) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        found = hold(worlds, Path(folder), spans=False)
    print(
        *sorted(f"{each.world.name} {each.text}" for each in found.wrong + found.unknown), sep="\n"
    )
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
