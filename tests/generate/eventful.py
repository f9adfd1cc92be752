"""A small system in which everything happens that is told by event records."""

from __future__ import annotations

import functools

from cpmon.generate import dump_frames
from cpmon.generate.loading import parse_scenario
from tests.generate.figures import Dump

SYSTEM = """
name = "eventful"
title = "Everything happens"
system = "EVENTFUL"
seed = 7
intervals = 11
[monitor]
interval_s = 30
high_frequency_s = 1.0
segment_mib = 4
events = ["monitor", "user", "transaction", "processor", "io"]
[machine]
type = "2094"
model = "704"
serial = "0A1B2C"
processors = 4
[storage]
central_mib = 1024
churn_per_s = 0.002
[[users]]
name = "linux"
prefix = "LINUX"
count = 6
guest = "linux"
virtual_processors = 2
cpu_percent = 9
working_set_mib = 200
storage_mib = 512
architecture = "Z"
share = 300
appldata = true
[[users]]
name = "staff"
prefix = "CMS"
count = 30
cpu_percent = 0.6
transactions_per_s = 0.5
[[users]]
name = "server"
prefix = "SRV"
count = 2
guest = "server"
[[volumes]]
prefix = "PAG"
kind = "page"
count = 2
first_device = "0A00"
control_unit = "0A00"
[[volumes]]
prefix = "SPL"
kind = "spool"
count = 1
first_device = "0A10"
io_per_s = 2
cache_hit_share = 0
[[volumes]]
prefix = "USR"
kind = "user"
count = 9
first_device = "0B00"
device_type = "3390-9"
control_unit = "0B00"
control_unit_type = "2107-E8"
per_control_unit = 4
io_per_s = 40
avoided_per_s = 4
channel_paths = "5A5B"
[transactions]
trivial_share = 0.75
[[events]]
kind = "logoff"
at_s = 63
users = "LINUX003 CMS0001* SRV00001"
[[events]]
kind = "vary-off"
at_s = 63
processor = 3
[[events]]
kind = "vary-on"
at_s = 123
processor = 3
[[events]]
kind = "vary-off"
at_s = 93
device = "0B04"
[[events]]
kind = "vary-on"
at_s = 153
device = "0B04"
[[events]]
kind = "logon"
at_s = 153
users = "LINUX003 CMS0001*"
[[events]]
kind = "restart"
at_s = 213
[[events]]
kind = "interval"
at_s = 243
interval_s = 60
[[events]]
kind = "logoff"
at_s = 273
users = "CMS00020"
[[events]]
kind = "miss"
at_s = 273
[run.A]
cp_level = "5.2.0"
start = 2006-10-16T00:00:00Z
"""

GONE_AT, BACK_AT = 2, 5
"""Intervals in which users log off and on again."""


@functools.cache
def eventful(*changes: tuple[str, str]) -> bytes:
    """The dump of that system, with some texts of its scenario replaced."""
    text = SYSTEM
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return b"".join(dump_frames(parse_scenario(text, "eventful.toml"), "A"))


@functools.cache
def read_eventful(*changes: tuple[str, str]) -> Dump:
    """Its records."""
    return Dump(eventful(*changes))
