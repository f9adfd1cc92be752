"""Commands on pages of documentation print what the pages show; `make goldens` writes it anew.

Only times and speeds may differ: `in 0.7 s (1 MB/s)` stands for any of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cpmon.cli.dump.diagnosis import diagnose
from cpmon.cli.main import Status, run
from cpmon.ingest.container.source import open_source
from cpmon.schemas.registry import shipped
from tests.consoles import FENCE, ROOT, Page, measured, pages
from tests.guests import store_of_guests
from tests.months import months, shares, store_of_months
from tests.pages import draft


def save_pages(folder: Path) -> None:
    """The pages that the doctor asks for, written from the layouts in words of our own."""
    saved, dumps = folder / "mon730", folder / "dumps"
    saved.mkdir()
    assert run(["generate", "zvm73-smt", "--intervals", "10", "-o", str(dumps)]) == Status.DONE
    with open_source(dumps / "ZVM73.mon") as source:
        document = diagnose(source)
    records = {row["record"]: row for row in document["records"]}
    for wanted in document["pages"]:
        record = records[wanted["record"]]
        length = record["longest"] if record["state"] == "longer" else 0
        page = draft(shipped(), record["name"].lower(), document["dump"]["release"], length)
        (saved / f"{wanted['page']}.HTML").write_text(page.html(), encoding="utf-8")


def save_months(folder: Path) -> None:
    """A store with 16 weeks of hours, four of which are missing."""
    store_of_months(folder, months(shares(16), missing=range(500, 504), ipl=1000))


def save_guests(folder: Path) -> None:
    """A store with 8 weeks of hours of two guests."""
    store_of_guests(folder, 8 * 168)


PREPARED: dict[str, Callable[[Path], None]] = {
    "bring-your-pages": save_pages,
    "forecast": save_months,
    "whatif": save_guests,
}
"""What a page needs before its first command."""
FAST = {"configuration", "live"}
"""Pages that show how consoles are tried; the others are tried with the slow tests."""


@pytest.mark.golden
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, id=p.file.stem, marks=() if p.file.stem in FAST else pytest.mark.slow)
        for p in pages()
    ],
)
def test_every_command_prints_what_its_page_shows(
    page: Page, tmp_path: Path, request: pytest.FixtureRequest
):
    PREPARED.get(page.file.stem, lambda _: None)(tmp_path)
    printed = page.run(tmp_path)
    if request.config.getoption("--goldens"):
        page.renew(printed)
    for command, answer in zip(page.commands(), printed, strict=True):
        assert measured(command.output) == measured(answer), command.line


def test_no_page_shows_a_command_that_is_not_run():
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for kind, text in FENCE.findall(file.read_text(encoding="utf-8")):
            assert kind == "console" or not re.search(r"^\$ cpmon", text, re.M), (file.name, text)
    for file in (ROOT / "docs" / "how-to").glob("*.md"):
        unfenced = FENCE.sub("", file.read_text(encoding="utf-8"))
        assert not re.search(r"^    cpmon", unfenced, re.M), file.name
