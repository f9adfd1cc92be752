"""`cpmon demo`: the published measurements, from generated dumps to tables and pages."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...core.text import counted, megabytes
from ..options import ANY_PATH
from ..output import TARGET_FOLDER, bar, check_target, write_file, written_to

if TYPE_CHECKING:
    from ...api.site_store import SiteStore
    from ...store import Store

SCENARIOS = ("timer", "large-storage", "cp-regression", "linux-dasd-mdc", "pfault")
REPORT = ("SYSTEM_SUMMARY2_BY_TIME", "2600NP")
FORMS = {"text": "txt", "csv": "csv", "markdown": "md", "html": "html"}


@click.command("demo")
@click.option(
    "--store",
    type=ANY_PATH,
    metavar="DIR|URL",
    help="Folder of the landed dumps: one of its own, store in that of -o, unless named here.",
)
@click.option(
    "-o",
    "--output",
    type=TARGET_FOLDER,
    default=Path("cpmon-demo"),
    show_default=True,
    metavar="DIR",
    help="Folder for the dumps, the tables and the pages.",
)
def command(store: Path | None, output: Path) -> None:
    """Replay the published measurements: generate their dumps, land them, print their tables.

    Run again, it generates the same bytes and lands nothing twice. Only --store itself makes it
    land in another store; CPMON_STORE and settings do not.

    \b
    Example:
      cpmon demo -o demo
    """
    from ...api.site_store import SiteStore
    from ...config import Settings
    from ...reduce.engine.reducing import reduce

    check_target(output)
    store = store or output / "store"
    site = SiteStore(store, Settings(), create=True)
    site.use()
    started = time.perf_counter()
    for scenario in SCENARIOS:
        _land(scenario, output / "dumps", site.store)
    for reduced in reduce(site.store, (), site.settings):  # once for all tables
        click.echo(f"reduced    {reduced}", err=True)
    written = _tables(site, output)
    click.echo(f"\nWritten in {time.perf_counter() - started:.0f} s:")
    for file in written:
        click.echo(f"  {file}")
    program = "cpmon" if shutil.which("cpmon") else sys.argv[0]
    click.echo(f"Ask on:\n  {program} query busiest_users --store {store}")


def _land(scenario: str, folder: Path, store: Store) -> None:
    from ...generate import load_scenario, write_run
    from ...ingest import ingest

    plan = load_scenario(scenario)
    for run in (r.run_id for r in plan.runs):
        began = time.perf_counter()
        with written_to(folder), bar(f"generating {run}") as advance:
            dump = write_run(plan, run, folder, progress=advance)
        generated = time.perf_counter()
        with bar(f"ingesting {run}", dump.bytes) as advance:
            landed = ingest(dump.dump, store, progress=lambda source: advance(source.stored_read))
        intervals = counted(landed.about["intervals"], "interval")
        state = "landed before" if landed.already else intervals
        spent = f"{generated - began:.1f} s + {time.perf_counter() - generated:.1f} s"
        click.echo(f"{run:<10} {megabytes(dump.bytes):>9}  {state:<13}  {spent}", err=True)


def _tables(site: SiteStore, output: Path) -> list[Path]:
    """Print every table; write it, a report and a page in all formats."""
    from ...reduce.compare import compare, render_comparison, spec_names
    from ...reduce.page.drawing import runs_figure
    from ...reduce.page.page import write_pages
    from ...reduce.reports.report import report
    from ...reduce.reports.report_text import render_report

    written = []
    with site.connect() as connection:
        for name in spec_names():
            table = compare(connection, name)
            click.echo(render_comparison(table, "text"))
            figure = runs_figure(connection, table.run_ids)
            for form, suffix in FORMS.items():
                written.append(output / f"{name}.{suffix}")
                write_file(written[-1], render_comparison(table, form, figure))
        name, run = REPORT
        written.append(output / f"{name.lower()}.txt")
        write_file(written[-1], render_report(report(connection, name, run=run), "text"))
        written += write_pages(connection, output / "pages", write_file, run=run)
    return written
