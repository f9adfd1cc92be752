"""What users send each other and spool is what the processors count; read from the bytes alone."""

from __future__ import annotations

import functools

import pytest

from cpmon.generate import dump_frames
from cpmon.generate.loading import parse_scenario
from tests.generate.figures import CPU, USER, Dump

pytestmark = pytest.mark.generator

OFFICE = """
name = "office"
title = "Servers, and users who print"
system = "OFFICE"
seed = 13

[machine]
type = "2064"
model = "102"
processors = 2

[storage]
central_mib = 1024

[[users]]
name = "servers"
prefix = "SERV"
count = 3
guest = "server"
simulations_per_s = 20.0
diagnoses_per_s = 40.0

[[users]]
name = "staff"
prefix = "STAFF"
count = 20
unit_record_ios_per_s = 0.5

[[users]]
name = "penguins"
prefix = "LINUX"
count = 2
guest = "linux"
virtual_processors = 2

[[volumes]]
prefix = "SPL"
kind = "spool"
count = 2
first_device = "0300"
io_per_s = 3.0

[run.DAY]
cp_level = "5.1.0"
start = 2005-05-03T10:00:00Z
intervals = 6
"""


@functools.cache
def dump() -> Dump:
    return Dump(b"".join(dump_frames(parse_scenario(OFFICE, "office.toml"), "DAY")))


@pytest.mark.parametrize(
    ("of_user", "domain", "record", "of_processor"),
    [
        (156, 0, 11, 24),
        (168, 0, 11, 96),
        (120, 0, 1, 80),
        (124, 0, 1, 84),
    ],
    ids=["iucv", "vmcf", "spool-reads", "spool-writes"],
)
def test_users_figures_add_up_to_the_processors(
    of_user: int, domain: int, record: int, of_processor: int
):
    users = dump().growth(4, 3, USER, of_user)
    assert users == dump().growth(domain, record, CPU, of_processor)
    assert min(users) > 0


def grown(prefix: str, at: int) -> int:
    rows = [r for r in dump().of(4, 3) if r.text(20, 8).startswith(prefix)]
    first, last = ([r.u4(at) for r in rows if r.sample == sample] for sample in (0, 6))
    return sum(last) - sum(first)


def test_servers_send_and_users_print():
    assert grown("SERV", 156) / 3 > 5 * grown("STAFF", 156) / 20
    assert grown("LINUX", 156) == 0
    assert grown("STAFF", 124) / 20 > 5 * grown("SERV", 124) / 3
