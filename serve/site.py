"""The pages of a store under addresses: all that a page depends on is in its address.

/                                         the pages that there are
/page?run=R, /page?system=S               a page; since and until limit its span (UTC)
/object?run=R&kind=user&name=LNX1         the page of an object of that page
/chart?metric=total_util&against=week     metrics, of objects too, against another time or run
/chart.csv, /report.csv?run=R&report=N    a chart or report as a file: csv, json, xlsx, png
/explain?run=R&since=...&until=...        what was different in a span
/objects?system=S                         the objects of a system, as JSON
/tables, /tables?table=T, /names          tables, queries, columns with their meaning
/changes?run=R&known=...                  events of a page of which there are newer intervals
/points?run=R&from=...&to=...             points of the charts of a page in a span, as JSON
/query?sql=..., /query?name=...           SQL or a query by its name: rows, chart
/query.csv?sql=..., json, xlsx, png       all rows as a file, or the chart
/vega-1.9.0.js                            the runtime of interactive charts
"""

from __future__ import annotations

import asyncio
import gzip
import re
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pyarrow as pa
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from ..api.site_store import SiteStore
from ..config import Settings
from ..config.moments import find_zone
from ..core.errors import BusyError, CpmonError, NothingToReportError, UnreadableError
from ..core.memory import memory_error
from ..queries import Param, bound, params_of, query
from ..reduce.page.content import Window, by_day, plain_name, read_content, windows
from ..reduce.page.drawing import Figure
from ..reduce.page.levels import read_levels
from ..reduce.page.object_page import MAIN, top_objects
from ..reduce.page.page import IndexPart, Served, index_page, index_part, object_page, rendered
from ..reduce.page.runtime import FILE as RUNTIME
from ..reduce.page.runtime import runtime
from ..store import Store
from ..store.answers import ask
from ..store.connection import Connection, point, systems_of
from ..store.measured.classes import FILE as CLASSES
from ..store.measured.runs import FOLDER as RUNS
from ..store.measured.runs import stored_run, system_of_run
from ..store.sandbox.sandbox import MEMORY, Limits
from ..store.sql.database import storage_error
from ..store.sql.scope import ALL
from .addresses import (
    CHART,
    OBJECT,
    SPAN,
    WINDOW,
    ZOOM,
    ObjectAddresses,
    chosen_object,
    chosen_window,
    page_address,
    selected,
    selection,
    span,
)
from .answer import FILES, draw_answer, read_answer, write_answer
from .changes import Changes
from .charts import BEFORE, draw, metric_headings
from .downloads import write_download
from .explained import explained_page
from .navigation import clocks, served
from .objects import objects_of_system
from .tables import table_columns, tables_page
from .work import POLL_S, Cache, Gone, Job, ReaderLeft, Work

Result = TypeVar("Result")
Endpoint = Callable[[Request], Awaitable[Response]]
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The content security policy of answers that have none: files and texts."""
PICTURES = {"png": "image/png"}
LONGEST_SQL = 20_000
POLICY = re.compile(rb'Content-Security-Policy" content="([^"]+)"')
"""The policy in the head of a page, before any text of the store."""
QUERY_S = 600
"""Seconds after which SQL is cancelled although its reader waits: others wait behind it."""
GZIP = 31
"""zlib's number of the format."""
LOOK_S = 30
"""Seconds between two looks whether the store has changed, to make its newest pages."""
WARM_OBJECTS = 10
"""Number of objects of each kind whose pages are made before they are asked for."""
BUSY = 503


@dataclass(frozen=True)
class Charts:
    """What the template of charts needs of a page that has nothing else."""

    figures: Sequence[Figure]
    marks: Sequence[Mapping[str, object]] = ()


@dataclass
class Site:
    """The answers of a store.

    Attributes:
        threads: so many pages, and as many queries, are worked on at once.
        is_followed: pages draw new intervals as they land, instead of saying that there are.
        warm: so many of the newest pages are kept ready, with those of their greatest objects.
        parts: system -> state of it and its part of the index.
        measured: file of a run and when it changed -> system of the run.
    """

    folder: Path
    settings: Settings
    threads: int
    warm: int = 0
    is_followed: bool = False
    cache: Cache = field(default_factory=Cache)
    parts: dict[str, tuple[object, IndexPart]] = field(default_factory=dict)
    measured: dict[tuple[str, object], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Pages and SQL have threads of their own: slow queries do not keep pages waiting."""
        self.pages, self.queries = Work(self.threads), Work(self.threads)
        self.changed = Changes(self.folder)

    def app(self) -> Starlette:
        """The application of all addresses."""
        index = partial(self._cached, "index", ("system", *SPAN))
        routes: list[tuple[str, Endpoint]] = [
            ("/", index),
            ("/index.html", index),
            ("/page", partial(self._cached, "page", WINDOW)),
            ("/object", partial(self._cached, "object", OBJECT)),
            ("/points", partial(self._cached, "points", (*WINDOW, *ZOOM))),
            ("/tables", partial(self._cached, "tables", ("table",))),
            ("/names", partial(self._cached, "names", ())),
            ("/objects", partial(self._cached, "objects", ("system",))),
            ("/explain", partial(self._cached, "explain", WINDOW)),
            ("/chart", partial(self._cached, "chart", (*CHART, *WINDOW))),
            ("/chart.{format}", self.download),
            ("/report.{format}", self.download),
            ("/changes", self.changes),
            ("/query", self.query),
            ("/query.{format}", self.file),
            (f"/{RUNTIME}", self.runtime),
        ]
        return Starlette(
            routes=[Route(path, _answering(made), methods=["GET"]) for path, made in routes],
            exception_handlers={404: _unknown_address, 500: _fault},
        )

    def cancel(self) -> None:
        """Cancels what is worked on, so that its requests end."""
        self.pages.cancel()
        self.queries.cancel()
        self.changed.close()

    def close(self) -> None:
        """Cancels what is worked on."""
        self.pages.close()
        self.queries.close()

    async def query(self, request: Request) -> Response:
        """The box for SQL, with the answer of its text; a link of another site only fills it."""
        answer, error, begun = None, None, time.monotonic()
        asked, is_foreign = Question(request.query_params.get("sql", "")), _is_foreign(request)
        try:
            asked = _question(request)
            if asked.sql.strip() and not is_foreign:
                answer = await self._asked(
                    asked, lambda parts, job: read_answer(parts, job.check), request
                )
        except CpmonError as raised:
            error = raised
        page = rendered(
            "query.html",
            asked=asked,
            answer=answer,
            error=error,
            filled=is_foreign,
            seconds=time.monotonic() - begun,
        )
        return _html(page, _status(error) if error else 200)

    async def file(self, request: Request) -> Response:
        """The answer of some SQL as a file."""
        format = request.path_params["format"]
        if format not in {*FILES, *PICTURES}:
            raise HTTPException(404)
        if _is_foreign(request):
            return await self.query(request)

        def write(parts: Iterator[pa.Table], job: Job) -> IO[bytes]:
            if format in PICTURES:
                return BytesIO(draw_answer(parts, job.check))
            return write_answer(parts, format, job.check)

        file = await self._asked(_question(request), write, request)
        headers = {"Content-Disposition": f'attachment; filename="answer.{format}"'}
        return StreamingResponse(_chunks(file), 200, headers, (FILES | PICTURES)[format])

    async def changes(self, request: Request) -> Response:
        """Events of the run or system of a page, as long as it is open."""
        chosen = selection(request.query_params, ("run", "system"))

        async def state() -> str:
            return await asyncio.to_thread(self._version, chosen)

        self.changed.check()
        events = self.changed.stream(state, request.query_params.get("known", ""))
        return StreamingResponse(events, media_type="text/event-stream")

    def _version(self, chosen: Mapping[str, str]) -> str:
        """The state of a selection, short enough for an address."""
        return sha256(repr(self._state_of(chosen)).encode()).hexdigest()[:16]

    async def download(self, request: Request) -> Response:
        """A chart or report as a file."""
        format = request.path_params["format"]
        if format not in {*FILES, *PICTURES}:
            raise HTTPException(404)
        chosen = selection(request.query_params, (*OBJECT, *CHART, "chart", "report"))

        def run(job: Job) -> IO[bytes]:
            return self._with(
                job, lambda con, job: write_download(con, chosen, self.settings, format, job.check)
            )

        file = await self.pages.run(run, request.is_disconnected)
        name = chosen.get("report") or chosen.get("chart") or "chart"
        headers = {"Content-Disposition": f'attachment; filename="{plain_name(name)}.{format}"'}
        return StreamingResponse(_chunks(file), 200, headers, (FILES | PICTURES)[format])

    async def runtime(self, _request: Request) -> Response:
        """The script that draws charts when a reader zooms; its name has its version."""
        return Response(await asyncio.to_thread(runtime), media_type="text/javascript")

    async def _asked(
        self,
        asked: Question,
        use: Callable[[Iterator[pa.Table], Job], Result],
        request: Request,
    ) -> Result:
        """Uses the answer of some SQL; it ends when its reader leaves, or after QUERY_S.

        Raises:
            CpmonError: the SQL is rejected or fails.
        """

        def run(job: Job) -> Result:
            return self._with(job, lambda con, job: use(ask(con, asked.sql, asked.values), job))

        return await self.queries.run(run, request.is_disconnected, limit_s=QUERY_S)

    async def _cached(self, kind: str, names: tuple[str, ...], request: Request) -> Response:
        """A page from the cache, or made for all who ask for it now.

        Once begun it is finished even if its readers leave: the next one gets it at once.

        Args:
            names: the parameters of the address that select it.
        """
        chosen = selection(request.query_params, names)
        packed = await self._packed(kind, chosen, request.is_disconnected)
        is_taken = "gzip" in request.headers.get("accept-encoding", "")
        # The policy is in the head of a page; 0 is all of it.
        page = zlib.decompressobj(wbits=GZIP).decompress(packed, 2**15 if is_taken else 0)
        is_data = kind in ("points", "objects", "names")
        answer = Response(page, media_type="application/json") if is_data else _html(page)
        answer.headers["Vary"] = "Accept-Encoding"
        if is_taken:
            answer.body = packed
            answer.headers["Content-Encoding"] = "gzip"
            answer.headers["Content-Length"] = str(len(packed))
        return answer

    async def _packed(self, kind: str, chosen: Mapping[str, str], gone: Gone) -> bytes:
        """A page, compressed: in memory it takes a tenth, and most readers take it as it is."""
        state = await asyncio.to_thread(self._state_of, chosen)
        address = f"{kind}?{urlencode(sorted(chosen.items()))}"
        make = {
            "index": self._index,
            "page": self._page,
            "object": self._object,
            "points": self._points,
            "objects": self._objects,
            "explain": self._explained,
            "chart": self._chart,
            "tables": tables_page,
            "names": self._names,
        }[kind]

        def with_job(job: Job) -> bytes:
            page = self._with(job, lambda con, _job: make(con, chosen))
            # By level 6 a page of 2 MB takes a tenth of it, in some 50 ms.
            return gzip.compress(page, 6, mtime=0)

        def run(is_left: Gone) -> Awaitable[bytes]:
            return self.pages.run(with_job, is_left, finishes=True)

        return await self.cache.get(address, state, run, gone)

    async def keep_warm(self) -> None:
        """Makes the newest pages before they are asked for, whenever the store has changed.

        One at a time, and only while no reader waits for a page.
        """
        done: object = None
        while self.warm:
            with suppress(CpmonError, OSError, duckdb.Error):  # a reader of that page is told
                state = await asyncio.to_thread(self._state)
                if state != done:
                    done = state
                    await self._make_newest(state)
            await asyncio.sleep(LOOK_S)

    async def _make_newest(self, state: object) -> None:
        async def stays() -> bool:  # nobody waits who could leave
            return False

        def list_newest(job: Job) -> list[tuple[str, dict[str, str]]]:
            return self._with(job, lambda con, _job: [*self._newest(con)])

        for kind, chosen in await self.pages.run(list_newest):
            while not self.pages.is_idle:
                await asyncio.sleep(POLL_S)
            if await asyncio.to_thread(self._state) != state:
                return
            with suppress(CpmonError, OSError, duckdb.Error):
                await self._packed(kind, chosen, stays)

    def _newest(self, con: Connection) -> Iterator[tuple[str, dict[str, str]]]:
        """Kind and selection of the pages to keep ready."""
        yield "index", {}
        found = self._windows(con, {})
        newest = sorted(found, key=lambda window: (window.last, window.first), reverse=True)
        for window in newest[: self.warm]:
            chosen = selected(page_address(window, {}))
            yield "page", chosen
            links = ObjectAddresses(window, chosen)
            for each in top_objects(con, window, WARM_OBJECTS, self.settings):
                yield "object", selected(links[each])

    def _state_of(self, chosen: Mapping[str, str]) -> object:
        """The state of what a selection depends on: of its system, else of the store."""
        system, run = chosen.get("system"), chosen.get("run")
        return self._state(system or (system_of_run(Store(self.folder), run) if run else None))

    def _state(self, system: str | None = None) -> object:
        """Changes when dumps, runs or classes of a system do, or of any if none is given.

        Results of `cpmon reduce` change no answer.
        """
        store = Store(self.folder)
        manifest = store.manifest
        runs = sorted((f.name, store.files.changed(f.name)) for f in store.files.below(RUNS))
        return (
            manifest.version if system is None else manifest.version_of(system),
            tuple(run for run in runs if system is None or self._is_of(system, store, run)),
            store.files.changed(CLASSES) if store.files.exists(CLASSES) else None,
        )

    def _is_of(self, system: str, store: Store, run: tuple[str, object]) -> bool:
        """Whether a file of a run, of which name and time are given, may be of a system."""
        if run not in self.measured:
            with suppress(OSError, UnreadableError):
                self.measured[run] = stored_run(store, run[0]).system
        return self.measured.get(run, system) == system

    def _with(self, job: Job, work: Callable[[Connection, Job], Result]) -> Result:
        """Does some work on a new connection.

        Raises:
            CpmonError: it cannot be done.
            ReaderLeft: it was cancelled.
        """
        try:
            limits = Limits(self.settings.memory_limit or MEMORY, self.settings.threads)
            site = SiteStore(self.folder, self.settings)
            with site.connect(limits.share(2 * self.threads)) as connection:
                job.use(connection)
                return work(connection, job)
        except Exception as error:  # noqa: BLE001 - raised as what it means
            job.check()
            raise memory_error(error) or storage_error(error) or error from None

    def _index(self, con: Connection, chosen: Mapping[str, str]) -> bytes:
        return index_page(self._parts(con, chosen), "query")

    def _parts(self, con: Connection, chosen: Mapping[str, str]) -> list[IndexPart]:
        """The parts of the index; those of whole systems that have not changed are known."""
        zone = find_zone(self.settings.timezone)
        known = {} if chosen else self.parts.copy()
        before = {system: self._state(system) for system in systems_of(con)}
        found = windows(con, None, chosen.get("system"), *span(chosen), systems=True)
        by_system = {name: [*same] for name, same in groupby(found, lambda each: each.system)}
        days = {
            name: self._days(con, same)
            for name, same in by_system.items()
            if name not in known or known[name][0] != before.get(name)
        }
        for name, own in days.items():
            links = [page_address(window, chosen) for window in own]
            known[name] = before.get(name), index_part(con, own, links, zone)
        if not chosen:
            self.parts = known
        return [known[name][1] for name in by_system]

    def _windows(self, con: Connection, chosen: Mapping[str, str]) -> list[Window]:
        """The runs of a selection, and the systems, by days."""
        found = windows(con, None, chosen.get("system"), *span(chosen), systems=True)
        return self._days(con, found)

    def _days(self, con: Connection, found: Sequence[Window]) -> list[Window]:
        zones = {each.system: find_zone(self.settings.zone(each.system)) for each in found}
        return [day for each in found for day in by_day(con, each, zones[each.system])]

    def _page(self, con: Connection, chosen: Mapping[str, str]) -> bytes:
        version = self._version(chosen)  # what lands from now on is newer
        window, zone = self._window(con, chosen)
        links = ObjectAddresses(window, chosen)
        content = read_content(con, window, zone, self.settings, links)
        about = served(con, window, chosen, zone, version)
        about = replace(about, is_followed=self.is_followed)
        return rendered("page.html", content=content, zone=zone, served=about)

    def _explained(self, con: Connection, chosen: Mapping[str, str]) -> bytes:
        return explained_page(con, chosen, self.settings)

    def _objects(self, con: Connection, chosen: Mapping[str, str]) -> bytes:
        return msgspec.json.encode(objects_of_system(con, chosen))

    def _chart(self, con: Connection, chosen: Mapping[str, str]) -> bytes:
        figures, about, zone = list[Figure](), Served(), find_zone(self.settings.zone(None))
        if "metric" in chosen:
            window, zone = self._window(con, chosen)
            figures = draw(con, chosen, self.settings).figures()
            about = Served(files=urlencode(chosen), span=clocks(window, zone))
        return rendered(
            "chart.html",
            content=Charts(figures),
            zone=zone,
            served=about,
            given=chosen,
            chosen=[*filter(None, chosen.get("metric", "").split(",")), ""],
            kinds=[*MAIN],
            metrics=metric_headings(),
            bases=[*BEFORE, *self._runs(con)],
        )

    def _names(self, con: Connection, _chosen: Mapping[str, str]) -> bytes:
        return msgspec.json.encode(table_columns(con))

    @staticmethod
    def _runs(con: Connection) -> list[str]:
        point(con, ALL)
        rows = con.execute("SELECT DISTINCT run_id FROM meta.run ORDER BY ALL").fetchall()
        return [str(run) for (run,) in rows]

    def _points(self, con: Connection, chosen: Mapping[str, str]) -> bytes:
        window, zone = self._window(con, chosen)
        begin, end = span(chosen, ZOOM)
        since = max(filter(None, (window.since, begin)), default=None)
        until = min(filter(None, (window.until, end)), default=None)
        part = chosen_window(con, chosen, since, until)
        return msgspec.json.encode(read_levels(con, part.span, window.span, part.step(), zone))

    def _object(self, con: Connection, chosen: Mapping[str, str]) -> bytes:
        kind, value = chosen_object(chosen)
        window, zone = self._window(con, chosen)
        trail = [("All pages", "index.html"), (window.title, page_address(window, chosen))]
        links = ObjectAddresses(window, chosen)
        about = Served(files=urlencode(chosen))
        return object_page(
            con, window, kind, value, zone, self.settings, trail, links, served=about
        )

    def _window(self, con: Connection, chosen: Mapping[str, str]) -> tuple[Window, ZoneInfo]:
        """The window that an address selects, and the zone of its times."""
        window = chosen_window(con, chosen, *span(chosen))
        return window, find_zone(self.settings.zone(window.system))


@dataclass(frozen=True)
class Question:
    """SQL of an address, and a value for each parameter that its comments declare."""

    sql: str
    params: tuple[Param, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict)


def _question(request: Request) -> Question:
    """The SQL of the box, or of a query by its name.

    Raises:
        CpmonError: there is no such query, or a parameter cannot be read.
    """
    given = request.query_params
    sql = query(given["name"]).sql if given.get("name") else given.get("sql", "")
    if len(sql) > LONGEST_SQL:
        raise CpmonError("the SQL is too long", expected=f"at most {LONGEST_SQL:,} characters")
    params = params_of("query", sql.strip())
    typed = {p.name: given[f"p_{p.name}"] for p in params if given.get(f"p_{p.name}")}
    return Question(sql, params, bound("query", params, typed))


def _is_foreign(request: Request) -> bool:
    """Whether a page of another site asks, or links here."""
    return bool(getattr(request.state, "is_foreign", False))


def _html(page: bytes, status: int = 200) -> Response:
    """A page, with its own content security policy as a header as well."""
    found = POLICY.search(page)
    # What is said of frames counts in a header only.
    own = f"{found[1].decode()}; frame-ancestors 'none'" if found else NOTHING
    headers = {"Content-Security-Policy": own}
    if status == BUSY:
        headers["Retry-After"] = "10"  # seconds
    return HTMLResponse(page, status, headers)


def _problem(error: CpmonError, status: int) -> Response:
    return _html(rendered("problem.html", error=error), status)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with closing(file):
        while chunk := file.read(2**18):
            yield chunk


def _status(error: CpmonError, *, is_of_address: bool = False) -> int:
    """The HTTP status of an error; what an address of a page names may not exist."""
    if isinstance(error, BusyError):
        return BUSY
    is_missing = isinstance(error, NothingToReportError) or error.code == "name-unknown"
    return 404 if is_of_address and is_missing else 400


def _answering(endpoint: Endpoint) -> Endpoint:
    """Shows errors of a user as a page."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ReaderLeft:
            return Response(status_code=499)  # nobody reads it
        except CpmonError as error:
            is_of_address = not request.url.path.startswith("/query")
            return _problem(error, _status(error, is_of_address=is_of_address))

    return answer


async def _unknown_address(request: Request, _: Exception) -> Response:
    place = request.url.path
    return _problem(
        CpmonError("no page has this address", code="address-unknown", found=place), 404
    )


async def _fault(_request: Request, _: Exception) -> Response:
    """The answer after a fault of cpmon; the server prints the traceback."""
    problem = "this is a fault of cpmon; whoever runs the server finds its traceback there"
    return _problem(CpmonError(problem, code="internal-fault"), 500)
