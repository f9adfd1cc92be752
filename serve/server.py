"""Runs the application of a store on an address until it is interrupted."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from types import FrameType

import uvicorn

from ..core.errors import CpmonError
from .access import LOOPBACK, Access
from .site import Site

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
