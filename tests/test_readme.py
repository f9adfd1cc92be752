"""The README: its links, and what it counts; its tour is run by test_consoles.py."""

from __future__ import annotations

import re

from cpmon.schemas import layouts
from tests.consoles import FENCE, ROOT

README = ROOT / "README.md"


def anchors(text: str) -> set[str]:
    """What the headings of a page are called in links, in the repository and in the site."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower())
        found.append(words.replace(" ", "-"))
    return {*found}


def test_the_links_of_the_written_pages_lead_to_a_file_and_to_a_heading_of_it():
    for page in (README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        for link, section in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
            if "://" in link or link.startswith("mailto:"):
                continue
            file = page.parent / link if link else page
            assert file.exists(), (page.name, link)
            if section:
                assert section in anchors(file.read_text(encoding="utf-8")), (page.name, section)


def test_the_readme_counts_the_records_right():
    said = re.search(
        r"\bdecodes the fields of (\d+) of (\d+) records", README.read_text(encoding="utf-8")
    )
    described = [layout for layout in layouts() if layout.columns or layout.groups]
    assert said and (int(said[1]), int(said[2])) == (len(described), len(layouts()))
