"""Runs the application of a store on an address, for those who may ask, until it is interrupted.

They name this machine as the host, come from no page of another site, and have the token.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from ..core.errors import CpmonError
from .site import NOTHING, Site

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_CONNECTIONS = 200
LEAVING_S = 5
"""Seconds that answers in progress have when the server ends."""


def serve(
    site: Site,
    say: Callable[[str], None],
    *,
    host: str,
    port: int,
    token: str = "",
    names: Sequence[str] = (),
    verbose: bool = False,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        say: receives the address, once connections are accepted, and lines of the log.
        port: 0 for any free one.
        token: required of every request, unless empty.
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
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=LEAVING_S,
        lifespan="off",
    )
    shown = f"[{host}]" if ":" in host else host
    say(f"http://{shown}:{port}/" + (f"?token={token}" if token else ""))
    try:
        _Server(config, site).run([listening])
    except KeyboardInterrupt:  # raised again by uvicorn once it has ended
        pass
    finally:
        site.close()
        listening.close()


class _Server(uvicorn.Server):
    """Cancels the work of all requests at the first signal, instead of waiting for it."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site
        self._background: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to answer, and to make the newest pages."""
        await super().startup(sockets)
        self._background = asyncio.create_task(self._site.keep_warm())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ends the server."""
        super().handle_exit(sig, frame)
        self._site.cancel()


COOKIE = "cpmon_token"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Access:
    """Refuses requests with the name of another host, of another site, or without the token.

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
                    self.log(f"{scope['method']} {scope['path']} {message['status']}")
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", NOTHING)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refused = self._refusal(Request(scope))
        await (refused or self.app)(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that must not reach the application; None if it may."""
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("only GET and HEAD: the store is read-only\n", 405)
        host = request.headers.get("host", "")  # perhaps with brackets and a port
        name = host[1:].partition("]")[0] if host[:1] == "[" else host.partition(":")[0].rstrip(".")
        if name.lower() not in self.hosts:
            return PlainTextResponse("this server has another name; see --allow-host\n", 421)
        site = request.headers.get("sec-fetch-site", "none")
        is_navigation = request.headers.get("sec-fetch-mode") == "navigate"
        if site not in ("none", "same-origin") and not is_navigation:
            return PlainTextResponse("a page of another site must not ask\n", 403)
        return self._without_token(request) if self.token else None

    def _without_token(self, request: Request) -> Response | None:
        """A refusal, or the redirection that moves the token from the address to a cookie."""
        in_address = request.query_params.get("token")
        if in_address is not None and self._matches(in_address):
            others = [(k, v) for k, v in request.query_params.multi_items() if k != "token"]
            # Relative, as a proxy may have put a path before it; and never to another host.
            last = request.url.path.rpartition("/")[2]
            place = f"./{last}" + (f"?{urlencode(others)}" if others else "")
            answer = RedirectResponse(place, 303)
            answer.set_cookie(COOKIE, self.token, httponly=True, samesite="lax")
            return answer
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        given = bearer.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
        if self._matches(given):
            return None
        text = "open the link with ?token=, or send the header Authorization: Bearer TOKEN\n"
        return PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})

    def _matches(self, given: str) -> bool:
        """Compares in constant time."""
        return hmac.compare_digest(given.encode(), self.token.encode())
