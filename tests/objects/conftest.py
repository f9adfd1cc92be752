"""The S3 server that the tests of this folder share, and a place in it for each."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest

from tests.objects.server import BINARY, BUCKET, Server, running


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """What needs it is marked slow: it takes Go and a minute to build, once."""
    if not BINARY.exists():
        assert not os.environ.get("CI"), f"no {BINARY.name}: tools/s3_server.sh builds it"
        pytest.skip("no S3 server (tools/s3_server.sh builds it)")
    with running(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def place(s3: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where a store can be that no other test uses."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{secrets.token_hex(6)}/a%20b c"
