"""Samples behind published means and deviations, read back from the text of the companion files."""

from __future__ import annotations

import csv
import datetime as dt
import itertools
import random
import re
import tomllib
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpmon.core.errors import CpmonError
from cpmon.generate import load_scenario
from cpmon.generate.run import repetition_files
from cpmon.generate.scenario.repetitions import Repetitions
from tests.generate.repeated import read_repetitions

pytestmark = pytest.mark.generator

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "tests" / "published"
START = dt.datetime(2001, 8, 17, 14, 59, 58, tzinfo=dt.UTC)

CPU = r" (\d+):(\d\d)\.(\d\d)"
TIME_IS = re.compile(r"TIME IS (\S+) EST ([A-Z]+DAY) (\S+)")
CONNECT = re.compile(rf"CONNECT= (\d+):(\d\d):(\d\d) VIRTCPU={CPU} TOTCPU={CPU}")
OPERATION = re.compile(
    r"sample (\d+) (write|read) (\d+) pass(?:es)? (\d+) KB (\d+\.\d\d) s (\d+) KB/s"
)

UNMATCHED = {
    # Ten whole numbers whose mean is 3035.9 cannot deviate by 5.870: the page has lost a digit.
    ("M12", "Tool-reported write rate (KB/sec)"): "10/3035.9/5.873",
}
"""Published cells that print otherwise, each with its reason."""

Files = dict[str, str]
Numbers = dict[str, list[int]]


def half_up(value: Decimal, places: int) -> str:
    return str(value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def printed(values: Sequence[int | Decimal], keep_zeros: bool = False, places: int = 1) -> str:
    """N/mean/sd by rules 9 and 10; `places` 0 for tables that print whole numbers only."""
    count = len(values)
    with localcontext() as context:
        context.prec = 60
        total = Decimal(sum(values))
        variance = (count * sum(Decimal(v) * v for v in values) - total * total) / count**2
        deviation = variance.sqrt()
        decimals = max(0, 3 - deviation.adjusted()) if places and deviation else 0
        mean_text, text = half_up(total / count, places), half_up(deviation, decimals)
    mean_text = re.sub(r"\.0$", "", mean_text)
    if not keep_zeros and "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{count}/{mean_text}/{text}"


def scenario(name: str) -> tuple[dict[str, Any], Repetitions]:
    file = ROOT / "sample-data" / "scenarios" / f"{name}.toml"
    top = tomllib.loads(file.read_text(encoding="utf-8"))
    tables = {run_id: run["samples"] for run_id, run in top["run"].items()}
    found = read_repetitions(tables, top.get("differences", []), file.name)
    assert found is not None
    return top, found


def texts(repetitions: Repetitions, run_id: str, seed: int) -> Files:
    return {
        kind: text
        for kind, _, text in repetition_files(repetitions, run_id, START, "LINUX001", seed)
    }


def query_times(text: str) -> list[tuple[dt.datetime, int, int, int]]:
    """Time of day, connect time (s), virtual and total time (0.01 s) of each response."""
    found = []
    for time, day, date in TIME_IS.findall(text):
        when = dt.datetime.strptime(f"{date} {time}", "%m/%d/%y %H:%M:%S").replace(tzinfo=dt.UTC)
        assert when.strftime("%A").upper() == day
        found.append(when)
    rows = [[int(part) for part in row] for row in CONNECT.findall(text)]
    assert len(rows) == len(found) and len(rows) % 2 == 0
    return [
        (when, h * 3600 + m * 60 + s, vm * 6000 + vs * 100 + vc, tm * 6000 + ts * 100 + tc)
        for when, (h, m, s, vm, vs, vc, tm, ts, tc) in zip(found, rows, strict=True)
    ]


def measured(files: Files) -> Numbers:
    """Every sample of a run, from its files."""
    moments = query_times(files["query_time"])
    pairs = list(zip(moments[::2], moments[1::2], strict=True))
    found = {
        "seconds": [int((b[0] - a[0]).total_seconds()) for a, b in pairs],
        "virtual": [b[2] - a[2] for a, b in pairs],
        "cp": [b[3] - b[2] - (a[3] - a[2]) for a, b in pairs],
    }
    for sample, operation, *_, rate in OPERATION.findall(files.get("exerciser", "")):
        found.setdefault(operation, []).append(int(rate))
        assert len(found[operation]) == int(sample)
    for tool in ("thrasher", "burner"):
        periods = re.findall(r"period (\d+) 60 s score (\d+)", files.get(tool, ""))
        assert [int(number) for number, _ in periods] == list(range(1, len(periods) + 1))
        found[tool] = [int(score) for _, score in periods]
    return found


def published(file: str, table: str) -> dict[tuple[str, str], str]:
    with (PUBLISHED / file).open(encoding="utf-8", newline="") as lines:
        return {
            (row["run_id"], row["row_label"]): row["value_as_printed"]
            for row in csv.DictReader(lines)
            if row["table"] == table
        }


def less(of: list[int], other: list[int]) -> list[int]:
    return [a - b for a, b in zip(of, other, strict=True)]


def mdc_table(runs: dict[str, Numbers]) -> dict[tuple[str, str], str]:
    """The table of the measurement, from its samples."""
    labels = {
        "virtual": "Virtual CPU time (hundredths of seconds)",
        "cp": "CP CPU time (hundredths of seconds)",
        "read": "Tool-reported read rate (KB/sec)",
        "write": "Tool-reported write rate (KB/sec)",
    }
    made = {
        (run_id, label): printed(numbers[measure]) if measure in numbers else "n/a"
        for run_id, numbers in runs.items()
        for measure, label in labels.items()
    }
    for name, of, other in (("NCR0", "M01", "M00"), ("NCR1", "M11", "M10"), ("CR", "M12", "M11")):
        for measure in ("virtual", "cp"):
            apart = less(runs[of][measure], runs[other][measure])
            made[name, labels[measure]] = printed(apart, keep_zeros=True)
        made[name, labels["read"]] = f"see {of}"
        made[name, labels["write"]] = "n/a"
    kb = Decimal(524288)
    pairs = zip(runs["M12"]["read"], runs["M11"]["read"], strict=True)
    rates = [kb / (2 * kb / r12 - kb / r11) for r12, r11 in pairs]
    made["CR", labels["read"]] = f"{printed(rates)} (see below)"
    return made


@pytest.mark.parametrize("seed", [421, 1, 2, 3])
def test_every_cell_of_the_minidisk_cache_table_prints_again(seed: int):
    _, repetitions = scenario("linux-dasd-mdc")
    runs = {r: measured(texts(repetitions, r, seed)) for r in repetitions.runs}
    wanted = published("linux_dasd_mdc.csv", "linux_dasd_mdc_t1")
    assert mdc_table(runs) == {**wanted, **UNMATCHED}


def test_ten_whole_numbers_cannot_print_what_the_page_prints_of_m12_s_write_rate():
    total = 30359
    candidates = range(total * total // 10, total * total // 10 + 1000)
    deviations = {
        half_up(((Decimal(10) * squares - total * total) / 100).sqrt(), 3)
        for squares in candidates
        if 10 * squares >= total * total and squares % 2 == total % 2
    }
    assert "5.870" not in deviations
    assert {d for d in deviations if d.startswith("5.87")} == {"5.873"}


def test_the_sample_calculation_of_the_page_is_that_of_the_mean_rates():
    _, repetitions = scenario("linux-dasd-mdc")
    mean = {
        r: Decimal(sum(measured(texts(repetitions, r, 421))["read"])) / 10 for r in ("M11", "M12")
    }
    t12, t11 = 2 * 524288 / mean["M12"], 524288 / mean["M11"]
    wanted = published("linux_dasd_mdc.csv", "linux_dasd_mdc_sample_calc")
    assert half_up(t12, 2) == wanted["M11|M12", "t12 (sec)"]
    assert half_up(t11, 2) == wanted["M11|M12", "t11 (sec)"]
    assert half_up(t12 - t11, 2) == wanted["M11|M12", "tr (sec)"]
    # So it can be none of the pairs: no whole rate takes 120.24 s.
    assert "120.24" not in {half_up(Decimal(524288) / rate, 2) for rate in range(4300, 4420)}


@pytest.mark.parametrize("seed", [642, 1, 2])
def test_every_cell_of_the_page_fault_table_prints_again(seed: int):
    _, repetitions = scenario("pfault")
    made = {}
    for run_id in repetitions.runs:
        numbers = measured(texts(repetitions, run_id, seed))
        (seconds,), (virtual,), (cp,) = (numbers[m] for m in ("seconds", "virtual", "cp"))
        made[run_id, "Run duration (mm:ss)"] = f"{seconds // 60}:{seconds % 60:02}"
        made[run_id, "Virtual CPU time (mm:ss.hh)"] = (
            f"{virtual // 6000}:{virtual // 100 % 60:02}.{virtual % 100:02}"
        )
        made[run_id, "CP CPU time (mm:ss.hh)"] = f"{cp // 100}.{cp % 100:02}"
        for tool in ("thrasher", "burner"):
            label = f"{tool.capitalize()} score (N/m/sd)"
            made[run_id, label] = printed(numbers[tool], places=0)
    assert made == published("pfault.csv", "pfault_t1")


@pytest.mark.parametrize("name", ["linux-dasd-mdc", "pfault"])
def test_the_clock_the_connect_time_and_the_processor_time_agree(name: str):
    top, repetitions = scenario(name)
    for run_id, run in top["run"].items():
        files = {
            k: t for k, _, t in repetition_files(repetitions, run_id, run["start"], "LINUX001", 7)
        }
        moments = query_times(files["query_time"])
        local = run["start"].replace(tzinfo=None) - dt.timedelta(hours=5)
        first = moments[0][0].replace(tzinfo=None)
        assert dt.timedelta(0) < first - local < dt.timedelta(seconds=15)
        for before, behind in itertools.pairwise(moments):
            passed = (behind[0] - before[0]).total_seconds()
            assert passed == behind[1] - before[1] > 0
            assert behind[2] >= before[2]
            # Stamps are whole seconds; one virtual processor gives no more than a second each.
            assert 0 <= behind[3] - before[3] < (passed + 1) * 100


def test_a_sample_lasts_as_long_as_the_exerciser_worked():
    _, repetitions = scenario("linux-dasd-mdc")
    for run_id in repetitions.runs:
        files = texts(repetitions, run_id, 5)
        worked: dict[str, float] = {}
        for sample, operation, passes, kb, seconds, rate in OPERATION.findall(files["exerciser"]):
            assert int(kb) == 524288 * int(passes)
            assert operation == "read" or passes == "1"
            assert seconds == half_up(Decimal(kb) / int(rate), 2)
            worked[sample] = worked.get(sample, 0.0) + float(seconds)
        lasted = measured(files)["seconds"]
        for seconds_worked, seconds_lasted in zip(worked.values(), lasted, strict=True):
            assert seconds_worked - 0.02 <= seconds_lasted <= seconds_worked + 1.02


def test_indicate_user_counts_ios_and_agrees_with_query_time():
    top, repetitions = scenario("linux-dasd-mdc")
    for run_id in repetitions.runs:
        files = texts(repetitions, run_id, 11)
        text = files["indicate_user"]
        ios = [int(count) for count in re.findall(r" IO=(\d+)", text)]
        mean, deviation = top["run"][run_id]["samples"]["virtual_ios"].split("/")
        grown = less(ios[1::2], ios[::2])
        assert printed(grown).startswith(f"10/{mean}/")
        assert round(float(printed(grown).split("/")[2])) == int(deviation)
        virtual = [int(m) * 60 + int(s) for m, s in re.findall(r"VTIME=(\d+):(\d\d)", text)]
        connect = [int(h) * 60 + int(m) for h, m in re.findall(r"CTIME=(\d+):(\d\d)", text)]
        moments = query_times(files["query_time"])
        assert virtual == [moment[2] // 100 for moment in moments]
        assert connect == [moment[1] // 60 for moment in moments]
        assert text.count("USERID=LINUX001 MACH=ESA STOR=128M") == 20


def test_processors_of_a_guest_share_its_time_and_ios():
    run = {"count": 3, "duration_s": 60, "virtual_cpu_cs": 9000, "cp_cpu_cs": 101}
    run |= {"virtual_ios": 1001, "virtual_processors": 2, "page_reads": "7"}
    repetitions = read_repetitions({"A": run}, [], "two.toml")
    assert repetitions is not None
    text = texts(repetitions, "A", 1)["indicate_user"]
    ios = [int(count) for count in re.findall(r"CPU 0[01]: .* IO=(\d+)", text)]
    both = [a + b for a, b in zip(ios[::2], ios[1::2], strict=True)]
    assert less(both[1::2], both[::2]) == [1001] * 3
    reads = [int(count) for count in re.findall(r"READS=(\d+)", text)]
    assert less(reads[1::2], reads[::2]) == [7] * 3


def test_the_same_seed_gives_the_same_files_whatever_was_asked_before():
    _, one = scenario("linux-dasd-mdc")
    forward = {run_id: texts(one, run_id, 9) for run_id in one.runs}
    _, other = scenario("linux-dasd-mdc")
    backward = {run_id: texts(other, run_id, 9) for run_id in reversed([*other.runs])}
    assert forward == backward
    assert texts(one, "M12", 9) != texts(one, "M12", 10)


def test_kinds_and_file_names_are_those_of_the_run_file():
    _, mdc = scenario("linux-dasd-mdc")
    assert [(k, s) for k, s, _ in repetition_files(mdc, "M12", START, "LINUX001", 1)] == [
        ("query_time", "query-time.txt"),
        ("indicate_user", "indicate-user.txt"),
        ("exerciser", "exerciser.txt"),
    ]
    _, pfault = scenario("pfault")
    kinds = [kind for kind, _, _ in repetition_files(pfault, "31C80X0", START, "LINUX001", 1)]
    assert kinds == ["query_time", "indicate_user", "thrasher", "burner"]
    assert not list(repetition_files(pfault, "NCR0", START, "LINUX001", 1))


def test_a_scenario_without_samples_has_no_repetitions():
    assert load_scenario("small-lab").repetitions is None


COUNTS = st.integers(2, 30)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), count=COUNTS, seed=st.integers(0, 2**31))
def test_whatever_whole_numbers_print_is_found_again(data: st.DataObject, count: int, seed: int):
    width = data.draw(st.sampled_from([1, 10, 1000, 10**6]))
    values = data.draw(st.lists(st.integers(0, width), min_size=count, max_size=count))
    figures = printed(values, places=1).split("/", 1)[1]
    run = {"count": count, "duration_s": 86400, "virtual_cpu_cs": figures, "cp_cpu_cs": 0}
    repetitions = read_repetitions({"A": run}, [], "any.toml")
    assert repetitions is not None
    assert printed(measured(texts(repetitions, "A", seed))["virtual"]) == f"{count}/{figures}"


@settings(deadline=None, max_examples=30)
@given(count=st.integers(10, 20), width=st.sampled_from([6, 100, 5000]), seed=st.integers(0, 2**31))
def test_what_three_runs_and_their_differences_print_is_found_again(
    count: int, width: int, seed: int
):
    rng = random.Random(seed)
    series = {name: [rng.randint(width, 2 * width) for _ in range(count)] for name in "ABC"}
    pairs = {"AB": ("A", "B"), "BC": ("B", "C"), "AC": ("A", "C")}
    wanted = {name: printed(less(series[a], series[b])) for name, (a, b) in pairs.items()}
    repetitions = read_repetitions(
        {
            name: {
                "count": count,
                "duration_s": 86400,
                "virtual_cpu_cs": printed(values).split("/", 1)[1],
                "cp_cpu_cs": 0,
            }
            for name, values in series.items()
        },
        [
            {"name": n, "of": a, "less": b, "virtual_cpu_cs": wanted[n].split("/", 1)[1]}
            for n, (a, b) in pairs.items()
        ],
        "any.toml",
    )
    assert repetitions is not None
    found = {name: measured(texts(repetitions, name, seed))["virtual"] for name in series}
    assert {n: printed(less(found[a], found[b])) for n, (a, b) in pairs.items()} == wanted


def minidisk(change: Callable[[dict[str, Any]], object]) -> Repetitions | None:
    """The measurement of the minidisk cache with a change to its tables."""
    top, _ = scenario("linux-dasd-mdc")
    change(top)
    tables = {run_id: run["samples"] for run_id, run in top["run"].items()}
    return read_repetitions(tables, top["differences"], "mine.toml")


def sample_key(key: str, value: Any, run_id: str = "M11") -> Callable[[dict[str, Any]], object]:
    return lambda top: top["run"][run_id]["samples"].update({key: value})


def difference_key(key: str, value: Any, at: int = 1) -> Callable[[dict[str, Any]], object]:
    return lambda top: top["differences"][at].update({key: value})


IMPOSSIBLE: dict[str, tuple[Callable[[dict[str, Any]], object], str, str]] = {
    "unknown key": (sample_key("reads", 1), "run.M11.samples.reads", "page_reads"),
    "no figures": (
        sample_key("cp_cpu_cs", "about 183"),
        "run.M11.samples.cp_cpu_cs",
        "mean/deviation, as 16499.3/1426",
    ),
    "wrong type": (sample_key("cp_cpu_cs", [183]), "run.M11.samples.cp_cpu_cs", "one number"),
    "no such mean": (
        sample_key("cp_cpu_cs", "183.25/1.789"),
        "run.M11.samples.cp_cpu_cs",
        "a mean of 183.2 or 183.3",
    ),
    "no such deviation": (
        sample_key("cp_cpu_cs", "183/1.700"),
        "run.M11.samples.cp_cpu_cs",
        "a deviation of 1.673 or 1.732",
    ),
    "too far apart": (
        sample_key("cp_cpu_cs", "183/700", "M110"),
        "run.M110.samples.cp_cpu_cs",
        "a deviation of at most 549",
    ),
    "negative": (sample_key("cp_cpu_cs", -1), "run.M11.samples.cp_cpu_cs", "at least 0"),
    "no rate": (sample_key("read_kb_per_s", 0), "run.M11.samples.read_kb_per_s", "at least 1"),
    "longer than the sample": (
        sample_key("virtual_cpu_cs", "40000/20", "M110"),
        "run.M110.samples.virtual_cpu_cs",
        "at most 31,74",
    ),
    "too many samples": (sample_key("count", 101, "M110"), "run.M110.samples.count", "1 to 100"),
    "no table": (lambda top: top.update(differences=[3]), "differences[0]", "a table"),
    "unknown run": (difference_key("less", "M100"), "differences[1].less", "M10"),
    "a name that is taken": (difference_key("name", "M12"), "differences[1]", ""),
    "means do not subtract": (
        difference_key("cp_cpu_cs", "140/2.773"),
        "differences[1].cp_cpu_cs",
        "a mean of 139.9",
    ),
    "cannot deviate so much": (
        difference_key("cp_cpu_cs", "139.9/4.1"),
        "differences[1].cp_cpu_cs",
        "a deviation from 0.16 to 3.418",
    ),
    "counts differ": (sample_key("count", 20, "M10"), "differences[1]", "10 samples of M10"),
    "nothing to subtract": (
        difference_key("read_kb_per_s", "1000/20"),
        "differences[1].read_kb_per_s",
        "",
    ),
}


@pytest.mark.parametrize(
    ("change", "place", "expected"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys()
)
def test_what_cannot_be_is_answered_with_the_key_and_what_could(
    change: Callable[[dict[str, Any]], object], place: str, expected: str
):
    with pytest.raises(CpmonError) as caught:
        minidisk(change)
    assert caught.value.place is not None
    assert caught.value.place.startswith(f"mine.toml: {place}")
    assert expected in str(caught.value)


def test_figures_that_only_together_cannot_be_are_named():
    # Half of the pairs would have to take less time than none.
    repetitions = minidisk(difference_key("read_kb_per_s", "900000/5.000", at=2))
    assert repetitions is not None
    with pytest.raises(CpmonError, match="read_kb_per_s of M11, M12, CR") as caught:
        texts(repetitions, "M12", 1)
    assert caught.value.found is not None
    assert "CR 900000/5.000" in caught.value.found
