"""Damaged dumps through the commands: `python -m tools.fuzz_commands`, or `make fuzz`.

Each is a small good dump with random changes, to its frames or to what its records say. All go
through `list`, `show`, `check` and `ingest`; a batch of them lands in one store, which then goes
through `reduce`, `report`, pages, `exceptions` and `validate`. What must come of it is known from
`tools.fuzz_seeds`, whose reader shares no code with cpmon. A dump that shows a fault is saved; its
number and the seed make it again: --only NUMBER. Another --seed, or --first, goes on with others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .fuzz_answers import Answer, Wrong, answer, body, books, landed_offsets, surroundings
from .fuzz_fields import FIELD_MUTATIONS
from .fuzz_mutations import Bent, bend
from .fuzz_readers import container_of, survivors
from .fuzz_seeds import I64, Seed, both, generated, seeds

COUNT, BATCH = 5_000, 50
"""Dumps, and how many of them land in one store."""
RESULTS_EVERY = 4
"""Every how many batches are reduced and reported: that takes as long as reading three of them."""
REPORTS = 6
"""Reports that are printed of a store."""
FORMATS = ("table", "text", "csv", "json", "jsonl", "markdown")
SHOWN = (
    (),
    ("--limit", "5"),
    ("--hexdump", "--limit", "3"),
    ("--record", "USEACT", "--limit", "2", "--format", "json"),
    ("--record", "1.4", "--release", "6.4.0"),
    ("--where", "vmduser=GUEST001", "--limit", "4"),
    ("--limit", "2", "--since", "2003-03-03T10:01:00", "--format", "csv"),
    ("--number", "30", "--limit", "20", "--format", "jsonl"),
)
DUMP, STORE = {0, 3, 5}, {0, 3}
"""Exit statuses of commands that read a dump, and of those that read a store."""


class Fuzzer:
    """Changes dumps, gives them to the commands, and counts what came of it.

    Attributes:
        counts: command -> times it ran; also records that had to be there.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        """Work in a folder."""
        self.counts: Counter[str] = Counter()
        self._seed = seed
        self._folder = folder
        self._small = seeds()
        self._large = [*both("three", generated(3)), *both("generated", generated(1))]

    def bent(self, number: int) -> Bent:
        """The dump of a number; always the same."""
        rng = self._rng(number)
        some: Sequence[Seed] = self._large if rng.random() < 0.5 else self._small
        return bend(some[int(rng.integers(len(some)))], rng, FIELD_MUTATIONS)

    def run(
        self, numbers: Sequence[int], *, results: bool = True
    ) -> Iterator[tuple[list[int], str]]:
        """Give the dumps of some numbers to the commands, in one store.

        Yields the numbers of the dumps that show a fault, and what is wrong.

        Args:
            results: also run the commands that read the store.
        """
        with surroundings(self._folder), self._store() as store:
            for number in numbers:
                try:
                    self._dump(number, store)
                except Wrong as wrong:
                    yield [number], str(wrong)
            for steps in self._results(store, numbers[0]) if results else ():
                try:
                    self._apply(steps[-1:], store)
                except Wrong as wrong:
                    yield self._culprits(numbers, steps), str(wrong)

    def _rng(self, number: int, purpose: int = 0) -> np.random.Generator:
        return np.random.default_rng([self._seed, number, purpose])

    @contextmanager
    def _store(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            yield Path(folder) / "store"

    def _dump(self, number: int, store: Path) -> None:
        """The commands that read a dump.

        Raises:
            Wrong: one of them broke a promise.
        """
        bent, file = self.bent(number), store.parent / f"{number}.mon"
        rng, data = self._rng(number, 1), bent.data.tobytes()
        file.write_bytes(data)
        expected = np.unique(survivors(bent)[1])
        self.counts["dumps"] += 1
        self.counts["records"] += len(expected)
        how = (file, "--container", container_of(bent))
        listed = self._call(DUMP, "list", *how, "--format", "json")
        if listed.refused:
            self.counts["refused"] += 1
            if len(expected):
                raise Wrong(f"a dump with {len(expected)} good records is refused: {listed.err}")
        else:
            (document,) = body(listed)
            count = sum(row["records"] for row in document["records"])
            if document["bytes"] != len(data) or count < len(expected):
                raise Wrong(f"{document['bytes']} bytes and {count} records are listed, "
                            f"expected {len(data)} and {len(expected)} or more")  # fmt: skip
        for command in ("list", "check"):
            if rng.random() < 0.2:
                form = FORMATS[int(rng.integers(len(FORMATS)))]
                self._call(DUMP, command, *how, "--format", form)
        if rng.random() < 0.2:
            self._call(DUMP, "doctor", *how, "--format", "markdown")
        checked = self._call(DUMP, "check", *how, "--format", "json")
        if not checked.refused:
            books(body(checked)[0]["bytes"], len(data))
        self._show(how, expected, rng)
        self._ingest(how, store, expected, len(data), rng)
        file.unlink()

    def _show(self, how: tuple[object, ...], expected: I64, rng: np.random.Generator) -> None:
        """Any records, and one that must be there."""
        self._call({0, 2, 5}, "show", *how, *SHOWN[int(rng.integers(len(SHOWN)))])
        if len(expected):
            at = int(rng.choice(expected))
            shown = self._call({0}, "show", *how, "--at", hex(at), "--format", "json")
            if [record["record_offset"] for record in body(shown)] != [at]:
                raise Wrong(f"the record at {at:#x} is not shown")

    def _ingest(
        self,
        how: tuple[object, ...],
        store: Path,
        expected: I64,
        size: int,
        rng: np.random.Generator,
    ) -> None:
        named = ("--system", f"SYS{rng.integers(3)}") if rng.random() < 0.1 else ()
        before = set(store.glob("records/*/*/dump=*/*"))
        ingested = self._call(DUMP, "ingest", *how, "--store", store, "--accept-damage", *named)
        fresh = set(store.glob("records/*/*/dump=*/*")) - before
        if ingested.refused or b"landed as" not in ingested.out:
            return
        if len(fresh) != 1:
            raise Wrong(f"{len(fresh)} folders are new in the store: {ingested.out.decode()}")
        missing = np.setdiff1d(expected, landed_offsets(fresh.pop(), size))
        if len(missing):
            raise Wrong(f"{len(missing)} good records did not land, the first at {missing[0]:#x}")

    def _results(self, store: Path, number: int) -> Iterator[list[list[str]]]:
        """Commands that read the store, each with those that must run before it."""
        rng = self._rng(number, 2)
        reduce = ["reduce", "--store", "STORE"]
        yield [reduce]
        names = sorted({document["system"] for document in _dumps(store)})
        reports = [line.split()[0] for line in answer("report", "--list").out.decode().splitlines()]
        chosen = rng.permutation(reports)[:REPORTS].tolist()
        for name in chosen:
            form = FORMATS[int(rng.integers(len(FORMATS)))]
            system = names[int(rng.integers(len(names)))] if names else "LAB"
            options = [[], ["--by", "1h"], ["--top", "2"], ["--tz", "Europe/Berlin"]]
            extra = options[int(rng.integers(len(options)))]
            about = [f"--system={system}", "--format", form, *extra]
            yield [reduce, ["report", name, "--store", "STORE", *about]]
        system = names[int(rng.integers(len(names)))] if names else "LAB"
        page = ["report", "--html", "--store", "STORE", f"--system={system}", "-o", "PAGES"]
        yield [reduce, page]
        yield [reduce, ["exceptions", "--store", "STORE", "--format", "json"]]
        yield [reduce, ["validate", "--store", "STORE", "--format", "json"]]

    def _apply(self, steps: list[list[str]], store: Path) -> None:
        places = {"STORE": str(store), "PAGES": str(store.parent / "pages")}
        for step in steps:
            allowed = {"validate": {0, 3, 4}, "report": {0, 2, 3}}.get(step[0], STORE)
            given = [places.get(word, word) for word in step]
            answered = self._call(allowed, *given)
            if step[-1] == "json" and not answered.refused:
                body(answered)

    def _culprits(self, numbers: Sequence[int], steps: list[list[str]]) -> list[int]:
        """Few of the dumps that show the same fault alone."""
        shown = list(numbers)
        while len(shown) > 1:
            half = len(shown) // 2
            some = next((s for s in (shown[:half], shown[half:]) if self._fails(s, steps)), None)
            if some is None:
                break
            shown = some
        return shown

    def _fails(self, numbers: Sequence[int], steps: list[list[str]]) -> bool:
        with self._store() as store:
            for number in numbers:
                try:
                    self._dump(number, store)
                except Wrong:
                    continue
            try:
                self._apply(steps, store)
            except Wrong:
                return True
        return False

    def _call(self, allowed: set[int], *arguments: object) -> Answer:
        name = str(arguments[0]) + (" --html" if "--html" in arguments else "")
        self.counts[f"command {name}"] += 1
        return answer(*arguments, allowed=allowed)


def _dumps(store: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(store.glob("records/*/*/dump=*/*/dump.json")):
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        yield document


def save(fuzzer: Fuzzer, seed: int, numbers: list[int], wrong: str, folder: Path) -> None:
    """Save the dumps that show a fault, and their recipes."""
    lines = [wrong, ""]
    for number in numbers:
        bent = fuzzer.bent(number)
        (folder / f"commands-{seed}-{number}.mon").write_bytes(bent.data.tobytes())
        lines += [f"seed {seed}, number {number}, from {bent.seed.name}", *bent.said, ""]
    file = folder / f"commands-{seed}-{numbers[0]}.txt"
    with file.open("a", encoding="utf-8") as text:
        text.write("\n".join(lines) + "\n")
    print(f"{file}: {wrong.strip()[:400]}", flush=True)


def main(arguments: list[str]) -> int:
    """Run it as the arguments say; 1 if a dump showed a fault."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz_commands", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="dumps to change")
    parser.add_argument("--batch", type=int, default=BATCH, help="dumps that land in one store")
    parser.add_argument(
        "--results-every",
        type=int,
        default=RESULTS_EVERY,
        help="every how many batches are reduced and reported",
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other dumps")
    parser.add_argument("--first", type=int, default=0, help="number of the first dump")
    parser.add_argument("--only", type=int, help="number of a single dump")
    parser.add_argument("-o", type=Path, default=Path("build/fuzz"), help="where faults are saved")
    given = parser.parse_args(arguments)
    given.o.mkdir(parents=True, exist_ok=True)
    first, count = (given.only, 1) if given.only is not None else (given.first, given.count)
    faults, began = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(given.seed, Path(folder))
        for start in range(first, first + count, given.batch):
            numbers = range(start, min(start + given.batch, first + count))
            results = (start - first) // given.batch % given.results_every == 0
            for culprits, wrong in fuzzer.run(numbers, results=results):
                faults += 1
                save(fuzzer, given.seed, culprits, wrong, given.o)
            done, seconds = numbers.stop - first, time.monotonic() - began
            print(f"{done:,} dumps in {seconds:,.0f} s, {faults} faults", flush=True)
    for name, ran in sorted(fuzzer.counts.items()):
        print(f"{name}: {ran:,}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
