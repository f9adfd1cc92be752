"""`cpmon generate` and `cpmon damage`: dumps of a scenario, and damaged copies of dumps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import completion
from ..options import Parsed, choice_option, dump_argument, listing_option
from ..output import TARGET_FOLDER, FileOrName, bar, check_target, parents_option, say, written_to
from .dump_output import dump_input, dump_output, output_option

if TYPE_CHECKING:
    from ...generate import Damage
    from ...ingest.container.source import Source


def _pace(text: str) -> float:
    """How many times as fast as real time."""
    pace = float(text.removesuffix("x"))
    if not 0 < pace < 1e9:
        raise ValueError(text)
    return pace


PACE = Parsed("pace", "60x", "N", _pace)


@click.command("generate")
@click.argument("scenario", type=FileOrName(), shell_complete=completion.scenarios)
@click.option(
    "-o",
    "--output",
    type=TARGET_FOLDER,
    default=Path(),
    metavar="DIR",
    help="Folder of the files; - writes the dump of one run to standard output.",
)
@parents_option
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="RUN",
    help="Only this run; may be repeated.",
    shell_complete=completion.runs_of_scenario,
)
@click.option("--intervals", type=click.IntRange(1), help="Intervals instead of the scenario's.")
@click.option("--seed", type=int, help="Seed instead of the scenario's.")
@click.option(
    "--compress",
    type=click.Choice(["none", "gzip", "zstd"]),
    help="Compression of the dump; without it what the scenario says, usually none.",
)
@choice_option(
    "--container",
    values=("monwrite", "monreader"),
    help="A MONWRITE file, or what /dev/monreader of Linux delivers of the same data.",
)
@click.option(
    "--damage",
    "damages",
    multiple=True,
    metavar="KIND[:PLACE[:COUNT]]",
    help="Damage the dump; may be repeated. `cpmon damage --list` explains the kinds.",
)
@click.option(
    "--pace",
    type=PACE,
    help="With -o -: write each interval when it ends, by a clock that runs so fast.",
)
@click.option(
    "--truth",
    is_flag=True,
    help="Write what really happened beside it, as Parquet files in RUN.truth/.",
)
def generate_command(
    scenario: str,
    output: Path,
    runs: tuple[str, ...],
    intervals: int | None,
    seed: int | None,
    compress: str | None,
    container: str,
    damages: tuple[str, ...],
    pace: float | None,
    truth: bool,
) -> None:
    """Write the dumps of SCENARIO, each with its run file and companion files.

    SCENARIO is a shipped one (timer, large-storage, cp-regression, linux-dasd-mdc, pfault,
    linux-guests, small-lab, bank-day, zvm73-smt, bad-day) or a TOML file; the same seed writes the
    same bytes.

    \b
    Examples:
      cpmon generate small-lab -o dumps/
      cpmon generate timer --run 2600NP -o dumps/
      cpmon generate timer --run 2600P --damage zero-frames:50%:16 --damage end-missing
      cpmon generate small-lab --run LAB --pace 60x -o - | cpmon follow - --store perf/
    """
    from ...generate import load_scenario, parse_damage, stream_run, write_run

    damage = [parse_damage(text) for text in damages]
    plan = load_scenario(scenario)
    if str(output) == "-":
        if compress or truth:
            raise click.UsageError("-o - writes a dump alone: leave out --compress and --truth")
        chosen = runs or tuple(run.run_id for run in plan.runs)
        if len(chosen) != 1:
            names = ", ".join(chosen)
            raise click.UsageError(f"-o - writes one run: name it with --run, one of {names}")
        stream = stream_run(
            plan,
            chosen[0],
            intervals=intervals,
            seed=seed,
            container=container,  # type: ignore[arg-type] # click checked it
            damage=damage,
            pace=pace,
        )
        with dump_output(output) as sink:
            for chunk in stream:
                sink.write(chunk)
                sys.stdout.flush()
        return
    if pace:
        raise click.UsageError("--pace writes to standard output: add -o -")
    runs = runs or tuple(run.run_id for run in plan.runs)
    check_target(output)
    for file in output.iterdir() if output.is_dir() else ():
        if file.name.startswith(tuple(f"{run}." for run in runs)):
            check_target(file)
    for run in runs:
        with written_to(output), bar(f"generating {run}") as advance:
            written = write_run(
                plan,
                run,
                output,
                intervals=intervals,
                seed=seed,
                compression=compress,  # type: ignore[arg-type] # click checked it
                container=container,  # type: ignore[arg-type] # click checked it
                damage=damage,
                truth=truth,
                progress=advance,
            )
        say(f"{written.dump}: {written.bytes:,} bytes")


def _kinds() -> Iterator[str]:
    from ...generate.damage.kinds import KINDS

    for kind in KINDS.values():
        place = ":PLACE" if kind.placed else ":" if kind.count is not None else ""
        count = ":COUNT" if kind.count is not None else ""
        usual = f" COUNT: {kind.counts}, {kind.count} by default." if count else ""
        yield f"{kind.name + place + count:<32} {kind.meaning}{usual}"


@click.command("damage")
@listing_option("Name the kinds of damage.", _kinds)
@dump_argument
@click.argument("kinds", nargs=-1, required=True, metavar="KIND[:PLACE[:COUNT]]...")
@output_option
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Picks places and bits not named."
)
def damage_command(dump: Path, kinds: tuple[str, ...], output: Path, seed: int) -> None:
    """Write a copy of DUMP, any input that can be ingested, with damage of each KIND.

    To see what a batch, a store or a report makes of broken dumps before one arrives. Several
    kinds are done one after the other, each to what the one before left. --list explains them.

    PLACE is a byte of the decompressed dump (5000, 0x1388), bytes before its end (-100), or a
    share of it (50%); the frame, record or control record there or behind is damaged. Without it
    the seed picks a place in the first half. COUNT says how much.

    \b
    Examples:
      cpmon damage day.mon.gz truncate:50% -o cut.mon
      cpmon damage day.mon zero-frames:0x100000:16 control-missing:70% -o holes.mon.gz
      cpmon damage day.mon to-ascii line-ends -o text.mon
      cpmon damage day.mon cut-compressed:-1000 -o cut.mon.gz
    """
    from ...generate import damaged, parse_damage
    from ...generate.damage.requests import check_compressed, cut_file

    damage = [parse_damage(kind) for kind in kinds]
    check_compressed(damage, compressed=output.suffix in {".gz", ".zst"})
    with (
        dump_input(dump, "auto", "damaging") as (source, progress),
        dump_output(output, lambda file: cut_file(file, damage, seed)) as sink,
    ):
        for piece in damaged(_pieces(source), damage, seed, _size(dump, damage)):
            sink.write(piece)
            progress(source)


def _pieces(source: Source) -> Iterator[bytes]:
    room = memoryview(bytearray(4 * 1024 * 1024))
    while not source.ended and (size := source.readinto(room)):
        yield bytes(room[:size])


def _size(dump: Path, damage: list[Damage]) -> int | None:
    """Size of the decompressed dump, if some damage needs it; compressed dumps are read for it."""
    from ...ingest.container.source import open_source

    if not any(kind.needs_size for kind in damage) or not dump.is_file():
        return None
    with open_source(dump) as source:
        if source.compression == "none":
            return source.stored_size
        return sum(map(len, _pieces(source)))
