"""Wrong figures of random worlds: `python -m tests.worlds.show FIRST LAST KIND...`.

A line for each report, column and world; the exit status is 1 if there is one.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.worlds.held import hold
from tests.worlds.world import random_world


def main(arguments: Sequence[str]) -> int:
    """Print what is wrong in the worlds of some seeds with one or two kinds of events."""
    first, last, *kinds = arguments
    worlds = [random_world(seed, kinds, most=2) for seed in range(int(first), int(last) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        wrong = hold(worlds, Path(folder), spans=False).wrong
    lines = {f"{each.report} {each.column} {each.world.name} {each.why}" for each in wrong}
    print(*sorted(lines), sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
