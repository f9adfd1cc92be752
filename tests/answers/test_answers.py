"""Questions of a boss: a truth that was planted, a command, and what its first lines say.

The three systems are small worlds of the generator, an hour of them, in which one thing each goes
wrong. A question is right if the printed table says so where it is read first.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.config import Settings
from cpmon.generate import parse_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.store import Store
from tests.cli import conftest as shared
from tests.cli.answer import Cpmon

cpmon = shared.cpmon

WORLD = """
name = "world"
title = "An hour of a system of a boss"
system = "{name}"
seed = {seed}
intervals = 60
[monitor]
interval_s = 60
high_frequency_s = 1.0
events = ["monitor", "user", "processor", "io"]
[machine]
type = "2094"
model = "703"
processors = 3
mode = "lpar"
dedicated = false
physical_processors = 8
[[partitions]]
name = "QUIET"
processors = 2
busy_percent = 10.0
[[partitions]]
name = "LOUD"
processors = 2
busy_percent = {loud}
[storage]
central_mib = {real_mib}
churn_per_s = 0.002
[[users]]
name = "linux"
prefix = "LINUX"
count = 3
guest = "linux"
cpu_percent = 12
working_set_mib = 100
storage_mib = 512
architecture = "Z"
dispatched_share = 0.5
appldata = true
[[users.file_systems]]
device = "/dev/dasda1"
directory = "/"
used_percent = 30.0
[[users.file_systems]]
device = "/dev/dasdb1"
directory = "/data"
used_percent = 60.0
growth_mib_per_h = 350.0
[[users]]
name = "staff"
prefix = "STAFF"
count = 6
cpu_percent = 1
transactions_per_s = 0.3
[[volumes]]
prefix = "PAG"
kind = "page"
count = 2
first_device = "0A00"
[[volumes]]
prefix = "USR"
kind = "user"
count = 4
first_device = "0B00"
io_per_s = 30
[[volumes]]
prefix = "OLD"
kind = "user"
count = 1
first_device = "0C00"
io_per_s = 5
disconnect_ms = {disconnect_ms}
[run.{name}]
cp_level = "5.4.0"
start = 2006-10-16T09:00:00Z
"""
LOOP = """
[[events]]
kind = "runaway"
at_s = 1800
lasts_s = 600
users = "LINUX002"
"""
ARRIVALS = """
[[events]]
kind = "logon"
at_s = 2700
users = "STAFF004 STAFF005 STAFF006"
"""
LOSSES = """
[[events]]
kind = "vary-off"
at_s = 1234
processor = 2
[[events]]
kind = "logoff"
at_s = 2000
users = "LINUX003"
"""
USUAL = {"seed": 1, "loud": 20.0, "real_mib": 2048, "disconnect_ms": 2}
SYSTEMS = {
    "PRODA": (USUAL, LOOP + ARRIVALS),
    "PRODB": (USUAL | {"seed": 2, "disconnect_ms": 25}, LOSSES),
    "TEST": (USUAL | {"seed": 3, "loud": 90.0, "real_mib": 768}, ""),
}


@dataclass(frozen=True)
class Question:
    """What is asked, the command, and a pattern for each of the first lines of the answer."""

    asked: str
    command: str
    lines: tuple[str, ...]


QUESTIONS = (
    Question(
        "When was it worst?",
        "system_summary_by_time --system PRODA --sort total_util --top 5",
        (r"09:(3[1-9]|40):0",) * 5,
    ),
    Question(
        "Who was it?",
        "user_resource_util --system PRODA --since 09:30 --until 09:40 --top 3",
        (r"^LINUX002 .* (9[4-9]|10\d)\.\d\d ",),
    ),
    Question(
        "How high was the peak behind the mean of the hour, and when?",
        "user_resource_util --system PRODA --user LINUX002 --by 1h --with max --columns cpu_util",
        (r"10:00:00 +LINUX002 +[23]\d\.\d\d +(9[4-9]|10\d)\.\d\d +2006-10-16 09:3\d:0",),
    ),
    Question(
        "Which of the productive systems is the busiest?",
        "total_util users_active --system 'PROD*' --by 1h --sort total_util --top 1",
        (r"^PRODA ",),
    ),
    Question(
        "Who used most of all systems?",
        "user_resource_util --system '*' --sort cpu_s --top 1 --columns cpu_s",
        (r"^PRODA +LINUX002 ",),
    ),
    Question(
        "Did more people come, and did it get busier with them?",
        "users_logged_on total_util --system PRODA --by 15m",
        (r" 09:15:00 +6 ", r" 09:30:00 +6 ", r" 09:45:00 +6 ", r" 10:00:00 +9 "),
    ),
    Question(
        "Which disk is slow?",
        "dasd_by_activity --system PRODB --sort service_ms --top 1",
        (r"^0C00 +OLD001 ",),
    ),
    Question(
        "Who left, and when?",
        """events --system PRODB --where "kind = 'logoff'" """,
        (r"09:33:2\d +logoff +LINUX003 ",),
    ),
    Question(
        "What happened to the processors?",
        """events --system PRODB --where "kind like 'vary%' or kind like '%processor%'" """,
        (r"09:20:3\d .*\b2\b",),
    ),
    Question(
        "Who takes the machine from us?",
        "lpar --system TEST --sort busy_util --top 1",
        (r"^LOUD ",),
    ),
    Question(
        "Which file system will be full?",
        "linux_file_systems --system TEST --sort used_share --top 3",
        (r"/data ",) * 3,
    ),
    Question(
        "Is more storage promised than there is?",
        "overcommit real_mib --system '*' --by 1h --sort overcommit",
        (r"^TEST ",),
    ),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an hour of three systems."""
    folder = tmp_path_factory.mktemp("answers")
    landed = Store(folder / "store", create=True)
    for name, (truth, events) in SYSTEMS.items():
        scenario = parse_scenario(WORLD.format(name=name, **truth) + events, f"{name}.toml")
        ingest(write_run(scenario, name, folder / name).dump, landed)
    reduce(landed, ("users_by_time", "system_summary_by_time"), Settings())
    return landed.root


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.asked)
def test_the_first_lines_answer(question: Question, cpmon: Cpmon, store: Path):
    answer = cpmon("report", *shlex.split(question.command), "--store", store)
    assert answer.status is Status.DONE, answer.err
    lines = [line for line in answer.text.split("\n\n")[2].splitlines() if line]
    for line, pattern in zip(lines, question.lines, strict=False):
        assert re.search(pattern, line), answer.text
    assert len(lines) >= len(question.lines), answer.text
