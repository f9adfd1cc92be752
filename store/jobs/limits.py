"""What one of several jobs may use of what all of them may."""

from __future__ import annotations

import os
import re

from ..sandbox.sandbox import Limits

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z%]+)\s*")


def share(limits: Limits, jobs: int) -> Limits:
    """An equal share of memory and processors.

    Without a limit of memory each job has the default of one: a day that fits into it does not fit
    into a part of it.
    """
    if jobs == 1:
        return limits
    match = _AMOUNT.fullmatch(limits.memory)
    memory = f"{float(match[1]) / jobs:.3f}{match[2]}" if match else limits.memory
    return Limits(memory, max(1, (limits.threads or os.cpu_count() or 1) // jobs))
