"""Connections of readers: how many there are, and how long they may wait for a request."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MOST_CONNECTIONS = 200
MOST_OF_ADDRESS = MOST_CONNECTIONS // 2
"""Connections of one address of another machine. Those of this machine may be a proxy's."""
STALLED_S = 60
"""Seconds for an answer whose reader takes less than some 50 kB of it in them."""
REQUEST_S = 10
"""Seconds in which a request has to arrive, from the connection or the answer before on."""


class ReaderConnection(H11Protocol):
    """A connection that is closed if its request takes too long, or if others need its place.

    It is also if its reader does not take the answer, which would hold the place for ever.

    Where there are too many connections, of all or of one address, the one that waits for its
    request for longest is closed. So silent ones keep nobody else away.
    """

    since = 0.0
    """When it began to wait for a request, by the clock of the loop."""
    _late: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether no request is being answered."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for a request; closes another connection if there are too many."""
        super().connection_made(transport)
        self._wait()
        others = cast("set[ReaderConnection]", self.connections) - {self}
        own = {other for other in others if other.address == self.address}
        if not _is_of_this_machine(self.address) and len(own) >= MOST_OF_ADDRESS:
            _close_one(own, self)
        elif len(others) >= MOST_CONNECTIONS - 1:  # with one more, uvicorn answers 503
            _close_one(others, None)

    def on_response_complete(self) -> None:
        """Waits for the next request."""
        self._wait()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Begins to wait for the reader, who has much of the answer to take."""
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Goes on, as the reader has taken some."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits no longer."""
        for timer in (self._late, self._stalled):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    @property
    def address(self) -> str:
        """The address of the other end; empty if it is unknown."""
        return self.client[0] if self.client else ""

    def _wait(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self.since = self.loop.time()
        self._late = self.loop.call_later(REQUEST_S, self._end_waiting)

    def _end_waiting(self) -> None:
        if self.waits:
            self.transport.close()  # which waits until the reader has taken the last answer
            self._stalled = self.loop.call_later(STALLED_S, self.transport.abort)


def _close_one(connections: set[ReaderConnection], last: ReaderConnection | None) -> None:
    """Closes the connection that waits for longest; the last one if none of them waits."""
    waiting = [each for each in connections if each.waits and not each.transport.is_closing()]
    closed = min(waiting, key=lambda each: each.since, default=last)
    if closed is not None:
        closed.transport.close()


def _is_of_this_machine(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:  # of a socket without addresses
        return True
