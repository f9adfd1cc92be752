"""A server over a store: its pages, SQL, who may ask, and how work ends."""

from __future__ import annotations

import gzip
import io
import os
import re
import signal
import socket
import threading
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import date
from hashlib import sha256
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import polars
import pytest

from cpmon.cli.main import Status, run
from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.serve.connections import MOST_CONNECTIONS
from cpmon.serve.work import MOST_WAITING
from cpmon.store import Store
from cpmon.store.format.compaction import compact, months
from cpmon.store.results.reduced import LEVELS
from cpmon.store.results.retention import Retention, plan, prune
from tests.serve.conftest import ROOT, Answer, Server, Start
from tests.waiting import wait_until

SLOW = "select sum(a.range * b.range) from range(100000) a, range(10000000) b"


@pytest.mark.slow
def test_the_index_links_to_pages_that_are_those_of_report_html(server: Server):
    index = server.get("")
    assert index.status == 200
    assert 'href="page?run=2600NP"' in index.text
    assert 'href="page?system=' in index.text
    assert 'href="query"' in index.text
    page = server.get("page", run="2600NP")
    assert page.status == 200
    assert "Run 2600NP" in page.text
    assert "PROCESSORS_BY_TIME" in page.text


@pytest.mark.slow
def test_a_system_with_runs_and_a_span_have_pages(server: Server):
    of_run = server.get("page", run="2600NP").text
    system = of_run.partition("System ")[2].partition(",")[0]
    whole = server.get("page", system=system)
    assert whole.status == 200
    assert f"<h1>System {system}</h1>" in whole.text
    none = server.get("page", system=system, since="1990-01-01", until="1990-01-02")
    assert none.status == 404
    assert "no measured interval" in none.text
    assert server.get("page", run="nosuch").status == 404
    assert server.get("page", run="2600NP", since="<b>").text.count("<b>") == 0


@pytest.mark.slow
def test_tables_link_to_pages_of_objects_and_every_link_is_answered(server: Server):
    page = server.get("page", run="2600NP", since="2001-11-13T14:00").text
    links = {unescape(href) for href in re.findall(r'href="(object[^"]+)', page)}
    kinds = {parse_qs(href)["kind"][0]: href for href in links}
    assert {*kinds} >= {"user", "device", "cpu", "partition"}
    for href in kinds.values():
        answer = server.get(href)
        assert answer.status == 200, answer.text
        assert 'href="page?run=2600NP&amp;since=2001-11-13T14%3A00%3A01"' in answer.text
    user = server.get("object", run="2600NP", kind="user", name="LINUX186")
    assert "<h1>User LINUX186</h1>" in user.text
    assert user.text.count("<figure") > 1


@pytest.mark.parametrize(
    ("kind", "name", "status"),
    [
        ("user", "NOBODY", 404),
        ("user", "LINUX*", 400),
        ("user", "", 400),
        ("device", "<b>", 400),
        ("cpu", "9" * 30, 400),
        ("class", "nosuch", 404),
        ("table", "x", 400),
    ],
)
def test_an_address_names_one_object_that_there_is(
    server: Server, kind: str, name: str, status: int
):
    answer = server.get("object", run="2600NP", kind=kind, name=name)
    assert answer.status == status
    assert "<b>" not in answer.text


def test_a_page_has_the_runtime_of_its_charts_beside_it(server: Server):
    page = server.get("page", run="2600NP").text
    (address,) = re.findall('data-runtime="([^"]*)"', page)
    script = server.get(address)
    assert script.status == 200
    assert script.headers["content-type"].startswith("text/javascript")
    assert "vegaEmbed" in script.text


def test_pages_run_no_script_but_the_one_that_their_policy_names(server: Server):
    for path, query in (("", {}), ("page", {"run": "2600NP"}), ("query", {"sql": "select 1"})):
        answer = server.get(path, **query)
        policy = answer.headers["content-security-policy"]
        (script,) = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
        named = b64encode(sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{named}'" in policy
        assert "default-src 'none'" in policy
        assert ("form-action 'self'" in policy) == (path != "")
        assert "connect-src 'self'" in policy
        assert ("'self' file:" in policy) == (path == "page")
    file = server.get("query.csv", sql="select 1")
    assert "script-src" not in file.headers["content-security-policy"]


def test_sql_has_rows_a_chart_and_files(server: Server):
    sql = "select interval_end, total_util from system_summary_by_time order by all"
    page = server.get("query", sql=sql)
    assert page.status == 200
    assert '<th scope="col"><button type="button">total_util' in page.text
    assert 'aria-labelledby="answer-title' in page.text
    csv = polars.read_csv(io.BytesIO(server.get("query.csv", sql=sql).body))
    sheet = server.get("query.xlsx", sql=sql)
    assert csv.columns == ["interval_end", "total_util"]
    assert csv.height > 3
    assert f"{csv.height} rows" in page.text
    assert sheet.body[:2] == b"PK"
    assert "attachment" in sheet.headers["content-disposition"]


def test_of_many_rows_the_first_are_shown_and_all_are_counted(server: Server):
    page = server.get("query", sql="select range as n from range(2500)")
    assert "2,500 rows, of which the first 1,000 are shown" in page.text
    assert page.text.count("<tr><td>") == 1000
    assert server.get("query.csv", sql="select range from range(2500)").body.count(b"\n") == 2501
    assert "More than 1,000,000 rows" in server.get("query", sql="from range(3000000)").text


def test_markup_in_sql_and_values_is_text(server: Server):
    sql = "select '<script>alert(1)</script>' as \"</textarea><b>\""
    page = server.get("query", sql=sql)
    assert page.status == 200
    assert "<script>alert" not in page.text
    assert "</textarea><b>" not in page.text


@pytest.mark.parametrize(
    "sql",
    [
        "attach '/tmp/x.db' as x",
        "copy (select 1) to '/tmp/copied-by-serve.csv'",
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        "create table x as select 1",
        "set memory_limit = '100GB'",
        "select 1; select 2",
        "select getenv('PATH')",
        "select * from nosuch",
    ],
)
def test_sql_is_sandboxed_as_that_of_query(server: Server, sql: str):
    for place in ("query", "query.csv"):
        answer = server.get(place, sql=sql)
        assert answer.status == 400
        assert 'role="alert"' in answer.text
        assert "root:" not in answer.text
    assert not Path("/tmp/copied-by-serve.csv").exists()


def test_memory_of_sql_is_limited_by_the_settings(start: Start, store: Path, tmp_path: Path):
    (tmp_path / "cpmon.toml").write_text('memory_limit = "400MB"\n')
    server = start(store, "--config", str(tmp_path / "cpmon.toml"))
    answer = server.get("query", sql="select list(range) from range(100000000)")
    assert answer.status == 400
    assert "memory" in answer.text
    assert server.get("query", sql="select 1").status == 200
    chart = server.get("query", sql="select interval_end, total_util from system_summary_by_time")
    assert chart.status == 200
    assert 'aria-labelledby="answer-title' in chart.text


def test_a_reason_quotes_the_beginning_of_a_value(server: Server):
    answer = server.get("query", sql="select cast(repeat('x', 1000000) as int)")
    assert answer.status == 400
    assert len(answer.body) < 100_000


def test_other_hosts_sites_and_methods_are_refused(server: Server):
    assert server.get("", {"Host": "evil.example"}).status == 421
    assert server.get("", {"Host": "127.0.0.1.evil.example:80"}).status == 421
    assert server.get("", {"Host": "localhost:1"}).status == 200
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert server.get("query", embedded, sql="select 1").status == 403
    headers = server.get("").headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


@pytest.mark.slow
def test_another_address_requires_the_token_that_is_printed(start: Start, store: Path):
    server = start(store, "--host", "0.0.0.0")
    server.url = server.url.replace("0.0.0.0", "127.0.0.1")
    token = server.url.partition("token=")[2]
    assert len(token) >= 16
    assert server.get("").status == 401
    assert server.get("", {"Authorization": "Bearer no"}).status == 401
    assert server.get("", {"Authorization": f"Bearer {token}"}).status == 200
    first = server.get("page", run="2600NP", token=token)
    assert (first.status, first.headers["location"]) == (303, "./page?run=2600NP")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert server.get("", {"Cookie": cookie.partition(";")[0]}).status == 200
    assert server.get("/evil.example", token=token).headers["location"] == "./evil.example"


def test_a_given_token_is_required_on_loopback_too_and_not_printed(
    start: Start, store: Path, tmp_path: Path
):
    server = start(store, CPMON_TOKEN="a" * 24)
    assert "token" not in server.url
    assert server.get("").status == 401
    assert server.get("", {"Authorization": f"Bearer {'a' * 24}"}).status == 200
    file = tmp_path / "token"
    file.write_text("c" * 24)
    for mode, is_warned in ((0o640, True), (0o604, True), (0o600, False)):
        file.chmod(mode)
        server = start(store, "--token-file", str(file))
        assert "token" not in server.url
        assert server.stop() == 0
        assert server.process.stderr
        assert ("others can read the token" in server.process.stderr.read()) == is_warned


def test_silent_connections_keep_nobody_away(server: Server):
    place = urlsplit(server.base)
    with ExitStack() as silent:
        for _ in range(MOST_CONNECTIONS + 20):
            address = (place.hostname, place.port)
            silent.enter_context(socket.create_connection(address, timeout=60))
        assert server.get("query", sql="select 1").status == 200


def _open(server: Server, sql: str) -> socket.socket:
    """A reader that has asked and does not read yet."""
    place = urlsplit(server.base)
    reader = socket.create_connection((place.hostname, place.port), timeout=60)
    reader.sendall(f"GET /query?sql={quote(sql)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return reader


def test_pages_are_compressed_for_readers_who_take_it(server: Server):
    plain = server.get("page", run="2600NP")
    packed = server.get("page", {"Accept-Encoding": "gzip, br"}, run="2600NP")
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.body) < len(plain.body) / 3
    assert gzip.decompress(packed.body) == plain.body
    assert plain.headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in plain.headers
    policy = "content-security-policy"
    assert packed.headers[policy] == plain.headers[policy]


def _cpu_seconds(server: Server) -> float:
    text = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(text[11]) + int(text[12])) / os.sysconf("SC_CLK_TCK")


def _works(server: Server, seconds: float = 1.0) -> bool:
    """Whether the server uses more than a fifth of a processor."""
    before = _cpu_seconds(server)
    time.sleep(seconds)
    return _cpu_seconds(server) - before > seconds / 5


def test_a_query_ends_when_its_reader_leaves(server: Server):
    assert server.get("query", sql="select 1").status == 200
    with _open(server, SLOW):
        wait_until(lambda: _works(server))
    wait_until(lambda: not _works(server))


def _answer(server: Server, status: int) -> Answer:
    """The answer of some SQL once it has a status: that readers come and leave takes a while."""

    def asked() -> Answer | None:
        answer = server.get("query", sql="select 1")
        return answer if answer.status == status else None

    answer = wait_until(asked)
    assert answer
    return answer


def test_a_full_queue_refuses_for_a_while_and_those_who_left_free_it(server: Server):
    threads = max(2, os.cpu_count() or 1)
    with ExitStack() as readers:
        for _ in range(threads + MOST_WAITING):
            readers.enter_context(_open(server, SLOW))
        refused = _answer(server, 503)
        assert int(refused.headers["retry-after"]) > 0
        assert "server-busy" in refused.text
        assert refused.headers["x-content-type-options"] == "nosniff"
        assert server.get("").status == 200  # pages have threads of their own
    _answer(server, 200)


def test_an_unknown_address_is_answered_by_a_page(server: Server):
    for path in ("nosuch", "query.txt", "page/../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd"):
        answer = server.get(path)
        assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert 'role="alert"' in answer.text
        assert "address-unknown" in answer.text
    assert "name-unknown" in server.get("page", run="nosuch").text


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_and_its_slow_query(
    start: Start, store: Path, tmp_path: Path, number: int
):
    server = start(store, XDG_CACHE_HOME=str(tmp_path))
    with _open(server, SLOW):
        wait_until(lambda: [*tmp_path.glob("cpmon/spill-*")])
        wait_until(lambda: _works(server))
        assert server.stop(number) == 0
    assert server.process.stderr
    assert "Traceback" not in server.process.stderr.read()
    assert not [*tmp_path.glob("cpmon/spill-*")]


@pytest.mark.slow
def test_twenty_readers_get_answers_while_a_store_grows(start: Start, tmp_path: Path):
    """Each answer counts the dumps of one state of the store."""
    dumps = sorted((ROOT / "sample-data" / "timer").glob("*.mon.zst"))
    store = Store(tmp_path / "store", create=True)
    ingest(dumps[0], store)
    server = start(tmp_path / "store")
    sql = "select (select count(*) from meta.dump) as a, (select count(*) from meta.dump) as b"

    def read(n: int) -> list[bytes]:
        places = [("query.csv", {"sql": sql}), ("", {})]
        answers = [server.get(path, **query) for path, query in places * 3]
        assert {answer.status for answer in answers} == {200}, [a.text for a in answers]
        return [answer.body for answer in answers[::2]]

    with ThreadPoolExecutor(20) as pool:
        readers = [pool.submit(read, n) for n in range(20)]
        for dump in dumps[1:]:
            ingest(dump, store)
        counts = {body for reader in readers for body in reader.result()}
    assert counts <= {f"a,b\n{n},{n}\n".encode() for n in range(1, len(dumps) + 1)}
    assert server.get("query.csv", sql=sql).body.endswith(f"{len(dumps)},{len(dumps)}\n".encode())
    pages = set(re.findall(r'href="(page\?run=[^"#]+)', server.get("").text))
    assert len(pages) == len(dumps)


@pytest.mark.slow
def test_figures_stay_the_same_while_a_store_is_reduced_merged_and_pruned(
    start: Start, tmp_path: Path
):
    store = Store(tmp_path / "store", create=True)
    # Two of a month and one of a later one, without run files: what runs are measured on stays.
    parts = (("2600NP", "--until", "14:01"), ("2600NP", "--since", "14:01"), ("3600P1",))
    for name, *span in parts:
        whole, dump = ROOT / "sample-data" / "timer" / f"{name}.mon.zst", tmp_path / "part.mon"
        assert run(["slice", str(whole), *span, "-o", str(dump)]) is Status.DONE
        ingest(dump, store)
    server, done = start(store.root), threading.Event()
    sql = "select interval_end, total_util from system_summary_by_time order by all"

    def read() -> set[bytes]:
        bodies, is_last = set[bytes](), False
        while not is_last:
            is_last = done.is_set()  # once more when all is done
            answer = server.get("query.csv", sql=sql)
            assert answer.status == 200, answer.text
            bodies.add(answer.body)
        return bodies

    before = server.get("query.csv", sql=sql).body
    assert before.count(b"\n") > 3
    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        try:
            reduce(store, (), Settings())
            assert compact(store, months(store)).dumps == 2
            aged = Retention(dict.fromkeys(LEVELS), raw=1)
            prune(store, plan(store, reductions(), aged, date(2003, 1, 1)))
        finally:
            done.set()
        assert {body for reader in readers for body in reader.result()} == {before}
    assert [dump.pruned for dump in store.dumps()] == [True] * 3


@pytest.mark.slow
def test_requests_are_printed_with_verbose_only_and_without_the_token(start: Start, store: Path):
    quiet, loud = start(store), start(store, "--verbose", CPMON_TOKEN="b" * 24)
    quiet.get("")
    loud.get("query", token="b" * 24)
    for server in (quiet, loud):
        server.stop()
    assert quiet.process.stdout
    assert quiet.process.stdout.read() == ""
    assert loud.process.stdout
    assert loud.process.stdout.read() == "GET /query 303\n"
