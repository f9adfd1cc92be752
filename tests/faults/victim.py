"""A process that runs commands, over and over, in children that may be killed: it imports once.

Reads lines of JSON on standard input: {"dump", "store", "ask", "fsize", "die_before", "words"};
tells the child's number, then, when it has ended, its status and what it said. `words`: the command
line to run, instead of an ingest; `ask`: the store is asked afterwards, so that the catalogue is
made; `fsize`: no file may grow beyond so many bytes; `die_before`: it dies before that call,
counted, of those that change what others see of the disk; without one that late it prints
"steps" and their number as its last line.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from cpmon.cli import site_settings
from cpmon.cli.main import Status, run
from cpmon.cli.store import ingest_command
from cpmon.ingest import landing
from cpmon.reduce.reductions.reductions import reductions
from cpmon.schemas.arrow import schemas
from cpmon.schemas.registry import by_record, fingerprint
from cpmon.store import Store, connect

MODULES = (
    "altair",
    "cpmon.batch.run",
    "cpmon.reduce.engine.reducing",
    "cpmon.reduce.page",
    "cpmon.reduce.reports.report",
)
WARM = (
    *(ingest_command, site_settings, landing, by_record(), schemas(), fingerprint()),
    *map(importlib.import_module, MODULES),
    reductions(),
)
"""What a child would have to import and read first; none of it starts a thread."""
pa.array([0])  # imports pandas
os.fsync = lambda _file: None  # a process that is killed takes nothing from the disk; it is counted


def child(said: dict[str, Any], out: int) -> NoReturn:
    """Ingest, ask, and end without a word to the parent's files."""
    os.dup2(out, 1)
    os.dup2(out, 2)
    if said.get("fsize"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (said["fsize"], said["fsize"]))
    steps = itertools.count(1)
    if said.get("die_before"):
        die_before(said["die_before"], steps)
    status = run(said.get("words") or ["ingest", said["dump"], "--store", said["store"]])
    if said.get("die_before"):
        print(f"steps {next(steps) - 1}")
    if said.get("ask") and status in (Status.DONE, Status.WARNINGS):
        with connect(Store(Path(said["store"]))) as connection:
            connection.sql("SELECT count(*) FROM monitor.sytrsp").fetchall()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(status))


def die_before(call: int, steps: Iterator[int]) -> None:
    """Count the calls that change what others see of the disk, and die before one of them."""

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if next(steps) == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return wrapped

    def creating(function: Callable[..., int]) -> Callable[..., int]:
        count = counted(function)

        def wrapped(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            return (count if flags & os.O_CREAT else function)(path, flags, *args, **kwargs)

        return wrapped

    for name in ("fsync", "rename", "replace", "link", "mkdir", "rmdir", "unlink", "remove"):
        setattr(os, name, counted(getattr(os, name)))
    setattr(os, "open", creating(os.open))  # noqa: B010 - mypy allows no assignment


def main() -> None:
    """One child for each line."""
    for line in sys.stdin:
        said = json.loads(line)
        with tempfile.TemporaryFile() as out:
            pid = os.fork()
            if pid == 0:
                child(said, out.fileno())
            print(pid, flush=True)
            _, status = os.waitpid(pid, 0)
            out.seek(0)
            told = out.read().decode(errors="replace")
        print(json.dumps([os.waitstatus_to_exitcode(status), told]), flush=True)


main()
