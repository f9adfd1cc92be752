"""Units of systemd on pages of documentation, as systemd itself reads them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.consoles import FENCE


def units_of(page: str) -> list[str]:
    """The units of a page, in order."""
    return [text for kind, text in FENCE.findall(page) if kind == "ini"]


def verify_units(folder: Path, units: dict[str, str]) -> str:
    """What `systemd-analyze verify` says of units by their name; nothing if they are valid.

    Args:
        folder: where they are written, with a program that exists in place of cpmon.
    """
    for name, text in units.items():
        runnable = text.replace("/opt/cpmon/bin/cpmon", sys.executable)
        (folder / name).write_text(runnable, encoding="utf-8")
    words = ["systemd-analyze", "verify", *(str(folder / name) for name in units)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    said = [line for line in (done.stderr + done.stdout).splitlines() if "cpmon-" in line]
    return "\n".join(said) or f"status {done.returncode}" * bool(done.returncode)
