"""The regression tables from runs whose figures are the published ones: labels, tags, print rules.

What cannot be printed again from the published inputs stands in UNMATCHED, each with its reason.
"""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import pytest

from cpmon.reduce.compare import compare, load_spec, spec_names
from tests.reduce.catalogue import empty_catalogue, minute

Key = tuple[str, str, str]
PUBLISHED = Path(__file__).parents[1] / "published" / "cp_regression.csv"
PREFIX = "cp_regression_"
SPECS = tuple(name for name in spec_names() if name.startswith(PREFIX))

UNMATCHED: dict[Key, str] = {
    (f"{PREFIX}summary", "Apache paging Xstor (3G)", "Total CPU/Tx"): "11.67 printed as 11",
    (f"{PREFIX}claims", "APS9220|APT9280", "DIAG 44 normal-path rate change"): "85.68 cut to 85",
    (f"{PREFIX}claims", "APMS9221|APMTA192", "Tx rate change"): "2.8 is the change of CPU/Tx",
}
"""Cells whose page does not follow its own rule: it truncated, or took another row's number."""

RUNS = {
    "APS9220": {
        **{"tx_rate": 3528.639, "cp_per_tx_ms": 0.288, "emul_per_tx_ms": 0.839},
        **{"diag44_rate": 24514, "diag44_fast_rate": 0, "total_util": 0.978},
        **{"resident_above_2g": 334800, "resident_below_2g": 70675},
    },
    "APT9280": {
        **{"tx_rate": 3481.151, "cp_per_tx_ms": 0.2873, "emul_per_tx_ms": 0.8583},
        **{"diag44_rate": 3511, "diag44_fast_rate": 42368, "total_util": 0.981},
        **{"resident_above_2g": 377825, "resident_below_2g": 475},
    },
    "APXS9220": {
        **{"tx_rate": 67.860, "cp_per_tx_ms": 20.018, "emul_per_tx_ms": 25.488},
        **{"move_2g_rate": 28, "xstor_page_rate": 26170, "total_util": 0.998},
        **{"resident_above_2g": 253692, "resident_below_2g": 495504},
    },
    "APXTA193": {
        **{"tx_rate": 60.564, "cp_per_tx_ms": 24.444, "emul_per_tx_ms": 26.374},
        **{"move_2g_rate": 0, "xstor_page_rate": 22072, "total_util": 0.998},
        **{"resident_above_2g": 247390, "resident_below_2g": 501020},
    },
    "APMS9221": {
        **{"tx_rate": 55.487, "cp_per_tx_ms": 22.8383, "emul_per_tx_ms": 27.0163},
        **{"move_2g_rate": 29, "xstor_page_rate": 13787, "xstor_migration_rate": 1463},
        **{"dasd_read_rate": 3749, "dasd_write_rate": 3450},
        **{"resident_above_2g": 778626, "resident_below_2g": 489267},
    },
    "APMTA192": {
        **{"tx_rate": 57.004, "cp_per_tx_ms": 24.258, "emul_per_tx_ms": 27.010},
        **{"move_2g_rate": 0, "xstor_page_rate": 16556, "xstor_migration_rate": 2615},
        **{"dasd_read_rate": 2724, "dasd_write_rate": 2602},
        **{"resident_above_2g": 767286, "resident_below_2g": 497691},
    },
    "3GBS9220": {
        **{"move_2g_rate": 83, "xstor_page_rate": 29327},
        **{"resident_above_2g": 28373, "resident_below_2g": 503540},
    },
    "APN510": {"tx_rate": 850.0, "cp_per_tx_ms": 0.960, "emul_per_tx_ms": 2.040},
    "APN520": {"tx_rate": 866.15, "cp_per_tx_ms": 0.976, "emul_per_tx_ms": 2.171},
    "CMS510": {"tx_rate": 20.0, "cp_per_tx_ms": 1.500, "emul_per_tx_ms": 5.200},
    "CMS520": {"tx_rate": 20.06, "cp_per_tx_ms": 1.740, "emul_per_tx_ms": 5.195},
    "VSE510": {"tx_rate": 2.5, "cp_per_tx_ms": 55.0, "emul_per_tx_ms": 245.0},
    "VSE520": {"tx_rate": 2.5, "cp_per_tx_ms": 61.6, "emul_per_tx_ms": 245.0},
}
"""Those of the last six are chosen; by how much they change is published."""
SET_UP = {
    **{"servers": "12", "clients": "2", "connections_per_server": "1"},
    **{"file_location": "Linux cache", "server_storage": "1024M"},
    **{"server_processors": "1", "client_processors": "1"},
}
ATTRIBUTES = {
    "APXS9220": {**SET_UP, "files": "600"},
    "APMS9221": {**SET_UP, "files": "800"},
    "3GBS9220": {"servers": "3", "files": "5000", "file_location": "Xstor MDC"},
}


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    """A catalogue whose run_summary is a table with the figures of RUNS."""
    found = empty_catalogue()
    found.execute("CREATE TABLE measured AS FROM run_summary")
    found.execute("DROP VIEW run_summary; ALTER TABLE measured RENAME TO run_summary")
    for run, figures in RUNS.items():
        total = figures.get("cp_per_tx_ms", 0) + figures.get("emul_per_tx_ms", 0)
        row = {"run_id": run, "system": "REGRESS", **figures, "cpu_per_tx_ms": total}
        names, marks = ", ".join(row), ", ".join("?" for _ in row)
        found.execute(f"INSERT INTO run_summary ({names}) VALUES ({marks})", list(row.values()))
        found.execute(
            "INSERT INTO meta.run (run_id, system, since, until, attributes) "
            "VALUES (?, ?, ?, ?, ?)",
            [run, "REGRESS", minute(0), minute(30), ATTRIBUTES.get(run, {})],
        )
    return found


def published() -> dict[Key, tuple[str, str]]:
    """(table, run, row) -> (value, source)."""
    with PUBLISHED.open(encoding="utf-8", newline="") as lines:
        return {
            (row["table"], row["run_id"], row["row_label"]): (
                row["value_as_printed"],
                row["source_tag"],
            )
            for row in csv.DictReader(lines)
        }


def test_every_published_cell_prints_again_but_the_listed_ones(
    con: duckdb.DuckDBPyConnection,
) -> None:
    cells = [cell for name in SPECS for cell in compare(con, name).cells]
    printed = {(c.table, c.run_id, c.row_label): (c.text, c.source) for c in cells}
    expected = published()

    assert {key for key, cell in expected.items() if printed.get(key) != cell} == {*UNMATCHED}
    assert set(printed) == set(expected)


def test_what_differs_differs_in_the_way_that_is_listed(con: duckdb.DuckDBPyConnection) -> None:
    cells = [cell for name in SPECS for cell in compare(con, name).cells]
    printed = {(c.table, c.run_id, c.row_label): c.text for c in cells}

    assert [printed[key] for key in UNMATCHED] == ["12", "86% decrease", "2.7% increase"]


def test_labels_stand_in_the_published_order() -> None:
    for name in SPECS:
        labels = [label for table, _, label in published() if table == name]
        assert [row.label for row in load_spec(name).rows] == list(dict.fromkeys(labels))
