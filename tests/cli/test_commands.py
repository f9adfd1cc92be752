"""Each command: what it answers, from a dump to a table."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from cpmon.cli.main import Status
from cpmon.store import Store
from tests.cli.answer import Answer, Cpmon
from tests.dumps import dump, fields, frame, interval, samples
from tests.scenarios import CONFIG, SAMPLE

GOOD = dump(interval(60, CONFIG, SAMPLE))
MOVES = "select tod, pfxcpuad, plsmvb2g from {}.sytrsp order by all"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.mon"
    file.write_bytes(GOOD)
    return file


def identities(store: Path) -> list[str]:
    return [landed.dump for landed in Store(store).dumps()]


@pytest.mark.parametrize("first", ["plain", "gzip", "zstd", "-"])
def test_the_same_dump_lands_once_however_it_comes(
    first: str, cpmon: Cpmon, tmp_path: Path, store: Path
):
    files = {
        "plain": GOOD,
        "gzip": gzip.compress(GOOD),
        "zstd": pa.compress(GOOD, "zstd", asbytes=True),
    }
    for name, content in files.items():
        (tmp_path / f"dump.{name}").write_bytes(content)

    def land(form: str) -> Answer:
        source = "-" if form == "-" else tmp_path / f"dump.{form}"
        return cpmon("ingest", source, "--store", store, stdin=files["gzip"])

    answer = land(first)
    assert answer.status is Status.DONE
    assert "landed as" in answer.text
    (identity,) = identities(store)
    assert identity[:12] in answer.text

    landed = sorted(store.glob("records/**/*"))
    for form in (*files, "-"):
        again = land(form)
        assert again.status is Status.DONE
        assert f"landed before as {identity[:12]}, system VMTEST; nothing to do" in again.text
    assert identities(store) == [identity]
    assert sorted(store.glob("records/**/*")) == landed


def test_a_dump_from_a_pipe_can_be_given_a_system_and_a_run(cpmon: Cpmon, store: Path):
    answer = cpmon(
        "ingest", "-", "--store", store, "--system", "PROD", "--run-id", "noon", stdin=GOOD
    )
    assert "system PROD" in answer.text and "run noon" in answer.text
    run = json.loads((store / "runs" / "noon.json").read_text())
    assert (run["run_id"], run["system"]) == ("noon", "PROD")


@pytest.mark.parametrize(
    ("options", "release", "frames"),
    [((), "5.3.0", None), (("--release", "5.1"), "5.1.0", 7)],
)
def test_the_release_decides_what_replaced_bytes_mean(
    cpmon: Cpmon, store: Path, options: tuple[str, ...], release: str, frames: int | None
):
    config = fields("mtrsys", systmid="VMTEST", hcpcpeid="05030000")
    told = dump(interval(60, config, fields("sytrsg", 60, rsafstor=7)))
    cpmon("ingest", "-", "--store", store, *options, stdin=told)

    sql = "select d.release, r.rsafstor from monitor.sytrsg r join meta.dump d using (dump)"
    answer = cpmon("query", "--store", store, sql, "--format", "jsonl")
    assert json.loads(answer.text) == {"release": release, "rsafstor": frames}


@pytest.mark.parametrize(
    ("level", "options", "release", "frames"),
    [
        ("05030000", (), "5.3.0", None),
        ("", (), "5.1.0", 7),
        ("05030000", ("--release", "5.1"), "5.1.0", 7),
        ("05030000", ("--jobs", "2"), "5.3.0", None),
        ("", ("--jobs", "2"), "5.1.0", 7),
    ],
)
def test_the_release_of_a_system_holds_where_its_dump_names_none(
    cpmon: Cpmon,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    level: str,
    options: tuple[str, ...],
    release: str,
    frames: int | None,
):
    (tmp_path / "cpmon.toml").write_text('[systems.VMTEST]\nrelease = "5.1"\n')
    monkeypatch.setenv("CPMON_CONFIG", str(tmp_path / "cpmon.toml"))
    config = fields("mtrsys", systmid="VMTEST", hcpcpeid=level)
    (tmp_path / "a.mon").write_bytes(dump(interval(60, config, fields("sytrsg", 60, rsafstor=7))))
    cpmon("ingest", tmp_path / "a.mon", "--store", store, "--system", "VMTEST", *options)

    sql = "select d.release, r.rsafstor from monitor.sytrsg r join meta.dump d using (dump)"
    answer = cpmon("query", "--store", store, sql, "--format", "jsonl")
    assert json.loads(answer.text) == {"release": release, "rsafstor": frames}


def test_a_dump_without_records_lands_but_is_no_run(cpmon: Cpmon, store: Path):
    empty = dump(samples(frame()))
    answer = cpmon("ingest", "-", "--store", store, "--run-id", "noon", stdin=empty)
    assert answer.status is Status.USAGE
    assert "a dump without records is no run" in answer.err
    assert len(identities(store)) == 1 and not list((store / "runs").iterdir())


def test_a_run_id_belongs_to_one_dump(cpmon: Cpmon, good: Path, store: Path):
    answer = cpmon("ingest", good, good, "--store", store, "--run-id", "noon")
    assert answer.status is Status.USAGE
    assert not store.exists()


def test_the_run_file_beside_a_dump_is_picked_up(cpmon: Cpmon, dumps: list[Path], store: Path):
    for expected in ("  run 2600NP\n", "  run 2600NP (as before)\n"):
        assert cpmon("ingest", dumps[0], "--store", store).text.endswith(expected)


def test_a_folder_with_other_files_does_not_become_a_store(
    cpmon: Cpmon, good: Path, tmp_path: Path
):
    answer = cpmon("ingest", good, "--store", tmp_path)
    assert answer.status is Status.USAGE
    assert "neither a store nor empty" in answer.err
    assert [f.name for f in tmp_path.iterdir()] == ["good.mon"]


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_list_reads_standard_input(packed: Callable[[bytes], bytes], cpmon: Cpmon, good: Path):
    (piped,) = cpmon("list", "-", "--format", "json", stdin=packed(GOOD)).rows
    (named,) = cpmon("list", good, "--format", "json").rows
    assert piped == {**named, "dump": "standard input"}


def test_a_list_of_several_dumps_tells_them_apart(cpmon: Cpmon, dumps: list[Path]):
    text = cpmon("list", *dumps).text
    assert [line for line in text.splitlines() if ": system " in line] == [
        f"{dump.name}: system TIMER, 1,265,664 bytes" for dump in dumps
    ]
    csv = pl.read_csv(cpmon("list", *dumps, "--format", "csv").out)
    assert csv["dump"].unique(maintain_order=True).to_list() == [d.name for d in dumps]


@pytest.mark.parametrize("schema", ["monitor", "interval"])
def test_records_can_be_asked_for_by_sql(schema: str, cpmon: Cpmon, perf: Path):
    answer = cpmon("query", "--store", perf, MOVES.format(schema), "--format", "csv")
    assert answer.status is Status.DONE
    head, *lines = answer.text.splitlines()
    assert head == "tod,pfxcpuad,plsmvb2g"
    assert len(lines) == 2 * 4 * 7  # runs, samples, processors


def test_a_counter_is_a_level_in_monitor_and_its_growth_in_interval(cpmon: Cpmon, perf: Path):
    order = "order by pfxcpuad, tod"
    sql = "select pfxcpuad, plspgin from {}.sytxsp where tod < '2001-12-01' " + order
    levels, growths = (
        pl.read_csv(cpmon("query", "--store", perf, sql.format(s), "--format", "csv").out)
        for s in ("monitor", "interval")
    )
    expected = levels.select(
        "pfxcpuad", (pl.col("plspgin").diff().over("pfxcpuad") % 2**32).alias("plspgin")
    )
    assert growths.equals(expected)
    assert growths["plspgin"].null_count() == 7


def test_sql_comes_from_a_file_or_from_standard_input_as_well(
    cpmon: Cpmon, perf: Path, tmp_path: Path
):
    file = tmp_path / "moves.sql"
    file.write_text(MOVES.format("interval"))
    words = ["query", "--store", perf, "--format", "csv"]
    answers = {
        cpmon(*words, MOVES.format("interval")).out,
        cpmon(*words, "--file", file).out,
        cpmon(*words, "-", stdin=file.read_bytes()).out,
    }
    assert len(answers) == 1


def test_a_shipped_query_takes_parameters(cpmon: Cpmon, perf: Path):
    answer = cpmon("query", "busiest-users", "-p", "top=3", "-p", "run=3600P1", "--store", perf,
                   "--format", "json")  # fmt: skip
    assert len(answer.rows) == 3
    assert {row["measured_s"] for row in answer.rows} == {180}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["busiest_users", "-p", "top=many"], "value of another type"),
        (["busiest_users", "-p", "top"], "has no ="),
        (["select 1", "-p", "top=1"], "the query has no parameter"),
        (["select 1", "--file", "x.sql"], "or --file FILE"),
        ([], "or --file FILE"),
        (["--file", "missing.sql"], "missing.sql cannot be read"),
        (["selekt 1"], "the SQL cannot be read"),
        (["create table t as select 1"], "only queries are allowed"),
        (["drop view monitor.sytrsp"], "only queries are allowed"),
        (["copy (select 1) to 'x.csv'"], "only queries are allowed"),
        (["select * from read_text('/etc/hostname')"], "the query failed"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_cannot_be_asked_is_a_usage_error(
    words: list[str], said: str, cpmon: Cpmon, perf: Path
):
    answer = cpmon("query", *words, "--store", perf)
    assert answer.status is Status.USAGE
    assert said in answer.err
    assert answer.out == b""


@pytest.mark.parametrize(
    ("command", "name"),
    [("query", "busiest_users"), ("report", "PROCESSORS_BY_TIME"), ("compare", "timer_t1")],
)
def test_what_there_is_to_choose_from_is_told_without_a_store(
    command: str, name: str, cpmon: Cpmon
):
    answer = cpmon(command, "--list")
    assert answer.status is Status.DONE
    assert f"{name}  " in answer.text


def test_a_report_can_be_cut_to_a_run_a_time_and_a_processor(cpmon: Cpmon, perf: Path):
    answer = cpmon(
        "report", "processors by time", "--store", perf, "--run", "2600NP", "--cpu", "3",
        "--since", "2001-11-13T15:01:00+01:00", "--until", "2001-11-13T14:02:00",
        "--format", "json",
    )  # fmt: skip
    ends = [(row["interval_end"][11:16], row["pfxcpuad"] if "pfxcpuad" in row else row["cpu"])
            for row in answer.rows]  # fmt: skip
    assert ends == [("14:02", 3)]  # some milliseconds behind 14:02; that of 14:01 ended before


def test_a_time_that_is_none_shows_how_to_write_one(cpmon: Cpmon, perf: Path):
    answer = cpmon("report", "run_summary", "--store", perf, "--since", "tomorrow")
    assert answer.status is Status.USAGE
    assert "2026-01-31T10:00" in answer.err


def test_a_name_that_the_store_does_not_have_is_refused(cpmon: Cpmon, perf: Path):
    span = ("--since", "2001-12-18T10:00", "--until", "2001-12-18T11:00")
    defined = cpmon("runs", "--store", perf, "--define", "x", "--system", "TIMMER", *span)
    asked = cpmon("query", "--store", perf, "busiest_users", "-p", "run=2600")

    assert defined.status is asked.status is Status.USAGE
    assert "did you mean TIMER?" in defined.err
    assert "there is no run 2600" in asked.err


def test_two_queries_at_once_are_refused(cpmon: Cpmon, perf: Path):
    answer = cpmon("query", "--store", perf, "select 1; select 2")

    assert answer.status is Status.USAGE and "one query at a time" in answer.err


@pytest.mark.slow
def test_a_run_can_be_defined_and_is_then_reported(cpmon: Cpmon, dumps: list[Path], store: Path):
    cpmon("ingest", dumps[0], "--store", store)
    answer = cpmon(
        "runs", "--store", store, "--define", "two minutes", "--system", "TIMER",
        "--since", "2001-11-13T14:00:30", "--until", "2001-11-13T14:02:30",
        "--base", "2600NP", "--attribute", "users=599", "--format", "json",
    )  # fmt: skip
    assert [run["run_id"] for run in answer.rows] == ["2600NP", "two minutes"]
    assert answer.rows[1]["users"] == 599 and answer.rows[1]["base_run_id"] == "2600NP"
    # What is not stated, the records say.
    assert (answer.rows[1]["cp_level"], answer.rows[1]["processors"]) == ("4.2.0", 7)

    sql = "select run_id, intervals from run_summary order by run_id"
    rows = cpmon("query", sql, "--store", store, "--format", "csv").text
    assert rows == "run_id,intervals\n2600NP,3\ntwo minutes,2\n"


def test_a_run_without_a_span_is_a_usage_error(cpmon: Cpmon, perf: Path):
    answer = cpmon("runs", "--store", perf, "--define", "x", "--system", "TIMER")
    assert answer.status is Status.USAGE
    assert "--since and --until" in answer.err


def test_a_table_of_ones_own_is_compared(cpmon: Cpmon, perf: Path, tmp_path: Path):
    spec = tmp_path / "mine.toml"
    spec.write_text(
        'name = "mine"\nruns = ["2600NP", "3600P1"]\nbase = "2600NP"\n[[groups]]\n'
        'rows = [{ label = "Total", source = "v", '
        'measure = "total_util", scale = 100, digits = 1 }]\n'
    )
    answer = cpmon("compare", spec, "--store", perf, "--format", "csv")
    assert answer.text == (
        "table,run_id,row_label,value_as_printed,source_tag\n"
        "mine,2600NP,Total,47.8,v\nmine,3600P1,Total,4.6,v\n"
        "mine_ratios,2600NP,Total,1.000,calc\nmine_ratios,3600P1,Total,0.096,calc\n"
    )


def test_kept_reductions_answer_as_computed_ones(
    cpmon: Cpmon, dumps: list[Path], perf: Path, store: Path
):
    cpmon("ingest", dumps[0], "--store", store)
    words = ["report", "SYSTEM_SUMMARY2_BY_TIME", "--run", "2600NP", "--store"]
    answer = cpmon("reduce", "--store", store, "system_summary2_by_time")
    assert answer.text.startswith("system_summary2_by_time: 4 rows in ")
    assert [f.name for f in (store / "reduced").iterdir() if f.is_dir()] == [
        "system_summary2_by_time"
    ]
    assert cpmon(*words, store).out == cpmon(*words, perf).out


def test_a_generated_dump_is_told_by_its_path_and_can_be_listed(cpmon: Cpmon, tmp_path: Path):
    words = ["generate", "timer", "--run", "2600NP", "--intervals", "1", "-o", tmp_path]
    answer = cpmon(*words, "--compress", "gzip")
    file = tmp_path / "2600NP.mon.gz"
    assert answer.text.startswith(f"{file}: ") and file.exists()
    (found,) = cpmon("list", file, "--format", "json").rows
    assert (found["system"], found["intervals"]) == ("TIMER", 2)


def test_a_result_in_parquet_reads_back_with_its_types(cpmon: Cpmon, perf: Path):
    sql = "select tod, seconds, vmduser, vmdttime from interval.useact limit 5"
    out = cpmon("query", sql, "--store", perf, "--format", "parquet").out
    assert pl.read_parquet(io.BytesIO(out)).schema == {
        "tod": pl.Datetime("us"), "seconds": pl.Float64(), "vmduser": pl.String(),
        "vmdttime": pl.Int64(),
    }  # fmt: skip


def test_a_device_is_named_as_it_was_asked_for(cpmon: Cpmon, perf: Path):
    words = ("report", "dasd_by_activity", "--run", "2600NP", "--store", perf)
    missing = cpmon(*words, "--device", "0fff")
    assert "there is no device 0FFF" in missing.err
    listed = cpmon(*words, "--format", "json").rows
    number = f"{listed[0]['device']:04X}"
    assert f"device {number}" in cpmon(*words, "--device", number).text.splitlines()[1]
