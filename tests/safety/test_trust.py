"""No command is taken from the settings of a store that the user does not trust."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.store import Store
from tests.cli.answer import Cpmon

REFUSED = "a store's own settings may not name commands"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose own settings have a batch touch a file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "cpmon").mkdir(parents=True)
    root = Store(tmp_path / "store", create=True).root
    (root / "inbox").mkdir()
    hook = json.dumps(["touch", str(tmp_path / "ran")])
    (root / "cpmon.toml").write_text(f'[[inbox]]\nfolder = "inbox"\n[batch]\nhook_end = {hook}\n')
    root.chmod(0o755)
    return root


def trust(store: Path) -> None:
    file = store.parent / "config" / "cpmon" / "config.toml"
    file.write_text(f"trusted_stores = [{json.dumps(str(store))}]\n")


def ran(store: Path) -> bool:
    return (store.parent / "ran").exists()


def test_the_settings_of_a_store_name_no_commands(cpmon: Cpmon, store: Path):
    answer = cpmon("batch", "run", "--store", store)
    assert answer.status is Status.USAGE and not ran(store)
    assert REFUSED in answer.err and "trusted_stores" in answer.err
    assert "lies in a store that is not trusted" in answer.err


def test_nor_a_command_for_alerts(cpmon: Cpmon, store: Path):
    settings = store / "cpmon.toml"
    settings.write_text(settings.read_text().replace("hook_end", "hook_alert"))
    answer = cpmon("follow", "-", "--store", store, "--alerts", store.parent / "alerts")
    assert answer.status is Status.USAGE and REFUSED in answer.err


@pytest.mark.parametrize("folder", [".", "inbox"])
def test_nor_when_the_working_directory_is_in_the_store(
    cpmon: Cpmon, store: Path, folder: str, monkeypatch: pytest.MonkeyPatch
):
    if folder != ".":
        (store / "cpmon.toml").rename(store / folder / "cpmon.toml")
    monkeypatch.chdir(store / folder)
    answer = cpmon("batch", "run", "--store", store)
    assert answer.status is Status.USAGE and REFUSED in answer.err and not ran(store)


def test_a_store_does_not_trust_itself(cpmon: Cpmon, store: Path):
    file = store / "cpmon.toml"
    file.write_text(f"trusted_stores = [{json.dumps(str(store))}]\n{file.read_text()}")
    answer = cpmon("batch", "run", "--store", store)
    assert answer.status is Status.USAGE and REFUSED in answer.err and not ran(store)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("exposed", ["", "store", "file"])
def test_commands_of_a_trusted_store_run_unless_others_can_write_to_it(
    cpmon: Cpmon, store: Path, exposed: str, named: bool
):
    words = ["batch", "run", "--store", store]
    if named:
        words += ["--config", store / "cpmon.toml"]
    else:
        trust(store)
    if exposed:
        (store if exposed == "store" else store / "cpmon.toml").chmod(0o777)
    answer = cpmon(*words)
    assert ran(store) is not bool(exposed)
    if exposed:
        assert answer.status is Status.USAGE and "can be written by others" in answer.err
    else:
        assert answer.status in (Status.DONE, Status.WARNINGS)


def test_settings_outside_of_a_store_name_commands(
    cpmon: Cpmon, store: Path, monkeypatch: pytest.MonkeyPatch
):
    (store / "cpmon.toml").rename(store.parent / "cpmon.toml")
    (store / "inbox").rename(store.parent / "inbox")
    monkeypatch.chdir(store.parent)
    cpmon("batch", "run", "--store", store)
    assert ran(store)


def test_a_store_that_others_can_write_to_is_reported_once(cpmon: Cpmon, store: Path):
    (store / "cpmon.toml").unlink()
    query = ("query", "SELECT 1 AS a", "--store", store)
    assert "warning" not in cpmon(*query).err
    store.chmod(0o775)
    answer = cpmon(*query)
    assert answer.status is Status.DONE
    assert answer.err.count("can be written by others (mode 0775)") == 1
    info = cpmon("store", "info", "--store", store, "--format", "json")
    assert [row["note"] for row in info.rows if row["what"] == "access"] == [
        f"{store} can be written by others (mode 0775)"
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_store_of_another_user_is_reported(cpmon: Cpmon, store: Path):
    os.chown(store, 12345, -1)
    assert "belongs to another user (number 12345)" in cpmon("store", "info", "--store", store).err
