"""The process that draws may die, and what it was asked next is drawn all the same."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from cpmon.core.errors import CpmonError
from cpmon.reduce.page import renderer as module
from cpmon.reduce.page.renderer import Renderer

SPEC = {
    "data": {"values": [{"a": 1, "b": 2}]},
    "mark": "bar",
    "encoding": {"x": {"field": "a"}, "y": {"field": "b"}},
}


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    renderer = Renderer()
    yield renderer
    renderer.close()


def _process(renderer: Renderer) -> subprocess.Popen[bytes]:
    assert renderer._process
    return renderer._process


def test_one_process_draws_all(renderer: Renderer) -> None:
    assert renderer.ask("svg", SPEC).startswith(b"<svg")
    first = _process(renderer).pid
    assert renderer.ask("png", SPEC).startswith(b"\x89PNG")
    assert _process(renderer).pid == first


def test_a_death_has_a_reason_and_the_next_drawing_succeeds(renderer: Renderer) -> None:
    renderer.ask("svg", SPEC)
    process = _process(renderer)
    process.send_signal(signal.SIGTRAP)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(CpmonError, match="SIGTRAP") as caught:
        renderer.ask("svg", SPEC)
    assert caught.value.code == "chart-not-drawn"
    assert renderer.ask("svg", SPEC).startswith(b"<svg")


def test_what_cannot_be_drawn_ends_no_process(renderer: Renderer) -> None:
    renderer.ask("svg", SPEC)
    first = _process(renderer).pid
    with pytest.raises(ValueError, match="conversion failed"):
        renderer.ask("svg", {"mark": 3})
    assert renderer.ask("svg", SPEC).startswith(b"<svg")
    assert _process(renderer).pid == first


def test_the_limit_of_the_parent_is_not_that_of_the_drawing() -> None:
    """In a process of its own: this one may have more than the limit."""
    program = (
        "import resource, sys; from cpmon.reduce.page.renderer import svg_of;"
        "resource.setrlimit(resource.RLIMIT_DATA, (400_000_000, resource.RLIM_INFINITY));"
        f"sys.stdout.write(svg_of({SPEC!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.stdout.startswith(b"<svg"), done.stderr


def test_a_drawing_that_takes_too_long_is_given_up(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "DRAW_S", 0)
        with pytest.raises(CpmonError, match="cannot be drawn"):
            renderer.ask("svg", SPEC)
    assert renderer.ask("svg", SPEC).startswith(b"<svg")
