"""`cpmon list`: the contents of a dump."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...core.text import counted
from ..main import Status, status_of
from ..options import choice_option, dump_arguments, output_options
from ..output import Output
from .dump_output import container_option, dump_input, write_dumps

if TYPE_CHECKING:
    from ...ingest.inspect.inventory import Inventory


@click.command("list")
@dump_arguments
@container_option
@choice_option("--sort", values=("bytes", "records", "type"), help="Order of the record types.")
@output_options
def command(dumps: tuple[Path, ...], container: str, sort: str, out: Output) -> Status:
    """What is inside each DUMP: system, span, intervals, gaps, records by type, bytes.

    Nothing is landed. `share` is of the whole dump. A layout is `unknown` where cpmon cannot decode
    the record, though it may know its name. Findings are those of frames, record headers and time
    stamps; `cpmon check` reads the values as well. The exit status follows the worst one. With
    --format json the summary comes along; csv, jsonl and parquet hold the record types only.

    \b
    Examples:
      cpmon list quiet-hour.mon.gz
      cpmon list *.mon --sort type --format json
    """
    from ...ingest.inspect.inventory import take_inventory
    from ...render.render import render

    inventories = []
    for dump in dumps:
        with dump_input(dump, container, "reading") as (source, progress):
            inventories.append(take_inventory(source, progress))
    write_dumps(
        out,
        lambda: [_document(i, sort) for i in inventories],
        lambda: (_summary(i).encode() + render(i.table(sort), out.format) for i in inventories),
        lambda: ((i.name, i.table(sort)) for i in inventories),
    )
    return max(status_of(i.findings.worst) for i in inventories)


def _document(inventory: Inventory, sort: str) -> dict[str, Any]:
    zone = inventory.configuration.zone_s
    return {
        "schema_version": 1,
        "dump": inventory.name,
        "system": inventory.configuration.system or None,
        "release": inventory.configuration.release or None,
        "bytes": inventory.size,
        "first": _iso(inventory.first_us),
        "last": _iso(inventory.last_us),
        "zone_s": zone,
        "first_local": _iso(inventory.first_us, zone),
        "last_local": _iso(inventory.last_us, zone),
        "ipl": _iso(inventory.ipl_us),
        "starts": len(inventory.starts),
        "resets": [{"at": _iso(s.at_us), "ipl": _iso(s.ipl_us)} for s in inventory.resets],
        "intervals": len(inventory.ends_us),
        "interval_s": inventory.interval_s,
        "gaps": len(inventory.gaps),
        "gap_spans": [[_iso(before), _iso(behind)] for before, behind in inventory.gaps],
        "findings": {code.name: count for code, count in inventory.findings.counts.items()},
        "values_checked": False,
        "records": inventory.table(sort).to_pylist(),
    }


def _summary(inventory: Inventory) -> str:
    document = _document(inventory, "bytes")
    interval = f" of {document['interval_s']:g} s" if document["interval_s"] else ""
    span = f"{document['first']} to {document['last']} UTC" if document["first"] else "none"
    findings = ", ".join(f"{n} x {c:,}" for n, c in document["findings"].items()) or "none"
    lines = [
        f"{inventory.name}: system {document['system'] or 'not named'}, {inventory.size:,} bytes",
        f"  release    {_release(document)}",
        f"  span       {span}",
    ]
    if document["first_local"] and document["zone_s"]:
        local = f"{document['first_local']} to {document['last_local']}"
        lines.append(f"             {local} {_zone(document['zone_s'])}")
    gaps = counted(len(document["gap_spans"]), "gap")
    lines += [
        f"  intervals  {document['intervals']}{interval}, {gaps}",
        f"  findings   {findings} in frames, headers and times; cpmon check reads the values too",
    ]
    return "\n".join(lines) + "\n\n"


def _release(document: dict[str, Any]) -> str:
    """The release of CP, its IPL time, and the number of IPLs within the dump."""
    release = f"z/VM {document['release']}" if document["release"] else "not named"
    if document["ipl"] is None:
        return release
    again = ", ".join(reset["at"] for reset in document["resets"])
    resets = counted(len(document["resets"]), "reset") + (f" before {again}" if again else "")
    return f"{release}, loaded {document['ipl']} UTC, {resets}"


def _zone(seconds: int) -> str:
    """Formats an offset from UTC: UTC+01:00."""
    minutes = abs(seconds) // 60
    return f"UTC{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _iso(us: int | None, zone_s: int | None = 0) -> str | None:
    """Formats a time to the millisecond, in local time if the zone is known."""
    if us is None or zone_s is None:
        return None
    from ...ingest.codec import moment

    local = moment(us + zone_s * 1_000_000).replace(tzinfo=None)
    return local.isoformat(sep=" ", timespec="milliseconds")
