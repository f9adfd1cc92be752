"""Hostile names, and a dump in which systems, users and volumes are called so."""

from __future__ import annotations

import re

USERS = {
    "STAFF001": "';DROP--",
    "STAFF002": '"\n<i>|\\x',
    "STAFF003": "../../..",
    "STAFF004": "\x1b]0;a\x07\x9b",
    "STAFF005": "$(id)`w`",
    "LXWEB001": "<script>",
    "LXDB0001": "a\0b</scr",
    "LXMAIL01": "=1+1&lt;",
    "VSE00001": "%s{0}%n$",
    "TCPIP001": "\r\x85\u00a0é~\t",
}
"""User of the scenario small-lab -> what takes its place."""

SYSTEM = "../<b>'\x1b"
OTHERS = {"SMALLLAB": SYSTEM, "LABPG1": "<img>'", "LABLX1": "\x1b[2J|\n", **USERS}

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What no terminal may see; lines end in a line feed."""


def hostile(dump: bytes) -> bytes:
    """A dump of small-lab with these names, each of as many characters of EBCDIC as before."""
    for name, other in OTHERS.items():
        old, new = name.encode("cp037"), other.ljust(len(name)).encode("cp037")
        assert len(old) == len(new) and old in dump
        dump = dump.replace(old, new)
    return dump
