"""Installs the scheduling of batches: systemd units or a crontab line, verified."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from ..config import Settings
from ..core.errors import CpmonError
from ..core.text import length_of_time
from ..render.html import text_page
from ..store import Store
from .outputs import Write
from .plan import BatchPlan, fixed_folder

NAME = "cpmon-batch"
"""Name of the units; their templates are files of this package."""
INTERVALS = (*(n for n in range(1, 60) if 60 % n == 0), 60, 120, 180, 240, 360, 720)
"""Allowed minutes between batches: they divide an hour or a day."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The schedule of batches.

    Attributes:
        kind: "systemd" or "cron". every: time between two batches.
        user: installs user units. account: the account that runs them; empty: root, or the user.
        folder: output folder; None: systemd's unit folder, and none for cron.
    """

    kind: str
    every: timedelta
    user: bool = False
    account: str = ""
    folder: Path | None = None


def install(
    schedule: Schedule, store: Store, plan: BatchPlan, settings: Settings, write: Write
) -> tuple[str, str]:
    """Write systemd units or a crontab line.

    Returns:
        A text for standard output, and the next steps of the administrator.

    Raises:
        CpmonError: the interval is not allowed, systemd rejects the units, or they cannot be
            written.
    """
    minutes = schedule.every // timedelta(minutes=1)
    if schedule.every % timedelta(minutes=1) or minutes not in INTERVALS:
        raise CpmonError(
            "runs cannot be that far apart",
            expected="a part of an hour (5m, 10m, 15m, 20m, 30m), or 1h, 2h, 3h, 4h, 6h, 12h",
            found=length_of_time(schedule.every),
            effect="nothing was written",
        )
    command = _command(store, settings)
    if schedule.kind == "cron":
        line = cron_line([*command, "-q"], minutes)
        if schedule.folder is None:
            return line, "add this line with `crontab -e`; MAILTO gets the summary"
        file = schedule.folder / f"{NAME}.cron"
        write(file, f"{line}\n".encode())
        return "", f"{file} written\nadd its line with `crontab -e`, or: crontab {file}"
    user, account = schedule.user, schedule.account
    target, writable = schedule.folder or _unit_folder(user=user), _writable_folders(store, plan)
    units = {
        f"{NAME}.service": service(command, plan, writable, user=user, account=account),
        f"{NAME}.timer": timer(minutes),
    }
    refusal = verify_units(units)
    if refusal:
        raise CpmonError(
            "systemd refuses the units",
            code="systemd-units-refused",
            place=str(target),
            found=refusal,
            effect="nothing was written",
            remedy="these are the messages of systemd-analyze verify",
        )
    created = [] if user else _create(writable)
    if account and not _is_owner(account, store.root):
        created.append(store.root.absolute())
    for name, text in units.items():
        write(target / name, text.encode())
    steps = text_page(
        __package__,
        "install.txt",
        name=NAME,
        target=target,
        schedule=schedule,
        units=_unit_folder(user=user),
        folders=shlex.join(sorted({str(folder) for folder in created})),
        control="systemctl --user" if user else "systemctl",
    )
    return "", steps.rstrip("\n")


def _create(folders: Sequence[Path]) -> list[Path]:
    """Create missing folders, without which systemd does not start the service; returns them."""
    missing = [folder for folder in folders if not folder.exists()]
    for folder in missing:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CpmonError(
                "a folder that the batch writes to cannot be made",
                code="batch-folder-not-creatable",
                place=str(folder),
                found=error.strerror,
                effect="nothing was written",
                remedy="make it, and let the batch's user write to it",
            ) from None
    return missing


def _is_owner(account: str, folder: Path) -> bool:
    try:
        return folder.owner() == account
    except KeyError:  # the number has no account name
        return False


def _command(store: Store, settings: Settings) -> list[str]:
    """The command line of a batch with absolute paths."""
    program = shutil.which(sys.argv[0]) or shutil.which("cpmon")
    start = [str(Path(program).absolute())] if program else [sys.executable, "-m", "cpmon"]
    config = ["--config", str(settings.file.absolute())] if settings.file else []
    return [*start, "batch", "run", *config, "--store", str(store.root.absolute())]


def _writable_folders(store: Store, plan: BatchPlan) -> list[Path]:
    """The topmost folders that a batch writes to."""
    options = plan.batch
    files = [options.summary, options.summary_json, *(output.path for output in plan.outputs)]
    folders = [store.root.absolute(), *(fixed_folder(file) for file in files if file is not None)]
    folders += [options.metrics.parent] if options.metrics is not None else []
    if options.quarantine is not None:
        folders += [options.quarantine, *(inbox.folder for inbox in plan.inboxes)]
    distinct = sorted({Path(os.path.normpath(folder)) for folder in folders})
    return [
        folder
        for folder in distinct
        if not any(folder != other and folder.is_relative_to(other) for other in distinct)
    ]


def _unit_folder(*, user: bool) -> Path:
    """The folder of systemd's units."""
    if not user:
        return Path("/etc/systemd/system")
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "systemd" / "user"


def service(
    command: Sequence[str],
    plan: BatchPlan,
    writable: Sequence[Path],
    *,
    user: bool,
    account: str = "",
) -> str:
    """The service that runs a batch once.

    Args:
        writable: folders that it writes to; all others are read-only.
        user: it is a user service, which cannot hide parts of the system.
        account: the account that it runs as; empty: root, or the user.
    """

    def is_any_in(paths: Iterable[Path], *folders: str) -> bool:
        return any(path.is_relative_to(folder) for path in paths for folder in folders)

    visible = [*writable, *(inbox.folder for inbox in plan.inboxes)]
    return text_page(
        __package__,
        f"{NAME}.service",
        command=" ".join(map(_quoted, command)),
        user=user,
        account=account,
        writable=writable,
        quoted=_quoted,
        has_hooks=bool(plan.batch.hook_dump or plan.batch.hook_end),
        has_tmp=is_any_in(visible, "/tmp", "/var/tmp"),
        has_home=is_any_in(writable, "/home", "/root", "/run/user"),
    )


def timer(minutes: int) -> str:
    """The timer that starts the service periodically."""
    return text_page(__package__, f"{NAME}.timer", minutes=minutes)


def cron_line(command: Sequence[str], minutes: int) -> str:
    """A crontab line that treats the exit statuses for warnings and for a busy store as success.

    % is escaped, because it ends a command in a crontab.
    """
    when = f"*/{minutes} * * * *" if minutes < 60 else f"0 */{minutes // 60} * * *"
    words = " ".join(_shell(word) for word in command).replace("%", "\\%")
    return f"{when} {words} || [ $? -eq 3 -o $? -eq 75 ]"


def verify_units(units: dict[str, str]) -> str:
    """Messages of systemd about units; empty if they are valid, or systemd is not installed.

    Args:
        units: unit name -> text.
    """
    program = shutil.which("systemd-analyze")
    if program is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in units]
        for file in files:
            file.write_text(units[file.name], encoding="utf-8")
        command = [program, "verify", *map(str, files)]
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    lines = (process.stderr + process.stdout).replace(f"{folder}/", "").splitlines()
    messages = [line for line in lines if any(name in line for name in units)]
    return "\n".join(messages) if process.returncode or messages else ""


def _quoted(word: str) -> str:
    """Quotes a word of a unit file, where % and $ are special and blanks separate words."""
    escaped = word.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$")
    if re.fullmatch(r"[\w@%+=:,./$-]+", escaped):
        return escaped
    return '"' + escaped.replace('"', '\\"').replace("\n", "\\n") + '"'


def _shell(word: str) -> str:
    if "\n" in word:
        raise CpmonError("a path in a crontab line cannot contain a line end", found=repr(word))
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else "'" + word.replace("'", "'\\''") + "'"
