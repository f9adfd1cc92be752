"""Pages of documentation, run as a reader would: every command, and every output as printed.

A ```console block has `$ command` lines, each followed by what it prints (both streams). All blocks
of a page run in one shell, in a folder that has `sample-data` and `pages` (docs/examples) and
nothing else. A block whose first line names a file behind its language (```toml mine.toml) is that
file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(console|\w+ \S+)\n(.*?)^```$", re.M | re.S)
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (.*)\n", re.M)
MEASURED = re.compile(r"in [\d.,]+ s \([\d,]+ MB/s\)")
NEXT = "-- next command --"


@dataclass(frozen=True)
class Command:
    """A command of a page, and what the page says that it prints."""

    line: str
    output: str


@dataclass(frozen=True)
class Page:
    """A page with commands."""

    file: Path

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    def commands(self) -> list[Command]:
        """All of its commands, in order."""
        return [
            c for kind, text in BLOCK.findall(self.text) if kind == "console" for c in _of(text)
        ]

    def files(self) -> dict[str, str]:
        """The files that it shows: name -> content."""
        blocks = BLOCK.findall(self.text)
        return {kind.split()[1]: text for kind, text in blocks if kind != "console"}

    def run(self, folder: Path) -> list[str]:
        """What each command prints in a folder, which is made ready for them."""
        (folder / "sample-data").symlink_to(ROOT / "sample-data")
        shutil.copytree(ROOT / "docs" / "examples", folder / "pages")
        for name, text in self.files().items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        script = "".join(f"{command.line}\necho '{NEXT}'\n" for command in self.commands())
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CPMON_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", f"exec 2>&1\n{script}"],
            cwd=folder,
            env={**environment, "PATH": path, "NO_COLOR": "1", "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        return done.stdout.split(f"{NEXT}\n")[:-1]

    def renew(self, printed: list[str]) -> None:
        """Write the outputs anew; those that differ in what is measured alone stay."""
        answers = iter(printed)

        def renewed(match: re.Match[str]) -> str:
            if match[1] != "console":
                return match[0]
            text = ""
            for command in _of(match[2]):
                answer = next(answers)
                same = measured(command.output) == measured(answer)
                text += f"$ {command.line}\n{command.output if same else answer}"
            return f"```console\n{text}```"

        self.file.write_text(BLOCK.sub(renewed, self.text), encoding="utf-8")


def pages() -> list[Page]:
    """The README and every page of docs/ and below that has commands."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in map(Page, files) if page.commands()]


def measured(text: str) -> str:
    """A text without what differs from run to run: times and speeds."""
    return MEASURED.sub("in N s (N MB/s)", text)


def _of(console: str) -> list[Command]:
    """The commands of a block."""
    parts = COMMAND.split(console)
    assert parts[0] == "", "a console block starts with a command"
    return [Command(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]
