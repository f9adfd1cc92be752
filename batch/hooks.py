"""Commands of the site: told what happened as JSON on standard input. No shell is involved."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import Any

from .log import Log
from .plain import plain_line

SAID = 2000
"""Bytes of what a command printed that are looked at, from its end."""


def call(command: tuple[str, ...], told: dict[str, Any], seconds: float, log: Log) -> str:
    """Run a command to its end; returns what went wrong, or nothing.

    Args:
        told: becomes its standard input.
        seconds: after which it, and whatever it started, is ended.
    """
    if not command:
        return ""
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}"
        wrong = _ended(process, json.dumps(told).encode() + b"\n", seconds)
        said.seek(max(0, said.seek(0, os.SEEK_END) - SAID))
        text = plain_line(said.read().decode(errors="replace"))
    if text:
        log.info("hook", command=command[0], said=text)
    return f"{command[0]} {wrong}" + (f": {text[-200:]}" if text else "") if wrong else ""


def _ended(process: subprocess.Popen[bytes], told: bytes, seconds: float) -> str:
    """Wait for a command; returns how it failed, or nothing."""
    try:
        process.communicate(told, timeout=seconds)
    except subprocess.TimeoutExpired:
        _end_group(process)
        return f"did not end within {seconds:g} s"
    except BaseException:
        _end_group(process)
        raise
    if process.returncode < 0:
        return f"was ended by signal {-process.returncode}"
    return f"ended with status {process.returncode}" if process.returncode else ""


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
