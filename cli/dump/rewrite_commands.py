"""`cpmon slice` and `cpmon merge`: write a part of a dump, or several as one, as a new dump."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...core.text import counted
from ..main import Status, status_of
from ..options import dump_argument, dump_arguments
from ..output import bar, say
from ..spans import day_of_dump, read_span, span_options
from .dump_output import container_option, dump_input, dump_output, output_option

if TYPE_CHECKING:
    from ...ingest.rewrite import Merged, Slice


@click.command("slice")
@dump_argument
@output_option
@span_options("UTC")
@click.option(
    "--domain",
    "domains",
    type=click.IntRange(0, 255),
    multiple=True,
    metavar="N",
    help="Records of this domain; may be repeated.",
)
@click.option(
    "--record",
    "records",
    multiple=True,
    metavar="0.4|SYTRSP",
    help="Records of this kind, beside those of the domains; may be repeated.",
)
@click.option(
    "--thin",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Samples of every N-th interval only.",
)
@container_option
def slice_command(
    dump: Path,
    output: Path,
    since: str | None,
    until: str | None,
    domains: tuple[int, ...],
    records: tuple[str, ...],
    thin: int,
    container: str,
) -> Status:
    """Write a part of DUMP, any input that can be ingested, as a MONWRITE file.

    A sample belongs to the time at which its interval ends, an event to its own, and what is up
    to a second after a bound counts as the bound, as in reports; a time of day
    alone is one of the day on which the dump begins, of a pipe one of today. Configuration up
    to the end of the part is always kept, so that it names its system, and so are the records
    that end its intervals. Counters are compared with the interval before, so the first interval
    of a part has no rates.

    --thin keeps the samples of every N-th interval whole, all events, and all configuration; the
    sample interval that the dump states (1.9) is multiplied by N, so that rates are taken over N
    intervals.

    \b
    Examples:
      cpmon slice day.mon.gz --since 10:00 --until 11:00 -o ten.mon.zst
      cpmon slice day.mon.gz --domain 0 --record USEACT --thin 10 -o thin.mon
    """
    from ...core.grace_period import bounds_of_ends
    from ...ingest.codec import unix_us
    from ...ingest.inspect.record_filter import kind_of
    from ...ingest.rewrite import SliceSelection, slice_dump

    kinds = frozenset(kind_of(record) for record in records)
    span = read_span(since, until, day=lambda: day_of_dump(dump, container))
    first_us, last_us = map(unix_us, bounds_of_ends(span.since, span.until))
    part = SliceSelection(first_us, last_us, frozenset(domains), kinds, thin)
    with dump_input(dump, container, "slicing") as (source, progress), dump_output(output) as sink:
        written = slice_dump(source, sink, part, progress=progress)
    counts = ", ".join((counted(written.intervals, "interval"), counted(written.records, "record")))
    file = "" if str(output) == "-" else f"{output}: "
    say(f"{file}{counts}, {written.size:,} bytes", err=not file)
    return _report_findings(dump, written)


def _report_findings(dump: Path, written: Slice | Merged) -> Status:
    """Print the findings of an input on standard error; returns the exit status."""
    for code, count in sorted(written.findings.counts.items(), key=lambda item: item[0].name):
        say(f"  {dump}: {code.severity}: {code.name} x {count:,}", err=True)
    status = status_of(written.findings.worst)
    if written.damaged:
        damage = f"{written.damaged:,} damaged frames; what could be read of them was kept"
        say(f"  {dump}: {damage}. `cpmon check` says more.", err=True)
        status = max(status, Status.DAMAGED)
    return status


@click.command("merge")
@dump_arguments
@output_option
@container_option
def merge_command(dumps: tuple[Path, ...], output: Path, container: str) -> Status:
    """Write the DUMPs, of one system and in any order, as one MONWRITE file in order of time.

    Configuration that a dump repeats word for word is written once; what `cpmon slice` cut is
    whole again. Dumps that overlap in time are refused.

    \b
    Example:
      cpmon merge monday.mon.gz tuesday.mon.gz -o week.mon.zst
    """
    from ...core.errors import CpmonError
    from ...ingest.rewrite import merge

    if any(str(dump) == "-" or (dump.exists() and not dump.is_file()) for dump in dumps):
        raise CpmonError(
            "merge reads the beginning of every dump first, so none of them can be a pipe",
            code="input-not-seekable",
            remedy="save it to a file",
        )
    with dump_output(output) as sink, bar("merging") as advance:
        parts = merge(
            dumps, sink, container=container, progress=lambda source: advance(source.stored_read)
        )
    worst = Status.DONE
    for part in parts:
        summary = f"{part.path}: {counted(part.records, 'record')}"
        summary += f", {part.repeated:,} repeated" if part.repeated else ""
        if part.left_out:
            left_out = counted(part.left_out, "sample")
            summary += f", {left_out} without the end of the interval left out"
            worst = max(worst, Status.WARNINGS)
        say(summary, err=str(output) == "-")
        worst = max(worst, _report_findings(part.path, part))
    return worst
