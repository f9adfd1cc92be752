"""Files of pages: several in one, in the encodings of browsers, beside files that are none."""

from __future__ import annotations

import csv
import email.message
from collections.abc import Callable
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.core.errors import LayoutError
from cpmon.schemas.pages.page import Page, split_pages
from cpmon.schemas.pages.page import parse_page as parse_one
from cpmon.schemas.pages.page_file import read_page
from tests.cli.answer import Cpmon
from tests.pages import Draft, Line
from tests.schemas.test_page import EVERY_SPELLING, example

HEADER = Line(0, "Character", 20, "MRHDR")


def other(dsect: str = "OTHREC") -> Draft:
    lines = [
        Line(0, "Structure", 28, dsect),
        HEADER,
        Line(20, "Unsigned", 4, f"{dsect}_COUNT"),
        Line(24, "Unsigned", 4, f"{dsect}_MORE"),
    ]
    return Draft(dsect, 12, 7, "event", "Others", "7.3.0", [lines])


def pages(text: str) -> list[Page]:
    return [parse_one(page, "7.3.0") for page in split_pages(read_page(text.encode(), "both"))]


def content(page: Page) -> tuple[object, ...]:
    rows = [(r.offset, r.length, r.name, r.meaning) for s in page.structures for r in s.rows]
    return page.dsect, page.record, page.kinds, page.title, rows


@pytest.mark.parametrize("end", ["This information is based on", "Based on"])
@EVERY_SPELLING
def test_several_pages_in_a_file_are_several(spell: Callable[[Draft], str], end: str):
    drafts = [example(), other(), other("THIRDS")]
    texts = [spell(draft).replace("This information is based on z/VM", end) for draft in drafts]
    together = pages("\n".join(texts))
    assert [content(page) for page in together] == [content(*pages(text)) for text in texts]
    assert [page.dsect for page in together] == ["xmplrc", "othrec", "thirds"]


def test_lines_of_a_second_page_are_those_of_the_file():
    text = example().aligned() + other().aligned().replace("  20   14", "  20   15")
    with pytest.raises(LayoutError) as caught:
        pages(text)
    assert caught.value.place == f"both, line {text[: text.index('  20   15')].count(chr(10)) + 1}"


def parts(dsect: str) -> tuple[str, str, str, str]:
    """Prolog, heading, rows, and what is behind them."""
    text = other(dsect).aligned()
    heading = text.rindex(f"MR{dsect} Control Block")
    rows, behind = text.index("   0    0  Struct"), text.index(f"MR{dsect} Cross")
    return text[:heading], text[heading:rows], text[rows:behind], text[behind:]


def test_half_a_page_behind_another_is_refused():
    prolog, heading, rows, behind = parts("OTHREC")
    _, its_heading, its_rows, its_behind = parts("TWOREC")
    halves = {
        "has a part of the page of MR": (prolog, its_heading, its_rows, its_behind),
        "has a part of the page of MRTWOREC": (
            prolog,
            heading,
            rows,
            its_heading,
            its_rows,
            behind,
        ),
        "has the structure TWOREC": (prolog, heading, its_rows, behind),
        "a second record begins": (prolog, heading, rows, its_rows, behind),
    }
    for problem, text in halves.items():
        with pytest.raises(LayoutError) as caught:
            pages("".join(text))
        assert problem in caught.value.problem


def test_every_page_of_a_file_is_imported_and_refused_on_its_own(cpmon: Cpmon, tmp_path: Path):
    wrong = other("WRONGS")
    wrong.line("count").length = 2
    text = "".join(draft.aligned() for draft in (example(), wrong, other("THIRDS")))
    (tmp_path / "release.txt").write_text(text)
    answer = cpmon("schema", "import", tmp_path / "release.txt", "--into", tmp_path / "own")
    assert answer.status is Status.USAGE
    assert "bytes 22 to 23 are in no row of the page" in answer.err
    rows = list(csv.DictReader((tmp_path / "own" / "lengths.csv").read_text().splitlines()))
    assert [(row["dsect"], row["length"]) for row in rows] == [("thirds", "28"), ("xmplrc", "72")]


def archive(encoding: str) -> bytes:
    """As a browser saves a page with its style and pictures."""
    message = email.message.EmailMessage()
    message["Snapshot-Content-Location"] = "https://example.org/MRXMPLRC.HTML"
    message.add_related("p { color: red }", subtype="css")
    page = email.message.EmailMessage()
    page.set_content(example().html(), subtype="html", cte=encoding)
    message.attach(page)
    return message.as_bytes()


HTML = example().html()
SAVED = {
    "MRXMPLRC.txt": example().aligned().encode("utf-16"),
    "little.htm": HTML.encode("utf-16-le"),
    "big.txt": b"\xfe\xff" + example().aligned().encode("utf-16-be"),
    "wide.txt": HTML.encode("utf-32"),
    "page.xhtml": f'<?xml version="1.0"?>{HTML}'.encode(),
    "a.mhtml": archive("quoted-printable"),
    "b.mht": archive("base64"),
    "no-head-end.html": HTML.replace("</head>", "").encode(),
    "no-frame.html": HTML[HTML.index("<pre>") + 5 : HTML.index("</pre>")].encode(),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_page_is_read_as_browsers_save_it(name: str):
    (source,) = split_pages(read_page(SAVED[name], name))
    assert content(parse_one(source)) == content(*pages(example().aligned()))


def test_what_else_lies_in_a_folder_is_counted(cpmon: Cpmon, tmp_path: Path):
    folder = tmp_path / "mon520"
    (folder / "more").mkdir(parents=True)
    for name, data in {
        **SAVED,
        "picture.png": b"",
        "more/page.pdf": b"%PDF",
        "README": b"",
    }.items():
        (folder / name).write_bytes(data)
    words = ("schema", "import", folder, "--into", tmp_path / "own")
    answer = cpmon(*words)
    assert answer.status is Status.DONE
    assert "3 other files passed over" in answer.err and "page.pdf" not in answer.err
    assert len(answer.text.splitlines()) == 2 + len(SAVED)
    assert "passed over: more/page.pdf\n" in cpmon(*words, "--verbose").err
    for name in SAVED:
        (folder / name).unlink()
    answer = cpmon(*words)
    assert (answer.status, "3 other files passed over" in answer.err) == (Status.USAGE, True)
