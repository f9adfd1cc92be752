"""The tour of README.md, run as a reader would: every command, and every output as printed.

A ```console block has `$ command` lines, each followed by what it prints (both streams). All of
them run in one shell, in a folder that has `sample-data` and nothing else. A block whose first line
names a file behind its language (```toml mine.toml) is that file. `make goldens` writes the
outputs anew.

Only times and speeds may differ: `in 0.7 s (1 MB/s)` stands for any of its kind.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from cpmon.schemas import layouts

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(console|\w+ \S+)\n(.*?)^```$", re.M | re.S)
MEASURED = re.compile(r"in [\d.,]+ s \([\d,]+ MB/s\)")
NEXT = "-- next command --"


@dataclass
class Command:
    """One command of the tour, and what the README says that it prints."""

    line: str
    output: str


def blocks() -> list[tuple[str, str]]:
    """(console, commands with their output) or (language file, content), in order."""
    return [(m[1], m[2]) for m in BLOCK.finditer(README.read_text(encoding="utf-8"))]


def commands(console: str) -> list[Command]:
    parts = re.split(r"^\$ (.*)\n", console, flags=re.M)
    assert parts[0] == "", "a console block starts with a command"
    return [Command(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]


def measured(text: str) -> str:
    return MEASURED.sub("in N s (N MB/s)", text)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each command of the tour prints."""
    folder = tmp_path_factory.mktemp("tour")
    (folder / "sample-data").symlink_to(ROOT / "sample-data")
    for kind, content in blocks():
        if kind != "console":
            (folder / kind.split()[1]).write_text(content, encoding="utf-8")
    lines = [c.line for kind, text in blocks() if kind == "console" for c in commands(text)]
    script = "".join(f"{line}\necho '{NEXT}'\n" for line in lines)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", f"exec 2>&1\n{script}"],
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return done.stdout.split(f"{NEXT}\n")[:-1]


@pytest.mark.golden
def test_every_command_of_the_tour_prints_what_the_readme_shows(
    printed: list[str], request: pytest.FixtureRequest
):
    answers = iter(printed)
    if request.config.getoption("--goldens"):

        def renewed(match: re.Match[str]) -> str:
            if match[1] != "console":
                return match[0]
            text = "".join(f"$ {c.line}\n{next(answers)}" for c in commands(match[2]))
            return f"```console\n{text}```"

        old = README.read_text(encoding="utf-8")
        README.write_text(BLOCK.sub(renewed, old), encoding="utf-8")
        return
    for kind, text in blocks():
        for command in commands(text) if kind == "console" else []:
            assert measured(command.output) == measured(next(answers)), command.line


def test_the_links_of_the_readme_and_of_the_docs_lead_somewhere():
    for page in (README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))):
        links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        local = [link for link in links if "://" not in link]
        assert [link for link in local if not (page.parent / link).exists()] == [], page


def test_the_readme_counts_the_records_right():
    said = re.search(
        r"\bdecodes the fields of (\d+) of (\d+) records", README.read_text(encoding="utf-8")
    )
    described = [layout for layout in layouts() if layout.columns or layout.groups]
    assert said and (int(said[1]), int(said[2])) == (len(described), len(layouts()))
