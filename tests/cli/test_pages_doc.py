"""docs/bring-your-pages.md, run as a reader would: every command, and every output as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cpmon.cli.dump.doctor_facts import facts
from cpmon.cli.main import Status, run
from cpmon.ingest.container.source import open_source
from cpmon.ingest.inspect.diagnosis import diagnose
from cpmon.schemas.site import shipped
from tests.pages import draft

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
    save_pages(folder / "mon730")
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
    return [untimed(answer) for answer in done.stdout.split(f"{NEXT}\n")[:-1]]


def untimed(answer: str) -> str:
    """What a command prints, without how long it took."""
    return re.sub(r"in \d+\.\d s \([\d,]+ MB/s\)", "in 0.5 s (50 MB/s)", answer)


def save_pages(folder: Path) -> None:
    """The pages that the doctor asks for, written from the layouts in words of our own."""
    folder.mkdir()
    dumps = folder.with_name("dumps")
    assert run(["generate", "zvm73-smt", "--intervals", "10", "-o", str(dumps)]) == Status.DONE
    with open_source(dumps / "ZVM73.mon") as source:
        document = facts(diagnose(source), names=False)
    records = {row["record"]: row for row in document["records"]}
    for wanted in document["pages"]:
        record = records[wanted["record"]]
        length = record["longest"] if record["state"] == "longer" else 0
        page = draft(shipped(), record["name"].lower(), document["dump"]["release"], length)
        (folder / f"{wanted['page']}.HTML").write_text(page.html(), encoding="utf-8")


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
