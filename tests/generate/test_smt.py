"""A system of z/VM 7.3 with two threads a core, from its scenario to what reports print of it."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pytest
from msgspec.structs import replace

from cpmon.generate import dump_frames, load_scenario
from cpmon.generate.activity.dispatching import dispatch_times
from cpmon.generate.activity.usage import holdings, state_counts, usage, volume_work
from cpmon.generate.model.measurement import TOD_PER_S, Measurement
from cpmon.generate.model.system import Model, Sample
from cpmon.generate.scenario.scenario import Level
from cpmon.ingest import Code, ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import ReportResult, report
from cpmon.reduce.reports.report_names import report_names
from cpmon.reduce.rules.rule import Purpose, load_rules
from cpmon.reduce.rules.validation import count
from cpmon.schemas import layout
from cpmon.store import Store, connect
from cpmon.store.sql.scope import Scope
from tests.generate.plain_reader import Record, records

pytestmark = pytest.mark.generator

INTERVALS, CORES, THREADS = 11, 16, 32
SPAN = INTERVALS * 60 * TOD_PER_S
ABSENT = {
    *("LINUX_FILE_SYSTEMS", "LINUX_PROCESSES", "LINUX_TASKS"),
    *("VIRTUAL_ADAPTERS", "VIRTUAL_DISKS", "VIRTUAL_SWITCHES"),
}
"""Reports on what no guest runs or has here."""
PARKED = (28, 29, 30, 31)
"""Threads of the cores that are parked in the intervals 8 and 9."""


class Landed(NamedTuple):
    """The dump, what it was written from, and the catalogue over it."""

    records: list[Record]
    samples: list[Sample]
    con: duckdb.DuckDBPyConnection
    longer: str
    tables: frozenset[str]

    def mean(self, figure: Any) -> Any:
        """Sum of a figure of the model over the intervals."""
        return sum(figure(sample) for sample in self.samples)


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Landed:
    scenario, folder = load_scenario("zvm73-smt"), tmp_path_factory.mktemp("smt")
    dump = b"".join(dump_frames(scenario, "ZVM73", intervals=INTERVALS))
    (folder / "d.mon").write_bytes(dump)
    store = Store(folder / "store", create=True)
    found = ingest(folder / "d.mon", store)
    model = Model(Measurement(scenario, "ZVM73", INTERVALS, None))
    samples = [Sample(model, number) for number in range(1, INTERVALS + 1)]
    longer = "\n".join(found.findings.details(Code.RECORD_LONGER))
    tables = frozenset(store.tables())
    return Landed([*records(dump)], samples, connect(store, reductions()), longer, tables)


@pytest.fixture(scope="module")
def printed(landed: Landed) -> dict[str, ReportResult]:
    return {name: report(landed.con, name) for name in {*report_names()} - ABSENT}


def lines(found: ReportResult, key: str) -> dict[Any, dict[str, Any]]:
    return {line[key]: line for line in found.table.to_pylist()}


def test_records_are_as_long_as_7_3_writes_them_and_hold_something_everywhere(landed: Landed):
    sizes = {(r.domain, r.number): len(r.data) for r in landed.records}
    written = {(0, 2): 352, (0, 3): 492, (0, 14): 204, (1, 4): 428, (3, 1): 952, (3, 2): 760}
    assert {key: sizes[key] for key in written} == written
    assert sizes[4, 3] == 508
    assert {(1, 26), (1, 28), (5, 16), (5, 17), (5, 18), (5, 20), (5, 22)} <= sizes.keys()
    gone = {(0, 5), (1, 17), (3, 9)}
    assert not gone & sizes.keys()
    for record in landed.records:
        known = {(0, 2): 108, (3, 1): 352, (4, 3): 196, (5, 16): 20}.get(
            (record.domain, record.number)
        )
        assert known is None or any(record.data[known:])


def test_what_is_longer_or_only_has_its_header_is_named(landed: Landed):
    for name, size, known in (("sytprp", 352, 108), ("useact", 508, 196), ("prcpup", 64, 20)):
        assert f"records of {name}: {size} bytes, {known} known" in landed.longer


def test_every_thread_is_a_processor(landed: Landed, printed: dict[str, ReportResult]):
    assert {len([r for r in landed.records if (r.domain, r.number, r.sample) == (0, 2, n)])
            for n in range(INTERVALS + 1)} == {THREADS}  # fmt: skip
    busy = landed.mean(lambda sample: sample.times.busy)
    emulation = landed.mean(lambda sample: sample.times.emulation)
    table = printed["PROCESSORS_BY_TIME"].table.to_pylist()
    for cpu in range(THREADS):
        own = [line for line in table if line["cpu"] == cpu]
        assert len(own) == INTERVALS
        seconds = sum(line["seconds"] for line in own)
        for name, figure in (("total_util", busy), ("emul_util", emulation)):
            shown = sum(line[name] * line["seconds"] for line in own) / seconds
            assert shown == pytest.approx(figure[cpu] / SPAN, rel=1e-4)
    summary = printed["SYSTEM_SUMMARY_BY_TIME"].table.to_pylist()
    shown = sum(line["total_util"] for line in summary) / INTERVALS
    assert shown == pytest.approx(busy.sum() / THREADS / SPAN, rel=1e-3)


def test_parked_threads_neither_run_nor_wait(landed: Landed, printed: dict[str, ReportResult]):
    table = printed["PROCESSORS_BY_TIME"].table.to_pylist()
    for cpu in PARKED:
        own = [line for line in table if line["cpu"] == cpu]
        parts = iter(own)
        for line in itertools.islice(parts, 8 if cpu < 30 else 9):
            assert line["total_util"] > 0.2 and line["suspended_util"] < 0.8
        # Each is parked three seconds into an interval.
        assert 0 < next(parts)["total_util"] < 0.05
        for line in parts:
            # Parked, or in a wait that CP has not added yet: nobody can say.
            assert line["total_util"] == 0 and line["suspended_util"] is None
    events = printed["EVENTS"]
    assert [row["event_text"] for row in events.table.to_pylist() if row["kind"] == "park"] == [
        "processors parked or unparked"
    ] * 2
    assert any("PRCPUP (5.16), whose layout is not known" in note for note in events.notes)


def test_a_partition_that_further_records_continue_is_one_line(
    landed: Landed, printed: dict[str, ReportResult]
):
    first = [r for r in landed.records if (r.domain, r.number, r.sample) == (0, 16, 0)]
    entries = [(r.text(20, 8), r.data[30], r.u2(r.u2(32))) for r in first]
    # Name, entries, and the address in the first of them.
    assert entries == [
        *(("LNXTEST", 8, 0), ("LNXTEST", 8, 8), ("LNXTEST", 4, 16), ("LNXDEV", 6, 0)),
        *(("LNXPROD", 8, 0), ("LNXPROD", 8, 8), ("CFPROD", 2, 0)),
    ]
    active = landed.mean(lambda sample: dispatch_times(sample)[0])
    shown = lines(printed["LPAR"], "partition_name")
    for place, (name, cpus) in enumerate(
        (("LNXTEST", 20), ("LNXDEV", 6), ("LNXPROD", CORES), ("CFPROD", 2))
    ):
        own = active[landed.samples[0].model.partitions.processors(place)]
        assert shown[name]["logical_processors"] == cpus == len(own)
        assert shown[name]["busy_util"] == pytest.approx(own.sum() / 1e6 / (660 * cpus), rel=1e-3)
    # LNXTEST wants 70 % of its processors: that is not added up for each of its three records.
    assert 0.65 < shown["LNXTEST"]["busy_util"] < 0.75
    assert shown["LNXPROD"]["is_own"]


def test_a_partition_in_several_records_is_valid(landed: Landed):
    rules = {rule.id: rule for rule in load_rules(Purpose.VALIDATION, landed=landed.tables)}
    assert "sytcup.unique" not in rules
    chosen = [rules["sytcup_cpu.unique"], rules["sytprp.counters"]]
    assert [found.bad for found in count(landed.con, chosen, Scope(), landed.tables)] == [0, 0]


def test_users_have_what_they_used_and_held(landed: Landed, printed: dict[str, ReportResult]):
    users = landed.samples[0].model.users
    spent = landed.mean(lambda sample: usage(sample).virtual + usage(sample).cp)
    stays = [n for n, name in enumerate(users.names) if name != "LXWEB007"]
    resources, paging = (
        lines(printed[name], "userid") for name in ("USER_RESOURCE_UTIL", "USER_PAGING")
    )
    states = lines(printed["USER_STATES"], "userid")
    running = landed.mean(lambda sample: state_counts(sample)[0]["running"])
    held = landed.mean(lambda sample: holdings(sample).resident_below) / INTERVALS
    for n in stays:
        name, own = str(users.names[n]), users.owner == n
        assert resources[name]["cpu_s"] == pytest.approx(spent[own].sum() / TOD_PER_S, rel=1e-6)
        assert resources[name]["resident_pages"] == pytest.approx(held[n], abs=1)
        assert paging[name]["xstor_pages"] is None
        assert paging[name]["resident_above_pages"] is None
        samples = int(own.sum()) * INTERVALS * 30
        assert states[name]["samples"] == samples
        assert states[name]["running_share"] == pytest.approx(running[own].sum() / samples)


def test_disks_and_storage_are_as_in_the_model(landed: Landed, printed: dict[str, ReportResult]):
    model = landed.samples[0].model
    starts = landed.mean(lambda sample: volume_work(sample).starts)
    shown = lines(printed["DASD_BY_ACTIVITY"], "volser")
    for serial, started in zip(model.volumes.serials.tolist(), starts.tolist(), strict=True):
        assert shown[str(serial)]["ssch_rate"] == pytest.approx(started / 660, rel=1e-4, abs=1e-3)
    table = printed["PAGING_BY_TIME"].table.to_pylist()
    reads = sum(line["dasd_read_rate"] * line["seconds"] for line in table)
    assert reads == pytest.approx(int(model.flows.dasd_in[:INTERVALS].sum()), rel=1e-4)
    assert [line["available_below_2g"] for line in table] == [
        int(n) for n in model.levels.available_below[1:]
    ]
    gone = {"xstor_in_rate", "xstor_out_rate", "xstor_migration_rate"}
    assert {line[name] for line in table for name in gone} == {None}
    cache = printed["MINIDISK_CACHE_BY_TIME"].table.to_pylist()
    avoided = landed.mean(lambda sample: int(volume_work(sample).avoided.sum()))
    assert sum(line["avoided_rate"] * line["seconds"] for line in cache) == pytest.approx(
        avoided, rel=1e-3
    )
    assert {line["xstor_ideal_pages"] for line in cache} == {None}


THREAD_TIMES = {
    *("SYSTEM_SUMMARY_BY_TIME", "SYSTEM_SUMMARY2_BY_TIME", "PROCESSORS_BY_TIME", "PROCESSORS"),
    *("LPAR", "USER_RESOURCE_UTIL", "UCLASS_RESOURCE_UTIL", "CHARGEBACK"),
}
"""Reports that show processor times."""
ANY_LEVEL = {"DASD_SYSTEM_AREAS_BY_TYPE"}
"""Its record, STOASP, has a published length at 7.3.0."""


@pytest.mark.parametrize("name", sorted({*report_names()} - ABSENT))
def test_each_report_says_what_it_cannot_know(name: str, printed: dict[str, ReportResult]):
    notes = "\n".join(printed[name].notes)
    assert len(printed[name].table)
    assert ("CP 7.3.0 is later than the layouts of" in notes) == (name not in ANY_LEVEL)
    assert "before CP" not in notes
    for column in printed[name].table.column_names:
        if "xstor" in column or column.endswith("migration_rate"):
            assert not np.any(printed[name].table[column].is_valid().to_numpy()), column
            assert "not known after CP 6.3.0" in notes
    raw = "Processor times are raw times of threads if the system runs multithreaded"
    assert (raw in notes) == (name in THREAD_TIMES)
    if name in THREAD_TIMES:
        assert (
            "MRMTRSYS, MRUSELOF, MRUSEACT" in notes
            if name == "USER_RESOURCE_UTIL"
            else "MRMTRSYS" in notes
        )


def test_settings_of_expanded_storage_are_blank_with_the_reason(printed: dict[str, ReportResult]):
    found = printed["SYSTEM_CONFIG"]
    settings = {label: line["setting_value"] for label, line in lines(found, "label").items()}
    assert {label for label, value in settings.items() if value is None} == {
        "Expanded storage",
        "SRM XSTORE",
    }
    assert any("SRM XSTORE ended with CP 6.3.0" in note for note in found.notes)


LEVELS: tuple[Level, ...] = ("5.4.0", "6.1.0", "6.2.0", "6.3.0", "6.4.0", "7.1.0", "7.2.0", "7.5.0")


def test_every_level_writes_its_records_in_their_lengths():
    lab = load_scenario("small-lab")
    for level in LEVELS:
        storage = replace(lab.storage, expanded_mib=0 if level > "6.3.0" else 256)
        run = replace(lab.run("LAB"), cp_level=level, storage=storage)
        found = records(b"".join(dump_frames(replace(lab, runs=(run,)), "LAB", intervals=1)))
        sizes = {(r.domain, r.number): len(r.data) for r in found}
        for name in ("sytprp", "sytrsp", "mtrsys", "storsp", "useact", "prcprp", "iodvon"):
            table = layout(name)
            size = sizes.get((table.domain, table.record))
            assert size in (None, table.written_at(level)), (name, level)
        assert ((0, 5) in sizes) == (level <= "6.3.0")
        assert ((5, 17) in sizes) == (level >= "7.1.0")
