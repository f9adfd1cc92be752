"""The README: its links, and what it counts; its tour is run by test_consoles.py."""

from __future__ import annotations

import re

from cpmon.schemas import layouts
from tests.consoles import ROOT

README = ROOT / "README.md"


def test_the_links_of_the_readme_and_of_the_docs_lead_somewhere():
    for page in (README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))):
        links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        local = [link for link in links if "://" not in link]
        assert [link for link in local if not (page.parent / link).exists()] == [], page


def test_the_readme_counts_the_records_right():
    said = re.search(
        r"\bdecodes the fields of (\d+) of (\d+) records", README.read_text(encoding="utf-8")
    )
    described = [layout for layout in layouts() if layout.columns or layout.groups]
    assert said and (int(said[1]), int(said[2])) == (len(described), len(layouts()))
