"""Who may ask: hosts, sites, tokens; what is logged; connections that wait. Without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from cpmon.config import Settings
from cpmon.serve import connections
from cpmon.serve.connections import MOST_CONNECTIONS, MOST_OF_ADDRESS, ReaderConnection
from cpmon.serve.server import HEADERS, LOOPBACK, Access
from cpmon.serve.site import Site
from tests.serve.conftest import Answer

pytestmark = pytest.mark.anyio
TOKEN = "t" * 24
LINK = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def ask(app: Any, path: str = "/", headers: dict[str, str] | None = None, **query: str):
    """The answer of an application to a request of this machine."""
    sent = {"host": "localhost:1", **(headers or {})}
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": urlencode(query).encode(),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
    }
    messages = list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(3600)
        return {}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    await app(scope, receive, send)
    raw = [(k.decode(), v.decode()) for k, v in messages[0]["headers"]]
    cookies = "\n".join(value for name, value in raw if name == "set-cookie")
    body = b"".join(message.get("body", b"") for message in messages[1:])
    return Answer(messages[0]["status"], {**dict(raw), "set-cookie": cookies}, body)


async def shows_origin(scope: Any, receive: Any, send: Any) -> None:
    text = f"foreign {Request(scope).state.is_foreign}"
    await PlainTextResponse(text)(scope, receive, send)


def access(token: str = "", log: Callable[[str], None] | None = None) -> Access:
    return Access(shows_origin, LOOPBACK, token, log)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    ("mode", "dest"),
    [
        *(("navigate", dest) for dest in ("iframe", "frame", "embed", "object", "fencedframe", "")),
        *((mode, "empty") for mode in ("cors", "no-cors", "same-origin", "websocket")),
        ("no-cors", "image"),
        ("no-cors", "script"),
        ("cors", "document"),
        ("", "document"),
    ],
)
async def test_a_page_of_another_site_asks_nothing_but_by_a_link(site: str, mode: str, dest: str):
    headers = {"sec-fetch-site": site}
    assert (await ask(access(), headers=headers | LINK)).text == "foreign True"
    fetched = {"sec-fetch-mode": mode, "sec-fetch-dest": dest}
    given = {name: value for name, value in fetched.items() if value}
    assert (await ask(access(), headers=headers | given)).status == 403


@pytest.mark.parametrize("site", ["none", "same-origin", ""])
async def test_pages_of_this_server_and_typed_addresses_are_answered(site: str):
    headers = {"sec-fetch-site": site} if site else {}
    assert (await ask(access(), headers=headers | LINK)).text == "foreign False"


@pytest.mark.parametrize("path", ["/query", "/query.csv", "/query.xlsx"])
async def test_a_link_of_another_site_fills_the_box_and_runs_nothing(path: str, tmp_path: Path):
    site = Site(tmp_path / "no store", Settings(), 2)  # SQL would fail for want of it
    app = Access(site.app(), LOOPBACK)
    sql = "select 4711 as secret"
    answer = await ask(app, path, LINK | {"sec-fetch-site": "cross-site"}, sql=sql)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert f">{sql}</textarea>" in answer.text
    assert "A link of another site has filled the box" in answer.text
    own = await ask(app, path, LINK | {"sec-fetch-site": "same-origin"}, sql=sql)
    assert own.status == 400
    assert "has filled the box" not in own.text
    site.close()


async def test_links_to_servers_without_tls_are_recognized_by_their_cookies():
    """Browsers send no Sec-Fetch-Site to them."""
    first = await ask(access(TOKEN), token=TOKEN)
    assert first.status == 303
    sent = dict(line.partition(";")[::2] for line in first.headers["set-cookie"].split("\n"))
    lax, strict = sorted(sent, key=lambda cookie: "strict" in sent[cookie].lower())
    assert "samesite=lax" in sent[lax].lower()
    assert all("httponly" in attributes.lower() for attributes in sent.values())
    assert (await ask(access(TOKEN), headers={"cookie": lax})).text == "foreign True"
    both = {"cookie": f"{lax}; {strict}"}
    assert (await ask(access(TOKEN), headers=both)).text == "foreign False"
    assert (await ask(access(TOKEN), headers={"cookie": strict})).status == 401
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert (await ask(access(TOKEN), headers=bearer)).text == "foreign False"


async def test_cookies_of_two_servers_of_a_host_have_names_of_their_own():
    """A cookie is for all ports of a host."""
    names = [
        {
            line.partition("=")[0]
            for line in (await ask(access(token), token=token)).headers["set-cookie"].split("\n")
        }
        for token in (TOKEN, "u" * 24)
    ]
    assert [len(each) for each in names] == [2, 2]
    assert not names[0] & names[1]


@pytest.mark.parametrize("odd", ["\n", "\r", "\x1b[2J", "\u2028", "\u202e"])
async def test_an_address_forges_no_line_of_the_log(odd: str):
    lines = list[str]()
    await ask(access(log=lines.append), f"/x{odd}GET /forged 200")
    (line,) = lines
    assert odd not in line
    assert line.isprintable()


async def test_each_answer_has_all_headers_whoever_asks():
    foreign = {"sec-fetch-site": "cross-site"}
    for answer in (
        await ask(access()),
        await ask(access(TOKEN)),
        await ask(access(), "/", foreign),
    ):
        headers = {name.lower() for name in answer.headers}
        assert headers >= {name.lower() for name in HEADERS}
        assert "content-security-policy" in headers
        assert "server" not in headers


class Transport(asyncio.Transport):
    """A connection from an address, without a network."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 1), "sockname": ("127.0.0.1", 1)})
        self.closed = self.aborted = False

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


class Readers:
    """The connections of a server that nobody asks."""

    def __init__(self) -> None:
        self.config, self.state = uvicorn.Config(shows_origin, http=ReaderConnection), ServerState()

    def connect(self, address: str) -> tuple[ReaderConnection, Transport]:
        connection = ReaderConnection(self.config, self.state, {})
        transport = Transport(address)
        connection.connection_made(transport)
        return connection, transport


async def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "REQUEST_S", 0.05)
    silent, transport = Readers().connect("127.0.0.1")
    silent.data_received(b"GET / HTTP/1.1\r\n")  # and slow ones
    await asyncio.sleep(0.3)
    assert transport.closed


async def test_an_answer_that_is_not_taken_is_dropped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "STALLED_S", 0.05)
    readers = Readers()
    slow, of_slow = readers.connect("127.0.0.1")
    taking, of_taking = readers.connect("127.0.0.1")
    for connection in (slow, taking):
        connection.pause_writing()
    taking.resume_writing()
    monkeypatch.setattr(connections, "REQUEST_S", 0.05)
    _, of_last = readers.connect("127.0.0.1")
    await asyncio.sleep(0.3)
    assert of_slow.aborted
    assert not of_taking.aborted
    assert of_last.closed and of_last.aborted, "closing waits for a reader of the last answer"


async def test_too_many_connections_close_those_that_wait_for_longest():
    readers = Readers()
    made = [readers.connect("127.0.0.1")[1] for _ in range(MOST_CONNECTIONS + 5)]
    assert [transport.closed for transport in made[:6]] == [True] * 6
    assert not any(transport.closed for transport in made[6:])


async def test_an_address_of_elsewhere_has_half_of_the_connections():
    readers = Readers()
    mine = [readers.connect("192.0.2.1") for _ in range(MOST_OF_ADDRESS)]
    _, other = readers.connect("192.0.2.2")
    for connection, _ in mine:
        connection.data_received(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    _, refused = readers.connect("192.0.2.1")
    assert refused.closed
    assert not other.closed
    assert not any(transport.closed for _, transport in mine)
    for task in readers.state.tasks:
        task.cancel()
