"""`cpmon ingest`: dumps into a store."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..dump.dump_output import container_option
from ..main import Status, status_of
from ..options import Name, dump_arguments, release_option, store_option
from ..output import say
from ..progress import bar
from ..site_settings import settings

if TYPE_CHECKING:
    from ...ingest import Landed
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
def command(
    dumps: tuple[Path, ...],
    store: Path,
    system: str | None,
    run_id: str | None,
    release: str,
    container: str,
    accept_damage: bool,
) -> Status:
    """Land each DUMP: a MONWRITE file or a capture of /dev/monreader, plain or compressed.

    - is standard input.

    A run file (X.run.toml beside X.mon) is picked up. The same bytes land once, whatever the file
    is called. A dump that cannot be read does not stop the others.

    \b
    Examples:
      cpmon ingest quiet-hour.mon --store perf/
      ssh vm cat monitor.gz | cpmon ingest - --store perf/ --system VMPROD
    """
    from ...store import Store

    if run_id and len(dumps) > 1:
        raise click.UsageError("--run-id names one run; give one dump with it")
    place, release = Store(store, create=True), release or settings().release(system)
    try:
        return _land_all(
            dumps,
            place,
            container=container,
            system=system,
            run_id=run_id,
            release=release,
            accept_damage=accept_damage,
        )
    finally:
        place.discard_unused()


def _land_all(dumps: tuple[Path, ...], store: Store, **options: Any) -> Status:
    """Land dumps one after the other; one that cannot be read does not stop the others."""
    from ...schemas.errors import CpmonError
    from ..main import report_error

    worst = Status.DONE
    for dump in dumps:
        try:
            status = _land(dump, store, **options)
        except CpmonError as error:
            if len(dumps) == 1:
                raise
            status = report_error(error)
        worst = max(worst, status)
    return worst


def _land(dump: Path, store: Store, **options: Any) -> Status:
    from ...ingest import ingest

    size = None if str(dump) == "-" or not dump.exists() else dump.stat().st_size
    started = time.perf_counter()
    with bar(f"ingesting {dump.name}", size) as advance:
        landed = ingest(
            dump,
            store,
            progress=lambda source: advance(source.stored_read),
            **options,
        )
    _report(dump, landed, time.perf_counter() - started)
    if landed.already and options["system"] not in (None, landed.system):
        say(
            f"warning: --system {options['system']} has no effect: the dump landed before under"
            f" {landed.system}. Land it in another store to give it that name.",
            err=True,
        )
        return Status.WARNINGS
    return status_of(landed.findings.worst)


def _report(dump: Path, landed: Landed, seconds: float) -> None:
    about = landed.about
    size = about["bytes"]["size"]
    if landed.already:
        summary = f"landed before as {landed.dump[:12]}, system {landed.system}; nothing to do"
    else:
        rows = sum(about["rows"].values())
        speed = f"{size / 1e6:,.1f} MB in {seconds:.1f} s ({size / 1e6 / seconds:,.0f} MB/s)"
        summary = (
            f"landed as {landed.dump[:12]}, system {landed.system}, "
            f"{about['intervals']} intervals, {rows:,} rows, {speed}"
        )
    say(f"{dump}: {summary}")
    if landed.run:
        change = "" if landed.run_changed else " (as before)"
        say(f"  run {landed.run.run_id}{change}")
    for code, count in sorted(landed.findings.counts.items(), key=lambda item: item[0].name):
        first = landed.findings.first(code)
        say(f"  {code.severity}: {code.name} x {count:,}, first at {first.offset:#x}", err=True)
        details = "".join(f"\n    {detail}" for detail in landed.findings.details(code))
        say(f"    {code.meaning}{details}", err=True)
        say(f"    remedy: {code.remedy}", err=True)
