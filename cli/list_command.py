"""`cpmon list`: what is inside a dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .dump_output import container_option
from .main import Status, status_of
from .options import dump_arguments, output_options
from .output import deliver
from .progress import bar

if TYPE_CHECKING:
    from ..ingest.inventory import Inventory


@click.command("list")
@dump_arguments
@container_option
@output_options
def command(dumps: tuple[Path, ...], container: str, form: str, output: Path | None) -> Status:
    """What is inside each DUMP: system, span, intervals, gaps, records by type, bytes.

    Nothing is landed. With --format json the summary comes along; csv, jsonl and parquet hold the
    record types only.

    \b
    Example:
      cpmon list quiet-hour.mon.gz
    """
    import pyarrow as pa

    from ..reduce.render import render

    found = [_take(dump, container) for dump in dumps]
    if form == "json":
        data = (json.dumps([_document(i) for i in found], indent=1) + "\n").encode()
    elif form in ("table", "text", "markdown"):
        parts = [_summary(i).encode() + render(i.table(), _plain(form)) for i in found]
        data = b"\n".join(parts)
    else:
        tables = [i.table().add_column(0, "dump", [[i.name] * len(i.records)]) for i in found]
        data = render(pa.concat_tables(tables), form)
    deliver(data, output, form)
    return max(status_of(i.findings.worst) for i in found)


def _plain(form: str) -> str:
    return "table" if form == "text" else form


def _take(dump: Path, container: str) -> Inventory:
    from ..ingest.inventory import take_inventory
    from ..ingest.sources import open_source

    with (
        open_source(dump, container) as source,
        bar(f"reading {dump.name}", source.stored_size),
    ):
        return take_inventory(source)


def _document(found: Inventory) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "dump": found.name,
        "system": found.configuration.system or None,
        "bytes": found.size,
        "first": _iso(found.first_us),
        "last": _iso(found.last_us),
        "intervals": len(found.ends_us),
        "interval_s": found.interval_s,
        "gaps": found.gaps,
        "findings": {code.name: count for code, count in found.findings.counts.items()},
        "records": found.table().to_pylist(),
    }


def _summary(found: Inventory) -> str:
    said = _document(found)
    interval = f" of {said['interval_s']:g} s" if said["interval_s"] else ""
    span = f"{said['first']} to {said['last']} UTC" if said["first"] else "none"
    findings = ", ".join(f"{n} x {c:,}" for n, c in said["findings"].items()) or "none"
    return (
        f"{found.name}: system {said['system'] or 'not named'}, {found.size:,} bytes\n"
        f"  span       {span}\n"
        f"  intervals  {said['intervals']}{interval}, {said['gaps']} gaps\n"
        f"  findings   {findings}\n\n"
    )


def _iso(us: int | None) -> str | None:
    if us is None:
        return None
    from ..ingest.codec import moment

    return moment(us).replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")
