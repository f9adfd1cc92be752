"""What starts a batch every so often: units of systemd, or a line for cron."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..schemas.errors import CpmonError
from .plan import Plan

NAME = "cpmon-batch"
SERVICE = """\
[Unit]
Description=cpmon: land new monitor dumps, reduce, publish
After=local-fs.target remote-fs.target

[Service]
Type=oneshot
ExecStart={command}
SuccessExitStatus=3 75
TimeoutStartSec=6h
TimeoutStopSec=5min
Nice=10
IOSchedulingClass=idle
UMask=0022
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome={home}
{account}{private}{writable}"""
TIMER = """\
[Unit]
Description=cpmon: look for new monitor dumps every {every} minutes

[Timer]
OnCalendar={calendar}
RandomizedDelaySec={delay}
Persistent=true

[Install]
WantedBy=timers.target
"""
FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
"""Least and greatest value of minute, hour, day, month and day of the week in a line of cron."""


def service(
    command: Sequence[str], plan: Plan, writable: Sequence[Path], *, user: bool, account: str = ""
) -> str:
    """The service that runs a batch once.

    Args:
        writable: folders that it writes to; all else is read-only to it.
        user: it is one of a user's own services, which cannot hide parts of the system.
        account: whom it runs as; empty: root, or the user.
    """
    private = "" if plan.hook_dump or plan.hook_end else "PrivateNetwork=yes\n"
    seen = [*writable, *(inbox.folder for inbox in plan.inboxes)]
    if not any(path.is_relative_to(tmp) for path in seen for tmp in ("/tmp", "/var/tmp")):
        private += "PrivateTmp=yes\n"
    text = SERVICE.format(
        command=" ".join(map(_quoted, command)),
        home="no" if user or any(_is_home(path) for path in writable) else "read-only",
        account=f"User={_quoted(account)}\n" if account else "",
        private=private,
        writable="".join(f"ReadWritePaths={_quoted(str(path))}\n" for path in writable),
    )
    if not user:
        return text
    hidden = ("Protect", "Private", "ReadWritePaths", "IOScheduling")
    return "".join(line for line in text.splitlines(True) if not line.startswith(hidden))


def timer(minutes: int) -> str:
    """The timer that starts it every so many minutes."""
    calendar = f"*:0/{minutes}" if minutes < 60 else f"0/{minutes // 60}:00"
    return TIMER.format(every=minutes, calendar=calendar, delay=min(60, minutes * 6))


def cron_line(command: Sequence[str], minutes: int) -> str:
    """A line of a crontab; an exit status that a timer takes for success is one here as well.

    % ends a command in a crontab, so it is escaped.
    """
    when = f"*/{minutes} * * * *" if minutes < 60 else f"0 */{minutes // 60} * * *"
    words = " ".join(_shell(word) for word in command).replace("%", "\\%")
    return f"{when} {words} || [ $? -eq 3 -o $? -eq 75 ]"


def check_minutes(minutes: int) -> None:
    """Check that runs can be so many minutes apart.

    Raises:
        CpmonError: they would not be spread evenly over an hour or a day.
    """
    if not (minutes < 60 and 60 % minutes == 0) and minutes not in (60, 120, 180, 240, 360, 720):
        raise CpmonError(
            "runs cannot be that far apart",
            expected="a part of an hour (5m, 10m, 15m, 20m, 30m), or 1h, 2h, 3h, 4h, 6h, 12h",
            found=f"{minutes} minutes",
            effect="nothing was written",
        )


def verify_units(texts: dict[str, str]) -> str:
    """What systemd says of units; empty if nothing is wrong or it is not there to be asked.

    Args:
        texts: name of a unit -> its text.
    """
    program = shutil.which("systemd-analyze")
    if program is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, text in texts.items():
            files.append(Path(folder) / name)
            files[-1].write_text(text, encoding="utf-8")
        asked = [program, "verify", *map(str, files)]
        try:
            said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    lines = (said.stderr + said.stdout).replace(f"{folder}/", "").splitlines()
    about = [line for line in lines if any(name in line for name in texts)]
    return "\n".join(about) if said.returncode or about else ""


def verify_cron(line: str) -> None:
    """Check the times of a crontab line.

    Raises:
        CpmonError: a field cannot be.
    """
    fields = line.split(None, 5)
    for text, (least, most) in zip(fields[:5], FIELDS, strict=True):
        match = re.fullmatch(r"(?:\*|(\d+)(?:-(\d+))?)(?:/(\d+))?", text)
        numbers = [int(n) for n in match.groups()[:2] if n] if match else [-1]
        if not all(least <= number <= most for number in numbers):
            raise CpmonError("a line of cron cannot be", expected=f"{least} to {most}", found=text)
    if len(fields) < 6:
        raise CpmonError("a line of cron cannot be", expected="a command", found=line)


def _quoted(word: str) -> str:
    """A word of a unit: % is a mark there, and blanks part words."""
    escaped = word.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$")
    if re.fullmatch(r"[\w@%+=:,./$-]+", escaped):
        return escaped
    return '"' + escaped.replace('"', '\\"').replace("\n", "\\n") + '"'


def _shell(word: str) -> str:
    if "\n" in word:
        raise CpmonError("a path with a line end cannot stand in a crontab", found=repr(word))
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def _is_home(path: Path) -> bool:
    return any(path.is_relative_to(home) for home in ("/home", "/root", "/run/user"))
