"""`cpmon check`: what is wrong with dumps, without landing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..main import Status, status_of
from ..options import dump_arguments, output_options, release_option
from ..output import Output, rows_as
from .dump_output import container_option, dump_input, write_dumps

if TYPE_CHECKING:
    from ...ingest.landing import Checked


@click.command("check")
@dump_arguments
@container_option
@release_option
@output_options
def command(dumps: tuple[Path, ...], container: str, release: str, out: Output) -> Status:
    """What is wrong with each DUMP, in passes: file, control records, record headers, values.

    Nothing is landed. The exit status follows the worst finding of all dumps: 0 none or info,
    3 warning, 5 data loss. With --format json the byte accounting and the passes come along; csv,
    jsonl and parquet hold the findings only.

    \b
    Examples:
      cpmon check quiet-hour.mon
      cpmon check *.mon.gz --format json -o checked.json
    """
    from .dump_check import check_dump

    checks = []
    for dump in dumps:
        with dump_input(dump, container, "checking") as (source, progress):
            checks.append(check_dump(source, release, progress))
    write_dumps(
        out,
        lambda: [checked.document() for checked in checks],
        lambda: (_report(checked, out.format) for checked in checks),
        lambda: ((checked.name, checked.findings.table()) for checked in checks),
    )
    return max(status_of(checked.findings.worst) for checked in checks)


def _report(checked: Checked, form: str) -> bytes:
    """Where the bytes went, what each pass saw and found, and the findings one by one."""
    from ...ingest.findings import Pass
    from ...ingest.landing import COUNTED

    sizes = checked.bytes
    system = checked.system or "not named"
    parts = ", ".join(
        f"{value:,} {name}" for name, value in sizes.as_dict().items() if name != "size"
    )
    worst = checked.findings.worst or "nothing found"
    head = (
        f"{checked.name}: system {system}, {sizes.size:,} bytes, compression "
        f"{checked.compression}: {worst}\n  {parts}\n\n"
    )
    passes = [
        {
            "pass": str(part),
            "looked at": f"{checked.looked_at[part]:,} {COUNTED[part]}",
            "findings": ", ".join(f"{n} x {c:,}" for n, c in checked.of(part).items()) or "none",
        }
        for part in Pass
    ]
    data = head.encode() + rows_as(passes, form)
    return data + _details(checked).encode()


def _details(checked: Checked) -> str:
    """The first finding of each code, with what to do."""
    lines = []
    for code, count in sorted(checked.findings.counts.items(), key=lambda item: item[0].name):
        first = checked.findings.first(code)
        lines += [
            "",
            f"{code.severity}: {code.name} x {count:,}, first at {first.offset:#x}",
            f"  {code.meaning}",
            *(f"  {detail}" for detail in checked.findings.details(code) if detail),
            *([f"  effect: {first.effect}"] if first.effect else []),
            f"  remedy: {code.remedy}",
        ]
    return "\n".join([*lines, ""]) if lines else ""
