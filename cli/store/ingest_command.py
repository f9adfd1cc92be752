"""`cpmon ingest`: dumps into a store."""

from __future__ import annotations

import glob
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...core.errors import CpmonError
from ...core.text import counted, megabytes
from ..dump.dump_output import container_option
from ..main import Status, report_failure, status_of, worse, worst_status
from ..options import Name, dump_arguments, engine_options, release_option, store_option
from ..output import bar, say
from ..site_settings import settings, store_at

if TYPE_CHECKING:
    from ...ingest import Landed
    from ...jobs import Engine, Outcome
    from ...store import Store


@click.command("ingest")
@dump_arguments
@store_option
@click.option(
    "--system", type=Name(), metavar="NAME", help="Name of the system, instead of the dump's own."
)
@click.option("--run-id", type=Name(), metavar="RUN", help="Make the dump a run of this name.")
@release_option
@container_option
@click.option(
    "--accept-damage",
    is_flag=True,
    help="Land what is good of a dump of which more than half cannot be understood.",
)
@engine_options("lands a dump, in up to 500 MB of memory")
def command(
    dumps: tuple[Path, ...],
    store: Path,
    system: str | None,
    run_id: str | None,
    release: str,
    container: str,
    accept_damage: bool,
    engine: Engine | None,
) -> Status:
    """Land each DUMP: a MONWRITE file or a capture of /dev/monreader, plain or compressed.

    - is standard input. Of a folder all files below it land that are named as dumps are (*.mon,
    *.monwrite, also with .gz or .zst); a pattern that the shell left as it is, as 'perf/**/*.mon',
    stands for the files that it matches.

    A run file (X.run.toml beside X.mon) is picked up. The same bytes land once, whatever the file
    is called. A dump that cannot be read does not stop the others.

    \b
    Examples:
      cpmon ingest quiet-hour.mon --store perf/
      cpmon ingest march/*.mon.gz --store perf/ --jobs 4
      cpmon ingest /data/monwrite/ --store perf/
      ssh vm cat monitor.gz | cpmon ingest - --store perf/ --system VMPROD
    """
    dumps = tuple(file for dump in dumps for file in _files_of(dump))
    if run_id and len(dumps) > 1:
        raise click.UsageError("--run-id names one run; give one dump with it")
    if engine and Path("-") in dumps:
        raise click.UsageError("standard input (-) lands alone: leave out --jobs and --engine")
    # Spark executors have other working directories.
    place = store_at(store, create=True)
    options = {
        "container": container,
        "system": system,
        "run_id": run_id,
        "release": release,
        "fallback_release": settings().release(system),
        "accept_damage": accept_damage,
    }
    try:
        if engine:
            return _land_by(engine, dumps, place, options)
        return worst_status(dumps, lambda dump: _land(dump, place, **options))
    finally:
        place.discard_unused()


def _files_of(dump: Path) -> Sequence[Path]:
    """The dump itself, the files of a folder, or the matches of a pattern, by name."""
    from ...config.settings import PATTERNS

    try:
        is_folder, is_missing = dump.is_dir(), not dump.exists()
    except PermissionError:  # reading it tells what is not allowed
        return [dump]
    if is_folder:
        patterns = [f"{glob.escape(str(dump))}/**/{pattern}" for pattern in PATTERNS]
    elif any(sign in str(dump) for sign in "*?[") and is_missing:
        patterns = [str(dump)]
    else:
        return [dump]
    # Unlike those of pathlib, patterns may be absolute.
    found = {Path(n) for each in patterns for n in glob.iglob(each, recursive=True)}  # noqa: PTH207
    files = sorted(file for file in found if file.is_file())
    if not files:
        raise CpmonError(
            "there is no dump" + (" in the folder" if is_folder else " of that name"),
            code="dump-missing",
            place=str(dump),
            expected=f"files named {', '.join(PATTERNS)}" if is_folder else "a file",
            effect="nothing landed",
            remedy="name the files themselves: their names may end in anything",
        )
    return files


def _land_by(
    engine: Engine, dumps: tuple[Path, ...], store: Store, options: dict[str, Any]
) -> Status:
    """Land dumps in parallel; they are reported in the given order."""
    from ...ingest.landing import LandingJob, land
    from ...schemas.registry import site_folder

    started, worst, failed = time.perf_counter(), Status.DONE, 0
    jobs = [LandingJob(dump.absolute(), store.location, site_folder(), options) for dump in dumps]
    ended: dict[int, Outcome[tuple[Landed, float]]] = {}
    reported = 0
    with bar("ingesting", units="dumps") as advance:
        for done, (number, outcome) in enumerate(engine.run(land, jobs), 1):
            advance(done, len(jobs))
            ended[number] = outcome
            while reported in ended:
                dump, due = dumps[reported], ended.pop(reported)
                if due.result is None:
                    error = due.error or RuntimeError("nothing came of it")
                    status = report_failure(str(dump), error)
                else:
                    status = _report(dump, *due.result, options["system"])
                failed += status not in (Status.DONE, Status.WARNINGS)
                worst, reported = worse(worst, status), reported + 1
    seconds = time.perf_counter() - started
    lost = f", {failed} failed or damaged" if failed else ""
    say(f"{counted(len(dumps), 'dump')} landed by {engine.place} in {seconds:.1f} s{lost}")
    return worst


def _land(dump: Path, store: Store, **options: Any) -> Status:
    from ...ingest import ingest

    size = None if str(dump) == "-" or not dump.exists() else dump.stat().st_size
    started = time.perf_counter()
    with bar(f"ingesting {dump.name}", size) as advance:
        landed = ingest(dump, store, progress=lambda s: advance(s.stored_read), **options)
    return _report(dump, landed, time.perf_counter() - started, options["system"])


def _report(dump: Path, landed: Landed, seconds: float, system: str | None) -> Status:
    """Print what landed and its findings; returns the exit status."""
    about = landed.about
    size = about["bytes"]["size"]
    if landed.already:
        summary = f"landed before as {landed.dump[:12]}, system {landed.system}; nothing to do"
    else:
        rows = counted(sum(about["rows"].values()), "row")
        speed = f"{megabytes(size)} in {seconds:.1f} s ({size / 1e6 / seconds:,.0f} MB/s)"
        summary = f"landed as {landed.dump[:12]}, system {landed.system}"
        summary += f", {counted(about['intervals'], 'interval')}, {rows}, {speed}"
    say(f"{dump}: {summary}")
    if landed.run:
        say(f"  run {landed.run.run_id}{'' if landed.run_changed else ' (as before)'}")
    for place in about.get("assumed", []):
        named = f"{place['record']}_{place['field']}".upper()
        say(f"  {named} is read at {place['offset']}: assumed by {place['source']}")
    for code, count in sorted(landed.findings.counts.items(), key=lambda item: item[0].name):
        first = landed.findings.first(code)
        say(f"  {code.severity}: {code.name} x {count:,}, first at {first.offset:#x}", err=True)
        details = "".join(f"\n    {detail}" for detail in landed.findings.details(code))
        say(f"    {code.meaning}{details}", err=True)
        say(f"    remedy: {code.remedy}", err=True)
    if landed.not_assumed:
        say(
            f"warning: {', '.join(map(str, landed.not_assumed))} is not read where the run file"
            " says: the dump landed without. Land it in another store to read it.",
            err=True,
        )
        return Status.WARNINGS
    if landed.already and system not in (None, landed.system):
        say(
            f"warning: --system {system} has no effect: the dump landed before under"
            f" {landed.system}. Land it in another store to give it that name.",
            err=True,
        )
        return Status.WARNINGS
    return status_of(landed.findings.worst)
