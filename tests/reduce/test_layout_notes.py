"""What a report says of records that its dumps write and the layouts do not know in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.ingest import Code, ingest
from cpmon.reduce.reductions.reductions import inferred_records, reductions
from cpmon.reduce.reports.layout_notes import records_of, unread_notes
from cpmon.reduce.reports.report import report
from cpmon.schemas.registry import reload, shipped, tables, use
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval
from tests.pages import draft, import_pages

KNOWN = tables()["useact"].length


def notes(folder: Path, release: str, length: int) -> str:
    """The notes of the report of users: two samples of one, `length` bytes a record."""

    def sample(at: int) -> bytes:
        user = fields("useact", at, length=length, vmduser="U1", vmdttime=at << 12)
        return interval(at, *([fields("mtrsys", at, systmid="VM")] if at == 60 else []), user)

    file, store = folder / "a.mon", Store(folder / "store", create=True)
    file.write_bytes(dump(*map(sample, (60, 120, 180))))
    landed = ingest(file, store, release=release)
    longer = landed.findings.counts[Code.RECORD_LONGER]
    assert longer == (3 if length > KNOWN else 0)
    return "\n".join(report(connect(store, reductions()), "user_resource_util").notes)


def test_a_report_over_records_as_they_are_known_says_nothing_of_it(tmp_path: Path):
    said = notes(tmp_path, "5.3.0", KNOWN)
    assert "Longer" not in said and "later than" not in said and "multithreaded" not in said


def test_longer_records_are_named_with_their_page(tmp_path: Path):
    said = notes(tmp_path, "5.2.0", 364)
    assert f"USEACT (4.3) 364 bytes, {KNOWN} of them known" in said
    assert "MRUSEACT" in said
    assert "later than" not in said


@pytest.mark.parametrize(("release", "threads"), [("6.2.0", False), ("7.3.0", True)])
def test_a_later_release_says_what_is_not_certain(release: str, threads: bool, tmp_path: Path):
    said = notes(tmp_path, release, KNOWN)
    assert f"CP {release} is later than the layouts of" in said
    assert "USEACT (4.3)" in said
    assert ("runs multithreaded" in said) == threads


@pytest.mark.parametrize(("release", "is_named"), [("6.2.0", True), ("6.4.0", False)])
def test_records_that_a_release_no_longer_writes_are_not_called_earlier(
    release: str, is_named: bool
):
    said = "".join(unread_notes([], release, records_of(["mtrxsg", "sytxsp"])))
    assert ("MTRXSG (1.17)" in said) == is_named
    assert ("SYTXSP (0.5)" in said) == is_named


def test_inferred_fields_that_a_release_no_longer_has_do_not_count(tmp_path: Path):
    try:
        import_pages(tmp_path, draft(shipped(), "useact", "7.3.0", 508))
        assert inferred_records(["useact"]) == ("USEACT (4.3)",), "fields of expanded storage"
        assert inferred_records(["useact"], ["5.3.0"]) == ("USEACT (4.3)",)
        assert inferred_records(["useact"], ["7.3.0"]) == ()
        assert inferred_records(["useact"], ["7.3.0", "5.3.0"]) == ("USEACT (4.3)",)
    finally:
        use(None)
        reload()
