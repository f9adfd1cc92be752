"""Runs the application of a store on an address, for those who may ask, until it is interrupted.

They name this machine as the host, come from no page of another site but by a link, and have the
token.
"""

from __future__ import annotations

import asyncio
import hmac
import signal
import socket
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from ..core.errors import CpmonError
from ..core.text import one_line
from .connections import MOST_CONNECTIONS, ReaderConnection
from .site import NOTHING, Site

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LEAVING_S = 5
"""Seconds that answers in progress have when the server ends."""


def serve(
    site: Site,
    say: Callable[[str], None],
    *,
    host: str,
    port: int,
    token: str = "",
    is_token_shown: bool = False,
    names: Sequence[str] = (),
    verbose: bool = False,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        say: receives the address, once connections are accepted, and lines of the log.
        port: 0 for any free one.
        token: required of every request, unless empty.
        is_token_shown: the address is printed with the token, which nobody else knows.
        names: further names of this machine in addresses.
        verbose: log a line for each request, without what is behind `?`, which may have the token.

    Raises:
        CpmonError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=MOST_CONNECTIONS)
    except (OSError, OverflowError) as error:
        raise CpmonError(
            "the address cannot be listened on",
            code="address-not-usable",
            place=f"{host}, port {port}",
            found=str(error),
            remedy="name another one by --host or --port; --port 0 takes any free port",
        ) from None
    port = listening.getsockname()[1]
    hosts = {*LOOPBACK, host.lower(), *(name.lower() for name in names)}
    config = uvicorn.Config(
        Access(site.app(), hosts, token, say if verbose else None),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=ReaderConnection,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=LEAVING_S,
        lifespan="off",
    )
    shown = f"[{host}]" if ":" in host else host
    try:
        say(f"http://{shown}:{port}/" + (f"?token={token}" if is_token_shown else ""))
        _Server(config, site).run([listening])
    except KeyboardInterrupt:  # before uvicorn handles signals
        pass
    finally:
        site.close()
        listening.close()


class _Server(uvicorn.Server):
    """Cancels the work of all requests at the first signal, instead of waiting for it.

    It returns then: uvicorn would raise the signal again, and SIGTERM would end the process before
    it has removed what it has written.
    """

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site
        self._background: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to answer, and to make the newest pages."""
        await super().startup(sockets)
        self._background = asyncio.create_task(self._site.keep_warm())

    def handle_exit(self, sig: int, _frame: FrameType | None) -> None:
        """Ends the server; at the second SIGINT at once."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        self._site.cancel()


HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Permitted-Cross-Domain-Policies": "none",
    "Cache-Control": "no-store",
}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Access:
    """Refuses requests with the name of another host, of another site, or without the token.

    Of another site a link may be followed, which `is_foreign` in the state of its request marks.

    Attributes:
        app: the application behind it.
        hosts: accepted names in the header Host, without port. A name of another site that
            resolves to this machine (DNS rebinding) is none of them.
        token: required of every request, unless empty.
        log: receives a line for each request, without what is behind `?`: it may be the token.
    """

    app: ASGIApp
    hosts: Collection[str]
    token: str = ""
    log: Callable[[str], None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                if self.log is not None:
                    self.log(f"{scope['method']} {one_line(scope['path'])} {message['status']}")
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", NOTHING)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        request = Request(scope)
        request.state.is_foreign = self._is_foreign(request)
        refused = self._refusal(request)
        await (refused or self.app)(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that must not reach the application; None if it may."""
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("only GET and HEAD: the store is read-only\n", 405)
        host = request.headers.get("host", "")  # perhaps with brackets and a port
        name = host[1:].partition("]")[0] if host[:1] == "[" else host.partition(":")[0].rstrip(".")
        if name.lower() not in self.hosts:
            return PlainTextResponse("this server has another name; see --allow-host\n", 421)
        fetched = [request.headers.get(f"sec-fetch-{name}") for name in ("mode", "dest")]
        is_reported = "sec-fetch-site" in request.headers
        if is_reported and request.state.is_foreign and fetched != ["navigate", "document"]:
            return PlainTextResponse("a page of another site must not ask\n", 403)
        return self._without_token(request) if self.token else None

    def _is_foreign(self, request: Request) -> bool:
        """Whether a page of another site asks, or links here.

        Browsers report it to servers on this machine and those with TLS; to others they only send
        the cookie of links, and not that of a page of this server.
        """
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            return site not in ("none", "same-origin")
        return self.cookie in request.cookies and f"{self.cookie}_own" not in request.cookies

    @property
    def cookie(self) -> str:
        """The name of the cookie; cookies of a host are for servers on all of its ports."""
        return f"cpmon_{sha256(self.token.encode()).hexdigest()[:8]}"

    def _without_token(self, request: Request) -> Response | None:
        """A refusal, or the redirection that moves the token from the address to a cookie."""
        in_address = request.query_params.get("token")
        if in_address is not None and self._matches(in_address):
            others = [(k, v) for k, v in request.query_params.multi_items() if k != "token"]
            # Relative, as a proxy may have put a path before it; and never to another host.
            last = request.url.path.rpartition("/")[2]
            place = f"./{last}" + (f"?{urlencode(others)}" if others else "")
            answer = RedirectResponse(place, 303)
            # For the folder of this address alone: a proxy may have others beside it.
            answer.set_cookie(self.cookie, self.token, path=None, httponly=True, samesite="lax")
            own = f"{self.cookie}_own"
            answer.set_cookie(own, "1", path=None, httponly=True, samesite="strict")
            return answer
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        given = (
            bearer.strip() if scheme.lower() == "bearer" else request.cookies.get(self.cookie, "")
        )
        if self._matches(given):
            return None
        text = "open the link with ?token=, or send the header Authorization: Bearer TOKEN\n"
        return PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})

    def _matches(self, given: str) -> bool:
        """Compares in constant time."""
        return hmac.compare_digest(given.encode(), self.token.encode())
