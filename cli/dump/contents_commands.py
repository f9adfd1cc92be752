"""`cpmon list` and `cpmon show`: the contents of a dump, by type of record and field by field."""

from __future__ import annotations

import itertools
import json
import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...config.formats import BINARY
from ...core.text import counted, for_screen, painted
from ..main import Status, status_of
from ..options import (
    OFFSET,
    choice_option,
    dump_argument,
    dump_arguments,
    output_options,
    pairs,
    release_option,
)
from ..output import Output
from ..spans import day_of_dump, read_span, span_options
from .dump_output import container_option, dump_input, write_dumps

if TYPE_CHECKING:
    from ...ingest.inspect.explanation import FieldLine
    from ...ingest.inspect.inventory import Inventory
    from ...ingest.inspect.record_filter import RecordFilter, SelectedRecord


@click.command("list")
@dump_arguments
@container_option
@choice_option("--sort", values=("bytes", "records", "type"), help="Order of the record types.")
@output_options
def list_command(dumps: tuple[Path, ...], container: str, sort: str, out: Output) -> Status:
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
    release = f"z/VM {document['release']}" if document["release"] else "not named"
    if document["ipl"] is not None:
        again = ", ".join(reset["at"] for reset in document["resets"])
        resets = counted(len(document["resets"]), "reset") + (f" before {again}" if again else "")
        release += f", loaded {document['ipl']} UTC, {resets}"
    span = f"{document['first']} to {document['last']} UTC" if document["first"] else "none"
    if document["first_local"] and (zone_s := document["zone_s"]):
        hours, minutes = divmod(abs(zone_s) // 60, 60)
        span += f"\n             {document['first_local']} to {document['last_local']}"
        span += f" UTC{'-' if zone_s < 0 else '+'}{hours:02d}:{minutes:02d}"
    interval = f" of {document['interval_s']:g} s" if document["interval_s"] else ""
    findings = ", ".join(f"{n} x {c:,}" for n, c in document["findings"].items()) or "none"
    return f"""\
{inventory.name}: system {document["system"] or "not named"}, {inventory.size:,} bytes
  release    {release}
  span       {span}
  intervals  {document["intervals"]}{interval}, {counted(document["gaps"], "gap")}
  findings   {findings} in frames, headers and times; cpmon check reads the values too

"""


def _iso(us: int | None, zone_s: int | None = 0) -> str | None:
    """Formats a time to the millisecond, in local time if the zone is known."""
    if us is None or zone_s is None:
        return None
    from ...ingest.codec import moment

    local = moment(us + zone_s * 1_000_000).replace(tzinfo=None)
    return local.isoformat(sep=" ", timespec="milliseconds")


Explained = tuple["SelectedRecord", list["FieldLine"]]


@click.command("show")
@dump_argument
@click.option(
    "--record", "records", multiple=True, metavar="0.4|SYTRSP", help="This kind; may be repeated."
)
@click.option("--at", type=OFFSET, help="The record that has this byte.")
@click.option(
    "--number",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Start with the N-th record that fits.",
)
@span_options("UTC")
@click.option(
    "--where", multiple=True, metavar="FIELD=VALUE", help="With this value; may be repeated."
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="So many records.  [default: 1]"
)
@click.option("--hexdump", is_flag=True, help="The bytes, 16 a line, with the fields marked.")
@click.option("--follow", is_flag=True, help="Every record that fits, page by page on a terminal.")
@release_option
@container_option
@output_options
def show_command(
    dump: Path,
    records: tuple[str, ...],
    at: int | None,
    number: int,
    since: str | None,
    until: str | None,
    where: tuple[str, ...],
    limit: int | None,
    hexdump: bool,
    follow: bool,
    release: str,
    container: str,
    out: Output,
) -> None:
    """Records of DUMP field by field: offset, bytes, value, unit, meaning, named bits.

    The first record that fits is shown; --limit and --follow show more. FIELD of --where is a
    field or a named bit of the record or of its entries. A VALUE is a number (12, 0x0c), a text,
    true or false for a bit, hexadecimal digits for bytes.

    \b
    Examples:
      cpmon show quiet-hour.mon --record SYTRSP
      cpmon show quiet-hour.mon --record 4.3 --where vmduser=LINUX01 --follow
      cpmon show quiet-hour.mon --at 0x2f40 --hexdump
    """
    from ...ingest.codec import unix_us
    from ...ingest.inspect.record_filter import RecordFilter, kind_of

    if hexdump and out.format not in ("table", "text"):
        raise click.UsageError(f"--hexdump is for reading; it has no --format {out.format}")
    span = read_span(since, until, day=lambda: day_of_dump(dump, container))
    query = RecordFilter(
        frozenset(kind_of(text) for text in records),
        at,
        unix_us(span.since),
        unix_us(span.until),
        {name.lower(): value for name, value in pairs("--where", where).items()},
        number - 1,
    )
    count = None if follow and limit is None else limit or 1
    explained = _explained(dump, container, query, count, release)
    name = "standard input" if str(dump) == "-" else dump.name
    if out.format not in ("table", "text"):
        out.write(_exported(explained, name, out.format))
        return
    is_colored = out.is_screen and not os.environ.get("NO_COLOR")
    chunks = _texts(explained, name, hexdump, is_colored=is_colored)
    if follow and out.is_screen:
        click.echo_via_pager(for_screen(chunk) for chunk in chunks)
    else:
        out.write(chunk.encode() for chunk in chunks)


def _explained(
    dump: Path, container: str, query: RecordFilter, count: int | None, release: str
) -> Iterator[Explained]:
    """Explain the selected records, streaming; it is an error if there are none."""
    from ...core.errors import CpmonError
    from ...ingest.container.source import open_source
    from ...ingest.inspect.explanation import explain
    from ...ingest.inspect.record_filter import nearest, select_records

    record = None
    with open_source(dump, container) as source:
        for record in itertools.islice(select_records(source, query, release), count):
            yield record, explain(record.data, record.layout, record.release)
    if record is not None:
        return
    look = f"`cpmon list {shlex.quote(str(dump))}` tells what is inside"
    if query.at is None:
        raise CpmonError(
            "no record of the dump fits", code="record-not-found", place=str(dump), remedy=look
        )
    places = []
    if str(dump) != "-":
        with open_source(dump, container) as source:
            before, behind = nearest(source, query.at)
        places = [f"{place:#x}" for place in (before, behind) if place is not None]
    raise CpmonError(
        "no record that fits has this byte",
        code="offset-without-record",
        place=f"{dump}, offset {query.at:#x}",
        expected="a record",
        found="a control record, filler, the end of the dump, or a record of another kind",
        remedy=f"the nearest records start at {' and '.join(places)}" if places else look,
    )


def _texts(
    explained: Iterable[Explained], dump: str, hexdump: bool, *, is_colored: bool
) -> Iterator[str]:
    from ...ingest.inspect import explanation
    from ...render.render import render

    paint = painted if is_colored else explanation.plain
    for number, (record, lines) in enumerate(explained):
        gap = "\n" if number else ""
        if hexdump:
            body = "\n".join(explanation.hexdump(record.data, lines, paint)) + "\n"
        else:
            body = render(explanation.table(lines)).decode() + explanation.footnote(lines)
        yield f"{gap}{explanation.heading(record, dump)}\n{body}"


def _exported(explained: Iterable[Explained], dump: str, form: str) -> Iterator[bytes]:
    """Explained records in a machine-readable format, streamed if the format allows it."""
    import pyarrow as pa

    from ...ingest.inspect.explanation import document, heading, rows, table
    from ...render.render import render

    if form == "json":
        yield b"["
        for number, (record, lines) in enumerate(explained):
            yield b",\n" if number else b""
            yield json.dumps(document(record, lines, dump), indent=1).encode()
        yield b"]\n"
    elif form in BINARY:
        yield render(pa.concat_tables(rows(p, lines, dump) for p, lines in explained), form)
    elif form == "markdown":
        for record, lines in explained:
            title = heading(record, dump).partition("\n")[0]
            yield render(table(lines), form, title=title) + b"\n"
    else:
        for number, (record, lines) in enumerate(explained):
            text = render(rows(record, lines, dump), form)
            yield text.partition(b"\n")[2] if form == "csv" and number else text
