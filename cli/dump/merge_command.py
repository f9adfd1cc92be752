"""`cpmon merge`: several dumps of one system as one."""

from __future__ import annotations

from pathlib import Path

import click

from ...core.text import counted
from ..main import Status
from ..options import dump_arguments
from ..output import bar, say
from .dump_output import container_option, dump_output, output_option
from .slice_command import report_findings


@click.command("merge")
@dump_arguments
@output_option
@container_option
def command(dumps: tuple[Path, ...], output: Path, container: str) -> Status:
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
            dumps,
            sink,
            container=container,
            progress=lambda source: advance(source.stored_read),
        )
    worst = Status.DONE
    for part in parts:
        summary = f"{part.path}: {counted(part.records, 'record')}"
        summary += f", {part.repeated:,} repeated" if part.repeated else ""
        summary += (
            f", {counted(part.left_out, 'sample')} without the end of the interval left out"
            if part.left_out
            else ""
        )
        say(summary, err=str(output) == "-")
        worst = max(worst, report_findings(part.path, part))
        worst = max(worst, Status.WARNINGS if part.left_out else Status.DONE)
    return worst
