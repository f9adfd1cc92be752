"""A server that does not start: what the message says helps."""

from __future__ import annotations

import socket
from functools import partial
from pathlib import Path

import pytest

from cpmon.cli.shell import serve_command
from cpmon.core.errors import CpmonError
from cpmon.serve import answer, server
from tests.remedies.trying import Attempt, tries


@pytest.fixture
def _ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.uvicorn.Server, "run", lambda *_: None)


@tries("address-not-usable")
@pytest.mark.usefixtures("_ends_at_once")
def test_another_port_is_free(tried: Attempt, landed: Path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        tried.fails("serve", "--store", landed, "--port", port)
        tried.works("serve", "--store", landed, "--port", 0)


@tries("token-not-usable")
@pytest.mark.usefixtures("_ends_at_once")
def test_a_token_is_long_enough(tried: Attempt, landed: Path, tmp_path: Path):
    file = tmp_path / "token"
    words = ("serve", "--store", landed, "--port", 0, "--token-file", file)
    file.write_text("short")
    tried.fails(*words)
    file.write_text("0123456789abcdef" * 3)
    tried.works(*words)


@tries("serve-extra-missing")
@pytest.mark.usefixtures("_ends_at_once")
def test_the_extra_is_installed(tried: Attempt, landed: Path, monkeypatch: pytest.MonkeyPatch):
    words = ("serve", "--store", landed, "--port", 0)
    with monkeypatch.context() as without:
        without.setattr(serve_command, "find_spec", lambda _: None)
        tried.fails(*words)
    tried.works(*words)


@tries("answer-too-large")
def test_a_large_answer_is_written_by_query(
    tried: Attempt, landed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import pyarrow as pa

    monkeypatch.setattr(answer, "MOST_BYTES", 10)
    with pytest.raises(CpmonError, match="too large"):
        answer.write_answer([pa.table({"n": range(100)})], "csv", lambda: None)
    tried.works("query", "from range(100)", "--store", landed, "-o", tmp_path / "n.csv")


@tries("answer-not-writable")
def test_an_answer_without_room_is_written_by_query(
    tried: Attempt, landed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import pyarrow as pa

    monkeypatch.setattr(answer, "TemporaryFile", partial(Path("/dev/full").open, "r+b"))
    for format in answer.FILES:
        with pytest.raises(CpmonError, match="no room"):
            answer.write_answer([pa.table({"n": range(100_000)})], format, lambda: None)
    tried.works("query", "from range(100)", "--store", landed, "-o", tmp_path / "n.csv")
