"""Putting a batch into a timer: the files are checked, written, and what is left to do is said."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from ..reduce.settings import Settings
from ..schemas.errors import CpmonError
from ..store import Store
from .outputs import Write
from .plan import Plan
from .units import NAME, check_minutes, cron_line, service, timer, verify_cron, verify_units


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be written.

    Attributes:
        kind: "systemd" or "cron". every: time between two runs.
        user: units of the user's own. account: whom they run as; empty: root, or the user.
        folder: to write to; None: where systemd looks, and nowhere for cron.
    """

    kind: str
    every: timedelta
    user: bool = False
    account: str = ""
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class Installed:
    """What was made: a text for standard output, and what the administrator does next."""

    text: str
    next_steps: tuple[str, ...]


def installed(
    wanted: Wanted, store: Store, plan: Plan, settings: Settings, write: Write
) -> Installed:
    """Write units of systemd, or a line for cron.

    Raises:
        CpmonError: the time between runs cannot be said, systemd refuses the units, or they
            cannot be written.
    """
    minutes = int(wanted.every.total_seconds()) // 60
    check_minutes(minutes)
    command = _command(store, settings)
    if wanted.kind == "cron":
        return _cron(cron_line([*command, "-q"], minutes), write, wanted.folder)
    target, writable = wanted.folder or _home_of_units(wanted.user), _writable(store, plan)
    texts = {
        f"{NAME}.service": service(
            command, plan, writable, user=wanted.user, account=wanted.account
        ),
        f"{NAME}.timer": timer(minutes),
    }
    said = verify_units(texts)
    if said:
        raise CpmonError(
            "systemd refuses the units",
            place=str(target),
            found=said,
            effect="nothing was written",
            remedy="this is what systemd-analyze verify says of them",
        )
    made = [] if wanted.user else _make(writable)
    if wanted.account and not _owns(wanted.account, store.root):
        made.append(store.root.absolute())
    for name, text in texts.items():
        write(target / name, text.encode())
    return Installed("", tuple(_after_units(target, wanted, made)))


def _make(folders: Sequence[Path]) -> list[Path]:
    """Folders that a service names must be there, or systemd does not start it.

    Returns those that were missing.
    """
    missing = [folder for folder in folders if not folder.exists()]
    for folder in missing:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CpmonError(
                "a folder that the batch writes to cannot be made",
                place=str(folder),
                found=error.strerror,
                effect="nothing was written",
                remedy="make it, and let the batch's user write to it",
            ) from None
    return missing


def _owns(account: str, folder: Path) -> bool:
    try:
        return folder.owner() == account
    except KeyError:  # it belongs to a number without a name
        return False


def _cron(line: str, write: Write, folder: Path | None) -> Installed:
    verify_cron(line)
    if folder is None:
        return Installed(line, ("add this line with `crontab -e`; MAILTO gets the summary",))
    file = folder / f"{NAME}.cron"
    write(file, f"{line}\n".encode())
    return Installed("", (f"{file} written", f"add its line with `crontab -e`, or: crontab {file}"))


def _after_units(target: Path, wanted: Wanted, made: Sequence[Path]) -> Sequence[str]:
    user = wanted.user
    control = "systemctl --user" if user else "systemctl"
    steps = [f"{target / NAME}.service and .timer written; next:"]
    if wanted.folder is not None:
        steps.append(f"  copy them to {_home_of_units(user)}, unless they are read from there")
    if wanted.account and made:
        folders = shlex.join(sorted({str(folder) for folder in made}))
        steps.append(f"  chown -R {wanted.account} {folders}    (the service writes there)")
    steps += [
        f"  {control} daemon-reload",
        f"  {control} enable --now {NAME}.timer",
        f"  {control} start {NAME}.service    (a first run now)",
        f"  journalctl {'--user ' if user else ''}-u {NAME}.service",
    ]
    if user:
        steps.append("  loginctl enable-linger    (to run without being logged in)")
    return steps


def _command(store: Store, settings: Settings) -> list[str]:
    """The command line that does what this one would do, from any folder."""
    program = shutil.which(sys.argv[0]) or shutil.which("cpmon")
    start = [str(Path(program).absolute())] if program else [sys.executable, "-m", "cpmon"]
    if settings.file is None:
        return [*start, "batch", "run", "--store", str(store.root.absolute())]
    config = str(settings.file.absolute())
    return [*start, "batch", "run", "--config", config, "--store", str(store.root.absolute())]


def _writable(store: Store, plan: Plan) -> list[Path]:
    """The folders that a batch writes to, each with all below it."""
    files = [plan.summary, plan.summary_json, plan.metrics]
    wanted = [store.root.absolute(), *(_fixed(output.path) for output in plan.outputs)]
    wanted += [_fixed(file) for file in files if file is not None]
    if plan.quarantine is not None:
        wanted += [plan.quarantine, *(inbox.folder for inbox in plan.inboxes)]
    known = sorted({Path(os.path.normpath(path)) for path in wanted})
    return [
        path
        for path in known
        if not any(path != other and path.is_relative_to(other) for other in known)
    ]


def _fixed(path: Path) -> Path:
    """The folder of a path in front of its first mark."""
    folder = path.parent
    for part in reversed(path.parents):
        if "{" in part.name or "%" in part.name:
            return part.parent
    return folder


def _home_of_units(user: bool) -> Path:
    if not user:
        return Path("/etc/systemd/system")
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "systemd" / "user"
