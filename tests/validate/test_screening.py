"""Rules of deltas judge suspect owners only: they find what judging all owners finds."""

from __future__ import annotations

import pytest

from cpmon.reduce.rules import screening
from cpmon.reduce.rules.layout_checks import DeltaCheck
from cpmon.reduce.rules.rule import Rule
from cpmon.reduce.rules.screening import Screened, Screening
from cpmon.reduce.rules.validation import RuleResult, count
from cpmon.schemas.layout import Layout
from cpmon.schemas.registry import layout
from cpmon.store.connection import Connection
from cpmon.store.sql.scope import ALL, Scope
from tests.validate.conftest import Falsify

SOME = "hash(record_offset) % 89 = 0"
CHANGED = "SELECT * REPLACE (CASE WHEN {some} THEN {value} ELSE {field} END AS {field}) FROM {rows}"


def changed(field: str, value: str, where: str = SOME) -> str:
    """SQL of a table in which some rows have another value."""
    return CHANGED.format(some=where, field=field, value=value, rows="{rows}")


HALF = "minute(interval_end) >= 30"
EACH = dict.fromkeys(("aplsdt_memory", "aplsdt_os_cpu", "aplsdt_os"), "SELECT * FROM {rows}")
"""Tables whose figures have the clock of a guest, in the row or in another of its record."""
CASES = {
    "sound": {"useact": "SELECT * FROM {rows}"},
    "fell": {
        "useact": changed("vmdttime", "vmdttime // 2"),
        "ioddev": changed("scgssch", "0"),
        "sytprp": changed("pfxprbtm", "pfxprbtm + 1000000000000"),
    },
    "rose": {
        "useact": changed("vmdttime", "vmdttime + 900000000000000"),
        "sytprp": changed("pfxutime", "pfxutime * 2", HALF),
    },
    "wrapped": {
        "useact": changed("calcpxrd", "(calcpxrd + 4294900000) % 4294967296", HALF),
        "ioddev": changed("scmssch", "(scmssch + 65000) % 65536"),
    },
    "parts": {"useact": changed("vmdvtime", "vmdttime * 3")},
    "null": {"useact": changed("vmdttime", "NULL")},
    "clock": {"useact": changed("tod_us", "tod_us - 90000000")},
    "guest": EACH,
    "guest set": EACH | {"aplsdt_os": changed("timestamp", "timestamp + 14745600000000", HALF)},
    "guest drifts": EACH
    | {
        "aplsdt_memory": changed(
            "timestamp", "timestamp + minute(interval_end) * 16384000000", HALF
        )
    },
    "guest is late": EACH
    | {"aplsdt_os": changed("timestamp", "timestamp - 245760000000", f"{HALF} AND {SOME}")},
    "guest without clock": EACH | {"aplsdt_os": changed("timestamp", "NULL")},
    "identity": {"ioddev": changed("rdevsid", "rdevsid + 1")},
    "missing": {"useact": f"SELECT * FROM {{rows}} WHERE NOT ({SOME})"},
    "twice": {"useact": f"SELECT * FROM {{rows}} UNION ALL SELECT * FROM {{rows}} WHERE {SOME}"},
    "disorder": {"useact": "SELECT * FROM {rows} ORDER BY hash(record_offset)"},
    "gap": {"useact": "SELECT * FROM {rows} WHERE minute(interval_end) <> 20"},
}


def judge_all(self: Screening, layout: Layout) -> Screened:
    return Screened(None)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_suspects_have_all_that_breaks_a_rule(
    con: Connection,
    rules: tuple[Rule, ...],
    falsify: Falsify,
    monkeypatch: pytest.MonkeyPatch,
    case: str,
):
    for table, rows in CASES[case].items():
        falsify(table, rows)
    ends = "SELECT min(interval_end), max(interval_end) FROM meta.interval"
    ((first, last),) = con.execute(ends).fetchall()
    scopes = ALL, Scope(None, first + (last - first) / 3, last - (last - first) / 3)
    chosen = [r for r in rules if isinstance(r.check, DeltaCheck) and r.needs[0] in CASES[case]]

    def counts() -> list[list[RuleResult]]:
        return [count(con, chosen, scope, con.tables) for scope in scopes]

    found = counts()
    monkeypatch.setattr(screening, "CHUNK_BYTES", 20_000)
    assert counts() == found
    monkeypatch.setattr(Screening, "screen", judge_all)
    assert counts() == found


def test_a_guest_whose_clock_was_set_is_the_only_suspect(con: Connection, falsify: Falsify):
    ((guest,),) = con.execute("SELECT min(userid) FROM monitor.aplsdt_os").fetchall()
    first = f"userid = '{guest}' AND {HALF}"
    falsify("aplsdt_os", changed("timestamp", "timestamp + 14745600000000", first))
    guests = Screening(con, con.tables, ALL)
    for table in ("aplsdt_os", "aplsdt_os_cpu"):
        screened = guests.screen(layout(table))
        assert screened.suspects is not None and len(screened.suspects) == 1
        assert screened.checked
    assert guests.screen(layout("aplsdt_memory")).suspects == ()


def test_only_owners_that_do_not_just_rise_are_suspect(con: Connection, falsify: Falsify):
    sytprp = layout("sytprp")
    falsify("sytprp", changed("pfxutime", "pfxutime // 2", f"pfxcpuad = 0 AND {HALF}"))
    screened = Screening(con, con.tables, ALL).screen(sytprp)
    assert screened.suspects is not None and len(screened.suspects) == 1
    ((processors, rows),) = con.execute(
        "SELECT count(DISTINCT pfxcpuad), count(*) FROM monitor.sytprp"
    ).fetchall()
    assert 0 < screened.checked < rows
    assert processors > 1
