"""Scenario files: what comes with cpmon, and what a mistake in one is answered with."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from cpmon.core.errors import CpmonError
from cpmon.generate import (
    dump_frames,
    load_scenario,
    parse_scenario,
    scenario_names,
)

SMALL = """
name = "small"
title = "Two processors, three guests"
system = "LAB"
seed = 1

[machine]
type = "2064"
model = "102"
processors = 2

[storage]
central_mib = 1024

[[users]]
name = "guests"
prefix = "GUEST"
count = 3

[[volumes]]
prefix = "PAG"
kind = "page"
count = 1
first_device = "0500"

[run.A]
cp_level = "4.3.0"
start = 2003-03-03T10:00:00Z

[run.A.targets]
total_util = 20.0
emul_util = 12.0
dasd_page_rate = 10
resident_pages_per_user = 2000
dasd_pages_per_user = 500
"""


def test_the_shipped_scenarios_are_found_by_name():
    assert scenario_names() == [
        "bad-day",
        "bank-day",
        "cp-regression",
        "large-storage",
        "linux-dasd-mdc",
        "linux-guests",
        "pfault",
        "small-lab",
        "timer",
        "zvm73-smt",
    ]
    assert [load_scenario(name).name for name in scenario_names()] == scenario_names()


def test_a_users_own_file_is_a_scenario(tmp_path: Path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    scenario = load_scenario(path)
    assert load_scenario(str(path)) == scenario
    assert b"".join(dump_frames(scenario, "A", intervals=1))


def test_shipped_runs_do_not_overlap_in_time():
    for name in scenario_names():
        scenario = load_scenario(name)
        spans = sorted(
            (run.start, (run.intervals or scenario.intervals) * scenario.monitor.interval_s)
            for run in scenario.runs
        )
        for (start, seconds), (next_start, _) in itertools.pairwise(spans):
            assert (next_start - start).total_seconds() > seconds


def test_the_shipped_users_and_levels_are_the_published_ones():
    timer = load_scenario("timer")
    assert [(r.run_id, r.cp_level, r.users["linux"], r.users["patched"]) for r in timer.runs] == [
        ("2600NP", "4.2.0", 600, 0),
        ("3600NP1", "4.3.0", 600, 0),
        ("3900NP1", "4.3.0", 900, 0),
        ("2600P", "4.2.0", 0, 600),
        ("3600P1", "4.3.0", 0, 600),
        ("2900P", "4.2.0", 0, 900),
        ("3900P1", "4.3.0", 0, 900),
    ]
    large = load_scenario("large-storage")
    assert [sum(g.count for g in large.groups_of(r)) for r in large.runs] == [10_800, 10_800]


def event(lines: str) -> str:
    """The head of the run, with a event in front of it."""
    return f"[[events]]\n{lines}\n\n[run.A]"


MISTAKES = {
    "unknown key": ("seed = 1", "seeed = 1", "seeed", "did you mean seed?"),
    "unknown section key": ('model = "102"', 'modell = "102"', "machine.modell", "model"),
    "unknown target": ("emul_util", "emull_util", "run.A.targets.emull_util", "emul_util"),
    "wrong type": ("processors = 2", 'processors = "two"', "machine.processors", "whole number"),
    "truth is no number": ("processors = 2", "processors = true", "processors", "whole number"),
    "out of range": ("processors = 2", "processors = 0", "machine.processors", "from 1 to 80"),
    "not allowed": ('kind = "page"', 'kind = "paging"', "volumes[0].kind", "page, spool, user"),
    "missing key": ("count = 3\n", "", "users[0]", "count"),
    "too long": ('system = "LAB"', 'system = "LABORATORY"', "system", "1 to 8 characters"),
    "unknown level": ('"4.3.0"', '"4.3"', "run.A.cp_level", "4.2.0, 4.3.0"),
    "no date": ("2003-03-03T10:00:00Z", '"noon"', "run.A.start", "date and time"),
    "too many pages": ("user = 2000", "user = 99000", "resident_pages_per_user", "frames"),
    "too many slots": (
        "dasd_pages_per_user = 500",
        "dasd_pages_per_user = 500000",
        "dasd_",
        "slots",
    ),
    "no expanded storage": ("dasd_page_rate", "xstor_page_rate", "xstor_page_rate", "at most 0.0"),
    "more emulation than all": ("emul_util = 12.0", "emul_util = 20.0", "emul_util", "at most 19"),
    "too busy a master": (
        "emul_util = 12.0",
        "emul_util = 12.0\nmaster_total_util = 60",
        "master_total_util",
        "all processors together",
    ),
    "spinning": (
        "emul_util = 12.0",
        "emul_util = 12.0\nspin_lock_rate = 1e6\nspin_time_us = 9",
        "spin_time_us",
        "percent",
    ),
    "no device": ('"0500"', '"05G0"', "volumes[0].first_device", "hexadecimal"),
    "unknown base": ("[run.A]", '[run.A]\nbase_run_id = "B"', "run.A.base_run_id", "A"),
    "unknown group": ("[run.A]", "[run.A]\nusers = { guest = 5 }", "run.A.users.guest", "guests"),
    "no count": ("[run.A]", "[run.A]\nusers = { guests = -1 }", "run.A.users.guests", "0 or more"),
    "rate without transactions": ("dasd_page_rate", "dasd_pages_per_tx", "per_tx", "tx_rate"),
    "negative seed": ("seed = 1", "seed = -1", "seed", "0 or more"),
    "no EBCDIC": ('system = "LAB"', 'system = "ЛАБ"', "system", "characters of EBCDIC"),
    "before the clock": ("2003-03", "1890-03", "run.A.start", "from 1900-01-01 to 2042-09-17"),
    "behind the clock": ("2003-03", "2042-10", "run.A.start", "from 1900-01-01 to 2042-09-17"),
    "no file name": ("[run.A", '[run."../A"', 'run."../A"', "a name, without a slash"),
    "no name": ("[run.A", '[run.""', 'run.""', "a name, without a slash"),
    "runs": ("[run.", "[runs.", "runs", "did you mean run?"),
    "unknown workload": ("count = 3", 'count = 3\nworkload = "day"', "users[0].workload", "day"),
    "unknown domain": (
        "[machine]",
        '[monitor]\ndomains = ["system", "users"]\n\n[machine]',
        "monitor.domains",
        "user",
    ),
    "machine of a run": (
        "[run.A.targets]",
        "[run.A.machine]\nprocessors = 99\n\n[run.A.targets]",
        "run.A.machine.processors",
        "from 1 to 80",
    ),
    "half a target": ("emul_util", "master_emul_util", "run.A.targets.master_emul_util", "add"),
    "reads without writes": (
        "dasd_page_rate",
        "dasd_read_rate",
        "dasd_read_rate",
        "dasd_write_rate",
    ),
    "nobody leaves": (
        "[run.A]",
        event('kind = "logoff"\nat_s = 363\nusers = "STAFF*"'),
        "events[0].users",
        "user ids or patterns",
    ),
    "no such event": (
        "[run.A]",
        event('kind = "flood"\nat_s = 363'),
        "events[0].kind",
        "interval, ipl, logoff",
    ),
    "the master stays": (
        "[run.A]",
        event('kind = "vary-off"\nat_s = 363\nprocessor = 2'),
        "events[0].processor",
        "1 to 1; the master stays online",
    ),
    "vary nothing": (
        "[run.A]",
        event('kind = "vary-on"\nat_s = 363'),
        "events[0]",
        "either processor or device",
    ),
    "a processor of a guest without an address": (
        "[run.A]",
        event('kind = "cpu-offline"\nat_s = 363\nusers = "GUEST*"'),
        "events[0].processor",
        "its address, 1 or more",
    ),
    "no such interface": (
        "[run.A]",
        event('kind = "interface-up"\nat_s = 363\nusers = "GUEST*"\nname = "eth1"'),
        "events[0].name",
        "[[users.interfaces]]",
    ),
    "no such virtual disk": (
        "count = 3\n",
        'count = 3\n\n[[users.virtual_disks]]\ndevice = "300"\n\n'
        '[[events]]\nkind = "detach-disk"\nat_s = 363\nusers = "GUEST*"\ndevice = "0301"\n',
        "events[0].device",
        "0300",
    ),
    "park at a level that cannot": (
        "[run.A]",
        event('kind = "park"\nat_s = 363\nprocessor = 1'),
        "events[0].kind",
        "CP 6.3.0 or later",
    ),
    "park a device": (
        'cp_level = "4.3.0"\nstart = 2003-03-03T10:00:00Z\n',
        'cp_level = "7.3.0"\nstart = 2024-03-03T10:00:00Z\n\n[[run.A.events]]\n'
        'kind = "park"\nat_s = 363\ndevice = "0500"\n',
        "run.A.events[0]",
        "processor",
    ),
    "continued partitions": (
        "processors = 2",
        "processors = 2\nprocessors_per_record = 1",
        "machine.processors_per_record",
        "CP 7.3.0 or later",
    ),
    "no such device": (
        "[run.A]",
        event('kind = "vary-off"\nat_s = 363\ndevice = "0600"'),
        "events[0].device",
        "0500 to 0500",
    ),
    "a device among devices without numbers": (
        '"0500"\n\n[run.A]',
        '"05G0"\n\n' + event('kind = "vary-off"\nat_s = 363\ndevice = "0500"'),
        "volumes[0].first_device",
        "hexadecimal",
    ),
    "no new interval": (
        "[run.A]",
        event('kind = "interval"\nat_s = 363'),
        "events[0].interval_s",
        "whole number of seconds",
    ),
    "unknown damage": (
        "[run.A]",
        '[run.A]\ndamage = ["end-missing", "truncated:5"]',
        "run.A.damage[1]",
        "did you mean truncate?",
    ),
    "no TOML": ("[machine]", "[machine", "small.toml", "cannot be read"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_file_key_and_what_is_allowed(mistake: str):
    right, wrong, place, allowed = MISTAKES[mistake]
    assert right in SMALL
    with pytest.raises(CpmonError) as error:
        parse_scenario(SMALL.replace(right, wrong), "small.toml")
    assert "small.toml" in (error.value.place or "")
    assert place in (error.value.place or "") + error.value.problem
    assert allowed in str(error.value)


KEYS = {
    "a wrong value": ("processors = 2", "processors = 0", "machine.processors"),
    "a missing key": ("count = 3\n", "", "users[0]"),
    "an unknown key of a run": ("[run.A]", "[run.A]\nuser = 1", "run.A.user"),
    "a run's own machine": (
        "[run.A.targets]",
        "[run.A.machine]\nweight = 0\n\n[run.A.targets]",
        "run.A.machine.weight",
    ),
    "what a run inherits": (
        "processors = 2\n",
        "processors = 0\n\n[run.A.machine]\nweight = 9\n\n",
        "machine.processors",
    ),
    "a run's own storage": ("[run.A.targets]", "[run.A.storage]\nsize = 1", "run.A.storage.size"),
    "a target": ("user = 2000", "user = 99000", "run.A.targets.resident_pages_per_user"),
    "a device": ('"0500"', '"05G0"', "volumes[0].first_device"),
    "samples": (
        "[run.A.targets]",
        "[run.A.samples]\ncp_cpu_cs = [1, 2]\nvirtual_cpu_cs = [3.25]\n\n[run.A.targets]",
        "run.A.samples.virtual_cpu_cs[0]",
    ),
    "users behind a group without any": (
        "[[volumes]]",
        '[[users]]\nname = "b"\nprefix = "B"\ncount = 1\n\n[[users]]\nname = "c"\n'
        'prefix = "PREFIX7"\ncount = 10\n\n[run.A.users]\nb = 0\n\n[[volumes]]',
        "users[2].prefix",
    ),
}


@pytest.mark.parametrize("case", KEYS)
def test_a_mistake_is_located_by_its_key(case: str):
    right, wrong, key = KEYS[case]
    assert right in SMALL
    with pytest.raises(CpmonError) as error:
        parse_scenario(SMALL.replace(right, wrong, 1), "small.toml")
    assert error.value.place == f"small.toml: {key}"


def test_user_ids_and_serials_are_never_cut():
    long_ids = SMALL.replace('"GUEST"', '"GUESTXY"').replace("count = 3", "count = 30")
    with pytest.raises(CpmonError, match="longer than eight characters"):
        parse_scenario(long_ids, "small.toml")
    serials = SMALL.replace('"PAG"', '"PAGES"').replace("count = 1\n", "count = 10\n")
    with pytest.raises(CpmonError, match="longer than six characters"):
        parse_scenario(serials, "small.toml")


def test_two_groups_cannot_share_devices_or_user_ids():
    volumes = SMALL[SMALL.index("[[volumes]]") : SMALL.index("[run.A]")]
    with pytest.raises(CpmonError, match="share device 0500"):
        parse_scenario(SMALL + volumes.replace("PAG", "PAH"), "small.toml")
    users = SMALL[SMALL.index("[[users]]") : SMALL.index("[[volumes]]")]
    with pytest.raises(CpmonError, match="have the prefix GUEST"):
        parse_scenario(SMALL + users.replace("guests", "others"), "small.toml")


def test_a_scenario_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(CpmonError) as error:
        load_scenario("tmier")
    assert error.value.remedy == "did you mean timer?"
    assert "large-storage" in (error.value.expected or "")


def test_a_file_that_is_no_text_is_named(tmp_path: Path):
    path = tmp_path / "small.toml"
    path.write_bytes(b"\xff" + SMALL.encode())
    with pytest.raises(CpmonError, match="cannot be read") as error:
        load_scenario(path)
    assert error.value.place == str(path)


def test_a_run_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(CpmonError) as error:
        next(dump_frames(load_scenario("timer"), "2600"))
    assert "2600NP" in (error.value.expected or "")


def test_a_dump_needs_an_interval():
    with pytest.raises(CpmonError, match="needs an interval"):
        next(dump_frames(load_scenario("timer"), "2600NP", intervals=0))


def test_a_seed_is_not_negative():
    with pytest.raises(CpmonError, match="cannot be negative"):
        next(dump_frames(load_scenario("timer"), "2600NP", seed=-1))


def test_disturbances_that_count_intervals_are_events_three_seconds_into_them():
    def events(text: str) -> list[tuple[str, int, int]]:
        scenario = parse_scenario(SMALL + text, "x.toml")
        shared = (*scenario.events, *scenario.run("A").events)
        return [(each.kind, each.at_s, each.lasts_s) for each in shared]

    longer = "[[disturbances]]\nkind = 'interval'\ninterval = 2\ninterval_s = 120\n"
    later = "[[run.A.disturbances]]\nkind = 'ipl'\ninterval = 4\nintervals = 2\n"
    assert events(later) == [("ipl", 243, 117)]
    assert events(longer + later) == [("interval", 123, 57), ("ipl", 303, 237)]
    with pytest.raises(CpmonError, match="not understood"):
        events("[[disturbances]]\nkind = 'ipl'\nat_s = 4\n")
