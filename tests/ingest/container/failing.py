"""A file that cannot be read to its end, as on a disk that fails or a mount that is stale."""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path
from typing import Any

import pytest


def fail_behind(patch: pytest.MonkeyPatch, readable: int, number: int) -> None:
    """Let reads of files that are opened without a buffer fail behind so many bytes."""

    class Failing(FileIO):
        def readinto(self, target: Any, /) -> int | None:
            self._check()
            return super().readinto(memoryview(target)[: max(readable - self.tell(), 1)])

        def read(self, size: int | None = -1, /) -> bytes:
            self._check()
            return super().read(size)

        def _check(self) -> None:
            if self.tell() >= readable:
                raise OSError(number, os.strerror(number))

    real = Path.open

    def opens(path: Path, *modes: Any, **more: Any) -> Any:
        return Failing(path) if more.get("buffering") == 0 else real(path, *modes, **more)

    patch.setattr(Path, "open", opens)
