"""Show that random worlds notice a missing rule: `python -m tools.mutate_rules [WORD...]`.

Each row of `tests/worlds/mutations.csv` is a rule of the product that decides about an event, and
how to switch it off in one file. In a copy of the tree with that one change, worlds with such
events must have figures that are wrong, or not known, and are not without it; but where other
evidence tells the same, which stands in `instead`. Words select rules by their text. The exit
status is 1 if a rule can be missing without notice, 2 if the words select none.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
_LEFT_OUT = shutil.ignore_patterns(".*", "build", "__pycache__", "sample-data", "docs", "golden")


class Mutation(NamedTuple):
    """A rule and how to switch it off; `seeds` (first and last) and `kinds` are those of worlds.

    `instead`: what else tells the same, so that no world notices; empty if worlds do.
    """

    rule: str
    file: str
    old: str
    new: str
    kinds: str
    seeds: str
    instead: str


def mutations() -> list[Mutation]:
    """The rows of `tests/worlds/mutations.csv`."""
    text = (ROOT / "tests/worlds/mutations.csv").read_text(encoding="utf-8")
    return [Mutation(**row) for row in csv.DictReader(text.splitlines())]


def wrong_figures(tree: Path, mutation: Mutation) -> set[str]:
    """Figures that are wrong or not known in worlds of its kinds, with the code of a tree."""
    first, last = mutation.seeds.split("-")
    command = [sys.executable, "-m", "tests.worlds.show", first, last, *mutation.kinds.split()]
    paths = os.pathsep.join((str(tree / "src"), str(tree)))
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise RuntimeError(done.stderr)
    return set(done.stdout.splitlines())


def survivors(chosen: Sequence[Mutation]) -> Iterator[str]:
    """What is to be said of rules whose absence nothing notices."""
    for mutation in chosen:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "tree"
            shutil.copytree(ROOT, tree, symlinks=True, ignore=_LEFT_OUT)
            (tree / "sample-data").mkdir()
            shutil.copytree(ROOT / "sample-data/scenarios", tree / "sample-data/scenarios")
            file = tree / mutation.file
            text = file.read_text(encoding="utf-8")
            if text.count(mutation.old) != 1:
                yield f"{mutation.rule}: {mutation.file} does not have this rule once"
                continue
            before = wrong_figures(tree, mutation)
            file.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
            if wrong_figures(tree, mutation) <= before:
                yield f"{mutation.rule}: nothing is wrong without it"


def main(words: Sequence[str]) -> int:
    """Print the rules that can be missing without notice; 1 if there are any."""
    told = (each for each in mutations() if not each.instead)
    chosen = [each for each in told if all(word in each.rule for word in words)]
    if not chosen:
        print(f"no rule has the words {' '.join(words)}")
        return 2
    left = list(survivors(chosen))
    print(*left or [f"{len(chosen)} rules: each is noticed when it is missing"], sep="\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
