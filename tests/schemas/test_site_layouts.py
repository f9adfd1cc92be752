"""Layouts in a folder of the user's own win over the shipped ones, wherever layouts are used."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from cpmon.core.errors import LayoutError
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.schemas import by_record, fingerprint, layout, layouts, record_names
from cpmon.schemas.loader import COLUMNS, LENGTH_COLUMNS, RECORD_COLUMNS, to_csv
from cpmon.schemas.registry import reload, shipped, site_folder, use
from cpmon.store import Store, connect
from tests.dumps import control, dump, frame, interval, interval_end, record

OWN = """20,2,,unsigned,id,,,key,,,,published,
22,1,,bits,flags,,,flag,,,,published,
22,1,,bit,up,flags,80,flag,,,,published,
23,1,,reserved,*,,,,,,,published,
24,4,,unsigned,many,,,counter,count,,,published,"""


MANY = "24,4,,unsigned,many,,,counter,count"
EMPTY = f"""24,0,2,group,many,iodvon_edevpth,,,,,,published,
{MANY.replace("many,", "label,many")}"""
"""A group of the name, with a label."""

pytestmark = pytest.mark.usefixtures("shipped_again")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a layout of record 12.1."""
    own = tmp_path / "own"
    (own / "d12").mkdir(parents=True)
    (own / "d12" / "xmplrc.csv").write_text(",".join(COLUMNS) + "\n" + OWN + "\n")
    said = "12,1,xmplrc,sample,thing,id,,An example,published\n"
    (own / "records.csv").write_text(",".join(RECORD_COLUMNS) + "\n" + said)
    return own


def change(folder: Path, old: str, new: str, file: str = "d12/xmplrc.csv") -> None:
    path = folder / file
    path.write_text(path.read_text().replace(old, new))


def refused() -> LayoutError:
    reload()
    with pytest.raises(LayoutError) as caught:
        layouts()
    return caught.value


def test_the_variable_names_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch):
    before = (len(layouts()), fingerprint())
    monkeypatch.setenv("CPMON_SCHEMAS", str(folder))
    reload()
    assert layout("xmplrc").field("many").offset == 24
    assert record_names()[12, 1] == "xmplrc"
    assert len(layouts()) == before[0] + 1
    assert fingerprint() != before[1]


def test_a_folder_of_before_there_was_a_column_until_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    change(folder, ",until", "", "records.csv")
    change(folder, ",id,,", ",id,", "records.csv")
    monkeypatch.setenv("CPMON_SCHEMAS", str(folder))
    reload()
    assert layout("xmplrc").title == "An example"
    assert layout("xmplrc").until == ""


def test_a_file_of_the_site_replaces_the_shipped_one(folder: Path, monkeypatch: pytest.MonkeyPatch):
    rows = [r | {"meaning": "our own words"} for r in shipped().fields["sytrsp"][:3]]
    (folder / "d00_system").mkdir()
    (folder / "d00_system" / "sytrsp.csv").write_text(to_csv(rows, COLUMNS))
    lengths = [{"dsect": "sytrsp", "release": "4.3.0", "length": "28"}]
    (folder / "lengths.csv").write_text(to_csv(lengths, LENGTH_COLUMNS))
    monkeypatch.setenv("CPMON_SCHEMAS", str(folder))
    reload()
    found = by_record()[0, 4]
    assert [f.meaning for f in found.fields] == ["our own words"] * 3
    assert found.grain == "processor"
    assert dict(found.lengths)["4.3.0"] == 28
    assert dict(found.lengths)["5.2.0"] == 60
    assert by_record()[0, 5].name == "sytxsp"


def test_a_record_of_the_site_takes_the_place_of_one_with_the_same_number(folder: Path):
    change(folder, "12,1,", "0,4,", "records.csv")
    use(folder)
    assert by_record()[0, 4].name == "xmplrc"
    assert "sytrsp" not in {found.name for found in layouts()}


def test_the_variable_wins_over_the_folder_beside_a_store(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "empty").mkdir()
    use(tmp_path / "empty")
    assert site_folder() == tmp_path / "empty"
    monkeypatch.setenv("CPMON_SCHEMAS", str(folder))
    assert site_folder() == folder


def test_use_takes_effect_at_once_and_can_be_taken_back(folder: Path):
    before = fingerprint()
    use(folder)
    assert "xmplrc" in {found.name for found in layouts()}
    use(None)
    assert fingerprint() == before


def test_a_variable_that_names_no_folder_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("CPMON_SCHEMAS", str(tmp_path / "nowhere"))
    error = refused()
    assert error.problem == "CPMON_SCHEMAS names no folder"
    assert error.found == str(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("d12/xmplrc.csv", "unsigned,id", "unsinged,id", "unknown type"),
        ("d12/xmplrc.csv", "24,4", "22,4", "overlaps"),
        ("d12/xmplrc.csv", "24,4", "four,4", "a number is expected"),
        ("d12/xmplrc.csv", ",code,", ",", "other columns"),
        ("d12/xmplrc.csv", "published,\n22", "published\n22", "more or fewer cells"),
        ("records.csv", ",id,", ",many,", "different keys"),
        ("d12/xmplrc.csv", MANY, f"-{MANY}", "xmplrc.many is in no record"),
        ("d12/xmplrc.csv", MANY, "24,-4,,char,many,,,text,", "xmplrc.many is in no record"),
        ("d12/xmplrc.csv", MANY, f"9999999999{MANY}", "xmplrc.many is in no record"),
        ("d12/xmplrc.csv", MANY, EMPTY.replace("24,0,2", "24,4,9999999999"), "is in no record"),
        ("d12/xmplrc.csv", MANY, "24,4,2,group,many,xmplrc,,,", "xmplrc_many holds itself"),
        ("d12/xmplrc.csv", MANY, EMPTY, "xmplrc_many has entries of 0 bytes"),
    ],
)
def test_an_error_names_the_file(folder: Path, file: str, old: str, new: str, problem: str):
    change(folder, old, new, file)
    use(folder)
    error = refused()
    assert problem in error.problem
    assert (error.place or "").startswith(str(folder))


def test_a_number_is_that_of_one_record(folder: Path):
    with (folder / "records.csv").open("a") as records:
        records.write("12,1,aaarec,sample,thing,id,,The same again,published\n")
    use(folder)
    error = refused()
    assert error.problem == "two rows have the number 12.1"
    assert error.place == str(folder / "records.csv")
    assert error.found == "xmplrc and aaarec"


def test_a_mistake_in_what_is_shipped_is_not_blamed_on_the_site(folder: Path):
    use(folder)
    assert layout("sytrsp").name == "sytrsp"


def test_a_dump_lands_by_the_layouts_of_the_site(folder: Path, tmp_path: Path):
    use(folder)
    bodies = [struct.pack(">HBxI", 7, 0x80, 100), struct.pack(">HBxI", 7, 0x00, 130)]
    # Two intervals of one frame each, at the addresses that the control records name.
    dump = b"".join(
        control(("S", 0x2000, 0x2FFF))
        + frame(record(12, 1, body, 60 * number), interval_end(60 * number))
        for number, body in enumerate(bodies, 1)
    )
    (tmp_path / "dump.mon").write_bytes(dump + control())
    store = Store(tmp_path / "store", create=True)
    ingest(tmp_path / "dump.mon", store)
    with connect(store, reductions()) as connection:
        landed = connection.sql("SELECT id, up, many FROM monitor.xmplrc ORDER BY tod").fetchall()
        grown = connection.sql("SELECT many FROM interval.xmplrc ORDER BY tod").fetchall()
        named = connection.sql(
            "SELECT column_name FROM meta.dictionary WHERE record_name = 'xmplrc' ORDER BY ALL"
        ).fetchall()
    assert landed == [(7, True, 100), (7, False, 130)]
    assert grown == [(None,), (30,)]
    assert named == [("flags",), ("id",), ("many",), ("up",)]


def test_signed_numbers_of_any_length_land_as_they_were_written(folder: Path, tmp_path: Path):
    begins = {1: 23, 2: 24, 4: 28, 8: 32}
    rows = [f"{begins[n]},{n},,signed,n{n},,,gauge,,,,published," for n in begins]
    change(folder, OWN, "\n".join([OWN.splitlines()[0], *rows]))
    use(folder)
    body = struct.pack(">Hxbhxxiq", 7, -(2**7), -(2**15), -(2**31), -(2**63))
    (tmp_path / "dump.mon").write_bytes(dump(interval(60, record(12, 1, body))))
    store = Store(tmp_path / "store", create=True)
    ingest(tmp_path / "dump.mon", store)
    with connect(store, ()) as connection:
        landed = connection.sql("SELECT n1, n2, n4, n8 FROM monitor.xmplrc").fetchall()
    assert landed == [(-(2**7), -(2**15), -(2**31), -(2**63))]
