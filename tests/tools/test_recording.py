"""The recording of the README shows what the commands show."""

from __future__ import annotations

import pytest

from tools.recording import FILE, recording


@pytest.mark.slow
def test_the_recording_is_up_to_date():
    assert recording() == FILE.read_text(encoding="utf-8"), "python -m tools.recording writes it"
    assert FILE.stat().st_size < 300_000
