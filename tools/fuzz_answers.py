"""A command line of cpmon run in this process, and what any answer must hold to."""

from __future__ import annotations

import functools
import io
import json
import os
import re
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from cpmon.cli.main import run

from .fuzz_seeds import I64

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 60.0
"""Processor time of a command; with a few dumps most take less than 5 s."""
BESIDE = ("interval", "finding", "quarantine")
"""Tables whose rows are no records."""
SHAMEFUL = re.compile(r"failure of cpmon|Traceback|\b(Runtime|User|Future|Deprecation)Warning\b")
"""What neither stream may have, whatever the dump."""


class Wrong(AssertionError):
    """A command broke a promise."""


@dataclass(frozen=True)
class Answer:
    """Standard output and error, and the exit status."""

    status: int
    out: bytes
    err: str

    @property
    def refused(self) -> bool:
        """Whether there is no result, only a message."""
        return not self.out and self.status in (2, 5)


@functools.cache
def documented() -> frozenset[int]:
    """The exit statuses of docs/errors.md; 1 is among them."""
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    rows = text.partition("## Exit statuses")[2].partition("\n## ")[0]
    return frozenset(int(number) for number in re.findall(r"^\| (\d+) \|", rows, re.M))


def answer(*arguments: object, allowed: set[int] | None = None) -> Answer:
    """Run a command line.

    Args:
        allowed: its exit statuses; all that are documented for others than failures if None.

    Raises:
        Wrong: it ended otherwise, or printed what no command may, or took too long.
    """
    words = [str(argument) for argument in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    began = time.process_time()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = int(run(words))
        except BaseException:  # noqa: BLE001 - nothing may leave a command
            status = 1
            traceback.print_exc()
    seconds = time.process_time() - began
    raw, message = out.buffer.getvalue(), err.buffer.getvalue().decode()
    given = Answer(status, raw, message)
    line = " ".join(words)
    if status not in (documented() - {1} if allowed is None else allowed):
        raise Wrong(f"status {status} of {line}: {message or raw[-300:]!r}")
    if match := SHAMEFUL.search(message) or SHAMEFUL.search(raw.decode(errors="replace")):
        raise Wrong(f"{match[0]!r} from {line}: {message}")
    if any(not part.isprintable() for part in message.split("\n")):
        raise Wrong(f"control characters on standard error of {line}: {message!r}")
    if status == 2 and not message:
        raise Wrong(f"{line} is refused without a message")
    if seconds > LIMIT_S:
        raise Wrong(f"{seconds:.0f} s of processor time for {line}")
    return given


def body(answered: Answer) -> list[dict[str, Any]]:
    """The document of --format json.

    Raises:
        Wrong: it is none.
    """
    try:
        document = json.loads(answered.out, parse_constant=_no_number)
    except ValueError as error:
        raise Wrong(f"no JSON: {error}: {answered.out[:200]!r}") from None
    return document if isinstance(document, list) else [document]


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def books(parts: dict[str, int], size: int) -> None:
    """Check that every byte of a dump is in one part.

    Raises:
        Wrong: the parts do not add up to its size.
    """
    counted = [parts[name] for name in ("decoded", "raw", "quarantined", "filler")]
    if sum(counted) != size or parts["size"] != size or min(counted) < 0 or len(parts) != 5:
        raise Wrong(f"the parts of {size} bytes do not add up: {parts}")


def landed_offsets(folder: Path, size: int) -> I64:
    """Where the records start that landed, and that its dump.json accounts for all bytes.

    Raises:
        Wrong: it does not.
    """
    books(json.loads((folder / "dump.json").read_text(encoding="utf-8"))["bytes"], size)
    parts = [
        pq.ParquetFile(file).read(["record_offset"])["record_offset"].to_numpy()
        for file in folder.glob("*.parquet")
        if file.stem not in BESIDE
    ]
    return np.unique(np.concatenate([np.empty(0, np.int64), *parts]))


@contextmanager
def surroundings(folder: Path) -> Iterator[None]:
    """Neither settings nor caches of the user."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("CPMON_")]:
        del os.environ[name]
    os.environ |= {"XDG_CONFIG_HOME": str(folder / "config")}
    os.environ |= {"XDG_CACHE_HOME": str(folder / "cache")}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
