"""Parts of records as tables of their own, and bits and texts as columns: bytes in, rows out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cpmon.ingest import ingest
from cpmon.store import Store, connect
from tests.dumps import HEADER_LENGTH, dump, fields, interval, record

CONFIG = fields("mtrsys", systmid="VMTEST", hcpcpeid="05030000")
Ask = Callable[..., list[Any]]


@pytest.fixture
def ask(tmp_path: Path, store: Store) -> Ask:
    """Land records of one interval, or of several lists of them, and ask for rows."""

    def answer(sql: str, *intervals: list[bytes]) -> list[Any]:
        file = tmp_path / "parts.mon"
        sets = [interval(60 * n, *records) for n, records in enumerate(intervals, 1)]
        file.write_bytes(dump(interval(0, CONFIG), *sets))
        landed = ingest(file, store)
        assert not landed.findings.counts
        return connect(store).execute(sql).fetchall()

    return answer


def longer(front: bytes, *behind: bytes) -> bytes:
    """A record with more bytes behind its fields; its length says so."""
    whole = bytearray(front + b"".join(behind))
    whole[:2] = len(whole).to_bytes(2, "big")
    return bytes(whole)


def test_diagnose_codes_are_rows_with_their_growth(ask: Ask):
    first, second = (
        fields("prcdia", at, pfxcpuad=2)[:24] + b"".join(n.to_bytes(4, "big") for n in counts)
        for at, counts in ((60, range(194)), (120, range(0, 388, 2)))
    )

    found = ask(
        "SELECT pfxcpuad, code, diagnoses FROM interval.prcdia_diagnose "
        "WHERE code IN ('04', '44') AND diagnoses IS NOT NULL ORDER BY code",
        [longer(first)],
        [longer(second)],
    )

    assert found == [(2, "04", 1), (2, "44", 17)]


def test_a_list_that_goes_on_in_the_next_record_is_one_list(ask: Ask):
    head = {"profile": "S", "dmnumber": 4}
    users = ["ALICE", "BOB", "CAROL"]
    raw = [user.ljust(8).encode("cp037") for user in users]
    first = fields("mtrddr", 1, **head, dmitemct=2, calflags=0x80, length=28)
    second = fields("mtrddr", 1, **head, dmitemct=1, length=28)

    found = ask(
        "SELECT r.cont, i.entry, i.vmduser FROM monitor.mtrddr_dmitems i "
        "JOIN monitor.mtrddr r USING (dump, record_offset) ORDER BY record_offset, entry",
        [longer(first, *raw[:2]), longer(second, raw[2])],
    )

    assert found == [(True, 0, "ALICE"), (True, 1, "BOB"), (False, 0, "CAROL")]


def test_the_text_of_a_command_is_a_column(ask: Ask):
    text = "MONITOR EVENT ENABLE USER ALL"
    body = len(text).to_bytes(4, "big") + text.encode("cp037")

    assert ask("SELECT calbyct, calcmd FROM monitor.mtrecm", [record(1, 2, body, 30)]) == [
        (len(text), text)
    ]


def test_processors_of_lpar_management_are_located_by_the_record(ask: Ask):
    at = HEADER_LENGTH + 40
    front = fields("sytcum", 60, lcupcpct=2, calmibof=at, calmibln=28)
    cpus = [
        n.to_bytes(2, "big") + (1000 * n).to_bytes(8, "big") + "CP".ljust(18).encode("cp037")
        for n in (1, 2)
    ]

    found = ask(
        "SELECT entry, lcumcpu, lcumgtm, lcuptype FROM monitor.sytcum_cpu ORDER BY entry",
        [longer(front.ljust(at, b"\0"), *cpus)],
    )

    assert found == [(0, 1, 1000, "CP"), (1, 2, 2000, "CP")]


def test_bits_stand_beside_their_flag_in_both_schemas(ask: Ask):
    profile = fields("mtrspr", 1, interval=60, sdomains=0xC0)

    (found,) = ask("SELECT sdomains, sdomsys, sdommon, sdomusr FROM monitor.mtrspr", [profile])

    assert found == (0xC0, True, True, False)
