"""A command line run in this process."""

from __future__ import annotations

import io

import pytest

from cpmon.cli.main import run
from tests.cli.answer import Answer, Cpmon


@pytest.fixture
def cpmon(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Cpmon:
    """Runs `cpmon` with some arguments, and with bytes on standard input if there are any."""
    monkeypatch.delenv("CPMON_STORE", raising=False)

    def call(*arguments: object, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        status = run([str(a) for a in arguments])
        out, err = capfdbinary.readouterr()
        return Answer(status, out, err.decode())

    return call
