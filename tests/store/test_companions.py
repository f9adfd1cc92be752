"""Text forms of companions: what is read, and what a wrong line says about itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpmon.core.errors import CpmonError
from cpmon.ingest import ingest
from cpmon.reduce.compare.samples import MEASURES
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.measured.companions import COMPANIONS, TABLES
from tests.dumps import dump, fields, interval
from tests.scenarios import CONFIG

QUERY_TIME = """\
* M01 sample 1 begins
QUERY TIME
TIME IS 23:59:11 EST FRIDAY 08/17/01
CONNECT= 01:12:09 VIRTCPU= 000:05.11 TOTCPU= 000:07.45
* M01 sample 1 ends
query time
TIME IS 00:09:17 EST SATURDAY 08/18/01
CONNECT= 01:22:15 VIRTCPU= 010:10.86 TOTCPU= 010:13.41

cp q t
TIME IS 00:10:00 EST SATURDAY 2001-08-18
CONNECT= 01:23:00 VIRTCPU= 999:59.99 TOTCPU= 1000:00.00
TIME IS 00:10:00 EST SATURDAY 08/18/2001
CONNECT= 01:23:00 VIRTCPU= 999:59.99 TOTCPU= 1000:00.00
"""
INDICATE_USER = """\
INDICATE USER
USERID=LINUX001 MACH=ESA STOR=128M VIRT=V XSTORE=NONE
IPLSYS=DEV 0201 DEVNUM=00014
PAGES: RES=00032411 WS=00032011 LOCK=00000028 RESVD=00000000
NPREF=00000000 PREF=00000000 READS=00000012 WRITES=00000000
CPU 00: CTIME=01:12 VTIME=000:05 TTIME=000:07 IO=033012
        RDR=000000 PRT=000000 PCH=000000
CPU 01: CTIME=01:12 VTIME=000:05 TTIME=000:07 IO=000008
        RDR=000000 PRT=000000 PCH=000000
Indicate User linux001
USERID=LINUX001 MACH=ESA STOR=128M VIRT=V XSTORE=NONE
IPLSYS=DEV 0201 DEVNUM=00014
PAGES: RES=00032500 WS=00032100 LOCK=00000028 RESVD=00000000
NPREF=00000000 PREF=00000000 READS=00000015 WRITES=00000004
CPU 00: CTIME=01:22 VTIME=005:05 TTIME=005:07 IO=098548
        RDR=000000 PRT=000000 PCH=000000
CPU 01: CTIME=01:22 VTIME=000:05 TTIME=000:07 IO=000010
        RDR=000000 PRT=000000 PCH=000000
"""
SAMPLES = """\
measure,sample,value
read_kb_per_s,1,8531
read_kb_per_s,2,8590.5
thrasher_score,1,39152366
"""
TEXTS = {
    "query_time": QUERY_TIME,
    "indicate_user": INDICATE_USER,
    "samples": SAMPLES,
    "throughput": "interval_end,seconds,transactions\n2001-12-18T10:01:00Z,60,1200\n",
    "hardware": "interval_end,seconds,busy_s,emulation_s\n2001-12-18T10:01:00Z,60,30.5,20\n",
}


def read(kind: str, text: str, folder: Path) -> list[dict[str, object]]:
    file = folder / f"R1.{kind}.txt"
    file.write_text(text, encoding="utf-8")
    return COMPANIONS[kind].read(file)


def test_query_time_is_growth_between_the_two_responses_of_a_sample(tmp_path: Path):
    # 10:10.86 less 0:05.11 is 605.75 s; 10:13.41 less 0:07.45 is 605.96 s, so CP took 0.21 s
    first, second = read("query_time", QUERY_TIME, tmp_path)

    assert first == {
        "sample": 1,
        "began": "2001-08-17 23:59:11",
        "ended": "2001-08-18 00:09:17",
        "seconds": 606,
        "virtual_cs": 60575,
        "total_cs": 60596,
        "cp_cs": 21,
    }
    assert (second["sample"], second["seconds"], second["virtual_cs"]) == (2, 0, 0)
    assert second["began"] == second["ended"] == "2001-08-18 00:10:00"


def test_indicate_user_sums_processors_and_takes_pages_behind_the_sample(tmp_path: Path):
    assert read("indicate_user", INDICATE_USER, tmp_path) == [
        {
            "sample": 1,
            "userid": "LINUX001",
            "virtual_ios": 98548 + 10 - 33012 - 8,
            "page_reads": 3,
            "page_writes": 4,
            "resident_pages": 32500,
            "working_set_pages": 32100,
        }
    ]


def test_samples_of_indicate_user_are_counted_for_each_user(tmp_path: Path):
    other = INDICATE_USER.replace("LINUX001", "LINUX002")
    rows = read("indicate_user", INDICATE_USER + other + INDICATE_USER, tmp_path)

    assert [(row["userid"], row["sample"]) for row in rows] == [
        ("LINUX001", 1),
        ("LINUX001", 2),
        ("LINUX002", 1),
    ]


def test_samples_are_read_in_any_order_of_lines_and_columns(tmp_path: Path):
    text = "sample,value,note,measure\n2,0.5,x,read_s_cold\n1,-3,,read_s_cold\n"
    assert read("samples", text, tmp_path) == [
        {"measure": "read_s_cold", "sample": 2, "value": 0.5},
        {"measure": "read_s_cold", "sample": 1, "value": -3.0},
    ]


def test_a_measure_that_a_console_gives_is_not_given_again(store: Store, tmp_path: Path):
    samples = (interval(s, CONFIG, fields("sytrsp", s)) for s in (60, 120))
    (tmp_path / "R1.mon").write_bytes(dump(*samples))
    (tmp_path / "q.txt").write_text(QUERY_TIME)
    (tmp_path / "s.csv").write_text(f"{SAMPLES}cp_cpu_cs,1,21\nread_s,1,7\n")
    run = "run_id = 'R1'\n[companions]\nquery_time = 'q.txt'\nsamples = 's.csv'\n"
    (tmp_path / "R1.run.toml").write_text(run)
    with pytest.raises(CpmonError) as caught:
        ingest(tmp_path / "R1.mon", store)
    assert caught.value.code == "companion-measure-doubled"
    assert caught.value.found == "cp_cpu_cs, read_s"


@pytest.mark.parametrize(
    ("kind", "old", "new", "line", "expected", "found"),
    [
        ("throughput", "transactions", "users", 1, "a CSV with the columns", "interval_end,seco"),
        ("throughput", "1200", "", 2, "a CSV with the columns", "2001-12-18T10:01:00Z,60,"),
        ("throughput", ",1200", "", 2, "a CSV with the columns", "2001-12-18T10:01:00Z,60"),
        ("throughput", "2001-12-18", "18.12.2001", 2, "a CSV with the columns", "18.12.2001T"),
        ("hardware", "30.5", "nan", 2, "a CSV with the columns", "2001-12-18T10:01:00Z,60,nan"),
        ("query_time", "TIME IS 23", "TIME WAS 23", 3, "TIME IS hh", "TIME WAS 23:59"),
        ("query_time", "08/17/01", "17/08/01", 3, "TIME IS hh", "TIME IS 23:59:11 EST FRIDAY 17/0"),
        ("query_time", "000:05.11", "000:65.11", 4, "CONNECT= hh", "CONNECT= 01:12:09"),
        (
            "query_time",
            "010:10.86",
            "000:03.86",
            7,
            "no time smaller than in line 3",
            "sample 1: 606",
        ),
        ("query_time", "08/18/01", "08/17/01", 7, "no time smaller", "sample 1: -85794 s"),
        ("query_time", "010:13.41", "010:12.00", 7, "no time smaller", "sample 1: 606 s, VIRTCPU"),
        ("query_time", "EST SATURDAY 08/18/01", "EDT SATURDAY 08/18/01", 7, "EST", "EDT"),
        ("indicate_user", "RES=00032500", "", 11, "USERID=", "no RES="),
        ("indicate_user", "READS=00000012", "READS=many", 2, "USERID=", "READS=many"),
        (
            "indicate_user",
            "READS=00000012",
            "READS=00000016",
            11,
            "no counter smaller",
            "READS=15 afte",
        ),
        ("indicate_user", "USERID=LINUX001", "USER LINUX001", 2, "USERID=", "USER LINUX001"),
        ("indicate_user", "NPREF=00000000 PREF", "NOT LOGGED ON\nPREF", 5, "USERID=", "NOT LOGGED"),
        ("samples", "8590.5", "8.5 MB", 3, "a CSV with", "read_kb_per_s,2,8.5 MB"),
        ("samples", "s,2,8590.5", "s,1,8590.5", 3, "one read_kb_per_s of sample 1", "read_kb_per"),
        ("samples", "thrasher_score,1", "thrasher_score,0", 4, "a CSV with", "thrasher_score,0"),
        ("samples", "measure,", "name,", 1, "a CSV with the columns", "name,sample,value"),
        ("samples", "39152366", "inf", 4, "a CSV with", "thrasher_score,1,inf"),
    ],
)
def test_a_wrong_line_is_named_with_file_line_and_what_was_expected(
    kind: str, old: str, new: str, line: int, expected: str, found: str, tmp_path: Path
):
    assert old in TEXTS[kind]

    with pytest.raises(CpmonError) as caught:
        read(kind, TEXTS[kind].replace(old, new, 1), tmp_path)
    assert caught.value.place == f"{tmp_path / f'R1.{kind}.txt'}, line {line}"
    assert (caught.value.expected or "").startswith(expected)
    assert (caught.value.found or "").startswith(found)
    assert f"R1.{kind}.txt" in caught.value.problem


def test_intervals_are_read_in_any_order_of_columns_zone_and_marks(tmp_path: Path):
    text = 'seconds,"interval_end",cpu,transactions\n60,2001-12-18T12:01:00.25+02:00,x,"1200"\n'
    (interval,) = read("throughput", f"\ufeff{text}", tmp_path)
    assert interval == {
        "interval_end": "2001-12-18 10:01:00.250000",
        "seconds": 60.0,
        "transactions": 1200.0,
    }


def test_a_log_that_ends_within_a_response_is_an_error(tmp_path: Path):
    with pytest.raises(CpmonError, match="in the middle of a response") as caught:
        read("query_time", QUERY_TIME[: QUERY_TIME.rindex("CONNECT")], tmp_path)
    assert (caught.value.place or "").endswith("line 13")


@pytest.mark.parametrize("kind", ["query_time", "indicate_user"])
def test_a_response_without_a_partner_is_an_error(kind: str, tmp_path: Path):
    key = {"query_time": "TIME IS", "indicate_user": "USERID="}[kind]
    text = TEXTS[kind]
    once = text[: text.index(key, text.index(key) + 1)]

    with pytest.raises(CpmonError, match="without a partner") as caught:
        read(kind, once, tmp_path)
    assert (caught.value.found or "").startswith("1 response")


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("text", ["", "* nothing was measured\n\nQUERY TIME\n"])
def test_a_companion_without_figures_is_an_error(kind: str, text: str, tmp_path: Path):
    with pytest.raises(CpmonError, match="has no figures"):
        read(kind, text, tmp_path)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_companion_that_is_no_text_or_missing_is_an_error(kind: str, tmp_path: Path):
    file = tmp_path / "x.txt"
    with pytest.raises(CpmonError, match=r"x\.txt cannot be read"):
        COMPANIONS[kind].read(file)
    file.write_bytes(b"\xe3\x89\x94\x85")  # "Time" in EBCDIC
    with pytest.raises(CpmonError, match=r"x\.txt cannot be read"):
        COMPANIONS[kind].read(file)


def test_companions_of_a_run_file_land_in_their_tables(store: Store, tmp_path: Path):
    samples = (interval(s, CONFIG, fields("sytrsp", s)) for s in (60, 120))
    (tmp_path / "R1.mon").write_bytes(dump(*samples))
    said = ["run_id = 'R1'", "[companions]"]
    for kind, text in TEXTS.items():
        (tmp_path / f"R1.{kind}.txt").write_text(text)
        said.append(f"{kind} = 'R1.{kind}.txt'")
    (tmp_path / "R1.run.toml").write_text("\n".join(said))
    ingest(tmp_path / "R1.mon", store)

    with connect(store, reductions()) as connection:
        counts = {
            table: connection.sql(f"SELECT count(*) FROM meta.{table}").fetchall()[0][0]
            for table in TABLES
        }
        times = connection.sql(
            "SELECT run_id, sample, date_part('epoch', ended - began), seconds, cp_cs "
            "FROM meta.query_time ORDER BY sample"
        ).fetchall()
        scores = connection.sql(
            "SELECT sample, value FROM run_samples WHERE measure = 'read_kb_per_s' ORDER BY ALL"
        ).fetchall()
        for table, columns in TABLES.items():
            assert connection.sql(f"FROM meta.{table}").columns == list(columns)

    assert counts == {
        "throughput": 1,
        "hardware": 1,
        "query_time": 2,
        "indicate_user": 1,
        "run_sample": 3,
    }
    assert times == [("R1", 1, 606.0, 606, 21), ("R1", 2, 0.0, 0, 0)]
    assert scores == [(1, 8531), (2, 8590.5)]


PAGE = (Path(__file__).parents[2] / "docs" / "companions.md").read_text(encoding="utf-8")
SECTIONS = {
    "QUERY TIME": "query_time",
    "INDICATE USER": "indicate_user",
}


@pytest.mark.parametrize(("section", "kind"), SECTIONS.items())
def test_the_examples_of_the_page_are_read_and_its_columns_are_those_of_the_tables(
    section: str, kind: str, tmp_path: Path
):
    text = PAGE.split(f"### {section}\n")[1].split("\n#")[0]
    example = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    responses = 2 if kind == "indicate_user" else 1  # the page shows one of a pair
    (row, *_) = read(kind, "\n".join([example] * responses), tmp_path)
    columns = list(TABLES[COMPANIONS[kind].table])

    assert {"run_id", *row} == set(columns)
    said = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")][1:]
    assert ["run_id", *(name for cell in said for name in re.findall(r"`(\w+)`", cell))] == columns


def test_the_page_names_every_companion_and_measure():
    assert set(re.findall(r'^(\w+) = "M01', PAGE, re.MULTILINE)) == set(COMPANIONS)
    said = PAGE.split("| measure | unit |")[1]
    assert set(re.findall(r"`(\w+)`", said.split("\n\n")[0])) == set(MEASURES)
