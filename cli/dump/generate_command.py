"""`cpmon generate`: dumps of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from .. import completion
from ..options import choice_option
from ..output import bar, say, written_to
from ..targets import TARGET_FOLDER, FileOrName, check_target


@click.command("generate")
@click.argument("scenario", type=FileOrName(), shell_complete=completion.scenarios)
@click.option("-o", "--output", type=TARGET_FOLDER, default=Path(), metavar="DIR")
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
def command(
    scenario: str,
    output: Path,
    runs: tuple[str, ...],
    intervals: int | None,
    seed: int | None,
    compress: str | None,
    container: str,
    damages: tuple[str, ...],
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
    """
    from ...generate import load_scenario, parse_damage, write_run

    damage = [parse_damage(text) for text in damages]
    plan = load_scenario(scenario)
    runs = runs or tuple(run.run_id for run in plan.runs)
    _check_targets(output, runs)
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
                progress=advance,
            )
        say(f"{written.dump}: {written.bytes:,} bytes")


def _check_targets(folder: Path, runs: Sequence[str]) -> None:
    """Check that no existing files would be lost that have the names of the runs."""
    check_target(folder)
    if folder.is_dir():
        for file in folder.iterdir():
            if file.name.startswith(tuple(f"{run}." for run in runs)):
                check_target(file)
