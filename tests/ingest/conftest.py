"""What the tests of several readers share."""

from __future__ import annotations

import pytest

from cpmon.generate import load_scenario, write_run


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Seven samples, a minute apart, of a system with events and configuration."""
    folder = tmp_path_factory.mktemp("generated")
    return write_run(load_scenario("timer"), "2600P", folder, intervals=6).dump.read_bytes()
