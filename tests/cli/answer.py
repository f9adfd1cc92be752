"""What a command line said and how it ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cpmon.cli.main import Status


@dataclass(frozen=True)
class Answer:
    """Standard output and error, and the exit status."""

    status: Status
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The answer of --format json."""
        found: list[dict[str, Any]] = json.loads(self.out)
        return found


Cpmon = Callable[..., Answer]
