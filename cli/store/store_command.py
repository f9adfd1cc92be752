"""`cpmon store`: contents and maintenance of a store."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path

import click

from ...core.text import counted
from ..main import Status, report_failure
from ..options import DAY, folder_option, output_options, pairs, store_option
from ..output import TARGET_FILE, Output, check_target, parents_option, say, written_to
from ..site_settings import settings, site_store, store_at, warn_of_exposure
from .export_command import export


@click.group("store")
def command() -> None:
    """See what a store holds, keep it small, check it, and open it to other programs.

    \b
    Examples:
      cpmon store info --store perf/
      cpmon store prune --store perf/ --keep interval=30d,hour=5y --dry-run
    """


@command.command("info", short_help="Sizes, and which days are kept at which level.")
@store_option
@output_options
def info(store: Path, out: Output) -> None:
    """Sizes of the dumps and results of a store, and the days that they cover.

    \b
    Example:
      cpmon store info --store perf/
    """
    from ...reduce.reductions.reductions import reductions
    from ...store.results.usage import usage

    rows = usage(store_at(store), reductions())
    if exposed := warn_of_exposure(store):
        rows.append({**dict.fromkeys(rows[0]), "what": "access", "system": "", "note": exposed})
    out.write_rows(rows)


@command.command("check", short_help="Find what is damaged or missing.")
@store_option
@output_options
def check(store: Path, out: Output) -> Status:
    """List what is damaged or missing of the files of a store, and what to do about it.

    It looks at the names, begins and ends of files; cpmon validate looks at values. Dumps that no
    part of the manifest names any more are listed as well.

    \b
    Example:
      cpmon store check --store perf/
    """
    from ...store.check import check as run

    problems = [*run(store_at(store))]
    if not problems:
        say(f"{store}: all its files are there and can be read")
        return Status.DONE
    out.write_rows([asdict(problem) for problem in problems])
    return Status.WARNINGS


@command.command("drop", short_help="Take a dump or a result out.")
@store_option
@click.argument("names", nargs=-1, required=True, metavar="DUMP...")
def drop(store: Path, names: tuple[str, ...]) -> None:
    """Take dumps out of a store, so that they can be ingested again or are in no answer any more.

    DUMP is the beginning of its identity, as cpmon ingest and store check print it; or a file or
    folder of results, as store check prints it, which cpmon reduce then computes again. Readers
    that have begun before have the files for another day.

    \b
    Examples:
      cpmon store drop 3f1c9a2b --store perf/
      cpmon store drop reduced/users_by_time --store perf/
    """
    from ...store.check import drop as run

    place = store_at(store)
    place.clean()
    for text in run(place, names):
        say(text)


@command.command("rebuild", short_help="Make the manifest again.")
@store_option
def rebuild(store: Path) -> None:
    """Make the manifest of a store again, from what is readable of it and the files beside dumps.

    Dumps that are whole and that nothing names are in the store again. No data is touched.

    \b
    Example:
      cpmon store rebuild --store perf/
    """
    from ...store.check import rebuild as run

    place = store_at(store)
    place.clean()
    dumps, results = run(place)
    for dump in dumps:
        say(f"dump {dump[:12]} is named again")
    if results:
        say(f"{counted(results, 'file')} of results named again")
    say(f"{place.files.location}: manifest of {counted(len(place.dumps()), 'dump')} made again")


@command.command("catalogue", short_help="Write a DuckDB file for other programs.")
@folder_option("a catalogue for other programs")
@click.option(
    "-o",
    "--output",
    required=True,
    type=TARGET_FILE,
    metavar="FILE",
    help="The file, such as perf.duckdb.",
)
@parents_option
def catalogue(store: Path, output: Path) -> None:
    """Write a DuckDB file with every view of a store, for other programs that read DuckDB.

    It holds views over the files of the store as they are now, with their comments, and the macros
    that these need; no data. Write it again after dumps have landed or cpmon reduce has run.

    \b
    Example:
      cpmon store catalogue --store perf/ -o perf.duckdb
    """
    from ...reduce.reductions.reductions import reductions
    from ...store.connection import write_catalogue

    check_target(output)
    with written_to(output):
        output.parent.mkdir(parents=True, exist_ok=True)
    views = write_catalogue(store_at(store), reductions(), output)
    say(f"{output}: {counted(views, 'view')}")


@command.command("compact", short_help="Merge the results and dumps of months that are over.")
@store_option
def compact(store: Path) -> Status:
    """Merge the kept results and the landed dumps of months that are over.

    Of a reduction and level, and of a table of a system's dumps, one file is left of each month,
    not 30. A dump that lands late is merged by the next time. `cpmon reduce` merges results too,
    when it has computed what is missing.

    What was merged stays for a day, for readers that have begun before, so that the dumps of these
    months need twice their room meanwhile. The next change of the month removes it, and so do this
    command and cpmon store prune, which also remove what killed processes left.

    \b
    Example:
      cpmon store compact --store perf/
    """
    from ...reduce.reductions.reductions import reductions
    from ...store.check import collect_garbage
    from ...store.format.compaction import compact as merge_dumps
    from ...store.format.compaction import months, size
    from ...store.results.lineage import lineages
    from ...store.results.merging import merge
    from ..output import bar

    place, views = store_at(store), reductions()
    place.clean()
    collect_garbage(place)
    merged, due = merge(place, lineages(views), site_store(store).limits), months(place)
    with bar(f"merging dumps of {store}", sum(size(place, month) for month in due)) as advance:
        done = merge_dumps(place, due, advance)
    dumps = f"{counted(done.dumps, 'dump')} of {counted(done.months, 'month')}"
    say(f"{store}: {counted(merged, 'file')} of results merged, {dumps}")
    failed = [report_failure(month, error) for month, error in done.failures.items()]
    return max(failed, default=Status.DONE)


@command.command("prune", short_help="Remove what is older than need be.")
@store_option
@click.option(
    "--keep",
    metavar="LEVEL=LENGTH,...",
    help="How long results of interval, hour are kept: 30d, 8w, 5y, forever.",
)
@click.option("--raw", metavar="LENGTH", help="How long samples are kept; without it: forever.")
@click.option("--as-of", type=DAY, help="Count ages from this day instead of today.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
def prune(
    store: Path, keep: str | None, raw: str | None, as_of: date | None, dry_run: bool
) -> None:
    """Remove results, and with --raw samples, that are older than said here or in the settings.

    Results of a level go only where the next coarser level is there, those of hours only where the
    samples are gone or go too, samples only where everything was reduced and no run is measured on
    them. A report of such a time reads the finest level that is left, and prints a note. A dump
    whose samples are gone stays known, with its configuration.

    \b
    Examples:
      cpmon store prune --store perf/ --keep interval=30d,hour=5y --dry-run
      cpmon store prune --store perf/ --keep interval=30d --raw 90d
    """
    from ...reduce.reductions.reductions import reductions
    from ...store.check import collect_garbage
    from ...store.results.retention import plan, retention
    from ...store.results.retention import prune as remove

    site = settings()
    levels = filter(None, (keep or "").replace(" ", "").split(","))
    given = pairs("--keep", levels, "interval=30d,hour=5y") | ({"raw": raw} if raw else {})
    lengths = {**site.retention, **given}
    place_of_store, today = store_at(store), as_of or datetime.now(UTC).date()
    if not lengths:
        raise click.UsageError(
            "say how long what is kept: --keep, --raw or [retention] in settings"
        )

    def place(key: str) -> str:
        level = key.rpartition(".")[2]
        return site.place(key) if level not in given else "--raw" if level == "raw" else "--keep"

    if not dry_run:
        place_of_store.clean()
        collect_garbage(place_of_store)
    obsolete = plan(place_of_store, reductions(), retention(lengths, place), today)
    size = obsolete.bytes(place_of_store)
    for level, pieces in obsolete.results.items():
        say(f"results of level {level}: {counted(len(pieces), 'file')}")
    for folder, files in obsolete.samples.items():
        say(f"samples of {obsolete.names[folder]}: {counted(len(files), 'table')}")
    for dump, reason in obsolete.stays.items():
        say(f"dump {dump} stays: {reason}", err=True)
    if obsolete.recomputable:
        say(
            f"results of level hour: {counted(len(obsolete.recomputable), 'file')} kept: samples"
            " stay, and cpmon reduce would compute them again; --raw limits samples",
            err=True,
        )
    if not dry_run:
        remove(place_of_store, obsolete)
    verb = "would be removed" if dry_run else "removed"
    say(f"{counted(len(obsolete.files), 'file')} {verb}, {counted(size, 'byte')}")


command.add_command(export)
