"""`cpmon check` and `cpmon doctor`: what is wrong with a dump, and what to do with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..main import Status, status_of, worst_status
from ..options import (
    choice_option,
    dump_arguments,
    output_option,
    output_options,
    release_option,
    usual_format,
)
from ..output import Output, rows_as
from .dump_output import container_option, dump_input, write_dumps

if TYPE_CHECKING:
    from ...ingest.landing import Checked


@click.command("check")
@dump_arguments
@container_option
@release_option
@output_options
def check_command(dumps: tuple[Path, ...], container: str, release: str, out: Output) -> Status:
    """What is wrong with each DUMP, in passes: file, control records, record headers, values.

    Nothing is landed. The exit status follows the worst finding of all dumps: 0 none or info,
    3 warning, 5 data loss. With --format json the byte accounting and the passes come along; csv,
    jsonl and parquet hold the findings only.

    \b
    Examples:
      cpmon check quiet-hour.mon
      cpmon check *.mon.gz --format json -o checked.json
    """
    from .diagnosis import check_dump

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

    sizes = checked.bytes.as_dict()
    head = (
        f"{checked.name}: system {checked.system or 'not named'}, {sizes.pop('size'):,} bytes, "
        f"compression {checked.compression}: {checked.findings.worst or 'nothing found'}\n"
        f"  {', '.join(f'{count:,} {name}' for name, count in sizes.items())}\n\n"
    )
    passes = [
        {
            "pass": str(part),
            "looked at": f"{checked.looked_at[part]:,} {COUNTED[part]}",
            "findings": ", ".join(f"{n} x {c:,}" for n, c in checked.of(part).items()) or "none",
        }
        for part in Pass
    ]
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
    details = "\n".join([*lines, ""]) if lines else ""
    return head.encode() + rows_as(passes, form) + details.encode()


@click.command("doctor")
@dump_arguments
@container_option
@release_option
@click.option(
    "--names",
    is_flag=True,
    help="Show ids of systems and users, devices and volumes where something quotes them.",
)
@choice_option(
    "--format",
    "form",
    values=("text", "markdown", "json"),
    callback=usual_format,
    help="How to print the page.",
)
@output_option
def doctor_command(
    dumps: tuple[Path, ...],
    container: str,
    release: str,
    names: bool,
    out: Output,
) -> Status:
    """One page on each DUMP, to send to somebody who cannot see it.

    What the file is and how it was wrapped; release, span, findings; which records are known,
    longer than their layouts or unknown; which reports will be right, and what the others will say;
    which of IBM's record pages to bring, and the next commands. Nothing is landed, no store is
    needed. Anything can be given: what is no dump gets a page that says what it looks like.

    The page has no ids of systems or users, no device numbers and no volumes, unless --names asks
    for them; the name of the file is on it. The exit status is that of `cpmon check`.

    \b
    Examples:
      cpmon doctor monitor.mon
      cpmon doctor *.mon.gz -o doctor.md
    """
    from .diagnosis import diagnose, page, stored_hash

    documents: list[dict[str, Any]] = []

    def document(dump: Path) -> Status:
        with dump_input(dump, container, "reading") as (source, progress):
            about = diagnose(source, release, progress, names=names, sha256=stored_hash(dump))
        documents.append(about)
        if "refused" in about:
            return Status.DAMAGED
        return max((status_of(row["severity"]) for row in about["findings"]), default=Status.DONE)

    worst = worst_status(dumps, document)
    if out.format == "json":
        out.write_json(documents)
    else:
        out.write(page(documents, out.format))
    return worst
