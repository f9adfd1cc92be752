"""The data dictionary: docs/dictionary.md and a page per domain; part of `make docs`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyarrow as pa

from cpmon.schemas import HEADER, layouts
from cpmon.schemas.arrow import ROW, TAIL, schemas

DOMAINS = (
    "System",
    "Monitor",
    "Scheduler",
    "Storage",
    "User",
    "Processor",
    "I/O",
    "Seek",
    "Virtual network",
    "Inter-system communication (ISFC)",
    "Application data",
    "Single system image",
)
OTHER = "other"
"""The page of tables that belong to no domain."""
COLUMNS = ("offset", "length", "type", "role", "unit", "since", "until", "provenance", "meaning")


def dictionary_pages(generated: str) -> dict[str, str]:
    """Texts by path: the list of all tables, and a page per domain with the columns of each.

    Args:
        generated: the comment below each title.
    """
    tables = _by_page()
    pages = {"docs/dictionary.md": [*_contents(tables, generated)]}
    for page, names in tables.items():
        pages[f"docs/dictionary/{page}.md"] = [*_of_page(page, names, generated)]
    return {name: "\n".join(lines) + "\n" for name, lines in pages.items()}


def _by_page() -> dict[str, list[str]]:
    """The tables of each page; entries of a record stand with their record."""
    domains = {layout.name: layout.domain for layout in layouts()}
    pages = defaultdict(list)
    for name in sorted(schemas()):
        domain = domains.get(name, domains.get(name.partition("_")[0]))
        pages[OTHER if domain is None else f"domain-{domain:02}"].append(name)
    return dict(sorted(pages.items()))


def _title(page: str) -> str:
    if page == OTHER:
        return "Records without a layout"
    number = int(page.removeprefix("domain-"))
    return f"Domain {number}: {DOMAINS[number]}"


def _contents(tables: dict[str, list[str]], generated: str) -> Iterator[str]:
    """What all tables have in common, and where each is."""
    yield from ("# Data dictionary", "", generated, "")
    yield (
        "Every table that a dump lands in, under IBM's names. In SQL the rows as landed"
        " are in\n`monitor.<table>`; samples are also in `interval.<table>`, where counters and"
        " countdowns are deltas.\nThe same text is in `meta.dictionary` and in the comments of the"
        " columns. `cpmon schema show useact`\nprints a table; a search of meanings is"
        " `cpmon query \"FROM meta.dictionary WHERE meaning ILIKE '%spin%'\"`."
    )
    header = ", ".join(f"`{f.name}` ({f.length} bytes at {f.offset})" for f in HEADER)
    yield from ("", "Offsets in a record count from the first byte of its header:", f"{header}.")
    yield from ("Offsets in tables of entries count from the first byte of the entry.", "")
    yield from ("Every table starts with the columns", "")
    yield from _table([*ROW])
    yield from ("", f"and ends with `{TAIL.name}`: {_said(TAIL, 'meaning')}")
    records = {layout.name: layout for layout in layouts()}
    for page, names in tables.items():
        yield from ("", f"## {_title(page)}", "", "| table | record | columns | what |")
        yield "|---|---|---|---|"
        for name in names:
            schema, layout = schemas()[name], records.get(name)
            cells = (
                f"[{name}](dictionary/{page}.md#{name})",
                str(layout.record) if layout else "",
                str(len(_own(schema))),
                _facts(schema).get("title", "").replace("|", "\\|"),
            )
            yield f"| {' | '.join(cells)} |"


def _of_page(page: str, names: Sequence[str], generated: str) -> Iterator[str]:
    records = {layout.name: layout for layout in layouts()}
    yield from (f"# {_title(page)}", "", generated, "")
    yield "What all tables have in common, and the other domains: [dictionary](../dictionary.md)."
    for name in names:
        schema = schemas()[name]
        facts = _facts(schema)
        yield from ("", f"## {name}", "", f"{facts.get('title', '')}.".lstrip("."))
        if layout := records.get(name):
            yield (
                f"Domain {layout.domain}, record {layout.record}: {layout.kind}, one row per"
                f" {layout.grain}."
            )
        if keys := facts.get("keys"):
            yield f"Keys beside `tod`: {', '.join(f'`{key}`' for key in keys.split())}."
        if provenance := facts.get("provenance"):
            yield f"Layout: {provenance}."
        if own := _own(schema):
            yield ""
            yield from _table(own)


def _facts(schema: pa.Schema) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}


def _own(schema: pa.Schema) -> list[pa.Field]:
    """The columns of a table that not every table has."""
    return [field for field in schema if field not in (*ROW, TAIL)]


def _table(fields: Sequence[pa.Field]) -> Iterator[str]:
    """A Markdown table of columns; what no field of the table says is left out."""
    used = [name for name in COLUMNS if any(_said(field, name) for field in fields)]
    yield "| " + " | ".join(("column", *used)) + " |"
    yield "|---" * (1 + len(used)) + "|"
    for field in fields:
        yield "| " + " | ".join((f"`{field.name}`", *(_said(field, n) for n in used))) + " |"


def _said(field: pa.Field, name: str) -> str:
    """One fact of a field's metadata, safe inside a Markdown table; the Arrow type in its place."""
    facts = field.metadata or {}
    said: str = facts.get(name.encode(), b"").decode()
    if name == "type" and not said:
        said = str(field.type)
    return said.replace("|", "\\|").replace("<", "&lt;")
