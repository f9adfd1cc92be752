"""`python -m bench`: measure, print, and fail when a bar is missed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from . import (
    ageing,
    checking,
    decode,
    encodings,
    generating,
    indexing,
    jobs,
    landing,
    listing,
    memory,
    paging,
    reducing,
    serving,
    spark,
    validating,
    watching,
)
from .dumps import Dumps
from .machine import MEGA, machine
from .result import Section

Measurement = Callable[[Dumps, bool], list[Section]]


def _decode(dumps: Dumps, quick: bool) -> list[Section]:
    sizes = decode.Sizes(5 * MEGA, 2, 3) if quick else decode.Sizes()
    return decode.measure(dumps.of_size((5 if quick else 256) * MEGA), sizes)


def _landing(dumps: Dumps, quick: bool) -> list[Section]:
    return landing.measure(dumps.of_size((5 if quick else 256) * MEGA), 1 if quick else 5)


def _memory(dumps: Dumps, quick: bool) -> list[Section]:
    sizes = (5, 20) if quick else (256, 1000)
    return memory.measure([dumps.of_size(s * MEGA) for s in sizes], 1 if quick else 3)


def _listing(dumps: Dumps, quick: bool) -> list[Section]:
    return listing.measure(dumps.of_size((5 if quick else 1000) * MEGA), 1 if quick else 7)


def _encodings(dumps: Dumps, quick: bool) -> list[Section]:
    dump = dumps.of_size((5 if quick else 256) * MEGA)
    return encodings.measure(landing.decoded_tables(dump), 1 if quick else 3)


def _generating(dumps: Dumps, quick: bool) -> list[Section]:
    lengths = [3, 6] if quick else [240, 1440]
    return generating.measure(dumps.folder, lengths, 1 if quick else 3)


def _reducing(dumps: Dumps, quick: bool) -> list[Section]:
    day = reducing.measure(dumps.folder, 5 if quick else 1440, 1 if quick else 5)
    counts = (1, 2, 3) if quick else (1, 24, 365)
    return [*day, *reducing.measure_days(dumps.folder, counts, 1 if quick else 3)]


def _jobs(dumps: Dumps, quick: bool) -> list[Section]:
    return jobs.measure(dumps.folder, *((3, 2, 1) if quick else (120, 8, 3)))


def _validating(dumps: Dumps, quick: bool) -> list[Section]:
    return validating.measure(dumps.folder, 200_000 if quick else 10_000_000, 1 if quick else 3)


def _checking(dumps: Dumps, quick: bool) -> list[Section]:
    return checking.measure(dumps.folder, *((5, 1) if quick else (240, 3)))


def _ageing(dumps: Dumps, quick: bool) -> list[Section]:
    return ageing.measure(dumps.folder, 120 if quick else ageing.DUMPS, 1 if quick else 5)


def _serving(dumps: Dumps, quick: bool) -> list[Section]:
    return serving.measure(dumps.folder, 5 if quick else 1440)


def _index(dumps: Dumps, quick: bool) -> list[Section]:
    return indexing.measure(dumps.folder, *((3, 1) if quick else (30, 3)))


def _paging(dumps: Dumps, quick: bool) -> list[Section]:
    return paging.measure(dumps.folder, *((5, 1) if quick else (240, 3)))


def _watching(dumps: Dumps, quick: bool) -> list[Section]:
    return watching.measure(dumps.folder, *((4, 2) if quick else (100, 10)))


def _spark(dumps: Dumps, quick: bool) -> list[Section]:
    return spark.measure(dumps.folder, *((2, 5) if quick else (7, spark.DAY)))


MEASUREMENTS: dict[str, Measurement] = {
    "age": _ageing,
    "checking": _checking,
    "decode": _decode,
    "landing": _landing,
    "memory": _memory,
    "listing": _listing,
    "encodings": _encodings,
    "generating": _generating,
    "index": _index,
    "jobs": _jobs,
    "paging": _paging,
    "reducing": _reducing,
    "serving": _serving,
    "spark": _spark,
    "validating": _validating,
    "watching": _watching,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 if a bar is missed. Small dumps say nothing about bars, so `--quick` judges none."""
    options = _parser().parse_args(arguments)
    facts = machine()
    for name, value in facts.items():
        print(f"{name:<10} {value}")
    print("unit       MB are 10**6 bytes; `x is` says how many times as fast as that line x is\n")
    dumps, sections = Dumps(options.folder), []
    try:
        for section in _sections(options.only or list(MEASUREMENTS), dumps, options.quick):
            print(*section.lines(), "", sep="\n", flush=True)
            sections.append(section)
    finally:
        if not options.keep:
            dumps.remove()
    if options.json:
        document = {"machine": facts, "sections": [section.as_dict() for section in sections]}
        options.json.write_text(json.dumps(document, indent=1), encoding="utf-8")
    bars = [bar for section in sections for bar in section.bars]
    missed = [bar.label for bar in bars if not bar.holds]
    print(f"{len(bars) - len(missed)} of {len(bars)} bars hold", *missed, sep="\n  missed: ")
    if options.quick:
        print("(small dumps: the bars are not judged)")
    return 1 if missed and not options.quick else 0


def _sections(names: list[str], dumps: Dumps, quick: bool) -> Iterator[Section]:
    for name in names:
        yield from MEASUREMENTS[name](dumps, quick)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=MEASUREMENTS, help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="small dumps, few rounds, no verdict")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--keep", action="store_true", help="leave the generated dumps in place")
    parser.add_argument("--folder", type=Path, default=Path("build/bench"), metavar="DIR")
    return parser


if __name__ == "__main__":
    sys.exit(main())
