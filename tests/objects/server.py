"""An S3 server on loopback (`tools/s3_server.sh` builds it): it keeps objects in a folder."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote

BINARY = Path(__file__).resolve().parents[2] / "build" / "versitygw-v1.8.0" / "versitygw"
BUCKET = "perf"
KEY, SECRET = "tests", "tests-secret"
LINE = re.compile(
    r"(\d{3}) \| +\S+ \| 127\.0\.0\.1 \| ([A-Z]+) +\| "
    rf"(/{BUCKET}[^|\n]*) \| [^|\n]* \| ([^|\n]*)"
)
"""A request in the log: status, method, path and query. Times of several requests that end at once
run together at the beginning of a line, so nothing is expected before the status."""


@dataclass(frozen=True)
class Request:
    """What was asked of the server: GET, PUT, ...; LIST for what lists names below one."""

    method: str
    name: str
    status: int


@dataclass(frozen=True)
class Server:
    """A server with a bucket.

    Attributes:
        url: of the server. log: file with a line for each request.
    """

    url: str
    log: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to reach it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def requests(self) -> list[Request]:
        """All so far, in order of their ends."""
        return [_request(*parts) for parts in LINE.findall(self.log.read_text(encoding="utf-8"))]


def _request(status: str, method: str, path: str, query: str) -> Request:
    asked = parse_qs(query)
    if "list-type" in asked:
        return Request("LIST", asked.get("prefix", [""])[0], int(status))
    return Request(method, unquote(path).removeprefix(f"/{BUCKET}").lstrip("/"), int(status))


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """A server whose objects, and whose log, are in a folder."""
    (folder / "objects" / BUCKET).mkdir(parents=True)
    (folder / "metadata").mkdir()
    port = _free_port()
    command = [str(BINARY), "--port", f"127.0.0.1:{port}", "--access", KEY, "--secret", SECRET]
    backend = ["posix", "--sidecar", str(folder / "metadata"), str(folder / "objects")]
    log = folder / "log"
    with (
        log.open("wb") as output,
        subprocess.Popen([*command, *backend], stdout=output, stderr=output) as process,
    ):
        try:
            _wait(port, process)
            yield Server(f"http://127.0.0.1:{port}", log)
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(3600):
        assert process.poll() is None, "the server has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server does not answer")
