"""The generated pages: what they show, and that the committed ones are current."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from cpmon.cli.main import status_of
from cpmon.ingest.findings import Code
from cpmon.reduce.metrics.report_set import metric_of, reports
from cpmon.reduce.reports.layout_notes import THREAD_TIMES
from cpmon.schemas.arrow import schemas
from tools import make_docs
from tools.dictionary_pages import dictionary_pages

ROOT = Path(__file__).resolve().parents[2]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def monitor() -> None:
    """Reads dumps."""


@monitor.command()
@click.option("--store", help="Folder of landed dumps.")
def ingest(store: str) -> None:
    """Lands a dump."""


@monitor.command(hidden=True)
def secret() -> None:
    """Not shown."""


def test_the_command_reference_shows_the_help_of_every_command_that_is_not_hidden():
    text = "\n".join(make_docs.reference(monitor, "cpmon"))
    assert "## cpmon\n\n```\nUsage: cpmon [OPTIONS] COMMAND" in text
    assert "## cpmon ingest\n\n```\nUsage: cpmon ingest [OPTIONS]" in text
    assert "Folder of landed dumps." in text
    assert text.count("-h, --help") == 2
    assert "secret" not in text


def test_the_dictionary_has_every_table_and_every_column():
    contents, *pages = dictionary_pages(make_docs.GENERATED).values()
    text = "".join((contents, *pages))
    for name, schema in schemas().items():
        assert text.count(f"\n## {name}\n") == 1
        assert [field.name for field in schema if f"`{field.name}`" not in text] == []
        assert f".md#{name})" in contents


def test_the_committed_pages_of_the_dictionary_are_current():
    pages = dictionary_pages(make_docs.GENERATED)
    files = [ROOT / "docs" / "dictionary.md", *(ROOT / "docs" / "dictionary").iterdir()]
    committed = {f.relative_to(ROOT).as_posix(): f.read_text(encoding="utf-8") for f in files}
    assert committed == pages, "run make docs and review the diff"


def test_the_page_of_findings_has_every_code_with_what_to_do():
    text = make_docs.findings()
    for code in Code:
        assert f"\n### {code.name}\n\n{code.meaning}\n\nWhat to do: {code.remedy}\n" in text


def test_the_page_of_findings_tells_the_exit_status_that_follows():
    assert {s: status_of(s) for s in make_docs.STATUS} == make_docs.STATUS


LONG = {"docs/reports.md"}


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] * (p in LONG)) for p in make_docs.PAGES],
)
def test_a_committed_page_is_current(page: str):
    committed = (ROOT / page).read_text(encoding="utf-8")
    assert committed == make_docs.PAGES[page](), "run make docs and review the diff"


def test_processor_times_are_what_comes_from_the_timers_of_processors_and_users():
    """By the fields that the page of reports names; that it is current is the test above."""
    timers = {"PFXUTIME", "PFXTMSYS", "PFXTOTWT", "PFXPRBTM", "VMDTTIME", "VMDVTIME"}
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    from_timers = set()
    for report in reports().values():
        section = page.split(f"\n## {report.name}\n")[1].split("\n## ")[0]
        _, _, *rows = (line for line in section.splitlines() if line.startswith("|"))
        for column, row in zip(report.columns, rows, strict=True):
            *_, fields, _ = row.removesuffix(" |").split(" | ")
            from_sampled = [r for r in fields.split("; ") if r.startswith(("SYTPRP:", "USEACT:"))]
            if timers & set(re.findall(r"\w+", " ".join(from_sampled))):
                from_timers.add(metric_of(report.reduction, column.name).numerator)
    known_by_page = {"cpu_mt1_tod", "cpu_prorated_tod"}
    bounded_by_them = {"spin_tod"}
    assert from_timers - known_by_page - bounded_by_them == THREAD_TIMES
