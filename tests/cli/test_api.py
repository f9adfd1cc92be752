"""The public interface for programs: its names and signatures, and what it answers."""

from __future__ import annotations

import doctest
import gc
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import cpmon as api
from cpmon.api.answers import Answers
from cpmon.cli.main import Status
from tests.cli.answer import Cpmon
from tests.months import months, shares, store_of_months

ROOT = Path(__file__).resolve().parents[2]
DUMP = ROOT / "sample-data" / "timer" / "2600NP.mon.zst"
PUBLIC = """
CpmonError: code effect expected found place problem remedy
Dump(path, records, since, until, release, accept_damage, settings)
Dump.close()
Dump.connection
Answers.sql(query, parameters)
Dump.sql(query, parameters)
OpenStore(path, config, create)
Answers.chart(name, selection)
OpenStore.close()
OpenStore.compare(table, runs, base, since, until)
Answers.exceptions(selection)
Answers.exceptions_text(selection)
Answers.explain(top, selection)
Answers.explain_text(top, selection)
Answers.lazy(query, parameters)
OpenStore.forecast(metric, selection)
OpenStore.forecast_text(metric, selection)
OpenStore.ingest(dump, system, release)
OpenStore.reduce(names)
OpenStore.reports
Answers.report(name, selection)
Answers.report_text(name, selection)
OpenStore.runs
OpenStore.sql(query, parameters)
OpenStore.systems
OpenStore.tables
OpenStore.whatif(add, like, scale, system, since, thresholds, zone)
Answers.table(name)
Records.arrow()
Records.batches(rows)
Records.df()
Records.lazy()
Records.pl()
open(store, config, create)
read(dump, records, since, until, release, accept_damage)
"""
"""What programs rely on; a change of it is told in the changelog."""
READING = """
import re, sys
import cpmon
with cpmon.read(sys.argv[1]) as dump:
    size = sum(part.nbytes for part in eval(sys.argv[2]))
print(size, re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def _public() -> Iterator[str]:
    error = api.CpmonError("problem")
    yield f"CpmonError: {' '.join(sorted(n for n in vars(error) if n[0] != '_'))}"
    for function in (api.open, api.read):
        yield f"{function.__name__}({', '.join(inspect.signature(function).parameters)})"
    for kind in (api.Dump, api.OpenStore, api.Records, Answers):
        if kind not in (api.Records, Answers):
            yield f"{kind.__name__}({', '.join(inspect.signature(kind).parameters)})"
        for name, member in vars(kind).items():
            if name[0] == "_":
                continue
            text = f"{kind.__name__}.{name}"
            if not inspect.isfunction(member):
                yield text
                continue
            _, *parameters = inspect.signature(member).parameters
            yield f"{text}({', '.join(parameters)})"
    yield "Dump.connection"  # set when it is opened


def test_public_names_and_signatures_are_those_of_the_list():
    assert sorted(_public()) == sorted(PUBLIC.split("\n")[1:-1])
    assert set(dir(api)) == {
        "CpmonError",
        "Dump",
        "NothingToReportError",
        "OpenStore",
        "Records",
        "__version__",
        "open",
        "read",
    }


def test_importing_cpmon_imports_no_library():
    script = "import sys, cpmon; print({'duckdb', 'polars', 'pyarrow', 'numpy'} & {*sys.modules})"
    words = [sys.executable, "-c", script]
    assert subprocess.run(words, capture_output=True, check=True).stdout == b"set()\n"


@pytest.mark.slow
def test_a_program_ends_without_complaints_of_libraries():
    """The fault: DuckDB listed what had not been let go, after each program that made a report."""
    code = f"import cpmon; cpmon.read({str(DUMP)!r}).report('PROCESSORS')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_dump_is_read_without_a_store():
    with api.read(DUMP) as dump:
        assert {"sytrsp", "useact"} <= set(dump) and "interval" not in dump
        rows = dump["sytrsp"]
        table = rows.arrow()
        assert isinstance(table, pa.Table) and table.num_rows == 28
        assert rows.pl().equals(pl.from_arrow(table))
        assert rows.lazy().select("pfxcpuad").collect().height == len(rows.df()) == 28
        assert sum(batch.num_rows for batch in rows.batches(10)) == 28
        counted = dump.sql("SELECT count(*) AS n FROM monitor.sytrsp WHERE pfxcpuad = $cpu", cpu=0)
        assert counted.item() == 4
        place = Path(dump.connection.store.location)
        assert place.exists()
    assert not place.exists()


def test_records_and_times_are_chosen():
    since = datetime(2001, 11, 13, 14, 1, 30, tzinfo=UTC)
    with api.read(DUMP, ["SYTRSP", "mtrsys"], since=since) as dump:
        assert list(dump) == ["sytrsp", "mtrsys"]
        times = dump["sytrsp"].pl()["interval_end"].unique().dt.truncate("1m").to_list()
        assert sorted(times) == [
            datetime(2001, 11, 13, 14, minute, tzinfo=UTC) for minute in (2, 3)
        ]
        assert dump["mtrsys"].pl().height == 1  # configuration holds until it changes
        # SQL sees the intervals before the span as well: counters are compared with them.
        (bounded,) = dump.sql(
            "SELECT count(DISTINCT interval_end) AS n FROM interval.sytrsp"
            " WHERE interval_end > $since",
            since=since.replace(tzinfo=None),
        ).rows()
        assert bounded == (2,)
    with pytest.raises(api.CpmonError, match="there is no record nothere"):
        api.read(DUMP, ["nothere"])


def test_an_interval_that_ended_a_second_late_is_in_time():
    until = datetime(2001, 11, 13, 14, 2, tzinfo=UTC)  # it ended at 14:02:00.23
    with api.read(DUMP, ["sytrsp", "mtrsys"], until=until) as dump:
        assert dump["sytrsp"].pl()["interval_end"].n_unique() == 3
        assert dump["mtrsys"].arrow().num_rows == 1


@pytest.mark.slow
def test_a_dump_is_reported_without_a_store(cpmon: Cpmon, perf: Path):
    store = api.open(perf)
    with api.read(DUMP) as dump:
        lines = dump.report("USER_RESOURCE_UTIL", top=3)
        assert lines.equals(store.report("USER_RESOURCE_UTIL", run="2600NP", top=3))
        assert dump.exceptions().height == store.exceptions(run="2600NP").height
    since = datetime(2001, 11, 13, 14, 1, 30, tzinfo=UTC)
    with api.read(DUMP, since=since) as dump:
        assert dump.report("SYSTEM_SUMMARY_BY_TIME").height == 2
        one = dump.report("SYSTEM_SUMMARY_BY_TIME", since=datetime(2001, 11, 13, 14, 2, tzinfo=UTC))
        assert one.height == 1
        assert dump["sytrsp"].lazy().collect().height == 14
        with pytest.raises(api.NothingToReportError):
            dump.report("SYSTEM_SUMMARY_BY_TIME", since=datetime(2001, 11, 14, tzinfo=UTC))


def test_a_file_that_is_no_dump_is_refused():
    with pytest.raises(api.CpmonError, match="is no monitor data"):
        api.read(ROOT / "README.md")


@pytest.mark.slow
def test_a_store_answers_what_the_commands_print(cpmon: Cpmon, perf: Path):
    store = api.open(perf)
    assert {"2600NP", "3600P1"} <= set(store.runs["run_id"])
    options = ("--run", "2600NP", "--store", perf, "--top", "3", "--format", "json")
    printed = json.loads(cpmon("report", "user_resource_util", *options).text)
    frame = store.report("USER_RESOURCE_UTIL", run="2600NP", top=3)
    assert frame["userid"].to_list() == [line["userid"] for line in printed]
    assert frame["cpu_util"].to_list() == [line["cpu_util"] for line in printed]
    text = cpmon("report", "system_summary_by_time", *options[:4]).text
    assert store.report_text("SYSTEM_SUMMARY_BY_TIME", run="2600NP") == text
    followed = store.report("USER_RESOURCE_UTIL", run="2600NP", user="linux319", by="15m")
    assert followed.height == 1 and followed["cpu_util"].item() > 0
    assert store.table("run_summary").height >= 2
    assert store.compare("timer_t1").height == 108
    metrics = store.compare(runs=["3600P1"], base="2600NP")
    assert metrics.filter(pl.col("measure") == "total_util")["base_value"].item() > 40
    with pytest.raises(api.CpmonError) as raised:  # the runs are a month apart
        store.compare(runs=["3600P1"], base="2600NP", until=datetime(2001, 11, 14))  # noqa: DTZ001
    assert raised.value.code == "run-outside-span"


@pytest.mark.slow
def test_a_chart_is_one_of_altair(perf: Path):
    chart = api.open(perf).chart("PROCESSORS_BY_TIME", run="2600NP", columns=["total_util"])
    spec = chart.to_dict()
    assert type(chart).__module__.startswith("altair") and "2600NP" in json.dumps(spec["title"])


@pytest.mark.slow
def test_charts_combine(perf: Path):
    store = api.open(perf)
    lines = store.chart("PROCESSORS_BY_TIME", run="2600NP", columns="total_util")
    bars = store.chart("USER_RESOURCE_UTIL", run="2600NP", top=3)
    both = (lines | bars).to_dict()
    assert len(both["hconcat"]) == 2 and "LINUX319" in json.dumps(both)
    assert len((lines & bars).to_dict()["vconcat"]) == 2


def test_times_are_of_utc_by_their_type(perf: Path):
    store, utc = api.open(perf), pl.Datetime("us", "UTC")
    frames = [
        store.report("PAGING_BY_TIME", run="2600NP"),
        store.table("interval.sytrsp"),
        store.sql("SELECT interval_end FROM users_by_time"),
        store.lazy("SELECT interval_end FROM users_by_time").collect(),
    ]
    with api.read(DUMP, ["sytrsp"]) as dump:
        frames += [dump["sytrsp"].pl(), dump["sytrsp"].lazy().collect()]
    assert {frame["interval_end"].dtype for frame in frames} == {utc}


def test_the_help_of_a_method_lists_its_options():
    for method in (api.OpenStore.report, api.OpenStore.chart, api.Dump.report_text):
        listed = inspect.getdoc(method) or ""
        assert 'by: length of a line: "15m"' in listed and "shift: only the hours" in listed
    assert "horizon: the end" in (inspect.getdoc(api.OpenStore.forecast) or "")
    assert "against: compare with" in (inspect.getdoc(api.OpenStore.explain) or "")


@pytest.mark.slow
def test_a_lazy_frame_outlives_its_dump_whose_folder_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with api.read(DUMP, ["sytrsp"]) as dump:
        rows = dump["sytrsp"].lazy()
        whole = dump["sytrsp"].pl()
    one = rows.filter(pl.col("pfxcpuad") == 0).select("tod", "pfxcpuad")
    assert one.collect().equals(whole.filter(pl.col("pfxcpuad") == 0).select("tod", "pfxcpuad"))
    assert [*tmp_path.iterdir()]
    del rows, one, dump
    gc.collect()
    assert not [*tmp_path.iterdir()]


def test_an_answer_is_asked_when_it_is_collected(perf: Path):
    query = "SELECT * FROM users_by_time WHERE system = $system"
    rows = api.open(perf).lazy(query, system="TIMER")
    most = rows.filter(pl.col("userid") == "LINUX319").select(pl.col("cpu_util").max())
    frame = api.open(perf).sql(query, system="TIMER").filter(pl.col("userid") == "LINUX319")
    assert most.collect().item() == frame["cpu_util"].max()
    with pytest.raises(api.CpmonError):
        api.open(perf).lazy("SELECT * FROM nothere")


@pytest.mark.slow
def test_several_dumps_are_read_as_one():
    other = ROOT / "sample-data" / "linux-dasd-mdc" / "M11.mon.zst"
    with api.read([DUMP, other], ["sytrsp"]) as both, api.read(other, ["sytrsp"]) as one:
        assert set(both["sytrsp"].pl()["system"]) == {"TIMER", "MDCACHE"}
        alone = both.report("SYSTEM_SUMMARY_BY_TIME", system="MDCACHE")
        assert alone.equals(one.report("SYSTEM_SUMMARY_BY_TIME"))


def test_what_is_inside_is_shown_in_a_notebook(perf: Path):
    with api.open(perf) as store, api.read(DUMP, ["sytrsp"]) as dump:
        assert "TIMER" in store._repr_html_() and "28" in dump._repr_html_()
        assert "pfxcpuad" in dump["sytrsp"]._repr_html_()


def test_errors_have_a_code_and_parts(perf: Path):
    with pytest.raises(api.CpmonError) as raised:
        api.open(perf).sql("SELECT * FROM nothere")
    assert raised.value.code == "name-unknown" and raised.value.remedy
    with pytest.raises(api.CpmonError, match="no length of a line"):
        api.open(perf).report("USER_RESOURCE_UTIL", run="2600NP", by="soon")
    with pytest.raises(api.CpmonError, match="number of objects"):
        api.open(perf).report("USER_RESOURCE_UTIL", run="2600NP", top=-1)
    with pytest.raises(api.CpmonError, match="number of objects"):
        api.open(perf).explain(run="2600NP", top=-1)
    with pytest.raises(api.CpmonError):
        api.open(perf).sql("COPY meta.run TO 'x.csv'")


def test_a_store_is_made_filled_and_reduced(tmp_path: Path):
    with pytest.raises(api.CpmonError):
        api.open(tmp_path / "perf")
    store = api.open(tmp_path / "perf", create=True)
    name = store.ingest(DUMP)
    assert store.sql("SELECT dump FROM meta.dump").item() == name
    store.reduce("system_summary_by_time")
    assert store.table("meta.reduced")["reduction"].unique().to_list() == ["system_summary_by_time"]


@pytest.mark.parametrize("words", [["SELECT count(*) AS n FROM monitor.sytrsp"], ["busiest_users"]])
def test_a_query_asks_a_dump_without_a_store(
    cpmon: Cpmon, words: list[str], perf: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("CPMON_STORE", raising=False)
    answer = cpmon("query", *words, "--dump", DUMP, "--format", "csv")
    assert answer.status is Status.DONE and answer.text.count("\n") >= 2


def test_a_dump_is_not_asked_by_spark(cpmon: Cpmon):
    answer = cpmon("query", "SELECT 1", "--dump", DUMP, "--engine", "spark")
    assert answer.status is Status.USAGE and "leave out --engine" in answer.err


@pytest.mark.slow
def test_a_store_explains_and_finds_exceptions_as_the_commands_do(cpmon: Cpmon, tmp_path: Path):
    store = api.open(tmp_path / "perf", create=True)
    for run in ("APS9220", "APT9280"):
        store.ingest(ROOT / "sample-data" / "cp-regression" / f"{run}.mon.zst")
    options = ("--run", "APT9280", "--store", store.path)
    printed = json.loads(cpmon("explain", *options, "--format", "json").text)["lines"]
    lines = store.explain(run="APT9280")
    assert lines["what"].to_list() == [line["what"] for line in printed]
    assert lines["weight"].to_list() == [line["weight"] for line in printed]
    assert store.explain_text(run="APT9280") == cpmon("explain", *options).text
    printed = json.loads(cpmon("exceptions", *options, "--format", "json").text)
    episodes = store.exceptions(run="APT9280")
    assert episodes["rule"].to_list() == [episode["rule"] for episode in printed]
    assert store.exceptions_text(run="APT9280") == cpmon("exceptions", *options).text
    end = datetime(2005, 9, 28, 10, 6, 30, tzinfo=UTC)
    assert store.explain(at=end, against="before", top=3).height <= 3
    with pytest.raises(api.CpmonError) as raised:
        store.exceptions(severity="warn")
    assert raised.value.code == "name-unknown"


@pytest.mark.slow
def test_a_store_forecasts_as_the_command_does(cpmon: Cpmon, tmp_path: Path):
    store_of_months(tmp_path, months(shares(8)))
    store = api.open(tmp_path / "perf")
    options = ("--store", store.path, "--report", "processors_by_time", "--cpu", "0")
    horizon = ("--horizon", "20d", "--by", "1w", "--threshold", "70")
    chosen = {"report": "PROCESSORS_BY_TIME", "cpu": 0, "horizon": timedelta(days=20), "by": "1w"}
    command = ("forecast", "total_util", *options, *horizon)
    assert store.forecast_text("total_util", **chosen, threshold=70) == cpmon(*command).text
    lines = store.forecast("total_util", **chosen, threshold=70)
    printed = json.loads(cpmon(*command, "--format", "json").text)
    assert lines["mean"].to_list() == [line["mean"] for line in printed]
    with pytest.raises(api.CpmonError, match="no length of a line"):
        store.forecast("total_util", by="1h")


@pytest.mark.slow
def test_rows_in_batches_take_less_memory_than_all_at_once(tmp_path: Path):
    """The rows are 150 MB of Arrow; DuckDB holds some blocks of the files whose rows it streams."""
    file = tmp_path / "months.mon"
    file.write_bytes(months(shares(240), users=9))

    def reading(how: str) -> tuple[int, float]:
        command = [sys.executable, "-c", READING, file, how]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        size, peak = done.stdout.split()
        return int(size) / 2**20, int(peak) / 1024

    size, whole = reading("[dump['useact'].arrow()]")
    _, peak = reading("dump['useact'].batches(5_000)")
    assert size > 140
    assert peak < whole - size / 3


@pytest.mark.slow
def test_examples_of_the_documentation_print_what_they_say(
    perf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "perf").symlink_to(perf)
    (tmp_path / "sample-data").symlink_to(ROOT / "sample-data")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    runner.run(parser.get_doctest(text, {}, "python.md", None, 0))
    assert runner.summarize().attempted > 5 and not runner.failures


def test_times_and_columns_may_be_texts(perf: Path):
    store = api.open(perf)
    chosen = {"run": "2600NP", "since": "2001-11-13 14:01", "columns": "cpu_util, io_rate"}
    frame = store.report("USER_RESOURCE_UTIL", **chosen)
    typed = datetime(2001, 11, 13, 14, 1, tzinfo=UTC)
    of_times = {**chosen, "since": typed, "columns": ["cpu_util", "io_rate"]}
    assert frame.equals(store.report("USER_RESOURCE_UTIL", **of_times))
    for wrong in ({"since": "soon"}, {"until": "08:10"}, {"at": "now"}):
        for ask in (store.explain, store.exceptions) if "at" not in wrong else (store.explain,):
            with pytest.raises(api.CpmonError, match="no time"):
                ask(run="2600NP", **wrong)


def test_what_there_is_is_named(perf: Path):
    store = api.open(perf)
    assert "TIMER" in repr(store) and "TIMER" in store.systems
    assert {"users_by_time", "interval.useact", "meta.dump"} <= {*store.tables}
    assert "USER_RESOURCE_UTIL" in store.reports
    with api.read(DUMP, ["sytrsp"]) as dump:
        assert "sytrsp" in repr(dump)
        records = dump["sytrsp"]
        assert f"{len(records.arrow())} rows" in repr(records)
    assert repr(records) == "<records sytrsp>"
