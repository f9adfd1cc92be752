"""A site in a temporary folder: inbox, settings, and the command that looks after it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cpmon.cli.main import Status, run

AN_HOUR = 3600


@dataclass
class Site:
    """Its folder has `inbox/`, `cpmon.toml` and whatever a batch makes."""

    folder: Path

    @property
    def inbox(self) -> Path:
        return self.folder / "inbox"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def config(self) -> Path:
        return self.folder / "cpmon.toml"

    @property
    def state(self) -> dict[str, Any]:
        text = (self.store / "batch" / "state.json").read_text(encoding="utf-8")
        found: dict[str, Any] = json.loads(text)
        return found

    @property
    def history(self) -> list[dict[str, Any]]:
        text = (self.store / "batch" / "history.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def configure(self, text: str = "", inbox: str = 'folder = "inbox"') -> None:
        self.inbox.mkdir(exist_ok=True)
        self.config.write_text(f'store = "store"\n[[inbox]]\n{inbox}\n{text}', encoding="utf-8")

    def put(self, name: str, data: bytes, age: float = AN_HOUR) -> Path:
        """A file of the inbox that was last changed so many seconds ago."""
        path = self.inbox / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(data)
        then = time.time() - age
        os.utime(path, (then, then))
        return path

    def batch(self, *words: str) -> Status:
        return run(["batch", "run", "--config", str(self.config), *words])


def make_site(folder: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> Site:
    """A site with the plainest settings."""
    if monkeypatch is not None:
        for name in ("CPMON_STORE", "CPMON_CONFIG", "CPMON_TZ"):
            monkeypatch.delenv(name, raising=False)
    found = Site(folder)
    found.configure()
    return found
