"""`cpmon doctor`: identifies a dump, and advises what to do, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..main import Status, status_of, worst_status
from ..options import choice_option, dump_arguments, output_option, release_option, usual_format
from ..output import Output
from .dump_output import container_option, dump_input

if TYPE_CHECKING:
    from .dump_check import Diagnosis


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
def command(
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
    from .doctor_facts import facts
    from .doctor_page import page

    documents = []

    def document(dump: Path) -> Status:
        diagnosis = _diagnose(dump, container, release)
        documents.append(facts(diagnosis, names=names))
        status = status_of(diagnosis.checked.findings.worst)
        return Status.DAMAGED if diagnosis.refused else status

    worst = worst_status(dumps, document)
    if out.format == "json":
        out.write_json(documents)
    else:
        out.write(page(documents, out.format))
    return worst


def _diagnose(dump: Path, container: str, release: str) -> Diagnosis:
    from .dump_check import diagnose, stored_hash

    with dump_input(dump, container, "reading") as (source, progress):
        diagnosis = diagnose(source, release, progress)
    diagnosis.sha256 = stored_hash(dump)
    return diagnosis
