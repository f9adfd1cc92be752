"""Outputs and spans that are refused: what the message says works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dumps import dump, fields, interval
from tests.remedies.conftest import dump_of
from tests.remedies.trying import Attempt, tries

SYSTEM = "VMTEST"


@tries("output-protected")
def test_an_output_that_is_an_input_gets_another_name(tried: Attempt, tmp_path: Path):
    file = tmp_path / "a.mon"
    file.write_bytes(dump_of())
    tried.fails("slice", file, "-o", file)
    tried.works("slice", file, "-o", tmp_path / "b.mon")


@pytest.mark.slow
@tries("output-folder-missing")
def test_a_missing_folder_is_made_with_parents(tried: Attempt, lab: Path, tmp_path: Path):
    file = tmp_path / "a.mon"
    file.write_bytes(dump_of())
    store, new = ("--store", lab), tmp_path / "new"
    for n, words in enumerate(
        (
            ("slice", file, "-o", "{}.mon"),
            ("generate", "timer", "--run", "2600P", "--intervals", 1, "-o", "{}"),
            ("store", "catalogue", *store, "-o", "{}.duckdb"),
            ("store", "export", "meta.dump", *store, "--duckdb", "{}.duckdb"),
            ("report", "processors_by_time", *store, "--plot", "{}.svg"),
        )
    ):
        line = [str(word).format(new / str(n) / "x") for word in words]
        assert f"no {new / str(n)}" in tried.fails(*line)
        assert not new.exists() or not (new / str(n)).exists()
        tried.works(*line, "--parents")
        assert [*(new / str(n)).iterdir()]
        tried.works(*line)


@tries("output-format-mismatch")
def test_a_name_that_says_another_format_is_replaced_by_one_of_those(
    tried: Attempt, tmp_path: Path
):
    said = tried.fails("schema", "list", "-o", tmp_path / "x.pdf")
    names = said.partition("name it ")[2].strip().split(" or ")
    assert names[:2] == ["x.txt", "x.csv"]
    for name in names:
        tried.works("schema", "list", "-o", tmp_path / name)


@tries("output-format-mismatch", "add --html")
def test_a_page_is_written_with_html(tried: Attempt, landed: Path, tmp_path: Path):
    words = ("validate", "--store", landed, "--rule", "useact.keys", "-o", tmp_path / "x.html")
    tried.fails(*words)
    tried.works(*words, "--html")


@tries("system-zone-unknown")
def test_a_zone_is_named(tried: Attempt, tmp_path: Path):
    file, store = tmp_path / "a.mon", tmp_path / "store"
    samples = (interval(at, fields("sytprp", at, pfxutime=at << 26)) for at in (0, 60))
    file.write_bytes(dump(*samples))
    tried.works("ingest", file, "--store", store)
    words = ("report", "processors_by_time", "--store", store, "--tz")
    tried.fails(*words, "system")
    tried.works(*words, "Europe/Vienna")


@tries("day-required")
def test_reduce_gets_a_day(tried: Attempt, landed: Path):
    words = ("reduce", "users_by_time", "--store", landed, "--since")
    said = tried.fails(*words, "2001-12-18T10:00")
    tried.works(*words, said.rpartition("name a day, as ")[2].strip())


@tries("run-without-intervals")
def test_a_run_gets_a_span_of_what_was_landed(tried: Attempt, tmp_path: Path):
    file, store = tmp_path / "a.mon", tmp_path / "store"
    file.write_bytes(dump_of())
    tried.works("ingest", file, "--store", store)
    words = ("runs", "--store", store, "--define", "am", "--system", SYSTEM, "--until", "10:05")
    tried.fails(*words, "--since", "yesterday")
    tried.works(*words, "--since", "2001-12-18T10:00")
