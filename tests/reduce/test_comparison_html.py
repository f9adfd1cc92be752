"""Comparisons as HTML: one page that needs nothing else, and in which texts stay texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser

import duckdb
import pytest
from msgspec import structs

from cpmon.config.values import Names
from cpmon.reduce.compare import (
    ComparisonTable,
    RunComparison,
    compare,
    compare_runs,
    parse_spec,
    render_comparison,
)
from tests.reduce.catalogue import empty_catalogue, insert, lab, minute
from tests.reduce.test_run_comparison import add_run

NASTY = "<script>alert('1 & \"2\"')</script>"
VOID = frozenset({"meta", "link", "img", "br", "hr", "input"})


class Page(HTMLParser):
    """The elements of a page, checked for nesting, and the texts of its cells, line by line."""

    def __init__(self, data: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.rows: list[list[str]] = []
        self.text: list[str] = []
        self.feed(data.decode())
        self.close()
        assert not self.tags

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.tags.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.tags or "th" in self.tags:
            self.rows[-1][-1] += data
        elif "style" not in self.tags and data.strip():
            self.text.append(data)


CONTRADICTED = (
    "R1: SYTCUP contradicts SYTPRP (1): figures of one of them are wrong (cpmon validate)."
)
"""Of the system `lab`: 75 s of 90 s."""


def quoted(text: str) -> str:
    """A text as a TOML literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def table(run: str, *, title: str = "Mine", label: str = "Total", note: str = "") -> bytes:
    """The page of a table of one run and one that is not in the store."""
    con = lab()
    con.execute("UPDATE meta.run SET run_id = ?, cp_level = ?", [run, note or "4.3.0"])
    row = quoted(label)
    spec = parse_spec(
        f"""
        name = "mine"
        title = {quoted(title)}
        runs = [{quoted(run)}, "GONE"]
        base = {quoted(run)}
        [[groups]]
        rows = [
          {{ label = {row}, source = "v", measure = "total_util", scale = 100, digits = 1 }},
          {{ label = "Users", measure = "users_logged_on", digits = 1 }},
        ]
        [[groups]]
        rows = [{{ label = "Pages", measure = "dasd_page_rate" }}]
        [[claims]]
        label = {quoted(f"Claim of {label}")}
        row = {row}
        base = {quoted(run)}
        run = "GONE"
        """,
        "mine.toml",
    )
    return render_comparison(compare(con, spec), "html")


@pytest.mark.slow
def test_a_table_has_its_runs_values_ratios_and_claims() -> None:
    page = Page(table("R1"))
    assert page.rows == [
        ["Run", "R1", "GONE"],
        ["CP level", "4.3.0", ""],
        ["Users", "2", ""],
        ["Processors", "2", ""],
        ["Total (v)", "60.0", "(1)"],
        ["Users", "11.3", "(1)"],
        ["Pages", "16", "(1)"],
        ["Run", "R1", "GONE"],
        ["Base run", "R1", "R1"],
        ["Total", "1.000", "(1)"],
        ["Users", "1.000", "(1)"],
        ["Pages", "1.000", "(1)"],
        ["Claim", "Runs", "Value"],
        ["Claim of Total", "R1 to GONE", "not known"],
    ]
    assert page.text[-3:] == [
        *("(v) reduction of monitor data", "(1) run GONE is not in the store", CONTRADICTED)
    ]
    assert ("title", "run GONE is not in the store") in page.attributes


@pytest.mark.slow
def test_texts_with_markup_and_quotes_stay_texts() -> None:
    page = Page(table(f"run {NASTY}", title=f"title {NASTY}", label=f"row {NASTY}", note=NASTY))
    assert "script" not in page.names
    assert page.rows[0][1] == f"run {NASTY}"
    assert page.rows[1][1] == NASTY
    assert page.rows[4][0] == f"row {NASTY} (v)"
    assert page.rows[-1][:2] == [f"Claim of row {NASTY}", f"run {NASTY} to GONE"]
    assert page.text[:2] == [f"title {NASTY}"] * 2


def test_a_reason_with_quotes_stays_in_its_attribute() -> None:
    found = compare_one()
    cells = tuple(replace(c, text="", reason=f'"{NASTY} onclick=') for c in found.cells)
    page = Page(render_comparison(replace(found, cells=cells), "html"))
    assert {name for name, _ in page.attributes}.isdisjoint({"onclick", "alert('1"})
    assert ("title", f'"{NASTY} onclick=') in page.attributes
    assert page.text[-2] == f'(1) "{NASTY} onclick='


def compare_one() -> ComparisonTable:
    """A table of one cell and no ratio."""
    text = """
    name = "one"
    runs = ["R1"]
    ratios = false
    [[groups]]
    rows = [{ label = "Pages", measure = "dasd_page_rate" }]
    """
    return compare(lab(), parse_spec(text, "one.toml"))


def test_a_table_without_ratios_and_claims_has_one_part() -> None:
    page = Page(render_comparison(compare_one(), "html"))
    assert [row[0] for row in page.rows] == ["Run", "CP level", "Users", "Processors", "Pages"]
    assert page.text == ["one", "one", CONTRADICTED]  # title of the page, heading and note


@pytest.fixture(scope="module")
def runs() -> Iterator[RunComparison]:
    """Two runs of which one has markup in its name, and line breaks in an attribute."""
    with empty_catalogue() as con:
        add_run(con, "A", "SA", busy=33, emulation=21, n=12)
        add_run(con, "B", NASTY, busy=39, emulation=21.2, n=12, first=-1)
        con.execute(
            "UPDATE meta.run SET run_id = ?, cp_level = ? WHERE run_id = 'B'", [NASTY, "4\n3"]
        )
        yield compare_runs(con, [NASTY], "A")


def test_runs_have_a_table_of_facts_and_one_of_metrics(runs: RunComparison) -> None:
    page = Page(render_comparison(runs, "html"))
    assert "script" not in page.names
    assert page.rows[0] == ["Run", "A", NASTY]
    assert page.rows[1] == ["System", "SA", NASTY]
    start = next(n for n, row in enumerate(page.rows) if row[0] == "Metric")
    assert page.rows[start] == [
        *("Metric", "Unit", "A", NASTY, "Difference", "Change %", "Confidence", "Detectable %"),
    ]
    assert page.rows[start + 1] == ["Changes"]
    cells = ["CP Util/Proc", "%", "20.00", "29.67", "9.67", "48", "cl 98%", "39"]
    assert page.rows[start + 2] == cells
    assert ("class", "change") in page.attributes
    assert any(text.startswith("cl: confidence level") for text in page.text)
    reason = f"not known of A and {NASTY} without SYTSYP deltas"
    assert ("title", reason) in page.attributes


def test_a_page_needs_nothing_from_anywhere(runs: RunComparison) -> None:
    for data in (table("R1"), render_comparison(runs, "html")):
        page, text = Page(data), data.decode()
        assert page.names.isdisjoint({"script", "link", "img", "iframe", "object", "base"})
        assert {name for name, _ in page.attributes}.isdisjoint({"src", "href"})
        style = text[text.index("<style>") : text.index("</style>")]
        assert not re.search(r"url\(|@import|https?:", style)
        assert "default-src 'none'" in text


def test_a_page_is_made_for_light_dark_and_paper(runs: RunComparison) -> None:
    text = render_comparison(runs, "html").decode()
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert '<html lang="en">' in text and '<meta charset="utf-8">' in text


def test_many_columns_are_printed_across(runs: RunComparison) -> None:
    assert "size: landscape" not in render_comparison(runs, "html").decode()
    found = compare_one()
    names = tuple(f"R{n}" for n in range(1, 9))
    spec = structs.replace(found.spec, runs=Names(names))
    cells = tuple(replace(found.cells[0], run_id=name) for name in names)
    heads = tuple(replace(found.runs[0], run_id=name) for name in names)
    many = replace(found, spec=spec, runs=heads, cells=cells)
    assert "size: landscape" in render_comparison(many, "html").decode()


def test_other_names_than_those_of_runs_head_the_columns(con: duckdb.DuckDBPyConnection) -> None:
    insert(
        con, "meta.run", {"run_id": "R2", "system": "LAB", "since": minute(0), "until": minute(2)}
    )
    text = """
    name = "named"
    runs = ["R1", "Change"]
    base = "R1"
    names = { R1 = "before" }
    [[groups]]
    rows = [{ label = "Pages", measure = "dasd_page_rate" }]
    [[changes]]
    run = "Change"
    of = "R2"
    base = "R1"
    """
    page = Page(render_comparison(compare(con, parse_spec(text, "named.toml")), "html"))
    assert page.rows[0] == ["Run", "before", "Change"]
    assert "Change is the change from before to R2, percent" in page.text
