"""`cpmon schema`: layouts as of a release, the dictionary, pages into a folder of one's own."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.core.errors import LayoutError
from cpmon.schemas.pages.page_file import collect_pages
from cpmon.schemas.registry import home, reload, shipped
from tests.cli.answer import Cpmon
from tests.dumps import dump, fields, interval
from tests.pages import Line, draft
from tests.schemas.test_page import example

SHIPPED = shipped()


pytestmark = pytest.mark.usefixtures("shipped_again")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """SYTRSP of a later release, with a field more."""
    made = draft(SHIPPED, "sytrsp", "5.4.0")
    made.lines[-1:] = [Line(72, "Unsigned", 4, "SYTRSP_NEWER", "New things")]
    made.lines[0].length = 76
    path = tmp_path / "MRSYTRSP.HTML"
    path.write_text(made.html())
    return path


def test_show_ends_where_the_record_of_a_release_ends(cpmon: Cpmon):
    names = [
        row["name"]
        for row in cpmon("schema", "show", "SYTRSP", "--release", "4.3", "--format", "json").rows
    ]
    assert names[-1] == "plsmvb2g"
    assert "as of 4.3.0: 48 bytes" in cpmon("schema", "show", "sytrsp", "--release", "4.3").text
    everything = cpmon("schema", "show", "SYTRSP", "--format", "json").rows
    assert everything[-1]["name"] == "plsalecg"
    assert everything[-1]["hex"] == "44"


def test_show_resolves_bytes_that_changed_their_meaning(cpmon: Cpmon):
    def at_20(release: str) -> list[str]:
        rows = cpmon("schema", "show", "sytrsg", "--release", release, "--format", "json").rows
        return [row["name"] for row in rows if row["offset"] == 20 and row["type"] != "reserved"]

    assert at_20("5.1") == ["rsafstor"]
    assert at_20("5.3") == []


def test_show_puts_bits_and_entries_under_what_they_belong_to(cpmon: Cpmon):
    text = cpmon("schema", "show", "sytcug").text
    assert "  physical" in text
    assert "1... ...." in text
    rows = cpmon("schema", "show", "sytcup", "--format", "json").rows
    group = next(n for n, row in enumerate(rows) if row["type"] == "group")
    assert rows[group]["offset"] is None
    assert "from calcpuof" in rows[group]["meaning"]
    assert (rows[group + 1]["table_name"], rows[group + 1]["offset"]) == ("sytcup_cpu", 0)


def test_show_of_a_field_has_its_bits(cpmon: Cpmon):
    rows = cpmon("schema", "show", "SYTCUG.CPUCHAR", "--format", "json").rows
    assert [row["name"] for row in rows] == ["cpuchar", "dedicated", "shared", "limited"]


def test_names_that_do_not_exist_get_the_nearest(cpmon: Cpmon):
    answer = cpmon("schema", "show", "sytrps")
    assert (answer.status, "did you mean" in answer.err) == (Status.USAGE, True)
    assert "did you mean plsmvb2g" in cpmon("schema", "show", "sytrsp.plsmv2g").err


def test_a_record_known_by_name_only_asks_for_its_page(cpmon: Cpmon):
    assert "cpmon schema import" in cpmon("schema", "show", "prcpup").text


def test_a_record_that_later_releases_do_not_write_says_so(cpmon: Cpmon):
    assert "written up to 6.3.0" in cpmon("schema", "show", "stoxsg").text


def test_list_has_every_record(cpmon: Cpmon):
    rows = cpmon("schema", "list", "--format", "json").rows
    assert len(rows) == len(SHIPPED.records)
    assert next(r for r in rows if r["name"] == "sytrsp")["bytes"] == 72


def test_the_dictionary_is_searched_in_names_titles_and_meanings(cpmon: Cpmon):
    def found(text: str) -> set[tuple[str, str]]:
        rows = cpmon("schema", "dictionary", text, "--format", "json").rows
        return {(row["table_name"], row["column_name"]) for row in rows}

    assert ("sytrsp", "plsmvb2g") in found("MVB2G") & found("moved below 2g")
    assert ("sytrsp", "plsmvb2g") in found("real storage, per cpu")
    assert ("sytcug", "dedicated") in found("dedicated")
    assert cpmon("schema", "dictionary", "no such word").status is Status.USAGE


def test_the_dictionary_has_every_row_of_every_file(cpmon: Cpmon):
    rows = list(csv.DictReader(io.StringIO(cpmon("schema", "dictionary", "--format", "csv").text)))
    columns = {(row["table_name"], row["column_name"]) for row in rows}
    groups = {r["name"] for rs in SHIPPED.fields.values() for r in rs if r["type"] == "group"}
    for record in SHIPPED.records:
        for row in SHIPPED.fields.get(record["dsect"], ()):
            if row["type"] not in ("group", "reserved") and row["of"] not in groups:
                assert (record["dsect"], row["name"]) in columns
    assert {row["record_name"] for row in rows} == {r["dsect"] for r in SHIPPED.records}
    assert any(row["name"] == "plsdgx00" and row["code"] for row in rows)


def test_the_page_of_the_dictionary_stands_alone(cpmon: Cpmon, tmp_path: Path):
    cpmon("schema", "dictionary", "--format", "html", "-o", tmp_path / "records.html")
    text = (tmp_path / "records.html").read_text()
    assert "<td>plsmvb2g</td>" in text
    assert 'type="search"' in text
    assert "http://" not in text and "https://" not in text and "$" not in text.split("<script>")[0]
    assert text.count("<section>") >= len(SHIPPED.records)


def test_meta_dictionary_has_the_same_rows(cpmon: Cpmon, perf: Path):
    sql = "SELECT count(*) AS n FROM meta.dictionary"
    said = json.loads(cpmon("query", sql, "--store", perf, "--format", "json").out)
    assert said == [{"n": len(cpmon("schema", "dictionary", "--format", "json").rows)}]


def test_a_page_is_written_into_the_folder_and_shown_from_there(
    cpmon: Cpmon, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own = tmp_path / "own"
    answer = cpmon("schema", "import", page, "--into", own)
    assert answer.status is Status.DONE
    assert "sytrsp: added: sytrsp.newer" in answer.err
    assert "role to look at: sytrsp.newer" in answer.err
    assert sorted(str(p.relative_to(own)) for p in own.rglob("*.csv")) == [
        "d00_system/sytrsp.csv",
        "lengths.csv",
        "records.csv",
    ]
    monkeypatch.setenv("CPMON_SCHEMAS", str(own))
    (row,) = cpmon("schema", "show", "sytrsp.newer", "--format", "json").rows
    assert (row["offset"], row["since"], row["meaning"]) == (72, "5.4.0", "New things")
    again = cpmon("schema", "import", page)
    assert "confirmed" in again.text
    assert "files written in" in again.err and again.err.endswith(": 0\n")


def test_codes_of_a_page_are_a_lookup_for_sql(
    cpmon: Cpmon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = example()
    made.line("flags").bits = [
        ("X'01'", "XMPLRC_TAPE", "A tape"),
        ("X'02'", "XMPLRC_DISK", "A disk"),
    ]
    page, own, store = tmp_path / "page.html", tmp_path / "own", tmp_path / "perf"
    page.write_text(made.html())
    assert cpmon("schema", "import", page, "--into", own).status is Status.DONE
    monkeypatch.setenv("CPMON_SCHEMAS", str(own))
    reload()
    shown = cpmon("schema", "show", "xmplrc.flags").text.splitlines()
    assert [line.split()[3:6] for line in shown[-2:]] == [
        ["code", "tape", "01"],
        ["code", "disk", "02"],
    ]
    start = fields("mtrsys", 60, systmid="VMTEST")
    things = [fields("xmplrc", 60, cpuad=n, flags=n) for n in (1, 2, 3)]
    (tmp_path / "a.mon").write_bytes(dump(interval(60, start, *things)))
    assert cpmon("ingest", tmp_path / "a.mon", "--store", store).status is Status.DONE
    sql = (
        "SELECT x.flags, c.name, c.meaning FROM monitor.xmplrc x LEFT JOIN meta.dictionary c"
        " ON c.table_name = 'xmplrc' AND c.column_name = 'flags' AND c.type = 'code'"
        " AND CAST('0x' || c.code AS BIGINT) = x.flags ORDER BY 1"
    )
    rows = cpmon("query", sql, "--store", store, "--format", "json").rows
    assert [tuple(row.values()) for row in rows] == [
        (1, "tape", "A tape"), (2, "disk", "A disk"), (3, None, None),
    ]  # fmt: skip
    said = cpmon("show", tmp_path / "a.mon", "--record", "xmplrc", "--limit", "3").text
    assert "tape" in said and "disk" in said


def test_a_dry_run_shows_the_difference_and_writes_nothing(
    cpmon: Cpmon, page: Path, tmp_path: Path
):
    answer = cpmon("schema", "import", page, "--into", tmp_path / "own", "--dry-run")
    assert "+72,4,,unsigned,newer,,,gauge,,5.4.0,,published,New things" in answer.text
    assert "-44,4,,unsigned,plsmvb2g,,,counter,pages,,,derived" in answer.text
    assert "files would be written" in answer.err
    assert not (tmp_path / "own").exists()


def test_pages_that_confirm_a_layout_leave_nothing_in_the_folder(
    cpmon: Cpmon, page: Path, tmp_path: Path
):
    same = tmp_path / "MRIODDDV.HTML"
    same.write_text(draft(SHIPPED, "iodddv", "7.5.0", length=28).html())
    text = cpmon("schema", "import", same, page, "--into", tmp_path / "own", "--dry-run").text
    assert "sytrsp,sample" in text and "iodddv,event" not in text
    assert cpmon("schema", "import", same, page, "--into", tmp_path / "own").status is Status.DONE
    for name in ("records.csv", "lengths.csv"):
        rows = csv.DictReader((tmp_path / "own" / name).read_text().splitlines())
        assert {row["dsect"] for row in rows} == {"sytrsp"}


def test_a_contradicting_page_is_refused_with_its_line_and_the_others_are_written(
    cpmon: Cpmon, page: Path, tmp_path: Path
):
    wrong = draft(SHIPPED, "sytxsp")
    wrong.line("plspgin").name = "SYTXSP_OTHER"
    text = wrong.aligned()
    (tmp_path / "wrong.txt").write_text(text)
    line = next(n for n, t in enumerate(text.split("\n"), 1) if "SYTXSP_OTHER " in t)

    answer = cpmon("schema", "import", tmp_path / "wrong.txt", page, "--into", tmp_path / "own")
    assert answer.status is Status.USAGE
    assert f"wrong.txt, line {line}" in answer.err
    assert "expected  plspgin" in answer.err
    assert not list((tmp_path / "own").rglob("sytxsp.csv"))
    assert list((tmp_path / "own").rglob("sytrsp.csv"))
    taken = cpmon(
        "schema", "import", tmp_path / "wrong.txt", "--into", tmp_path / "own", "--replace"
    )
    assert taken.status is Status.DONE
    assert "other" in (tmp_path / "own" / "d00_system" / "sytxsp.csv").read_text()


def test_a_page_that_renames_a_record_takes_its_number(
    cpmon: Cpmon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own, text = tmp_path / "own", example().aligned()
    for name in ("XMPLRC", "AAAREC", "XMPLRC"):
        (tmp_path / "page.txt").write_text(text.replace("XMPLRC", name))
        answer = cpmon("schema", "import", tmp_path / "page.txt", "--into", own, "--replace")
        assert answer.status is Status.DONE
        rows = list(csv.DictReader((own / "records.csv").read_text().splitlines()))
        assert [row["dsect"] for row in rows] == [name.lower()]
        monkeypatch.setenv("CPMON_SCHEMAS", str(own))
        reload()
        assert f"{name}  domain 12, record 31" in cpmon("schema", "show", name).text


def test_the_release_of_an_import_is_for_pages_that_say_none(cpmon: Cpmon, tmp_path: Path):
    said = example().aligned()
    (tmp_path / "a.txt").write_text(said)
    (tmp_path / "b.txt").write_text(said.replace("based on", "about").replace("XMPLRC", "OTHER"))
    words = ("schema", "import", tmp_path / "a.txt", tmp_path / "b.txt", "--release", "5.4")
    table = cpmon(*words, "--replace", "--into", tmp_path / "own").text.splitlines()[2:4]
    assert [row.split()[:3] for row in table] == [
        ["a.txt", "xmplrc", "5.2.0"],
        ["b.txt", "other", "5.4.0"],
    ]


def test_a_page_comes_from_standard_input(cpmon: Cpmon, page: Path, tmp_path: Path):
    answer = cpmon("schema", "import", "-", "--into", tmp_path / "own", stdin=page.read_bytes())
    assert answer.status is Status.DONE
    assert (tmp_path / "own" / "d00_system" / "sytrsp.csv").exists()


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Pages of 7.3.0 in folders: known, grown, new, withdrawn, contradicting, not understood."""
    folder = tmp_path / "mon730"
    (folder / "more").mkdir(parents=True)
    grown = draft(SHIPPED, "sytxsg", "7.3.0", length=204)
    at = next(n for n, line in enumerate(grown.lines) if line.offset == 188)
    grown.lines[at : at + 1] = [
        Line(188, "Unsigned", 4, "SYTXSG_NEWER", "New things"),
        Line(192, "Unsigned", 4, "*", dim="(1:3)"),
    ]
    new = draft(SHIPPED, "prcpup", "7.3.0", length=24)
    new.line("end").offset = 24
    new.lines[-2] = Line(20, "Unsigned", 4, "PRCPUP_PARKED", "Processors parked")
    wrong = draft(SHIPPED, "sytscp", "7.3.0")
    pages = {
        "MRMTREND.HTML": draft(SHIPPED, "mtrend", "7.3.0").html(),
        "more/MRSYTXSG.html": grown.html(),
        "more/MRSYTSCP.txt": wrong.aligned(),
        "MRBROKEN.txt": draft(SHIPPED, "sytasg").aligned().replace("Character ", "Personal  "),
        "MRPRCPUP.HTM": new.html(),
        "index.html": "<html><body>Pages of a release</body></html>",
        "picture.png": "no text",
        "MRSTOXSG.html": (
            "MRSTOXSG Prolog\n DSECT NAME - STOXSG\n DESCRIPTIVE NAME - Monitor Sample Record\n"
            " Domain 3 - Storage\n Record 9 - Expanded storage\n"
            " DESCRIPTION - This record is no longer generated.\n"
            "This information is based on z/VM V7R3.0.\n"
        ),
    }
    for name, text in pages.items():
        (folder / name).write_text(text)
    return folder


def outcomes(text: str) -> dict[str, str]:
    """What came of each page, by its name."""
    lines = text.splitlines()[2:]
    results = ("no record page", "not understood", "confirmed", "new", "withdrawn", "contradicted")
    return {
        line.split()[0]: next(r for r in (*results, "grown") if line.endswith(r)) for line in lines
    }


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_an_archive_with_a_damaged_byte_is_read_or_refused(method: int, tmp_path: Path):
    path = tmp_path / "mon730.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("MRÄ.TXT", example().aligned()[:300])
    whole, refused = path.read_bytes(), 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x84]) + whole[at + 1 :])
        try:
            list(collect_pages([path]))
        except LayoutError:
            refused += 1
    assert refused > 50


def test_an_import_refuses_a_damaged_archive(cpmon: Cpmon, tmp_path: Path):
    path = tmp_path / "mon730.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("MRXMPLRC.TXT", example().aligned())
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes([whole[200] ^ 0xFF]) + whole[201:])
    answer = cpmon("schema", "import", path, "--into", tmp_path / "own")
    assert (answer.status, "zip archive" in answer.err) == (Status.USAGE, True)


@pytest.mark.parametrize("kept", ["folder", "zip"])
def test_a_release_is_imported_at_once(cpmon: Cpmon, release: Path, tmp_path: Path, kept: str):
    pages = release
    if kept == "zip":
        pages = tmp_path / "mon730.zip"
        with zipfile.ZipFile(pages, "w") as archive:
            for file in sorted(p for p in release.rglob("*") if p.is_file()):
                archive.write(file, file.relative_to(release))
    own, effects = tmp_path / "own", tmp_path / "effects.md"
    answer = cpmon("schema", "import", pages, "--into", own, "--effects", effects)
    assert answer.status is Status.USAGE
    assert outcomes(answer.text) == {
        "MRMTREND.HTML": "confirmed",
        "more/MRSYTXSG.html": "grown",
        "more/MRSYTSCP.txt": "contradicted",
        "MRBROKEN.txt": "not understood",
        "MRPRCPUP.HTM": "new",
        "index.html": "no record page",
        "MRSTOXSG.html": "withdrawn",
    }
    assert "the type Personal is not known" in answer.err
    assert "1 withdrawn" in answer.err and "1 not understood" in answer.err
    said = effects.read_text()
    assert "SYTXSG (0.14): 1 new fields to query, which it does not show: NEWER." in said
    assert "No report reads MTREND, STOXSG." in said


def test_an_archive_that_is_none_and_a_folder_without_pages_are_told(cpmon: Cpmon, tmp_path: Path):
    (tmp_path / "pages.zip").write_text("no archive")
    answer = cpmon("schema", "import", tmp_path / "pages.zip", "--into", tmp_path / "own")
    assert (answer.status, "zip archive" in answer.err) == (Status.USAGE, True)
    (tmp_path / "empty").mkdir()
    answer = cpmon("schema", "import", tmp_path / "empty", "--into", tmp_path / "own")
    assert (answer.status, "no page of a record" in answer.err) == (Status.USAGE, True)


def test_two_releases_are_told_apart(cpmon: Cpmon):
    rows = cpmon("schema", "diff", "5.3.0", "7.3.0", "--format", "json").rows
    found = {(r["record"], r["change"]): r for r in rows}
    assert found["sytxsp", "no longer written"]["before"] == "up to 6.3.0"
    assert "xstcppar" in found["sytxsg", "lost"]["fields"].split()
    assert (found["sytprp", "length"]["before"], found["sytprp", "length"]["after"]) == (
        "108",
        "352",
    )
    assert found["sytprp", "bytes of unknown meaning"]["after"] == str(352 - 108)
    assert "no difference" in cpmon("schema", "diff", "5.3.0", "5.3.0").err


def test_layouts_of_ones_own_are_shared_as_an_archive(cpmon: Cpmon, page: Path, tmp_path: Path):
    own, archive = tmp_path / "own", tmp_path / "own.zip"
    cpmon("schema", "import", page, "--into", own)
    assert cpmon("schema", "export", archive, "--layouts", own).status is Status.DONE
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "there")
    files = sorted(p.relative_to(own) for p in own.rglob("*.csv"))
    assert [p.relative_to(tmp_path / "there") for p in sorted((tmp_path / "there").rglob("*.csv"))]
    for file in files:
        assert (tmp_path / "there" / file).read_bytes() == (own / file).read_bytes()
    (tmp_path / "none").mkdir()
    assert "no layouts" in cpmon("schema", "export", archive, "--layouts", tmp_path / "none").err


def test_an_import_needs_a_folder_that_is_not_the_installed_one(cpmon: Cpmon, page: Path):
    before = (home() / "records.csv").read_bytes()
    assert "--into" in cpmon("schema", "import", page).err
    assert "cpmon's own folder" in cpmon("schema", "import", page, "--into", home()).err
    assert (home() / "records.csv").read_bytes() == before


def test_what_is_no_page_or_no_file_is_told(cpmon: Cpmon, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("shopping list\n")
    answer = cpmon(
        "schema", "import", tmp_path / "notes.txt", tmp_path / "none", "--into", tmp_path
    )
    assert answer.status is Status.USAGE
    assert "no page of a monitor record" in answer.err
    assert "none cannot be read" in answer.err


def test_layouts_beside_a_store_are_used_with_it(cpmon: Cpmon, page: Path, tmp_path: Path):
    store = tmp_path / "store"
    cpmon("schema", "import", page, "--into", store / "schemas")
    with_store = cpmon("schema", "show", "sytrsp", "--store", store, "--format", "json").rows
    assert with_store[-1]["name"] == "newer"
    assert cpmon("schema", "show", "sytrsp", "--format", "json").rows[-1]["name"] == "plsalecg"
