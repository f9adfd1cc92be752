"""`cpmon doctor`: a page on anything that can be given, without the names that are in it."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import json
import lzma
import re
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from cpmon.cli.main import Status
from cpmon.ingest.container.source import Container
from cpmon.reduce.reports import expected_reports
from cpmon.schemas.loader import RECORD_COLUMNS, to_csv
from cpmon.schemas.registry import layout, reload, shipped
from tests.cli.answer import Cpmon
from tests.conftest import Golden, reports_under_golden
from tests.dumps import dump, fields, frame, interval, record, samples
from tests.ingest.container.test_compression import DATA, FRAMES, RECORDS, TAPE, padded, rdw, zipped
from tests.ingest.reading import deltas_of, read

SAMPLES = Path(__file__).parents[2] / "sample-data"
LATER = {"sytprp": 352, "useact": 508, "storsg": 844, "sytusr": 108, "stoasp": 228}
"""Lengths of 6.2 to 7.5."""


def sample_of_7_3(at: float) -> bytes:
    """An interval with longer records, one that 5.3 did not have, and one that nobody knows."""
    configuration = [fields("mtrsys", at, systmid="PRODVM", hcpcpeid="07030001")]
    users = [
        fields("useact", at, length=LATER["useact"], vmduser=name, vmdttime=int(at) << 12)
        for name in ("LINUXWEB", "MAINTPRD")
    ]
    return interval(
        at,
        *(configuration if at == 60 else []),
        *(fields(name, at, length=length) for name, length in LATER.items() if name != "useact"),
        *users,
        record(4, 13, b"\0" * 40, at),
        record(12, 5, b"LINUXWEB" * 3, at),
    )


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("later") / "later.mon"
    file.write_bytes(dump(*map(sample_of_7_3, (60, 120, 180))))
    return file


def without_hashes(text: str) -> str:
    return re.sub(r"(sha256|content) +[0-9a-f]{32,64}", r"\1 ...", text)


@pytest.mark.golden
def test_the_page_reads_as_it_did(cpmon: Cpmon, later: Path, golden: Golden, tmp_path: Path):
    scenario = (SAMPLES / "scenarios" / "small-lab.toml").read_text()
    (tmp_path / "lab53.toml").write_text(scenario.replace('"5.2.0"', '"5.3.0"'))
    words = ("--run", "LAB52", "--intervals", "3", "-o", tmp_path)
    assert cpmon("generate", tmp_path / "lab53.toml", *words).status is Status.DONE
    cases = (("lab-5.3", tmp_path / "LAB52.mon", Status.DONE), ("later", later, Status.WARNINGS))
    for name, file, status in cases:
        with reports_under_golden(expected_reports):
            answer = cpmon("doctor", file)
        assert answer.status is status
        golden.check(f"doctor/{name}.txt", without_hashes(answer.text))


def test_longer_and_unknown_records_are_named_with_reports_and_pages(cpmon: Cpmon, later: Path):
    (found,) = cpmon("doctor", later, "--format", "json").rows
    records = {row["record"]: row for row in found["records"]}
    assert (records["4.3"]["state"], records["4.3"]["longest"]) == ("longer", LATER["useact"])
    assert records["4.3"]["known_bytes"] == layout("useact").length
    assert records["4.13"]["name"] and records["12.5"]["state"] == "unknown"
    pages = {row["record"]: row for row in found["pages"]}
    assert pages["4.3"]["page"] == "MRUSEACT"
    assert "USER_RESOURCE_UTIL" in pages["4.3"]["reports"]
    assert pages["12.5"]["page"] is None and pages["12.5"]["reports"] == []
    outcomes = {row["report"]: row["outcome"] for row in found["reports"]}
    assert outcomes["USER_RESOURCE_UTIL"] == "uncertain"
    assert outcomes["LPAR"] == "nothing to report"
    assert found["dump"]["release"] == "7.3.0" and found["dump"]["can_multithread"]


@pytest.mark.usefixtures("shipped_again")
def test_a_record_that_a_dump_has_is_never_called_withdrawn_without_a_word(
    cpmon: Cpmon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its layout may say so by a page that was misread, or the release by a wrong --release."""

    def sample(at: float) -> bytes:
        user = fields("useact", at, vmduser="U1", vmdttime=int(at) << 12)
        start = [fields("mtrsys", at, systmid="PRODVM", hcpcpeid="07030001")] if at == 60 else []
        return interval(at, *start, user, fields("stoxsg", at))

    own, file, store = tmp_path / "own", tmp_path / "a.mon", tmp_path / "perf"
    own.mkdir()
    row = next(r for r in shipped().records if r["dsect"] == "useact") | {"until": "6.4.0"}
    (own / "records.csv").write_text(to_csv([row], RECORD_COLUMNS))
    monkeypatch.setenv("CPMON_SCHEMAS", str(own))
    reload()
    file.write_bytes(dump(*map(sample, (60, 120, 180))))

    (found,) = cpmon("doctor", file, "--format", "json").rows
    assert [r["record"] for r in found["records"] if r["state"] == "withdrawn"] == ["3.9", "4.3"]
    pages = {row["page"]: row for row in found["pages"]}
    assert pages["MRUSEACT"]["why"] == pages["MRSTOXSG"]["why"] == "withdrawn, says its layout"
    assert "USER_RESOURCE_UTIL" in pages["MRUSEACT"]["reports"]
    assert {f["code"]: f["details"] for f in found["findings"]}["RECORD_WITHDRAWN"] == [
        "records of stoxsg: none after 6.3.0 by the layout",
        "records of useact: none after 6.4.0 by the layout",
    ]
    assert cpmon("ingest", file, "--store", store).status is Status.WARNINGS
    report = " ".join(cpmon("report", "USER_RESOURCE_UTIL", "--store", store).text.split())
    assert "no longer are: USEACT (4.3), none after 6.4.0" in report


def damaged() -> bytes:
    """A counter that falls while others of its user go on, and a frame broken at a name."""
    user = {"vmduser": "PAYROLL1", "vmdmode": 1}
    first = fields("useact", 60, **user, vmdctflt=9, vmdctpwt=1, vmdctpvr=1)
    second = fields("useact", 120, **user, vmdctflt=8, vmdctpwt=2, vmdctpvr=2)
    return dump(
        interval(60, fields("mtrsys", 60, systmid="PRODVM"), first),
        interval(120, second),
        samples(frame(second, "PAYROLL1".encode("cp037"))),
    )


def archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in ("PAYROLL1.mon", "VMPK01.mon"):
            info = tarfile.TarInfo(name)
            info.size = len(DATA)
            tar.addfile(info, io.BytesIO(DATA))
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "damage"),
    [("text", "FLIP-BITS"), ("markdown", "REPEAT-FRAMES"), ("json", "WRONG-DOMAIN")],
)
def test_no_name_of_the_dump_is_on_the_page_unless_asked_for(
    form: str, damage: str, cpmon: Cpmon, tmp_path: Path
):
    files, names = [], {"PRODVM", "PAYROLL1", "VMPK01"}
    tape = "VOL1VMPK01".encode("cp037") + bytes(8000)
    for name, data in (("damaged", damaged()), ("tape", tape), ("several", archive())):
        files.append(tmp_path / f"{name}.mon")
        files[-1].write_bytes(data)
    files.append(SAMPLES / "bad-day" / f"{damage}.mon.zst")
    names |= texts_of(SAMPLES / "bad-day" / "BADDAY.mon.zst")
    assert len(names) > 20
    with deltas_of("useact"):
        page, asked = (
            cpmon("doctor", *files, "--format", form, *more).text for more in ([], ["--names"])
        )
    spelled = {name.encode("cp037").hex(" ") for name in names}
    assert [name for name in names | spelled if re.search(rf"\b{re.escape(name)}\b", page)] == []
    assert {"PRODVM", "PAYROLL1"} <= {name for name in names if name in asked}
    assert "e5 d4 d7 d2 f0 f1" in asked, "first bytes of the tape"


@functools.cache
def texts_of(file: Path) -> set[str]:
    """System, users, volumes and the other names of up to eight characters in a dump."""
    data = pa.CompressedInputStream(pa.OSFile(str(file)), "zstd").read()
    texts = {
        value
        for rows in read(data, Container.AUTO).tables.values()
        for row in rows
        for value in row.values()
        if isinstance(value, str) and re.fullmatch(r"(?=.*[A-Z])[A-Z0-9]{4,8}", value)
    }
    return texts - {"SYSTEM", "CPMON"}


REFUSED = {
    "VMARC archive": b"\x7a\xc3\xc6\xc6" + bytes(8000),
    "standard labels": "HDR1".encode("cp037") + bytes(8000),
    "AWSTAPE": TAPE,
    "each with a descriptor word": rdw(RECORDS),
    "records of 80 bytes": padded(FRAMES),
    "TERSE": b"\x02" + b"\x91" * 9000,
    "COPYFILE": b"\x91" * 9000,
    "transferred as text": DATA.decode("cp037").encode("latin-1", "replace"),
    "is empty": b"",
    "several files": zipped(("a.mon", DATA), ("b.mon", DATA)),
    "cannot be unpacked": zipped(("a.mon", DATA))[:-30],
}
READ = {
    "plain": DATA,
    "RDW": rdw(FRAMES),
    "gzip": gzip.compress(DATA),
    "bzip2": bz2.compress(DATA),
    "xz": lzma.compress(DATA),
    "zip": zipped(("a.mon", DATA)),
}


def test_whatever_cannot_be_read_gets_a_page_that_says_why(cpmon: Cpmon, tmp_path: Path):
    for number, (said, data) in enumerate(REFUSED.items()):
        (tmp_path / f"{number}.mon").write_bytes(data)
        answer = cpmon("doctor", tmp_path / f"{number}.mon")
        assert answer.status is Status.DAMAGED, said
        assert said in " ".join(answer.text.split()), answer.text
        assert "remedy" in answer.text and "sha256" in answer.text
    (found,) = cpmon("doctor", tmp_path / "0.mon", "--format", "json").rows
    assert found["refused"]["code"].startswith("dump-")


def test_what_can_be_read_is_told_with_its_wrapping(cpmon: Cpmon, tmp_path: Path):
    for wrapping, data in READ.items():
        (tmp_path / "a.mon").write_bytes(data)
        answer = cpmon("doctor", tmp_path / "a.mon")
        assert answer.status is Status.DONE
        assert wrapping in answer.text or wrapping == "plain"
    piped = cpmon("doctor", "-", "--format", "json", stdin=gzip.compress(DATA))
    (found,) = piped.rows
    assert found["input"]["file"] == "standard input" and found["input"]["sha256"] is None
    assert found["input"]["compression"] == "gzip" and found["dump"]["intervals"] == 3


def test_several_inputs_come_as_pages_below_each_other(
    cpmon: Cpmon, later: Path, dumps: list[Path], tmp_path: Path
):
    letter, page = tmp_path / "letter", tmp_path / "page.md"
    letter.write_bytes(b"Dear reader,\n" * 1000)
    with deltas_of():
        answer = cpmon("doctor", later, tmp_path / "missing", letter, *dumps, "-o", page)
    assert answer.status is Status.USAGE and answer.out == b""
    assert "missing cannot be read" in answer.err
    assert re.findall(r"^# (.*)", page.read_text(), re.M) == [
        "cpmon doctor: later.mon",
        "cpmon doctor: letter",
        *(f"cpmon doctor: {file.name}" for file in dumps),
    ]


def test_the_commands_of_the_page_lead_to_the_report(cpmon: Cpmon, later: Path):
    (found,) = json.loads(cpmon("doctor", later, "--format", "json").text)
    first, *_, land, report = found["commands"]
    assert first == "cpmon schema import mon730/ --into layouts/ --effects effects.md"
    assert land == "cpmon ingest later.mon --store perf/"
    assert re.fullmatch(r"cpmon report \w+ --store perf/", report)
