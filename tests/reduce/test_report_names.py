"""Reports found by the names of VMPRF and Performance Toolkit."""

from __future__ import annotations

import duckdb
import pytest

from cpmon.core.errors import CpmonError, fold
from cpmon.reduce.metrics.report_set import Lines
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_names import (
    Product,
    State,
    find_report,
    foreign_names,
    other_names,
    report_names,
)
from cpmon.reduce.reports.report_text import render_report


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("FCX112", "USER_RESOURCE_UTIL"),
        ("user", "USER_RESOURCE_UTIL"),
        ("fcx114", "USER_STATES"),
        ("UStat", "USER_STATES"),
        ("FCX126", "LPAR"),
        ("FCX306", "LPAR"),
        ("fcx101", "SYSTEM_SUMMARY_BY_TIME"),
        ("lpar", "LPAR"),
        ("SyssumLG", "SYSTEM_SUMMARY_BY_TIME"),
        ("redisp", "SYSTEM_SUMMARY_BY_TIME"),
        ("aux-storage-by-time", "AUX_STORAGE_BY_TIME"),
    ],
)
def test_a_report_is_found_by_the_name_of_another_product(name: str, own: str):
    assert find_report(name).name == own


def test_a_name_of_cpmon_means_its_report_as_it_is():
    assert find_report("LPAR") is find_report("lpar")
    assert not any("Performance Toolkit" in note.text for note in find_report("LPAR").notes)


def test_a_report_found_so_says_what_it_lacks():
    note = find_report("UPGUTL").notes[-1].text
    assert note.startswith("UPGUTL of Performance Toolkit is USER_PAGING here, without: pages by")
    assert find_report("FCX113").notes[-1].text.endswith("is USER_PAGING here.")


def test_a_log_by_time_has_a_line_for_each_interval_and_object(
    laboratory: duckdb.DuckDBPyConnection,
):
    assert find_report("spin_locks").lines is Lines.OBJECT
    assert find_report("locklog").lines is Lines.TIME
    whole, log = (report(laboratory, name) for name in ("LOCKACT", "LOCKLOG"))
    assert log.table.num_rows > whole.table.num_rows
    keys = [(row["interval_end"], row["lock"]) for row in log.table.to_pylist()]
    assert keys == sorted(keys, key=lambda key: key[0]) and len(set(keys)) == len(keys)
    assert "LOCKLOG of Performance Toolkit is SPIN_LOCKS here" in render_report(log).decode()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pucfglog", r"PUCFGLOG of Performance Toolkit is not printed: .*PRCPUP \(5\.16\)"),
        ("fcx111", r"FCX111 of Performance Toolkit is not printed: .*IODCAD \(6\.4\)"),
        ("FCX314", "FCX314 PINLOG of Performance Toolkit is not printed: no field is known"),
    ],
)
def test_one_that_is_not_printed_says_what_is_missing(name: str, reason: str):
    with pytest.raises(CpmonError, match=reason) as caught:
        find_report(name)
    assert caught.value.code == "report-not-printed"


@pytest.mark.parametrize(
    ("wrong", "code", "remedy"),
    [
        ("USTATT", "name-unknown", "did you mean USTAT?"),
        ("USER_PAGNG", "name-unknown", "did you mean USER_PAGING?"),
        ("FCX999", "report-number-unknown", "docs/report-names.md"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(wrong: str, code: str, remedy: str):
    with pytest.raises(CpmonError) as caught:
        find_report(wrong)
    assert caught.value.code == code
    assert remedy in str(caught.value.remedy)


def test_the_names_are_consistent():
    known = foreign_names()
    own = {fold(name): name for name in report_names()}
    for foreign in known:
        assert bool(foreign.report) == (foreign.state is not State.NONE), foreign
        assert not foreign.report or foreign.report in own.values(), foreign
        assert bool(foreign.missing) == (foreign.state in (State.PART, State.NONE)), foreign
        assert foreign.number or foreign.name, foreign
        if foreign.state is State.SAME:
            assert own[fold(foreign.name)] == foreign.report
        else:
            assert fold(foreign.name) not in own, foreign
    for product in Product:
        names = [n for f in known if f.product is product for n in (f.number, f.name) if n]
        assert len(names) == len(set(map(fold, names)))


def test_completion_offers_what_can_be_printed():
    assert {"FCX112", "USTAT", "LOCKLOG"} <= set(other_names())
    assert not {"PUCFGLOG", "LPAR"} & set(other_names())
