"""What storage records tell of lists, steals, blocks, migration and the minidisk cache."""

from __future__ import annotations

import itertools

import pytest

from tests.generate.figures import CPU, DEVICE, SYSTEM, VOLUME, Dump
from tests.generate.offices import INTERVALS, office

pytestmark = pytest.mark.generator

PAGE_VOLUMES = 3
MDC_PAGES = 32 * 256


def sums(*parts: list[int]) -> list[int]:
    return [sum(each) for each in zip(*parts, strict=True)]


def blocks(found: Dump, table: int) -> list[list[int]]:
    """Growth of the 20 entries of a table that starts at that byte, by interval."""
    entries = [found.growth(3, 8, SYSTEM, table + 4 * n) for n in range(20)]
    return [list(each) for each in zip(*entries, strict=True)]


def test_blocks_hold_the_pages_that_are_read_and_written():
    found = office()
    for table, pages in ((20, found.growth(0, 1, CPU, 72)), (180, found.growth(0, 1, CPU, 76))):
        assert [
            sum(size * count for size, count in enumerate(each, start=1))
            for each in blocks(found, table)
        ] == pages
        assert min(pages) > 0


def test_as_many_blocks_are_moved_as_page_volumes_do_ios():
    found = office()
    moved = [sum(r) + sum(w) for r, w in zip(blocks(found, 20), blocks(found, 180), strict=True)]
    ios = [0] * INTERVALS
    for rows in found.series(3, 4, VOLUME).values():
        if rows[0].u4(36):
            for before, now in itertools.pairwise(rows):
                ios[now.sample - 1] += now.u4(168) - before.u4(168)
    # The last block of each volume may be a small one.
    for both, each in zip(moved, ios, strict=True):
        assert abs(both - each) <= PAGE_VOLUMES + 1


def test_migrated_blocks_hold_the_pages_of_expanded_storage_that_migrate():
    found = office()
    migrated = found.growth(0, 5, CPU, 44)
    for each, pages in zip(blocks(found, 100), migrated, strict=True):
        least = sum((2 * n + 1) * count for n, count in enumerate(each))
        assert least <= pages <= least + sum(each)
    assert sums(found.growth(3, 9, SYSTEM, 24), found.growth(3, 9, SYSTEM, 36)) == migrated
    assert min(found.growth(3, 9, SYSTEM, 20)) > 0


def test_expanded_storage_gives_back_what_it_got():
    found = office()
    got, released = found.growth(0, 14, SYSTEM, 20), found.growth(0, 14, SYSTEM, 24)
    assert all(0 <= g - r <= 1 for g, r in zip(got, released, strict=True))
    for record in found.of(0, 14):
        assert record.u8(40) == 256 * 256 == record.u8(32) + held(found, record.sample)
        assert record.u4(168) > 0


def held(found: Dump, sample: int) -> int:
    return sum(r.u4(80) for r in found.of(4, 3, sample))


def test_a_system_without_expanded_storage_has_no_record_of_migration():
    without = office("NEW", ("expanded_mib = 256", "expanded_mib = 0"))
    assert (without.of(3, 9), without.of(1, 17)) == ([], [])
    assert without.growth(0, 5, CPU, 44) == [0] * INTERVALS
    configured = office().of(1, 17)
    assert [(r.u8(20), r.u8(28)) for r in configured] == [(65536, 65536)]


def test_stolen_frames_are_counted_by_list_and_return_to_the_available_lists():
    found = office()
    stolen = found.growth(0, 4, CPU, 24)
    lists = [found.growth(3, 2, CPU, at) for at in (100, 112, 116, 132)]
    assert sums(*lists) == stolen
    assert sums(found.growth(3, 2, CPU, 76), found.growth(3, 2, CPU, 248)) == stolen
    ins = (found.growth(0, 5, CPU, 24), found.growth(0, 5, CPU, 28), found.growth(0, 1, CPU, 72))
    assert sums(*ins) == stolen


def test_a_short_available_list_is_found_empty():
    held = ("[run.OLD]", "[run.NEW.targets]\nresident_pages_per_user = 4000\n\n[run.OLD]")
    list_of = "available_below_frames = "
    short = office("NEW", (list_of + "1000", list_of + "40"), held)
    assert min(short.growth(0, 4, CPU, 36)) > 0
    long = office("NEW", (list_of + "1000", list_of + "20000"), held)
    assert long.growth(0, 4, CPU, 36) == [0] * INTERVALS


def test_available_frames_are_single_ones_or_lie_side_by_side():
    for record in office("NEW", ("central_mib = 1024", "central_mib = 4096")).of(0, 3):
        assert 0 < record.u4(240) < record.u4(52)
        assert record.u4(148) + record.u4(152) == record.u8(140)


@pytest.mark.parametrize("run", ["NEW", "OLD"])
def test_the_cache_answers_the_reads_that_save_an_io(run: str):
    found = office(run)
    avoided = found.growth(6, 3, DEVICE, 132)
    assert found.growth(0, 14, SYSTEM, 140) == avoided
    assert min(avoided) > 0


def test_reads_of_the_cache_are_hits_and_misses():
    found = office()
    reads, hits = found.growth(0, 14, SYSTEM, 180), found.growth(0, 14, SYSTEM, 140)
    for every, hit in zip(reads, hits, strict=True):
        assert hit / every == pytest.approx(0.75, abs=0.001)
    # A track comes for each miss, and as many pages leave.
    deleted = found.growth(0, 3, SYSTEM, 100)
    assert deleted == [12 * (every - hit) for every, hit in zip(reads, hits, strict=True)]
    assert all(0 < n < d for n, d in zip(found.growth(0, 3, SYSTEM, 104), deleted, strict=True))


def test_misses_are_ios_that_were_done():
    cold = office("NEW", ("cache_hit_share = 0.75", "cache_hit_share = 0.05"))
    reads, hits = cold.growth(0, 14, SYSTEM, 180), cold.growth(0, 14, SYSTEM, 140)
    done = [0] * INTERVALS
    for number, rows in cold.series(6, 3, DEVICE).items():
        if number[0] == 7:
            for before, now in itertools.pairwise(rows):
                done[now.sample - 1] += now.u4(192) - before.u4(192)
    assert [every - hit for every, hit in zip(reads, hits, strict=True)] == done


def test_the_cache_has_the_size_that_the_scenario_gives_it():
    for record in office().of(0, 3):
        assert [record.u4(at) for at in (84, 88, 112, 116)] == [MDC_PAGES, MDC_PAGES, MDC_PAGES, 0]
        assert record.u4(96) >= MDC_PAGES


def test_spool_pages_are_those_of_the_spool_volumes():
    found = office()
    for volume, processor in ((40, 80), (44, 84)):
        pages = found.growth(3, 4, VOLUME, volume)
        assert pages == found.growth(0, 1, CPU, processor)
        assert min(pages) > 0
