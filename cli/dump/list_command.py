"""`cpmon list`: what is inside a dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..main import Status, status_of
from ..options import dump_arguments, output_options
from ..output import deliver
from ..progress import bar
from .dump_output import container_option

if TYPE_CHECKING:
    from ...ingest.inspect.inventory import Inventory


@click.command("list")
@dump_arguments
@container_option
@click.option(
    "--sort",
    type=click.Choice(["bytes", "records", "type"]),
    default="bytes",
    show_default=True,
    help="Order of the record types.",
)
@output_options
def command(
    dumps: tuple[Path, ...], container: str, sort: str, form: str, output: Path | None
) -> Status:
    """What is inside each DUMP: system, span, intervals, gaps, records by type, bytes.

    Nothing is landed. `share` is of the whole dump. A layout is `unknown` where cpmon cannot decode
    the record, though it may know its name. With --format json the summary comes along; csv, jsonl
    and parquet hold the record types only.

    \b
    Examples:
      cpmon list quiet-hour.mon.gz
      cpmon list *.mon --sort type --format json
    """
    import pyarrow as pa

    from ...reduce.render.render import render

    found = [_take(dump, container) for dump in dumps]
    if form == "json":
        data = (json.dumps([_document(i, sort) for i in found], indent=1) + "\n").encode()
    elif form in ("table", "text", "markdown"):
        parts = [_summary(i).encode() + render(i.table(sort), _plain(form)) for i in found]
        data = b"\n".join(parts)
    else:
        tables = [i.table(sort).add_column(0, "dump", [[i.name] * len(i.records)]) for i in found]
        data = render(pa.concat_tables(tables), form)
    deliver(data, output, form)
    return max(status_of(i.findings.worst) for i in found)


def _plain(form: str) -> str:
    return "table" if form == "text" else form


def _take(dump: Path, container: str) -> Inventory:
    from ...ingest.container.source import open_source
    from ...ingest.inspect.inventory import take_inventory

    with (
        open_source(dump, container) as source,
        bar(f"reading {dump.name}", source.stored_size) as advance,
    ):
        return take_inventory(source, lambda read: advance(read.stored_read))


def _document(found: Inventory, sort: str) -> dict[str, Any]:
    zone = found.zone_s
    return {
        "schema_version": 1,
        "dump": found.name,
        "system": found.configuration.system or None,
        "release": found.configuration.release or None,
        "bytes": found.size,
        "first": _iso(found.first_us),
        "last": _iso(found.last_us),
        "zone_s": zone,
        "first_local": _iso(found.first_us, zone),
        "last_local": _iso(found.last_us, zone),
        "ipl": _iso(found.ipl_us),
        "starts": len(found.starts),
        "resets": [{"at": _iso(s.at_us), "ipl": _iso(s.ipl_us)} for s in found.resets],
        "intervals": len(found.ends_us),
        "interval_s": found.interval_s,
        "gaps": len(found.gaps),
        "gap_spans": [[_iso(before), _iso(behind)] for before, behind in found.gaps],
        "findings": {code.name: count for code, count in found.findings.counts.items()},
        "records": found.table(sort).to_pylist(),
    }


def _summary(found: Inventory) -> str:
    said = _document(found, "bytes")
    interval = f" of {said['interval_s']:g} s" if said["interval_s"] else ""
    span = f"{said['first']} to {said['last']} UTC" if said["first"] else "none"
    findings = ", ".join(f"{n} x {c:,}" for n, c in said["findings"].items()) or "none"
    lines = [
        f"{found.name}: system {said['system'] or 'not named'}, {found.size:,} bytes",
        f"  release    {_release(said)}",
        f"  span       {span}",
    ]
    if said["first_local"] and said["zone_s"]:
        lines.append(
            f"             {said['first_local']} to {said['last_local']} {_zone(said['zone_s'])}"
        )
    lines += [
        f"  intervals  {said['intervals']}{interval}, {_counted(said['gap_spans'], 'gap')}",
        f"  findings   {findings}",
    ]
    return "\n".join(lines) + "\n\n"


def _release(said: dict[str, Any]) -> str:
    """What CP runs, since when, and how often it was loaded while the dump was written."""
    release = f"z/VM {said['release']}" if said["release"] else "not named"
    if said["ipl"] is None:
        return release
    again = ", ".join(reset["at"] for reset in said["resets"])
    resets = _counted(said["resets"], "reset") + (f" before {again}" if again else "")
    return f"{release}, loaded {said['ipl']} UTC, {resets}"


def _counted(things: list[Any], name: str) -> str:
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")


def _zone(seconds: int) -> str:
    """System time as a distance from UTC: UTC+01:00."""
    minutes = abs(seconds) // 60
    return f"UTC{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _iso(us: int | None, zone_s: int | None = 0) -> str | None:
    """A time to the millisecond; in a zone, if that is known."""
    if us is None or zone_s is None:
        return None
    from ...ingest.codec import moment

    here = moment(us + zone_s * 1_000_000).replace(tzinfo=None)
    return here.isoformat(sep=" ", timespec="milliseconds")
