"""A server of its own process over a store, and a client that asks it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pytest

ROOT = Path(__file__).resolve().parents[2]


AT = ("--port", "0", "--warm", "0")
"""Any free port, and nothing that works in the background of a test."""


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Server:
    process: subprocess.Popen[str]
    url: str
    """With the token, if there is one."""

    @property
    def base(self) -> str:
        return self.url.partition("?")[0]

    def get(self, path: str, headers: dict[str, str] | None = None, **query: str) -> Answer:
        address = f"{self.base}{path}" + (f"?{urlencode(query)}" if query else "")
        request = Request(address, headers=headers or {})
        try:
            with build_opener(_NoRedirect).open(request, timeout=300) as answer:
                return Answer(answer.status, dict(answer.headers), answer.read())
        except HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read())

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


Start = Callable[..., Server]


@pytest.fixture(scope="session")
def store(perf: Path) -> Path:
    """The reduced store that servers show."""
    return perf


@contextmanager
def servers() -> Iterator[Start]:
    """Starts servers, which end with the context."""
    started: list[Server] = []

    def begin(store: Path, *words: str, **environment: str) -> Server:
        process = subprocess.Popen(
            [sys.executable, "-m", "cpmon", "serve", "--store", store, *AT, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        assert process.stdout
        started.append(Server(process, process.stdout.readline().strip()))
        return started[-1]

    try:
        yield begin
    finally:
        for server in started:
            if server.process.poll() is None:
                server.process.kill()
            server.process.communicate()


@pytest.fixture
def start() -> Iterator[Start]:
    with servers() as begin:
        yield begin


@pytest.fixture(scope="session")
def server(store: Path) -> Iterator[Server]:
    """A server without a token, for tests that leave it as it is."""
    with servers() as begin:
        yield begin(store)
