"""Virtual disks, switches and adapters: what a dump says of them, worked out by hand."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.store import Store, connect
from tests.reduce.catalogue import close, empty_catalogue, insert, minute
from tests.virtual_devices import NETWORK, virtual_devices


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("network")
    (folder / "d.mon").write_bytes(virtual_devices())
    store = Store(folder / "store", create=True)
    ingest(folder / "d.mon", store)
    return connect(store, reductions())


def lines(con: duckdb.DuckDBPyConnection, name: str, **options: Any) -> list[dict[str, Any]]:
    return report(con, name, **options).table.to_pylist()


def test_virtual_disks_by_their_ios(con: duckdb.DuckDBPyConnection):
    first, second = lines(con, "VDISKS")
    close(
        first,
        {
            **{"owner": "LINUX1", "virtual_device": 0x300, "links": 2, "size_mib": 100},
            **{"address_space": "LINUX1  VDISK$0300$", "io_rate": 2400 / 120, "seconds": 120},
        },
    )
    assert (second["owner"], second["size_mib"], second["io_rate"]) == ("LINUX2", 20, 1)
    total = report(con, "VIRTUAL_DISKS").total
    assert total == pytest.approx({"size_mib": 120, "io_rate": 21})


def test_real_devices_of_a_switch(con: duckdb.DuckDBPyConnection):
    busy, quiet = lines(con, "VSWITCH")
    close(
        busy,
        {
            **{"network": NETWORK.strip(), "device": 0x1A00, "controller": "DTCVSW1"},
            **{"sent_byte_rate": 1.5e6, "received_byte_rate": 0.5e6, "byte_rate": 2e6},
            **{"sent_packet_rate": 1500, "received_packet_rate": 500},
            **{"sent_discard_rate": 15, "received_discard_rate": 0, "errors": 2, "seconds": 120},
        },
    )
    assert (quiet["device"], quiet["byte_rate"]) == (0x1B00, 10_000)


def test_adapters_of_guests(con: duckdb.DuckDBPyConnection):
    busy, idle = lines(con, "GVNIC")
    close(
        busy,
        {
            **{"owner": "LINUX1", "adapter": 0x600, "virtual_device": 0x602},
            **{"network": NETWORK.strip(), "byte_rate": 300_000, "errors": 0},
            **{"sent_byte_rate": 100_000, "received_byte_rate": 200_000},
            **{"sent_packet_rate": 200, "received_packet_rate": 400},
            **{"sent_discard_rate": 0, "received_discard_rate": 4, "seconds": 120},
        },
    )
    assert (idle["owner"], idle["byte_rate"]) == ("LINUX2", 0)
    assert len(lines(con, "GVNIC", objects={"user": "LINUX1"})) == 2


def test_a_counter_without_a_delta_has_no_rate():
    con = empty_catalogue()
    key = {"system": "LAB", "mdiouser": "ANNA", "mdiovdev": 0x300, "calsize": 2048, "mdilinks": 1}
    insert(con, "interval.stovdk", {**key, "interval_end": minute(0), "qdiiocnt": None})
    insert(con, "interval.stovdk", {**key, "interval_end": minute(1), "seconds": 60.0})
    rows = con.execute("SELECT size_mib, ios, io_rate FROM virtual_disks_by_time").fetchall()
    assert rows == [(1.0, None, None)] * 2
