"""A small system for tests of single records, and variations of it."""

from __future__ import annotations

import functools

from cpmon.generate import dump_frames
from cpmon.generate.loading import parse_scenario
from tests.generate.figures import Dump

OFFICE = """
name = "office"
title = "Guests of every kind, with too little storage"
system = "OFFICE"
seed = 11

[machine]
type = "2094"
model = "703"
processors = 3
processor_type = "IFL"

[storage]
central_mib = 1024
expanded_mib = 256
nonpageable_mib = 64
cache_below_2g_mib = 32
cache_hit_share = 0.75
available_below_frames = 1000
churn_per_s = 0.01

[[users]]
name = "clerks"
prefix = "CLERK"
count = 40
cpu_percent = 1.5
working_set_mib = 10
transactions_per_s = 0.2
diagnoses_per_s = 3.0

[[users]]
name = "webs"
prefix = "WEB"
count = 6
guest = "linux"
virtual_processors = 2
cpu_percent = 15.0
storage_mib = 512
working_set_mib = 260
transactions_per_s = 1.5
diagnoses_per_s = 2.0
diagnose_44_per_s = 20.0

[[users]]
name = "servers"
prefix = "SERV"
count = 2
guest = "server"
cpu_percent = 2.0
transactions_per_s = 1.0
diagnoses_per_s = 4.0
simulations_per_s = 30.0

[transactions]
trivial_share = 0.6
trivial_s = 0.04
nontrivial_s = 0.8

[[volumes]]
prefix = "PAG"
kind = "page"
count = 3
first_device = "0500"
pages_per_io = 5.0

[[volumes]]
prefix = "SPL"
kind = "spool"
count = 2
first_device = "0600"
io_per_s = 3.3

[[volumes]]
prefix = "USR"
kind = "user"
count = 5
first_device = "0700"
io_per_s = 15.0
avoided_per_s = 9.0

[run.NEW]
cp_level = "5.3.0"
start = 2007-03-05T10:00:00Z

[run.OLD]
cp_level = "4.2.0"
start = 2002-03-05T10:00:00Z
"""

INTERVALS = 4


@functools.cache
def office(run: str = "NEW", *changes: tuple[str, str]) -> Dump:
    """The dump of a run; `changes` are words of the scenario and what stands there instead."""
    content = OFFICE
    for old, new in changes:
        assert old in content
        content = content.replace(old, new)
    scenario = parse_scenario(content, "office.toml")
    return Dump(b"".join(dump_frames(scenario, run, intervals=INTERVALS)))
