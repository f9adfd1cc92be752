"""A monreader device: data sets count when the read of 0 bytes behind them has come."""

from __future__ import annotations

import errno
from io import RawIOBase
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cpmon.ingest import Code, ingest, landing
from cpmon.ingest.container import source
from cpmon.ingest.container.compression import Peeked
from cpmon.ingest.container.source import Device, Source
from cpmon.store import Store
from tests.scenarios import FIRST_SET, LATER_SET

Read = bytes | int | None


class Driver(RawIOBase):
    """Answers reads as /dev/monreader would: bytes, nothing yet (None), or an error number.

    Afterwards the connection is severed: every read fails with EIO.
    """

    def __init__(self, *reads: Read) -> None:
        self._reads = list(reads)

    def read(self, size: int = -1) -> bytes | None:
        answer = self._reads.pop(0) if self._reads else errno.EIO
        if isinstance(answer, int):
            raise OSError(answer, "as told")
        return answer


def read(*reads: Read) -> tuple[list[bytes], Device]:
    """The pieces that a device delivers, one a data set."""
    stream = Device(Driver(*reads))
    peeked = Peeked(stream)
    return list(iter(lambda: peeked.read(1000), b"")), stream


def test_a_set_is_delivered_whole_however_short_its_reads_are():
    pieces, stream = read(b"", b"ab", b"c", b"", b"d", b"")

    assert pieces == [b"abc", b"d"]
    assert stream.troubles == []


def test_a_set_that_is_never_completed_is_discarded_and_told():
    pieces, stream = read(b"ab", b"", b"cd")

    assert pieces == [b"ab"]
    assert stream.troubles == [(2, source.DISCARDED)]


@pytest.mark.parametrize("error", [errno.EIO, errno.EFAULT])
def test_a_failed_read_discards_what_was_read_of_its_set_only(error: int):
    pieces, stream = read(b"ab", b"", b"lost", error, b"cd", b"")

    assert pieces == [b"ab", b"cd"]
    assert stream.troubles == [(2, source.DISCARDED)]


def test_an_overflow_costs_nothing_of_the_set_but_later_ones():
    pieces, stream = read(b"ab", errno.EOVERFLOW, b"c", b"")

    assert pieces == [b"abc"]
    assert stream.troubles == [(0, source.MISSED)]


def test_a_device_with_nothing_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(source, "AGAIN_S", 0)

    assert read(None, b"ab", None, b"")[0] == [b"ab"]


def test_other_errors_are_not_hidden():
    with pytest.raises(OSError, match="as told"):
        read(errno.ENODEV)


def test_a_device_that_never_delivers_ends_at_once():
    assert read(b"", b"", b"later")[0] == []


def test_what_a_device_delivered_lands_with_its_troubles(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    driver = Driver(b"", FIRST_SET[:30], FIRST_SET[30:], b"", b"bad", errno.EIO, LATER_SET, b"")

    class Opened:
        def __enter__(self) -> Source:
            return Source(Device(driver), "monreader")

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(landing, "open_source", lambda *_args, **_more: Opened())
    landed = ingest(Path("/dev/monreader"), store)

    folder = store.find(landed.dump)
    assert folder is not None
    rows = pq.ParquetFile(folder / "sytrsp.parquet").read()
    assert rows["plsmvb2g"].to_pylist() == [700, 800]
    assert landed.findings.counts == {Code.SETS_MISSED: 1}
    assert landed.about["bytes"]["size"] == len(FIRST_SET + LATER_SET)
