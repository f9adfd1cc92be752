"""Figures of one dump agree with each other, in every run of every scenario; mistakes are seen."""

from __future__ import annotations

import csv
import datetime as dt
import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from cpmon.generate import Scenario, load_scenario, scenario_names, write_run
from cpmon.generate.scenario.scenario import Event
from tests.generate import breaking
from tests.generate.claims import Evidence, Verdict
from tests.generate.columns import Columns
from tests.generate.cross_checks import check_names, cross_checked

pytestmark = pytest.mark.generator

Log = tuple[tuple[int, int], ...]
Break = Callable[..., bytes | None]

DISTURBED = (
    Event("miss", 123),
    Event("logoff", 243, users="STAFF003 LXWEB001"),
    Event("restart", 303),
    Event("logon", 363, users="STAFF003"),
    Event("vary-off", 423, processor=1),
    Event("interval", 543, interval_s=30),
    Event("vary-on", 603, processor=1),
    Event("vary-off", 663, device="0B03"),
    Event("runaway", 723, lasts_s=177, users="STAFF001"),
    Event("ipl", 903, lasts_s=117),
)
"""Everything that can happen, in 20 intervals of a small system, with an old and a new CP."""

MIXED = Path(__file__).parent / "mixed-engines.toml"
"""Partitions with processors of several types."""

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

INTERVALS = {"bank-day": 20, "small-lab": 60, "disturbed": 20, "zvm73-smt": 20}
"""How long dumps are in which something happens; of others three intervals are enough."""


def scenario_of(name: str) -> Scenario:
    """A scenario without damage; the day of the bank is over in 20 intervals."""
    if name == "disturbed":
        lab = load_scenario("small-lab")
        runs = (lab.run("LAB"), replace(lab.run("LAB"), run_id="LAB53", cp_level="5.3.0"))
        return replace(lab, runs=runs, events=DISTURBED)
    found = load_scenario(MIXED if name == MIXED.stem else name)
    if name == "bank-day":
        quick = tuple(
            replace(d, at_s=3 + d.at_s // 60, lasts_s=60 + d.lasts_s // 60) for d in found.events
        )
        found = replace(found, events=quick)
    runs = (replace(run, damage=(), compression="none") for run in found.runs)
    # Runs that only differ in their damage have the same figures: one of them is enough.
    different = {repr(replace(run, run_id="", start=EPOCH)): run for run in reversed([*runs])}
    return replace(found, runs=tuple(reversed(different.values())))


RUNS = [
    (name, run)
    for name in (*scenario_names(), "disturbed", MIXED.stem)
    for run in scenario_of(name).run_ids
]

QUIET = "comings_and_goings"
NO_PAGING = "dasd_paging page_response steals"
NO_EXPANDED = "expanded_paging expanded_storage"
NO_CACHE = "minidisk_cache minidisk_cache_size"
NO_LINUX = "linux_memory linux_processors"
NO_LOCKS = "lock_table"

SILENT = {
    "bad-day": f"""{QUIET} {NO_PAGING} {NO_EXPANDED} {NO_LINUX} {NO_LOCKS} frames_above_2g
        minidisk_cache_size partitions spin_locks spool_paging throughput""",
    "bank-day": f"{NO_LOCKS} dasd_paging expanded_paging steals throughput",
    "cp-regression": f"{QUIET} {NO_CACHE} {NO_LINUX} {NO_LOCKS}",
    "disturbed": "frames_above_2g throughput",
    "large-storage": f"{QUIET} {NO_EXPANDED} {NO_LINUX} {NO_LOCKS} partitions",
    "linux-guests": f"""{QUIET} {NO_CACHE} {NO_PAGING} {NO_EXPANDED} device_busy device_queue
        device_starts extents frames_above_2g page_slots partitions spool_paging throughput user_ios
        volume_records""",
    "linux-dasd-mdc": f"""{QUIET} {NO_PAGING} {NO_LINUX} {NO_LOCKS} expanded_paging
        frames_above_2g spool_paging throughput""",
    "mixed-engines": f"""{QUIET} {NO_PAGING} {NO_EXPANDED} {NO_LINUX} frames_above_2g
        minidisk_cache spool_paging throughput""",
    "pfault": f"""{QUIET} {NO_CACHE} {NO_LINUX} {NO_LOCKS} expanded_paging frames_above_2g
        spool_paging throughput user_ios""",
    "small-lab": f"{NO_LOCKS} frames_above_2g throughput",
    "timer": f"{QUIET} {NO_CACHE} {NO_LINUX} {NO_LOCKS} frames_above_2g throughput",
    "zvm73-smt": f"{NO_EXPANDED} throughput",
}
"""Checks that find nothing to compare in any run of a scenario: it has no such thing."""

SOMETIMES = {
    "cp-regression": "dasd_paging expanded_paging spin_locks steals",
    "disturbed": "lock_table",
    "linux-dasd-mdc": "minidisk_cache minidisk_cache_size",
    "pfault": "dasd_paging device_queue device_starts expanded_storage page_response steals",
}
"""Checks that find something in some runs of a scenario only."""

BROKEN = (
    ("disturbed", "LAB53"),
    ("disturbed", "LAB"),
    ("timer", "2900P"),
    ("large-storage", "E01307E0"),
)
"""Runs whose dumps are broken, small ones first."""

COUNTERS = {
    "cpu_time": "sytprp.pfxprbtm sytprp.pfxutime useact.vmdttime useact.vmdvtime",
    "dasd_paging": """stoasp.expctprd stoasp.expctpwr storsp.plspread sytsyp.plspiopr
        sytsyp.plspiopw useact.calcppgr useact.calcppgw""",
    "device_starts": """ioddev.rdevctsi ioddev.rdevrdct ioddev.rdevwrct ioddev.scgcount
        ioddev.scgssch ioddev.scmcount ioddev.scmssch stoasp.scgssch stoasp.scmssch
        sytsyp.plsctss""",
    "diagnoses": "prcdia.plsdgx44 prcdia.plstotdi sytsyp.plsdiagt",
    "expanded_paging": """sytxsg.xstxbget sytxsg.xstxbrel sytxsp.pfxpgin sytxsp.plspgin
        sytxsp.plspgout useact.calcpxrd useact.calcpxwt""",
    "lock_table": """sytlck.calxscnt sytlck.calxtime sytlck.calsscnt sytlck.calstime
        sytprp.pfxspinc sytprp.pfxspint sytscg.calslkct sytscg.calslktm sytscg.caltlkct
        sytscg.caltlktm""",
    "minidisk_cache": "ioddev.rdevmcia sytxsg.hcpmdcia",
    "processor_clock": "sytprp.pfxtmsys sytprp.pfxtotwt sytprp.pfxutime",
    "sampled_states": """useint.hfquct useint.hfdisp1 useint.hfdisp2 useint.hfdisp3
        useint.hftidl useint.hfiowt useint.hfcpuwt useint.hfcpurn useint.hfdorm""",
    "spool_paging": "stoasp.expctsrd stoasp.expctswr sytsyp.plspiosr sytsyp.plspiosw",
    "steals": "storsp.plsdisp1 storsp.plsdorm1 sytrsp.plsstlfr",
    "throughput": "sytusr.calupnct sytusr.caluptct",
    "user_ios": "ioddev.rdevmcia ioddev.scgssch useact.vmdvdsct",
}
"""Fields of which a check notices a difference of one, and growth that is doubled."""

LEVELS = {
    "expanded_storage": "sytxsg.xstctxav useact.vmdctxbk",
    "frames_below_2g": "sytrsg.rsanonpg sytrsg.rsapgabl",
    "lists": """sytscg.srmc1dsp sytscg.srmc2dsp sytscg.srmc3dsp sytscg.srmcdisp sytusr.srmcdorm
        sytusr.sysusrs sytuwt.calqdisp useact.vmdslist""",
    "minidisk_cache_size": "sytrsg.tcmmain sytrsg.tcmmnabv sytrsg.tcmmnblw",
    "page_slots": """stoasp.calpage stoasp.calspool stoasp.cpvalocd sytasg.calslta1 sytasg.calslta2
        sytasg.calslti1 sytasg.calslti2 useact.calctpgs""",
    "wait_states": """sytuwt.calcpurn sytuwt.calcpuwt sytuwt.calqdisp sytuwt.caltidl
        sytuwt.calwtpag""",
    "working_sets": "sytscg.srmwssdl",
}
"""Fields of which a check notices a difference of one."""

LOOSE = {
    "device_busy": "ioddev.scmcntim ioddev.scmddtim ioddev.scmfptim stoasp.expdevst",
    "device_queue": "ioddev.scmcntim ioddev.scmddtim ioddev.scmfptim ioddev.hfctio ioddev.hfrdevct",
    "dispatches": "prcprp.plsdspcm",
    "frames_below_2g": "sytrsg.rsacplok",
    "high_frequency": "ioddev.hfrdevct prcprp.hfcount prcprp.hfuserz",
    "partitions": "sytcup.lcucactm sytcup.lcuclptm",
    "linux_memory": "linux_memory.totalram",
    "linux_processors": "linux_os.per_cpu_user",
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
    "processor_records": "prcdia prcprp storsp sytprp sytrsp sytscp sytsyp sytxsp",
    "page_slots": "stoasp",
    "system_records": "sytasg sytcug sytcup sytlck sytrsg sytscg sytusr sytuwt sytxsg",
}
"""Records of which a check notices that one is missing."""

UNBROKEN = {
    "extents": "configuration, not counted",
    "frames_above_2g": "room that is never full",
    "volume_records": "a device that is missing is told by comings_and_goings",
}
"""Checks that no field above belongs to, and why."""


def pairs(table: dict[str, str]) -> list[tuple[str, str]]:
    """Check and field, or record type."""
    return [(check, field) for check, fields in table.items() for field in fields.split()]


@functools.cache
def written(scenario: str, run: str) -> tuple[bytes, Log]:
    """A dump, and the transactions of each interval by its companion."""
    with tempfile.TemporaryDirectory() as folder:
        made = write_run(scenario_of(scenario), run, folder, intervals=INTERVALS.get(scenario, 3))
        logs = [p for p in made.companions if p.suffixes[-2:] == [".throughput", ".csv"]]
        return made.dump.read_bytes(), _transactions(logs[0]) if logs else ()


def _transactions(path: Path) -> Log:
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(
            (_tod(row["interval_end"]), int(row["transactions"])) for row in csv.DictReader(lines)
        )


def _tod(moment: str) -> int:
    since = dt.datetime.fromisoformat(moment) - dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
    return since // dt.timedelta(microseconds=1) * 4096


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
    wrong = [
        f"{check}: {text}"
        for check, verdict in verdicts(scenario, run).items()
        for text in verdict.violations
    ]
    assert not wrong[:10]


@pytest.mark.parametrize("scenario", dict(RUNS))
def test_checks_have_something_to_compare(scenario: str):
    silent = [
        {check for check, verdict in verdicts(*pair).items() if not verdict.compared}
        for pair in RUNS
        if pair[0] == scenario
    ]
    assert set.intersection(*silent) == set(SILENT[scenario].split())
    sometimes = set.union(*silent) - set.intersection(*silent)
    assert sometimes == set(SOMETIMES.get(scenario, "").split())


@pytest.mark.parametrize(("check", "field"), pairs({**COUNTERS, **LEVELS}))
def test_a_figure_that_is_off_by_one_is_noticed(check: str, field: str):
    assert any(outcomes(check, breaking.shifted, *field.split(".")))


@pytest.mark.slow
@pytest.mark.parametrize(("check", "field"), pairs(COUNTERS))
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
    assert {*COUNTERS, *LEVELS, *LOOSE, *LOST, *UNBROKEN} == set(check_names())
    assert not {*COUNTERS, *LEVELS, *LOOSE, *LOST} & set(UNBROKEN)
