"""Progress on a terminal: a bar with MB/s, on standard error, and nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[..., None]
"""Called with what is done so far, and with the total, where that was not known before."""


@contextmanager
def bar(what: str, total: int | None = None, units: str = "") -> Iterator[Advance]:
    """A bar for one long step.

    Args:
        total: None if it is not known. units: what is counted, instead of bytes.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns: list[rich.ProgressColumn] = [rich.TextColumn("{task.description}"), rich.BarColumn()]
    if units:
        columns += [rich.MofNCompleteColumn(), rich.TextColumn(units)]
    else:
        speed = rich.TransferSpeedColumn()
        columns += [rich.DownloadColumn(), speed, rich.TimeRemainingColumn()]
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=total)
        yield lambda done, total=None: shown.update(task, completed=done, total=total)
