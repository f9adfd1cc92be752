"""What days rest on: no more than the dumps since configuration was last written."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from msgspec.structs import replace

from cpmon.ingest import ingest
from cpmon.store import Store, connect
from cpmon.store.format.landed_dump import LandedDump
from cpmon.store.results.lineage import day_versions
from cpmon.store.sql.scope import dependencies, is_anchored
from tests.batch.fleet import NOMINAL_S, hourly

FIRST = date(2026, 3, 1)


def dumps(*configured: bool, nominal: tuple[int, ...] = ()) -> list[LandedDump]:
    """A dump a day; some have configuration, and of those that `nominal` names every interval
    says how long it should be (by default of those with configuration)."""
    found = []
    for number, has in enumerate(configured):
        day = FIRST + timedelta(days=number)
        tables = frozenset({"interval", "mtrsys"} if has else {"interval"})
        says = number in nominal if nominal else has
        end, place = f"{day}T12:00:00", f"dump=d{number}"
        found.append(
            LandedDump(place, "VM", f"d{number}", day, (day,), says, tables, "", None, end, says)
        )
    return found


def names(found: list[LandedDump]) -> str:
    return " ".join(one.dump for one in found)


def day(number: int) -> date:
    return FIRST + timedelta(days=number)


def test_a_day_rests_on_the_dumps_since_the_last_configuration_before_it(tmp_path: Path):
    found = dumps(True, True, True, False, False, True, True)
    assert names(dependencies(found, day(5), day(6))) == "d2 d3 d4 d5 d6"
    assert names(dependencies(found, day(4), day(4))) == "d2 d3 d4"
    assert names(dependencies(found, day(0), day(0))) == "d0"


def test_without_any_configuration_it_rests_on_all(tmp_path: Path):
    found = dumps(False, False, False, nominal=(0, 1, 2))
    assert names(dependencies(found, day(1), day(2))) == "d0 d1 d2"


def test_where_nothing_says_how_long_an_interval_is_all_that_will_come_counts(tmp_path: Path):
    found = dumps(False, True, True)
    assert not is_anchored(found)
    assert names(dependencies(found, day(0), day(0))) == "d0 d1 d2"


def test_a_dump_without_configuration_in_the_middle_leaves_other_days_alone(tmp_path: Path):
    found = dumps(True, False, True, True)
    assert is_anchored(found)
    before = day_versions(found[:3])
    after = day_versions(found)
    assert {d: after[d] for d in before} == before


def test_a_dump_without_configuration_later_on_the_first_day_changes_no_other_day(
    store: Store, tmp_path: Path
):
    for hour, damage in ((0, ""), (1, "no configuration"), (24, ""), (48, "")):
        file = tmp_path / f"{hour}.mon"
        file.write_bytes(hourly("ALPHA", 0, hour, damage).data)
        ingest(file, store, system="ALPHA")
    found = store.dumps()
    assert [one.nominal for one in found].count(False) == 1 and is_anchored(found)
    days = sorted({d for one in found for d in one.days})
    assert len(dependencies(found, days[2], days[2])) == 2  # of that day, and the last before it
    before = day_versions([one for one in found if days[2] not in one.days])
    assert {d: day_versions(found)[d] for d in before} == before


def test_an_interval_is_as_long_as_was_said_before_it(store: Store, tmp_path: Path):
    for hour, damage in ((0, ""), (1, "no configuration"), (4, "")):
        file = tmp_path / f"{hour}.mon"
        file.write_bytes(hourly("ALPHA", 0, hour, damage).data)
        ingest(file, store, system="ALPHA")
    with connect(store) as con:
        found = con.sql(
            "SELECT nominal_s, gap, previous_end IS NULL FROM meta.interval ORDER BY interval_end"
        ).fetchall()
    said = [NOMINAL_S] * 3 + [None] * 3 + [NOMINAL_S] * 3
    assert [row[0] for row in found] == said
    assert [row[1] for row in found] == [False] * 6 + [True, False, False]
    assert [row[2] for row in found] == [True] + [False] * 5 + [True, False, False]


def test_what_lies_beside_dumps_is_no_dump(store: Store, tmp_path: Path):
    (tmp_path / "a.mon").write_bytes(hourly("ALPHA", 0, 0).data)
    landed = ingest(tmp_path / "a.mon", store)
    for strange in ("notes.txt", "system=X", "system=ALPHA/lost+found", "system=ALPHA/date=x.tmp"):
        (store.records / strange).mkdir()
    assert [one.dump for one in store.dumps()] == [landed.dump]


def test_a_dump_whose_intervals_have_not_ended_counts_on_the_day_it_begins(tmp_path: Path):
    found = dumps(True, True, True)
    found[1] = replace(found[1], days=())
    assert names(dependencies(found, day(2), day(2))) == "d1 d2"
    assert names(dependencies(found, day(1), day(1))) == "d0 d1"
