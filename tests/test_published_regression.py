"""Every published cell of the CP regression measurement, from generated dumps to print."""

from __future__ import annotations

import pytest

from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.compare import ComparisonTable, compare, render_comparison
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from tests.reduce.test_cp_regression import SPECS, UNMATCHED, Key, published

ABOVE = "Resident Pages above 2G"
CHOSEN = ("APN510", "APN520", "CMS510", "CMS520", "VSE510", "VSE520")
"""Runs of which nothing but a change is published."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ComparisonTable]:
    folder = tmp_path_factory.mktemp("regression")
    store = Store(folder / "store", create=True)
    scenario = load_scenario("cp-regression")
    for run_id in scenario.run_ids:
        ingest(write_run(scenario, run_id, folder).dump, store)
    with connect(store, reductions()) as connection:
        return {name: compare(connection, name) for name in SPECS}


@pytest.fixture(scope="module")
def printed(tables: dict[str, ComparisonTable]) -> dict[Key, tuple[str, str]]:
    cells = [cell for table in tables.values() for cell in table.cells]
    return {(c.table, c.run_id, c.row_label): (c.text, c.source) for c in cells}


@pytest.mark.slow
def test_every_published_cell_prints_again_but_the_listed_ones(
    printed: dict[Key, tuple[str, str]],
) -> None:
    expected = published()
    different = {key for key, cell in expected.items() if printed.get(key) != cell}

    assert different == {*UNMATCHED}
    assert set(printed) == set(expected)


@pytest.mark.slow
def test_tables_mark_what_rests_on_an_assumed_place(tables: dict[str, ComparisonTable]) -> None:
    for table in tables.values():
        rests = ABOVE in {row.label for row in table.spec.rows}
        notes = [note for note in table.notes if "assumed by scenario cp-regression" in note]
        assert bool(notes) == rests
        assert all(note.startswith(f"{ABOVE}: from USEACT_VMDCTPVG at 92") for note in notes)


@pytest.mark.slow
def test_tables_say_which_base_figures_are_chosen(tables: dict[str, ComparisonTable]) -> None:
    summary = tables["cp_regression_summary"]
    start = f"{', '.join(CHOSEN)}: Base figures and set-up are chosen"

    assert [note.startswith(start) for note in summary.notes].count(True) == 1
    for form in ("text", "markdown", "json", "html"):
        assert "chosen by the" in render_comparison(summary, form).decode()
    assert not any("chosen" in note for note in tables["cp_regression_nonpaging_2094"].notes)
