"""Hooks: commands of the site that read an event as JSON from standard input; no shell is used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import Any

from ..config import Settings
from ..config.settings import HOOKS, BatchSettings
from ..core.errors import CpmonError
from .log import ascii_line, log
from .result import BatchResult


def refuse_untrusted(settings: Settings) -> None:
    """Check that commands are named by settings that the user trusts.

    Raises:
        CpmonError: they are named by those of a store.
    """
    hook = next((hook for hook in HOOKS if getattr(settings.batch, hook)), "")
    if settings.distrust and hook:
        raise CpmonError(
            "a store's own settings may not name commands",
            code="settings-untrusted",
            place=settings.place(f"batch.{hook}"),
            found=settings.distrust,
            effect="nothing was done",
            remedy="keep the settings outside of the store, or let only its owner write to it and"
            " name it in trusted_stores of your own settings, ~/.config/cpmon/config.toml",
        )


def run_hook(
    hook: str, settings: BatchSettings, event: dict[str, Any], result: BatchResult
) -> None:
    """Run a hook to completion; a failure is logged and noted in the result.

    Args:
        hook: its key in the settings. event: passed to the command on standard input.
    """
    command: tuple[str, ...] = getattr(settings, hook)
    if command and (failure := run_command(command, event, settings.hook_limit.seconds)):
        result.note("trouble", hook, failure)
        log.error("hook", reason=failure)


def run_command(command: tuple[str, ...], event: dict[str, Any], seconds: float) -> str:
    """Run a command; returns the reason of a failure, else an empty text.

    Args:
        seconds: time limit, after which the command and its children are killed.
    """
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}"
        failure = _wait(process, json.dumps(event).encode() + b"\n", seconds)
        output.seek(max(0, output.seek(0, os.SEEK_END) - 2000))  # the end is logged
        text = ascii_line(output.read().decode(errors="replace"))
    if text:
        log.info("hook", command=command[0], said=text)
    detail = f": {text[-200:]}" if text else ""
    return f"{command[0]} {failure}{detail}" if failure else ""


def _wait(process: subprocess.Popen[bytes], data: bytes, seconds: float) -> str:
    """Pass `data` to a command and wait for it; returns the reason of a failure, or empty text."""
    try:
        process.communicate(data, timeout=seconds)
    except BaseException as error:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return f"did not end within {seconds:g} s"
        raise
    if process.returncode < 0:
        return f"was ended by signal {-process.returncode}"
    return f"ended with status {process.returncode}" if process.returncode else ""
