"""Pages and layouts that cannot be read: what the message says helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.schemas.pages.page_file import LONGEST
from cpmon.schemas.registry import home, reload, shipped
from tests.pages import draft
from tests.remedies.conftest import dump_of
from tests.remedies.trying import Attempt, tries
from tests.schemas.test_page import example

WHOLE = example().aligned()
TABLE, REFERENCE = WHOLE[: WHOLE.rindex("MRXMPLRC Cross")], WHOLE[WHOLE.rindex("MRXMPLRC Cross") :]
ROWS = TABLE[TABLE.index("   0    0  Structure") :]
WITHOUT_REFERENCE = TABLE + REFERENCE[REFERENCE.index("This information") :]
OTHER = WHOLE.replace("XMPLRC", "OTHREC")
LAST_ROWS = ("  44", "  48", "  52", "  54", "  72")


@pytest.fixture(autouse=True)
def again(shipped_again: None) -> None:
    """Layouts of a site's own are forgotten."""


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            "A letter about a record\n",
            marks=tries("record-page-unrecognized"),
            id="no page",
        ),
        pytest.param(WHOLE + " " * LONGEST, marks=tries("record-page-too-long"), id="too long"),
        pytest.param(
            WHOLE.replace("  28  ", "  29  "),
            marks=tries("record-page-offset-mismatch"),
            id="damaged number",
        ),
        pytest.param(
            "\n".join(line for line in WITHOUT_REFERENCE.split("\n") if line[:4] not in LAST_ROWS),
            marks=tries("record-page-truncated"),
            id="cut",
        ),
        pytest.param(
            TABLE[: TABLE.rindex("MRXMPLRC Control")] + REFERENCE,
            marks=tries("record-page-contents-missing"),
            id="without its table",
        ),
        pytest.param(
            TABLE + OTHER[OTHER.index("MROTHREC Cross") :],
            marks=tries("record-page-parts-mixed"),
            id="half of another page",
        ),
        pytest.param(
            WHOLE.replace("XMPLRC   ", "OTHREC   "),
            marks=tries("record-page-structure-mismatch"),
            id="rows of another page",
        ),
        pytest.param(
            TABLE + ROWS + REFERENCE,
            marks=tries("record-page-second-record"),
            id="rows twice",
        ),
        pytest.param(
            WITHOUT_REFERENCE.replace("XMPLRC_COUNT", "XMPLRC_ COUNT"),
            marks=tries("record-page-field-name-broken"),
            id="broken prefix",
        ),
        pytest.param(
            TABLE.replace("XMPLRC_COUNT", "XMPLRC_COU NT") + REFERENCE,
            marks=tries("record-page-field-missing-from-contents"),
            id="broken name",
        ),
        pytest.param(
            TABLE + REFERENCE.replace("XMPLRC_COUNT               18      4\n", ""),
            marks=tries("record-page-field-missing-from-cross-reference"),
            id="lost from the cross reference",
        ),
    ],
)
def test_a_page_that_is_saved_whole_is_read(wrong: str, tried: Attempt, tmp_path: Path):
    page = tmp_path / "MRXMPLRC.TXT"
    words = ("schema", "import", page, "--into", tmp_path / "layouts")
    assert wrong != WHOLE
    page.write_text(wrong, encoding="utf-8")
    tried.fails(*words)
    page.write_text(WHOLE, encoding="utf-8")
    tried.works(*words)


def test_a_page_that_contradicts_is_taken_at_its_word(tried: Attempt, tmp_path: Path):
    """The remedy of all contradictions is one line of its own."""
    page, folder = tmp_path / "MRSYTXSP.TXT", tmp_path / "layouts"
    wrong = draft(shipped(), "sytxsp")
    wrong.line("plspgin").name = "SYTXSP_OTHER"
    page.write_text(wrong.aligned(), encoding="utf-8")
    said = tried.fails("schema", "import", page, "--into", folder)
    assert "if it is right, --replace takes its word" in said
    tried.works("schema", "import", page, "--into", folder, "--replace")
    assert "other" in (folder / "d00_system" / "sytxsp.csv").read_text(encoding="utf-8")


@tries("record-page-release-missing")
def test_the_release_of_a_page_is_given(tried: Attempt, tmp_path: Path):
    page = tmp_path / "MRXMPLRC.TXT"
    page.write_text(WHOLE.replace("This information is based on", "See"), encoding="utf-8")
    words = ("schema", "import", page, "--into", tmp_path / "layouts")
    assert "give it with --release 5.2.0" in tried.fails(*words)
    tried.works(*words, "--release", "5.2.0")


@tries("layout-folder-required")
@tries("layout-folder-shipped")
def test_layouts_go_into_a_folder_of_the_users_own(
    tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    page = tmp_path / "MRXMPLRC.TXT"
    page.write_text(WHOLE, encoding="utf-8")
    words = ("schema", "import", page)
    tried.fails(*words)
    tried.works(*words, "--into", tmp_path / "layouts")
    tried.fails(*words, "--into", home())
    tried.works(*words, "--into", tmp_path / "others")
    tried.fails(*words)
    monkeypatch.setenv("CPMON_SCHEMAS", str(tmp_path / "third"))
    tried.works(*words)


@tries("layout-folder-missing")
def test_the_folder_of_layouts_is_made_by_an_import_or_no_longer_named(
    tried: Attempt, mon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    page = tmp_path / "MRXMPLRC.TXT"
    page.write_text(WHOLE, encoding="utf-8")
    monkeypatch.setenv("CPMON_SCHEMAS", str(tmp_path / "layouts"))
    reload()
    said = tried.fails("list", mon)
    assert "`cpmon schema import` makes it" in said
    tried.works("schema", "import", page)
    tried.works("list", mon)
    monkeypatch.setenv("CPMON_SCHEMAS", str(tmp_path / "nowhere"))
    reload()
    tried.fails("list", mon)
    monkeypatch.delenv("CPMON_SCHEMAS")
    reload()
    tried.works("list", mon)


@tries("layout-cell-count-wrong")
def test_texts_with_commas_are_put_in_quotes(
    tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    page, folder = tmp_path / "MRXMPLRC.TXT", tmp_path / "layouts"
    page.write_text(WHOLE, encoding="utf-8")
    tried.works("schema", "import", page, "--into", folder)
    (file,) = folder.rglob("xmplrc.csv")
    written = file.read_text(encoding="utf-8")
    monkeypatch.setenv("CPMON_SCHEMAS", str(folder))
    for text in ("Address, of the processor", '"Address, of the processor"'):
        file.write_text(written.replace("Address of the processor", text), encoding="utf-8")
        reload()
        show = tried.works if text.startswith('"') else tried.fails
        show("schema", "show", "xmplrc")


@tries("record-number-duplicate")
def test_the_row_of_a_record_that_is_wrong_is_deleted(
    tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    page, folder = tmp_path / "MRXMPLRC.TXT", tmp_path / "layouts"
    page.write_text(WHOLE, encoding="utf-8")
    tried.works("schema", "import", page, "--into", folder)
    records = folder / "records.csv"
    right = records.read_text(encoding="utf-8")
    head, row = right.splitlines()
    records.write_text(f"{head}\n{row.replace('xmplrc', 'aaarec')}\n{row}\n", encoding="utf-8")
    monkeypatch.setenv("CPMON_SCHEMAS", str(folder))
    reload()
    tried.fails("schema", "show", "xmplrc")
    records.write_text(right, encoding="utf-8")
    reload()
    tried.works("schema", "show", "xmplrc")


@tries("dictionary-no-match")
def test_all_records_are_listed_as_the_message_says(tried: Attempt):
    said = tried.fails("schema", "dictionary", "zzzzzzzzzz")
    assert "sytrsp" in tried.as_said(said).text


@tries("name-unknown", "did you mean")
def test_the_record_that_is_suggested_is_shown(tried: Attempt):
    assert "did you mean sytrsp?" in tried.fails("schema", "show", "sytrps")
    tried.works("schema", "show", "sytrsp")


@tries("record-pages-missing")
@tries("record-page-archive-unreadable")
def test_pages_of_a_release_are_in_a_folder(tried: Attempt, tmp_path: Path):
    empty, folder, into = tmp_path / "empty", tmp_path / "mon520", tmp_path / "layouts"
    empty.mkdir()
    folder.mkdir()
    (folder / "MRXMPLRC.TXT").write_text(WHOLE, encoding="utf-8")
    tried.fails("schema", "import", empty, "--into", into)
    tried.works("schema", "import", folder, "--into", into)
    damaged = tmp_path / "mon520.zip"
    damaged.write_bytes(b"PK no more")
    tried.fails("schema", "import", damaged, "--into", into)
    tried.works("schema", "import", folder, "--into", into)


@tries("record-page-dimension-truncated")
def test_a_dimension_that_was_cut_off_is_completed(tried: Attempt, tmp_path: Path):
    page = tmp_path / "MRXMPLRC.TXT"
    words = ("schema", "import", page, "--into", tmp_path / "layouts")
    whole = "XMPLRC_SLOT(0:2)"
    assert whole in WHOLE
    page.write_text(WHOLE.replace(whole, "XMPLRC_SLOT(0:7"), encoding="utf-8")
    tried.fails(*words)
    page.write_text(WHOLE, encoding="utf-8")
    tried.works(*words)


@tries("kept-layouts-damaged")
def test_layouts_that_a_store_keeps_are_kept_anew(
    tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own, store, page = tmp_path / "own", tmp_path / "perf", tmp_path / "MRXMPLRC.TXT"
    page.write_text(WHOLE, encoding="utf-8")
    tried.works("schema", "import", page, "--into", own)
    dumps = [tmp_path / "a.mon", tmp_path / "b.mon"]
    for number, dump in enumerate(dumps):
        dump.write_bytes(dump_of(number))
    monkeypatch.setenv("CPMON_SCHEMAS", str(own))
    reload()
    tried.works("ingest", dumps[0], "--store", store)
    monkeypatch.delenv("CPMON_SCHEMAS")
    (store / "layouts" / "current").write_text("nothing")
    reload()
    shown = ("schema", "show", "xmplrc", "--store", store)
    tried.fails(*shown)
    monkeypatch.setenv("CPMON_SCHEMAS", str(own))
    reload()
    tried.works("ingest", dumps[1], "--store", store)
    monkeypatch.delenv("CPMON_SCHEMAS")
    reload()
    tried.works(*shown)
