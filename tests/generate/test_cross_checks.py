"""Figures of one dump agree with each other, in every run of every scenario; mistakes are seen."""

from __future__ import annotations

import csv
import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cpmon.generate import load_scenario, scenario_names, write_run
from tests.generate import breaking
from tests.generate.claims import Evidence, Verdict
from tests.generate.columns import Columns
from tests.generate.cross_checks import check_names, cross_checked

Break = Callable[..., bytes | None]

RUNS = [(name, run) for name in scenario_names() for run in load_scenario(name).run_ids]

INTERVALS: dict[str, int] = {}
"""Of scenarios whose dumps must be longer than three intervals for something to happen in them."""

SILENT = {
    "timer": {
        "comings_and_goings": "nobody logs on or off",
        "diagnoses": "no record by code",
        "frames_above_2g": "2 GB",
        "linux_memory": "guests without APPLDATA",
        "linux_processors": "guests without APPLDATA",
        "lock_table": "a record of later levels",
        "minidisk_cache": "none",
        "minidisk_cache_size": "none",
        "partitions": "no record of partitions",
        "throughput": "no load generator",
    },
    "large-storage": {
        "comings_and_goings": "nobody logs on or off",
        "diagnoses": "no record by code",
        "expanded_paging": "no expanded storage",
        "expanded_storage": "no expanded storage",
        "linux_memory": "CMS users",
        "linux_processors": "CMS users",
        "lock_table": "a record of later levels",
        "partitions": "basic mode",
    },
}
"""Checks that find nothing to compare in the runs of a scenario, and why; all others do."""

KNOWN = {
    ("large-storage", "spool_paging"): "halves of volumes and of their sum are rounded",
    ("large-storage", "working_sets"): "the scheduler sums resident pages",
    ("timer", "working_sets"): "the scheduler sums resident pages",
}
"""Violations that are in the model; a check that holds again must leave this table."""

BROKEN = (("timer", "2900P"), ("large-storage", "E01307E0"))
"""Runs whose dumps are broken, small ones first."""

EXACT = {
    "cpu_time": "sytprp.pfxprbtm sytprp.pfxutime useact.vmdttime useact.vmdvtime",
    "dasd_paging": """stoasp.expctprd stoasp.expctpwr storsp.plspread sytsyp.plspiopr
        sytsyp.plspiopw useact.calcppgr useact.calcppgw""",
    "device_starts": """ioddev.rdevctsi ioddev.rdevrdct ioddev.rdevwrct ioddev.scgcount
        ioddev.scgssch ioddev.scmcount ioddev.scmssch stoasp.scgssch stoasp.scmssch
        sytsyp.plsctss""",
    "expanded_paging": """sytxsg.xstxbget sytxsg.xstxbrel sytxsp.pfxpgin sytxsp.plspgin
        sytxsp.plspgout useact.calcpxrd useact.calcpxwt""",
    "expanded_storage": "sytxsg.xstctxav useact.vmdctxbk",
    "frames_below_2g": "sytrsg.rsanonpg sytrsg.rsapgabl",
    "lists": """sytscg.srmc1dsp sytscg.srmc2dsp sytscg.srmc3dsp sytscg.srmcdisp sytusr.srmcdorm
        sytusr.sysusrs sytuwt.calqdisp useact.vmdslist""",
    "minidisk_cache": "ioddev.rdevmcia sytxsg.hcpmdcia",
    "minidisk_cache_size": "sytrsg.tcmmain sytrsg.tcmmnabv sytrsg.tcmmnblw",
    "page_slots": """stoasp.calpage stoasp.calspool stoasp.cpvalocd sytasg.calslta1
        sytasg.calslta2 sytasg.calslti1 sytasg.calslti2 useact.calctpgs""",
    "processor_clock": "sytprp.pfxtmsys sytprp.pfxtotwt sytprp.pfxutime",
    "spool_paging": "stoasp.expctsrd stoasp.expctswr sytsyp.plspiosr sytsyp.plspiosw",
    "steals": "storsp.plsdisp1 storsp.plsdorm1 sytrsp.plsstlfr",
    "throughput": "sytusr.calupnct sytusr.caluptct",
    "user_ios": "ioddev.rdevmcia ioddev.scgssch useact.vmdvdsct",
    "wait_states": """sytuwt.calcpurn sytuwt.calcpuwt sytuwt.calqdisp sytuwt.caltidl
        sytuwt.calwtpag""",
    "working_sets": "sytscg.srmwssdl",
}
"""Fields of which a check notices a difference of one, and a counter's growth doubled."""

LEVELS = (
    *("sytrsg.rsanonpg", "sytrsg.rsapgabl", "sytrsg.tcmmain", "sytrsg.tcmmnabv"),
    *("sytrsg.tcmmnblw", "stoasp.calpage", "stoasp.calspool", "sytasg.calslta1"),
    *("sytasg.calslta2", "sytasg.calslti2", "sytusr.sysusrs", "sytuwt.calcpurn"),
    "sytuwt.calcpuwt",
)
"""Fields of these that may be the same in every sample: they have no growth to double."""

LOOSE = {
    "device_busy": "ioddev.scmcntim ioddev.scmddtim ioddev.scmfptim stoasp.expdevst",
    "device_queue": "ioddev.scmcntim ioddev.scmddtim ioddev.scmfptim ioddev.hfctio ioddev.hfrdevct",
    "dispatches": "prcprp.plsdspcm",
    "frames_below_2g": "sytrsg.rsacplok",
    "high_frequency": "ioddev.hfrdevct prcprp.hfcount prcprp.hfuserz",
    "page_response": "stoasp.expctprd stoasp.expctpwr stoasp.expmload sytasg.caltotm1",
    "processor_clock": "sytprp.pfxprbtm sytprp.pfxspint",
    "spin_locks": "sytscg.calslkct sytscg.calslktm sytscg.caltlkct sytscg.caltlktm",
    "user_clock": "useact.vmdttime useact.vmdvtime",
    "working_sets": "useact.vmdwsspr",
}
"""Fields of which a check notices that growth or figure is doubled."""

LOST = {
    "comings_and_goings": "ioddev sytprp useact",
    "lists": "useact",
    "processor_records": "prcprp storsp sytprp sytrsp sytscp sytsyp sytxsp",
    "page_slots": "stoasp",
    "system_records": "sytasg sytcug sytrsg sytscg sytusr sytuwt sytxsg",
}
"""Records of which a check notices that one is missing."""

UNBROKEN = {
    "diagnoses": "no dump has the record",
    "extents": "configuration, not counted",
    "frames_above_2g": "no dump of that level",
    "linux_memory": "no dump has the record",
    "linux_processors": "no dump has the record",
    "lock_table": "no dump has the record",
    "partitions": "no dump has the record",
    "volume_records": "a device that is missing is told by comings_and_goings",
}
"""Checks that no field above belongs to, and why."""


def pairs(table: dict[str, str]) -> list[tuple[str, str]]:
    """Check and field, or record type."""
    return [(check, field) for check, fields in table.items() for field in fields.split()]


@functools.cache
def written(scenario: str, run: str) -> tuple[bytes, tuple[int, ...] | None]:
    """A dump, and the transactions of each interval by its companion."""
    with tempfile.TemporaryDirectory() as folder:
        made = write_run(load_scenario(scenario), run, folder, intervals=INTERVALS.get(scenario, 3))
        logs = [p for p in made.companions if p.suffixes[-2:] == [".throughput", ".csv"]]
        return made.dump.read_bytes(), _transactions(logs[0]) if logs else None


def _transactions(path: Path) -> tuple[int, ...]:
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(int(row["transactions"]) for row in csv.DictReader(lines))


@functools.cache
def verdicts(scenario: str, run: str) -> dict[str, Verdict]:
    return cross_checked(Evidence(columns(scenario, run), written(scenario, run)[1]))


@functools.cache
def columns(scenario: str, run: str) -> Columns:
    return Columns(written(scenario, run)[0])


def notices(check: str, scenario: str, run: str, broken: bytes) -> bool:
    """Whether a check tells something of a broken dump that it does not tell of the whole one."""
    evidence = Evidence(Columns(broken), written(scenario, run)[1])
    (verdict,) = cross_checked(evidence, [check]).values()
    return verdict.violations != verdicts(scenario, run)[check].violations


def outcomes(check: str, breaks: Break, *where: str) -> Iterator[bool]:
    """Whether the check notices, of each dump that can be broken so; made as they are asked for."""
    for scenario, run in BROKEN:
        broken = breaks(columns(scenario, run), *where)
        if broken is not None:
            yield notices(check, scenario, run, broken)


@pytest.mark.parametrize(("scenario", "run"), RUNS)
def test_figures_that_mean_the_same_agree(scenario: str, run: str):
    wrong = {
        check: verdict.violations[:5]
        for check, verdict in verdicts(scenario, run).items()
        if verdict.violations and (scenario, check) not in KNOWN
    }
    assert not wrong


@pytest.mark.parametrize(("scenario", "check"), KNOWN)
def test_a_known_violation_is_still_there(scenario: str, check: str):
    runs = [run for name, run in RUNS if name == scenario]
    assert any(verdicts(scenario, run)[check].violations for run in runs)


@pytest.mark.parametrize(("scenario", "run"), RUNS)
def test_checks_have_something_to_compare(scenario: str, run: str):
    silent = {check for check, verdict in verdicts(scenario, run).items() if not verdict.compared}
    assert silent == set(SILENT[scenario])


@pytest.mark.parametrize(("check", "field"), pairs(EXACT))
def test_a_figure_that_is_off_by_one_is_noticed(check: str, field: str):
    assert any(outcomes(check, breaking.shifted, *field.split(".")))


@pytest.mark.parametrize(("check", "field"), [p for p in pairs(EXACT) if p[1] not in LEVELS])
def test_a_figure_that_grows_twice_as_much_is_noticed(check: str, field: str):
    assert any(outcomes(check, breaking.doubled, *field.split(".")))


@pytest.mark.parametrize(("check", "field"), pairs(LOOSE))
def test_a_figure_that_is_far_off_is_noticed(check: str, field: str):
    where = field.split(".")
    grown, swollen = (outcomes(check, how, *where) for how in (breaking.doubled, breaking.swollen))
    assert any(grown) or any(swollen)


@pytest.mark.parametrize(("check", "kind"), pairs(LOST))
def test_a_record_that_is_missing_is_noticed(check: str, kind: str):
    assert any(outcomes(check, breaking.lost, kind))


def test_every_check_has_been_seen_to_notice_something():
    assert {*EXACT, *LOOSE, *LOST, *UNBROKEN} == set(check_names())
    assert not {*EXACT, *LOOSE, *LOST} & set(UNBROKEN)
