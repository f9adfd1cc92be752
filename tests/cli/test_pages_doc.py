"""docs/bring-your-pages.md, run as a reader would: every command, and every output as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "bring-your-pages.md"
BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=^```$)", re.M | re.S)
NEXT = "-- next command --"


def commands(text: str) -> list[str]:
    return [c for block in BLOCK.findall(text) for c in re.findall(r"^\$ (.*)", block, re.M)]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each command prints, on both streams; all run in one shell."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "pages").symlink_to(ROOT / "docs" / "examples")
    lines = commands(PAGE.read_text(encoding="utf-8"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CPMON_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", "exec 2>&1\n" + "".join(f"{line}\necho '{NEXT}'\n" for line in lines)],
        cwd=folder,
        env={**environment, "PATH": path, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return done.stdout.split(f"{NEXT}\n")[:-1]


@pytest.mark.slow
@pytest.mark.golden
def test_every_command_prints_what_the_page_shows(
    printed: list[str], request: pytest.FixtureRequest
):
    text = PAGE.read_text(encoding="utf-8")
    answers = iter(printed)

    def answered(block: re.Match[str]) -> str:
        lines = re.findall(r"^\$ .*\n", block[0], re.M)
        return "".join(line + next(answers) for line in lines)

    shown = BLOCK.sub(answered, text)
    if request.config.getoption("--goldens"):
        PAGE.write_text(shown, encoding="utf-8")
    assert shown == PAGE.read_text(encoding="utf-8")
