"""Output files of commands, which must be neither inputs nor parts of a store."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..config.formats import name_contradicts, suffix_of
from ..core.errors import CpmonError, DumpError, StoreError
from .site_settings import CONFIG, READ, settings, store_at

if TYPE_CHECKING:
    from ..store import Store

Command = TypeVar("Command", bound=Callable[..., Any])
PARENTS = "cpmon.parents"
"""Key in the context of a command with `--parents`: whether missing folders are made."""

Identity = tuple[int, int]
"""Device and inode of a file, which do not depend on the path."""


class Target(click.Path):
    """The type of an option or argument for an output file or folder."""

    def __init__(self, **more: Any) -> None:
        super().__init__(path_type=Path, **more)


class FileOrName(click.ParamType[str]):
    """The type of an argument that is the name of something shipped, or a file of the user."""

    name = "text"


TARGET = Target()
TARGET_FILE = Target(dir_okay=False)
TARGET_FOLDER = Target(file_okay=False)


def parents_option(command: Command) -> Command:
    """Adds `--parents`; without it `check_target` refuses a target in a missing folder."""

    def keep(context: click.Context, _option: click.Parameter, value: bool) -> None:
        context.meta[PARENTS] = value

    return click.option(
        "--parents",
        is_flag=True,
        expose_value=False,
        callback=keep,
        help="Make the folder that the output is to be in, where there is none.",
    )(command)


def check_target(target: Path | None, form: str | None = None, *, in_missing: bool = False) -> None:
    """Check that writing a target loses nothing. Called before anything is opened.

    Args:
        target: a file or folder; None is standard output.
        form: the format of the file, if its name must not imply another one.
        in_missing: the folder that it is in may be missing even without `--parents`.

    Raises:
        CpmonError: it is an input of the command, a dump that has landed in its store or in that
            of the settings, or a file of any store; its name implies another format; or the
            folder that it is in is missing, and the command has `--parents` and was not given it.
    """
    if target is not None and form is not None:
        _check_name(target, form)
    refuse_input(target)
    if target is not None and not in_missing:
        _refuse_missing_folder(target)
    if target is not None and _identity(target) is not None:
        _refuse_dump_of_store(target)


def _refuse_missing_folder(target: Path) -> None:
    """Check that the folder that a target is in exists, for commands with `--parents`."""
    context = click.get_current_context(silent=True)
    if context is None or context.meta.get(PARENTS, True):
        return
    try:
        target.parent.stat()
    except FileNotFoundError:
        raise CpmonError(
            "the folder of the output is missing",
            code="output-folder-missing",
            place=str(target),
            expected="a folder that exists",
            found=f"no {target.parent}",
            effect="nothing was read or written",
            remedy="correct the name, make the folder, or add --parents, which makes it",
        ) from None
    except (OSError, ValueError):
        return  # writing reports it


def refuse_input(target: Path | None) -> None:
    """Check that a target is neither an input of the running command nor a file of a store.

    Raises:
        CpmonError: it is one of them.
    """
    if target is not None and (store := _store_around(target)) is not None:
        raise _refused("a file of a store would be replaced", target, f"the store {store}")
    context = click.get_current_context(silent=True)
    identity = _identity(target)
    if context is None or identity is None:
        return
    for file in _inputs(context):
        if _identity(None if str(file) == "-" else file, descriptor=0) == identity:
            shown = target or "standard output"
            raise _refused("the output is one of the inputs", shown, f"the input {file}")


def _refused(problem: str, target: Path | str, found: str) -> CpmonError:
    return CpmonError(
        problem,
        code="output-protected",
        place=str(target),
        expected="another file, or a new one",
        found=found,
        effect="nothing was read or written",
        remedy="name another file with -o",
    )


def _identity(path: Path | None, descriptor: int = 1) -> Identity | None:
    """The identity of a regular file; None for other or missing files.

    Args:
        path: None for the file that the shell has connected to `descriptor`.
    """
    with suppress(OSError, ValueError):
        found = os.fstat(descriptor) if path is None else path.stat()
        if stat.S_ISREG(found.st_mode):
            return found.st_dev, found.st_ino
    return None


def _inputs(context: click.Context) -> Iterator[Path]:
    """The files that the running command reads: its path arguments except targets, and settings."""
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if value is None or isinstance(option.type, Target):
            continue
        if isinstance(option.type, click.Path | FileOrName):
            yield from map(Path, value if isinstance(value, tuple) else (value,))
    if (file := context.meta.get(CONFIG)) is not None:
        yield file
    yield from (site.file for site in context.meta.get(READ, {}).values() if site.file)


def _store_around(target: Path) -> Path | None:
    """The store that a target belongs to, also through symlinks."""
    from ..store.dumps.store import MARKER, OWN

    with suppress(OSError, RuntimeError, ValueError):
        place = target.resolve()
        for folder in place.parents:
            if place.relative_to(folder).parts[0] in OWN and (folder / MARKER).is_file():
                return folder
    return None


def _refuse_dump_of_store(target: Path) -> None:
    """Check that a file is neither a landed dump nor a hard link to a file of a store."""
    from ..ingest.landing import landed_before

    store = _store()
    if store is None:
        return
    with suppress(DumpError):
        if landed := landed_before(target, store):
            found = f"dump {landed.dump[:12]} of the store {store.location}"
            raise _refused("a dump that has landed would be replaced", target, found)
    if target.stat().st_nlink > 1 and store.files.is_local:
        same = (file for file in store.root.rglob("*") if _identity(file) == _identity(target))
        if (file := next(same, None)) is not None:
            raise _refused("a file of a store would be replaced", target, str(file))


def _store() -> Store | None:
    """The store of the command; for commands without one, that of CPMON_STORE or the settings."""
    from ..config.values import scheme_of

    location = click.get_current_context().params.get("store")
    if location is None:
        location = os.environ.get("CPMON_STORE") or settings().store
        if location is None or scheme_of(str(location)):
            return None
    with suppress(StoreError):
        return store_at(Path(location))
    return None


def _check_name(target: Path, form: str) -> None:
    """Check that the file name does not imply another format.

    Raises:
        CpmonError: it does.
    """
    meaning = name_contradicts(target, form)
    if not meaning or (target.exists() and not target.is_file()):
        return
    command = click.get_current_context().command
    option = next((p for p in command.params if p.name == "form"), None)
    forms = option.type.choices if option and isinstance(option.type, click.Choice) else (form,)
    names = dict.fromkeys(target.with_suffix(suffix_of(each)).name for each in forms)
    remedy = f"name it {' or '.join(names)}"
    if meaning == "html" and any(p.name == "html" for p in command.params):
        remedy = f"add --html, which writes a page or a folder of them; or {remedy}"
    raise CpmonError(
        "the name of the output says another format than it would have",
        code="output-format-mismatch",
        place=str(target),
        expected=form,
        found=meaning,
        effect="nothing was read or written",
        remedy=remedy,
    )
