"""Sound measurements pass every rule, and damaged ones break those that they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.rules.rule import Purpose, Severity, load_rules
from cpmon.reduce.rules.validation import validate
from cpmon.store import Store, connect
from cpmon.store.sql.scope import Scope
from tests.examples import some_of_all
from tests.validate.conftest import SAMPLES

SOUND = ("timer", "large-storage", "cp-regression", "linux-dasd-mdc", "pfault", "small-lab")


def failed(store: Store) -> dict[str, Severity]:
    """The rules that fail in a store, without those that only inform."""
    with connect(store, reductions()) as con:
        landed = store.tables()
        found = validate(con, load_rules(Purpose.VALIDATION, landed=landed), landed, Scope())
    rules = {one.rule.id: one.rule.severity for one in found.outcomes if one.bad}
    return {name: severity for name, severity in rules.items() if severity is not Severity.INFO}


@some_of_all("scenario", SOUND, some=("large-storage", "small-lab"))
def test_a_sound_measurement_passes(tmp_path: Path, scenario: str):
    store = Store(tmp_path / "store", create=True)
    for dump in sorted((SAMPLES / scenario).glob("*.mon.zst")):
        ingest(dump, store)
    assert failed(store) == {}


@pytest.mark.long
def test_two_hours_of_the_bank_pass(tmp_path: Path):
    dump = write_run(load_scenario("bank-day"), "BANKDAY", tmp_path, intervals=120).dump
    store = Store(tmp_path / "store", create=True)
    ingest(dump, store)
    assert failed(store) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "breaks"),
    [
        ("REPEAT-FRAMES", {"useact.unique": Severity.CRITICAL}),
        ("LENGTH-SHORT", {"bytes-understood": Severity.WARNING}),
        ("ZERO-FRAMES", {}),
    ],
)
def test_a_damaged_dump_breaks_what_it_should(
    tmp_path: Path, damage: str, breaks: dict[str, Severity]
):
    store = Store(tmp_path / "store", create=True)
    ingest(SAMPLES / "bad-day" / f"{damage}.mon.zst", store)
    found = failed(store)
    assert breaks.items() <= found.items()
    grave = [rule for rule, severity in found.items() if severity is Severity.CRITICAL]
    assert all(rule.endswith(".unique") for rule in grave)
