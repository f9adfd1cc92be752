"""`cpmon batch`: unattended batches."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..main import Status
from ..options import DAY, choice_option, folder_option, output_option, output_options
from ..output import Output, rows_as, write_file
from ..site_settings import settings, store_at

if TYPE_CHECKING:
    from ...batch import BatchPlan
    from ...batch.result import BatchResult
    from ...config import Settings
    from ...store import Store


@click.group("batch")
def command() -> None:
    """Land what arrives, reduce, look for exceptions, write reports: unattended.

    docs/operations.md leads from nothing to a running timer.

    \b
    Examples:
      cpmon batch run --config /etc/cpmon/cpmon.toml
      cpmon batch status --config /etc/cpmon/cpmon.toml
    """


@command.command("run", short_help="Do now what is to be done.")
@folder_option("batch")
@click.option("--watch", is_flag=True, help="Stay, and pick files up as they are complete.")
@click.option("--as-of", type=DAY, help="Count ages for retention from this day (UTC).")
@click.option("--subject", is_flag=True, help="Put a subject line for mail before the summary.")
@click.option("-q", "--quiet", is_flag=True, help="Log only what is wrong; no summary if all is.")
@choice_option(
    "--log-format",
    values=("text", "json"),
    help="How lines of the log, on standard error, are written.",
)
@choice_option("--format", "form", values=("text", "json"), help="How the summary is printed.")
@output_option
def run(
    store: Path,
    watch: bool,
    as_of: date | None,
    subject: bool,
    quiet: bool,
    log_format: str,
    out: Output,
) -> Status:
    """Land new dumps of the inboxes, reduce, look for exceptions, write what is to be written.

    A file is landed when it is complete: unchanged for a while (settle), or ended by an end-of-data
    record. The same content lands once. Files that are no dumps go into quarantine. What is
    interrupted is taken up again by the next run. Another batch at the same time ends with 75.

    The summary has at most 60 lines of 72 columns. With -q it is left out unless something is
    wrong. The exit status is 3 where somebody should look, 4 where validation failed.

    \b
    Examples:
      cpmon batch run --config /etc/cpmon/cpmon.toml
      cpmon batch run --subject | sendmail perf@example.org
      cpmon batch run --watch --log-format json
    """
    from ...batch import BatchRunner
    from ...batch.log import write_log
    from ...batch.run import stop_signal
    from ...batch.run import watch as run_until
    from ...batch.summary import render_summary

    opened, plan, site = _open(store, create=True)
    write_log(log_format, quiet=quiet)

    def report(result: BatchResult) -> None:
        if quiet and int(result.status) == 0:
            return
        if out.format == "json":
            out.write_json(result.as_dict())
        else:
            out.write(render_summary(result, with_subject=subject).encode())

    with stop_signal() as stop:
        runner = BatchRunner(opened, plan, site, write_file, stop.is_set)
        if watch:
            return Status(int(run_until(runner, stop, report)))
        result = runner.run(as_of)
    report(result)
    return Status(int(result.status))


@command.command("status", short_help="What happened when, what waits, how far systems lag.")
@folder_option("batch")
@click.option(
    "-n", "--last", type=click.IntRange(1), default=10, show_default=True, help="So many runs."
)
@choice_option("--what", values=("all", "runs", "systems", "waiting"), help="Only this part.")
@output_options
def status(store: Path, last: int, what: str, out: Output) -> None:
    """Print the last runs, the lag of each system, and the files that wait or are in quarantine.

    Formats other than table need --what, but json has all in one document.

    \b
    Examples:
      cpmon batch status --config /etc/cpmon/cpmon.toml
      cpmon batch status --what systems --format csv
    """
    from ...batch.summary import batch_status

    opened, plan, _ = _open(store, create=False)
    parts = batch_status(opened, plan, last)
    if what != "all":
        out.write(rows_as(parts[what], out.format) if parts[what] else b"")
    elif out.format == "json":
        out.write_json({"schema_version": 1, **parts})
    elif out.format in ("table", "text"):
        texts = [parts["now"].encode() + b"\n"]
        for title, key in (("systems", "systems"), ("last runs", "runs"), ("files", "waiting")):
            if parts[key]:
                texts += [f"\n{title}\n".encode(), rows_as(parts[key], "table")]
        out.write(b"".join(texts))
    else:
        raise click.UsageError(f"--format {out.format} holds one table: name it with --what")


def _open(root: Path, *, create: bool) -> tuple[Store, BatchPlan, Settings]:
    """The store, the plan and the settings."""
    from ...batch.plan import check_settings, read_plan
    from ...core.errors import CpmonError

    site = settings(root)
    if site.file is None:
        raise CpmonError(
            "there are no settings",
            code="settings-missing",
            expected="a file with [[inbox]]: --config FILE, CPMON_CONFIG, or ./cpmon.toml",
            effect="nothing was done",
            remedy="docs/operations.md has settings to start from",
        )
    plan = (check_settings(site) if create else None) or read_plan(site)
    return store_at(root, create=create), plan, site
