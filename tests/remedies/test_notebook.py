"""A notebook that is not copied or opened: what the message says helps."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cpmon.cli.shell import notebook_command
from tests.remedies.trying import Attempt, tries


@tries("notebook-edited")
def test_another_name_is_free(tried: Attempt, landed: Path, tmp_path: Path):
    file = tmp_path / "slow.py"
    file.write_text("# mine\n")
    words = ("notebook", "two-runs", "--store", landed, "--no-open", "-o")
    tried.fails(*words, file)
    tried.works(*words, tmp_path / "other.py")
    assert file.read_text() == "# mine\n"


@tries("notebook-extra-missing")
def test_the_extra_is_installed(
    tried: Attempt, landed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ended = SimpleNamespace(returncode=0)
    monkeypatch.setattr(notebook_command, "subprocess", SimpleNamespace(run=lambda *_, **__: ended))
    words = ("notebook", "two-runs", "--store", landed, "-o", tmp_path / "slow.py")
    with monkeypatch.context() as without:
        without.setattr(notebook_command, "find_spec", lambda _: None)
        tried.fails(*words)
    assert not (tmp_path / "slow.py").exists()
    tried.works(*words)
