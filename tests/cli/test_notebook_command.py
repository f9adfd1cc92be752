"""`cpmon notebook` lists notebooks, copies one with its store, and leaves edited files alone."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from cpmon.cli.main import Status
from cpmon.cli.shell import notebook_command
from tests.cli.answer import Cpmon

ROOT = Path(__file__).resolve().parents[2]


def test_notebooks_are_listed(cpmon: Cpmon):
    lines = cpmon("notebook").text.splitlines()
    names = {file.stem.replace("_", "-") for file in (ROOT / "notebooks").glob("[!_]*.py")}
    assert {line.split()[0] for line in lines} == names and len(lines) == 2
    assert all(line.endswith((".", "?")) for line in lines)


def test_a_notebook_is_copied_beside_the_store_that_it_asks(cpmon: Cpmon, tmp_path: Path):
    store = tmp_path / "my perf"
    words = ("notebook", "Two_Runs", "--store", store, "--no-open")
    copy = tmp_path / "two_runs.py"
    assert cpmon(*words).text == f"{copy}: copied\n"
    text = copy.read_text(encoding="utf-8")
    assert f'    STORE = "{store}"\n' in text
    assert cpmon(*words).text == f"{copy}: unchanged since it was copied\n"
    copy.write_text(text + "# mine\n", encoding="utf-8")
    answer = cpmon(*words)
    assert answer.status is Status.USAGE and "nothing was written" in answer.err
    assert copy.read_text(encoding="utf-8").endswith("# mine\n")
    assert cpmon(*words, "-o", tmp_path / "other.py").status is Status.DONE
    assert (tmp_path / "other.py").read_text(encoding="utf-8") == text


def test_a_first_look_reads_a_dump_from_this_folder(
    cpmon: Cpmon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    answer = cpmon("notebook", "first-look", "--dump", "day.mon", "--no-open")
    assert answer.text == "first_look.py: copied\n"
    assert f'    DUMP = "{tmp_path / "day.mon"}"\n' in Path("first_look.py").read_text("utf-8")
    answer = cpmon("notebook", "two-runs", "--dump", "day.mon", "--no-open")
    assert answer.status is Status.USAGE and "leave out --dump" in answer.err
    answer = cpmon("notebook", "two-rnus", "--no-open")
    assert answer.status is Status.USAGE and "did you mean two-runs?" in answer.err


def test_it_is_opened_by_marimo(cpmon: Cpmon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ran = list[list[str]]()

    def run(words: list[str], **_: object) -> SimpleNamespace:
        ran.append(words)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(notebook_command, "subprocess", SimpleNamespace(run=run))
    assert cpmon("notebook", "two-runs", "--store", tmp_path / "perf").status is Status.DONE
    (words,) = ran
    assert words[1:4] == ["-m", "marimo", "edit"] and words[-1] == str(tmp_path / "two_runs.py")
    assert subprocess is not notebook_command.subprocess
