"""Work in threads and the cache of pages, without a server."""

from __future__ import annotations

import asyncio
import threading

import pytest

from cpmon.core.errors import CpmonError
from cpmon.serve.work import Cache, Gone, Job, ReaderLeft, Work

pytestmark = pytest.mark.anyio
PATIENCE_S = 30


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Desk:
    """One thread, and a job that keeps it until it is told to end."""

    def __init__(self) -> None:
        self.work, self.begun, self.end = Work(1), threading.Event(), threading.Event()
        self.ended = 0

    def job(self, job: Job) -> bytes:
        self.begun.set()
        while not self.end.wait(0.01):
            job.check()
        self.ended += 1
        return b"page"

    async def is_begun(self) -> None:
        await asyncio.to_thread(self.begun.wait, PATIENCE_S)


async def has_left() -> bool:
    return True


async def stays() -> bool:
    return False


async def test_work_that_waits_is_dropped_with_its_reader_and_does_not_hold_the_queue():
    desk = Desk()
    first = asyncio.create_task(desk.work.run(desk.job, stays))
    await desk.is_begun()
    with pytest.raises(ReaderLeft):
        await desk.work.run(desk.job, has_left, finishes=True)
    desk.end.set()
    assert await first == b"page"
    assert desk.ended == 1


@pytest.mark.parametrize("finishes", [True, False])
async def test_work_that_has_begun_ends_with_its_reader_unless_others_need_it(finishes: bool):
    desk = Desk()
    left = asyncio.Event()

    async def gone() -> bool:
        return left.is_set()

    task = asyncio.create_task(desk.work.run(desk.job, gone, finishes=finishes))
    await desk.is_begun()
    left.set()
    if finishes:
        await asyncio.sleep(0.5)
        desk.end.set()
        assert await task == b"page"
    else:
        with pytest.raises(ReaderLeft):
            await task


async def test_work_has_a_limit_of_time_without_the_time_in_the_queue():
    desk = Desk()
    with pytest.raises(CpmonError) as raised:
        await desk.work.run(desk.job, stays, limit_s=0.3)
    assert raised.value.code == "query-too-slow"
    assert desk.ended == 0


async def test_readers_of_one_page_share_its_making_until_the_store_changes():
    cache, made = Cache(), list[str]()

    async def make(_: Gone) -> bytes:
        made.append("page")
        await asyncio.sleep(0.05)
        return b"page"

    answers = await asyncio.gather(*(cache.get("a", 1, make, stays) for _ in range(20)))
    assert (answers, len(made)) == ([b"page"] * 20, 1)
    await cache.get("a", 1, make, stays)
    assert len(made) == 1
    await cache.get("a", 2, make, stays)
    assert len(made) == 2


async def test_an_answer_stays_while_what_it_depends_on_does():
    cache, made = Cache(), list[str]()

    async def answer(key: str, state: int) -> None:
        async def make(_: Gone) -> bytes:
            made.append(key)
            return b"page"

        await cache.get(key, state, make, stays)

    for key, state in (("a", 1), ("b", 1), ("b", 2), ("a", 1), ("b", 2), ("b", 1)):
        await answer(key, state)
    assert made == ["a", "b", "b", "b"]


async def test_a_reader_that_comes_as_the_others_leave_gets_its_page():
    cache, times = Cache(), 0

    async def make(_: Gone) -> bytes:
        nonlocal times
        times += 1
        await asyncio.sleep(0.05)
        if times == 1:
            raise ReaderLeft
        return b"page"

    answers = await asyncio.gather(
        cache.get("a", 1, make, has_left),
        cache.get("a", 1, make, stays),
        return_exceptions=True,
    )
    assert isinstance(answers[0], ReaderLeft)
    assert answers[1] == b"page"


async def test_after_the_end_no_work_begins():
    desk = Desk()
    desk.work.cancel()
    with pytest.raises(ReaderLeft):
        await desk.work.run(desk.job)
    assert not desk.begun.is_set()


async def test_the_cache_drops_what_was_not_used_for_longest():
    cache = Cache(limit=30)

    async def make(_: Gone) -> bytes:
        return b"0123456789"

    for key in ("a", "b", "c", "a", "d"):
        await cache.get(key, 1, make, stays)
    assert [*cache._answers] == ["c", "a", "d"]
