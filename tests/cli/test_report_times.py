"""Times typed are those printed; days, weeks and months are those of the printed zone."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from cpmon.cli.main import Status
from cpmon.config import Settings
from cpmon.config.moments import MONTH, LineLength
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.metrics.metric import TIME
from cpmon.reduce.metrics.rollups import bucket
from cpmon.store import Store
from tests.cli.answer import Cpmon
from tests.dumps import BEGIN_S, dump, fields, interval

DAY_S, HOUR_S = 86_400, 3_600


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hourly samples of 60 hours around midnight UTC; one second of processor time in each.

    For reading only, as `night` is.
    """
    folder = tmp_path_factory.mktemp("hours")
    root, file = folder / "store", folder / "a.mon"
    samples = [
        interval(
            at,
            *([fields("mtrsys", at, systmid="VM")] if at == 0 else []),
            fields("sytprp", at, pfxutime=at // HOUR_S * 4_096_000_000),
        )
        for at in range(0, 60 * HOUR_S, HOUR_S)
    ]
    file.write_bytes(dump(*samples))
    made = Store(root, create=True)
    ingest(file, made)
    reduce(made, ["processors_by_time"], Settings())
    return root


def lines(cpmon: Cpmon, *words: str | Path) -> list[list[str]]:
    """Cells of the lines of PROCESSORS_BY_TIME: those that begin with a date."""
    answer = cpmon("report", "processors_by_time", *words)
    assert answer.status is Status.DONE, answer.err
    return [line.split() for line in answer.text.splitlines() if line[:2] == "20"]


def test_times_of_one_report_name_the_same_intervals_in_the_next(cpmon: Cpmon, store: Path):
    said = ("--store", store, "--tz", "Europe/Vienna")
    every = lines(cpmon, *said)
    since, until = " ".join(every[3][:2]), " ".join(every[7][:2])
    assert lines(cpmon, *said, "--since", since, "--until", until) == every[4:8]
    assert lines(cpmon, *said, "--since", f"{since}+00:00", "--until", f"{until}Z") != every[4:8]


def test_the_zone_of_the_settings_counts_as_that_of_the_option(
    cpmon: Cpmon, store: Path, tmp_path: Path
):
    config = tmp_path / "cpmon.toml"
    config.write_text('timezone = "Asia/Kolkata"\n[systems.VM]\ntimezone = "Europe/Vienna"\n')
    said = ("--store", store, "--config", config)
    every = lines(cpmon, *said)
    assert every == lines(cpmon, "--store", store, "--tz", "Europe/Vienna")
    since = " ".join(every[3][:2])
    assert lines(cpmon, *said, "--since", since) == every[4:]


def test_a_span_that_ends_before_it_begins_is_told(cpmon: Cpmon, store: Path):
    words = ("report", "processors_by_time", "--store", store, "--tz", "Europe/Vienna")
    answer = cpmon(*words, "--since", "2026-01-02 10:00", "--until", "09:00")
    assert answer.status is Status.USAGE
    assert "the span ends before it begins" in answer.err
    assert "2026-01-02 09:00:00 Europe/Vienna" in answer.err
    assert cpmon(*words, "--since", "tomorrow").status is Status.USAGE


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ("7h", "do not begin at midnight"),
        ("36h", "do not begin at midnight"),
        ("999999999d", "is no length of time"),
    ],
)
def test_lines_of_other_lengths_are_refused(cpmon: Cpmon, store: Path, by: str, text: str):
    answer = cpmon("report", "system_summary_by_time", "--store", store, "--by", by)
    assert (answer.status, text in answer.err) == (Status.USAGE, True)


@pytest.mark.slow
def test_pages_print_times_of_the_zone_of_their_system(cpmon: Cpmon, store: Path, tmp_path: Path):
    until = " ".join(lines(cpmon, "--store", store, "--tz", "UTC")[2][:2])
    own = shutil.copytree(store, tmp_path / "store")
    (own / "cpmon.toml").write_text('[systems.VM]\ntimezone = "America/New_York"\n')
    words = ("report", "--html", "--store", own, "--until", f"{until}Z", "-o", tmp_path / "pages")
    assert cpmon(*words).status is Status.DONE
    assert "America/New_York" in (tmp_path / "pages" / "system-VM.html").read_text()


def test_the_mean_line_has_the_mean_length_of_its_lines(cpmon: Cpmon, store: Path):
    answer = cpmon("report", "system_summary_by_time", "--store", store, "--by", "4h")
    cells = [line.split() for line in answer.text.splitlines() if line[:2] == "20"]
    mean = next(line.split() for line in answer.text.splitlines() if line.startswith("Mean"))
    lengths = [float(line[2]) for line in cells]
    assert max(lengths) == 4 * HOUR_S
    assert float(mean[1]) == pytest.approx(sum(lengths) / len(lengths), abs=0.1)


@pytest.mark.parametrize(
    ("zone", "by", "first", "counts"),
    [
        ("Europe/Vienna", "1d", "2026-03-28T23:00", [23, 24]),
        ("Europe/Vienna", "1d", "2026-10-24T22:00", [25, 24]),
        ("UTC", "1d", "2026-03-28T00:00", [24, 24]),
        ("Asia/Kolkata", "1d", "2026-03-28T18:30", [24, 24]),
        ("Europe/Vienna", "1h", "2026-10-25T00:00", [1] * 4),
        ("Europe/Vienna", "6h", "2026-03-28T23:00", [5, 6, 6, 6]),
        ("Europe/Vienna", "1w", "2026-03-22T23:00", [7 * 24 - 1, 7 * 24]),
        ("Europe/Vienna", "month", "2026-02-28T23:00", [31 * 24 - 1, 30 * 24]),
        ("America/New_York", "month", "2026-11-01T04:00", [30 * 24 + 1, 31 * 24]),
    ],
)
def test_lines_are_hours_days_weeks_and_months_of_the_zone(
    zone: str, by: str, first: str, counts: list[int]
):
    from cpmon.cli.options import LINE_LENGTH

    length: LineLength = LINE_LENGTH.convert(by, None, None)
    assert (length == MONTH) == (by == "month")
    begin = datetime.fromisoformat(first)
    found = duckdb.sql(
        f"SELECT {bucket(length, zone)} AS line, count(*) AS n FROM ("
        f" SELECT TIMESTAMP '{begin}' + to_hours(CAST(n + 1 AS INTEGER)) AS {TIME}"
        f" FROM range({sum(counts)}) AS t(n)) GROUP BY line ORDER BY line"
    ).fetchall()
    assert [n for _, n in found] == counts


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples of 15 minutes in the night of 2003-10-26, from 22:00 UTC on."""
    folder = tmp_path_factory.mktemp("night")
    root, file = folder / "night", folder / "night.mon"
    begin = int(datetime(2003, 10, 25, 22, tzinfo=UTC).timestamp()) - BEGIN_S
    samples = []
    for n in range(33):
        at = begin + n * 900
        first = [fields("mtrsys", at, systmid="VM")] if n == 0 else []
        samples.append(interval(at, *first, fields("sytprp", at, pfxutime=n * n << 34)))
    file.write_bytes(dump(*samples))
    ingest(file, Store(root, create=True))
    return root


@pytest.mark.slow
@pytest.mark.parametrize(
    ("zone", "twice"),
    [
        ("Europe/Vienna", ["20031026T020000+02:00", "20031026T020000+01:00"]),
        ("America/St_Johns", ["20031025T231500-02:30", "20031025T231500-03:30"]),
        ("UTC", []),
    ],
)
def test_times_that_the_clocks_show_twice_have_their_offset(
    cpmon: Cpmon, night: Path, zone: str, twice: list[str]
):
    every = lines(cpmon, "--store", night, "--tz", zone)
    shown = [line[0] if "T" in line[0] else " ".join(line[:2]) for line in every]
    assert len(set(shown)) == len(shown) == 32
    assert [time for time in shown if "T" in time][::4] == twice
    for at in {0, 16, *[n for n, time in enumerate(shown[:-1]) if "T" in time][::3]}:
        time = shown[at]
        assert lines(cpmon, "--store", night, "--tz", zone, "--since", time) == every[at + 1 :]


@pytest.mark.slow
def test_hours_of_a_night_in_which_clocks_are_put_back_are_lines_of_their_own(
    cpmon: Cpmon, night: Path
):
    for zone, hours in {"Europe/Vienna": 8, "Australia/Lord_Howe": 8, "Asia/Kathmandu": 9}.items():
        every = lines(cpmon, "--store", night, "--tz", zone, "--by", "1h")
        assert len(every) == hours
        assert all(":00:00" in line[1] or "T020000" in line[0] for line in every)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["report", "exceptions", "validate"])
def test_a_span_says_which_of_two_times_it_begins_at(
    cpmon: Cpmon, night: Path, tmp_path: Path, command: str
):
    config = tmp_path / "cpmon.toml"
    config.write_text('timezone = "Europe/Vienna"\n')
    name = ["processors_by_time"] if command == "report" else []
    words = (command, *name, "--store", night, "--config", config, "--since", "2003-10-26T02:30")
    answer = cpmon(*words)
    told = " ".join((answer.text + answer.err).split())
    assert "2003-10-26T02:30:00+02:00 is taken" in told
    assert "2003-10-26T02:30:00+01:00" in told
    assert "is taken" not in cpmon(*words[:-1], "2003-10-26T02:30+01:00").text
    if command == "report":
        assert "is taken" in answer.text and "is taken" not in answer.err
        rows = cpmon(*words, "--format", "json")
        assert "is taken" in rows.err and "is taken" not in rows.text


def test_a_chart_of_the_night_has_one_offset(cpmon: Cpmon, night: Path, tmp_path: Path):
    for zone, title in {"Europe/Vienna": "UTC+02:00", "UTC": None}.items():
        file = tmp_path / "chart.svg"
        words = ("report", "processors_by_time", "--store", night, "--tz", zone, "--plot", file)
        assert cpmon(*words).status is Status.DONE
        assert ("UTC+02:00" in file.read_text()) == (title is not None)


def of_zone(folder: Path, seconds: int) -> Path:
    """A store of a system whose records say how far its local time is ahead of UTC."""
    root, file = folder / f"zone{seconds}", folder / "zone.mon"
    samples = [interval(0, fields("mtrsys", systmid="VM", syszone=seconds % 2**32))]
    samples += [interval(at, fields("sytprp", at, pfxutime=at << 20)) for at in (60, 120, 180)]
    file.write_bytes(dump(*samples))
    ingest(file, Store(root, create=True))
    return root


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "name", "since", "last"),
    [(19_800, "GMT+05:30", "15:32", "15:33:00"), (-18_000, "GMT-05:00", "05:02", "05:03:00")],
)
def test_the_zone_of_the_system_is_offered_where_none_is_set(
    cpmon: Cpmon, tmp_path: Path, seconds: int, name: str, since: str, last: str
):
    words = ("report", "processors_by_time", "--store", of_zone(tmp_path, seconds))
    offered = f"local time of the system is {name}: --tz system"
    assert offered in " ".join(cpmon(*words).text.split())
    assert offered not in cpmon(*words, "--tz", "UTC").text
    answer = cpmon(*words, "--tz", "system", "--since", f"2001-12-18 {since}")
    assert name in answer.text.splitlines()[1]
    assert offered not in answer.text
    (line,) = (line for line in answer.text.splitlines() if line[:2] == "20")
    assert line.split()[1] == last
    assert cpmon(*words, "--tz", "system", "--by", "1h").status is Status.DONE
    assert cpmon(*words, "--tz", "system", "--plot", tmp_path / "a.svg").status is Status.DONE
    assert name in cpmon("exceptions", *words[2:], "--tz", "system").text


def test_a_zone_that_no_record_says_cannot_be_taken(cpmon: Cpmon, store: Path, tmp_path: Path):
    words = ("report", "processors_by_time", "--tz", "system", "--store")
    assert cpmon(*words, store).status is Status.DONE  # its records say UTC
    odd = cpmon(*words, of_zone(tmp_path, 0x7FFF_FFFF))
    assert odd.status is Status.USAGE
    assert "the zone of the system is not known" in odd.err


def test_a_span_without_events_is_an_empty_answer(cpmon: Cpmon, perf: Path):
    words = ("report", "events", "--store", perf, "--run", "2600NP")
    quiet = ("--since", "14:01:00", "--until", "14:02:00")
    answer = cpmon(*words, *quiet)
    assert answer.status is Status.DONE
    assert "2001-11-13 14:01:00 to 2001-11-13 14:02:00 UTC, 1 interval" in answer.text
    assert not [line for line in answer.text.splitlines() if line.startswith("2001-")]
    csv = cpmon(*words, *quiet, "--format", "csv")
    assert (csv.status, csv.text) == (Status.DONE, "event_at,kind,object,event_text,system\n")
    assert cpmon(*words, "--user", "LINUX001").status is Status.DONE
    assert "cpmon report USER_RESOURCE_UTIL lists" in cpmon(*words, "--user", "X").err
    unmeasured = cpmon(*words, "--since", "14:05:00", "--until", "14:06:00")
    assert unmeasured.status is Status.USAGE
    assert "no measured interval" in unmeasured.err


@pytest.mark.slow
def test_charges_say_what_the_counters_prove_across_a_gap(cpmon: Cpmon, tmp_path: Path):
    lab = Path(__file__).resolve().parents[2] / "sample-data" / "small-lab" / "LAB.mon.zst"
    whole = ("--until", "2003-05-06T10:00")
    first, last = ("--until", "2003-05-06T08:20"), ("--since", "2003-05-06T08:30")
    totals = list[float]()
    for name, parts in (("whole", (whole,)), ("cut", (first, last))):
        for number, part in enumerate(parts):
            dump = tmp_path / f"{name}{number}.mon"
            assert cpmon("slice", lab, *part, "-o", dump).status is Status.DONE
            assert cpmon("ingest", dump, "--store", tmp_path / name).status is Status.DONE
        answer = cpmon("report", "chargeback", "--store", tmp_path / name)
        (total,) = re.findall(r"^Total +\S+ +\S+ +(\S+) ", answer.text, re.M)
        lost = re.findall(r"Not included: (\S+) s TCPU and \S+ I/Os of 9 users", answer.text)
        assert len(lost) == len(parts) - 1
        totals.append(float(total) + sum(map(float, lost)))
    # A user who left in the gap used some of it, which no counter proves.
    assert 0 <= totals[0] - totals[1] < 0.1


@pytest.mark.slow
def test_the_gap_of_one_user_is_that_of_the_user(cpmon: Cpmon, tmp_path: Path):
    lab = Path(__file__).resolve().parents[2] / "sample-data" / "small-lab" / "LAB.mon.zst"
    for number, part in enumerate(
        (("--until", "2003-05-06T08:05"), ("--since", "2003-05-06T08:50"))
    ):
        dump = tmp_path / f"{number}.mon"
        assert cpmon("slice", lab, *part, "-o", dump).status is Status.DONE
        assert cpmon("ingest", dump, "--store", tmp_path / "store").status is Status.DONE
    said = [
        " ".join(cpmon("report", *words, "--store", tmp_path / "store").text.split())
        for words in (
            ("user_resource_util", "--user", "LXWEB001"),
            ("chargeback", "--class", "OTHER"),
        )
    ]
    assert " of 1 user across gaps" in said[0]
    assert " of 9 users, of any class, across gaps" in said[1]
