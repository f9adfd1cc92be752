"""Output of commands: results to standard output or a file, progress bars to a terminal.

An output file must be neither an input of the command nor a part of a store.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..config.formats import BINARY, name_contradicts, suffix_of
from ..core.atomic import replacing
from ..core.errors import CpmonError, DumpError, StoreError
from ..core.text import for_screen, printable
from .site_settings import CONFIG, READ, settings, store_at

if TYPE_CHECKING:
    import pyarrow as pa

Command = TypeVar("Command", bound=Callable[..., Any])
Advance = Callable[..., None]
"""Progress callback: amount done, and the total if it was unknown before."""


@contextmanager
def bar(what: str, total: int | None = None, units: str = "") -> Iterator[Advance]:
    """A progress bar for one long step.

    Args:
        total: None if unknown. units: unit of the counts; bytes by default.
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
        columns += [rich.DownloadColumn(), rich.TransferSpeedColumn()]
    columns.append(rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=total)
        yield lambda done, total=None: shown.update(task, completed=done, total=total)


FOR_PEOPLE = ("table", "text", "markdown")


@dataclass(frozen=True, slots=True)
class Output:
    """The format of a result and its output file; None is standard output."""

    format: str
    file: Path | None = None

    def write(self, data: bytes | Iterable[bytes]) -> None:
        """Write a result, streaming its parts, to standard output, or atomically to the file.

        Control characters in names are escaped for terminals and in formats for people.

        Raises:
            CpmonError: a binary format would go to a terminal, or the file cannot be written.
        """
        parts = [data] if isinstance(data, bytes) else data
        to_terminal = self.file is None and sys.stdout.isatty()
        if to_terminal and self.format in BINARY:
            raise CpmonError(
                f"{BINARY[self.format]} is not for a terminal",
                code="output-is-terminal",
                remedy="name a file with -o",
            )
        if self.format in FOR_PEOPLE or to_terminal:
            shown = for_screen if to_terminal else str
            parts = (shown(printable(part.decode(errors="replace"))).encode() for part in parts)
        if self.file is not None:
            write_file(self.file, parts)
            return
        for part in parts:
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()

    def write_paged(self, data: bytes, pager: str) -> None:
        """Print a result with a pager if it is longer than the terminal.

        Args:
            pager: auto, always or never.
        """
        lines = shutil.get_terminal_size().lines
        is_long = pager == "always" or (pager == "auto" and data.count(b"\n") >= lines)
        if not (self.is_screen and is_long):
            self.write(data)
            return
        click.echo_via_pager(for_screen(printable(data.decode(errors="replace"))), color=True)

    @property
    def is_screen(self) -> bool:
        """Whether it is text on a terminal, where it can be fitted, coloured and paged."""
        return self.file is None and self.format in ("table", "text") and sys.stdout.isatty()

    def write_table(self, table: pa.Table) -> None:
        """Render a table and write it."""
        from ..render.render import render

        self.write(render(table, self.format))

    def write_json(self, document: Any) -> None:
        """Write a document as JSON; types unknown to JSON become text."""
        self.write((json.dumps(document, indent=1, default=str) + "\n").encode())

    def write_rows(self, rows: list[dict[str, Any]]) -> None:
        """Render rows with the same keys and write them."""
        self.write(rows_as(rows, self.format))


def read_input() -> str:
    """Read all of standard input as text.

    Raises:
        CpmonError: it is not text.
    """
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise CpmonError(
            "standard input is no text in UTF-8", found=f"byte {error.object[error.start]:#04x}"
        ) from None


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may contain names from dumps, files or users."""
    click.echo(printable(text), err=err)


def say_notes(notes: Iterable[str]) -> None:
    """Print notes about a result to standard error."""
    for note in notes:
        say(note, err=True)


@contextmanager
def written_to(place: Path) -> Iterator[None]:
    """Maps OSError to CpmonError, for writes to a place."""
    try:
        yield
    except OSError as error:
        raise CpmonError(
            f"{error.filename or place} cannot be written: {error.strerror or error}"
        ) from None


def write_file(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file atomically, in parts if the data is an iterable; devices are written directly.

    Raises:
        CpmonError: it cannot be written, or it is an input of the command or a file of a store.
    """
    refuse_input(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Devices and pipes are not replaced, because their readers wait for the data.
        is_special = path.exists() and not path.is_file()
        with (
            nullcontext(path) if is_special else replacing(path) as file,
            file.open("wb") as stream,
        ):
            for part in [data] if isinstance(data, bytes) else data:
                stream.write(part)
    except OSError as error:
        raise CpmonError(f"{path} cannot be written: {error.strerror}") from None


def rows_as(rows: list[dict[str, Any]], form: str) -> bytes:
    """Render rows with the same keys."""
    import pyarrow as pa

    from ..render.render import render

    return render(pa.Table.from_pylist(rows), form)


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


NOTED = ("table", "text", "xlsx")
"""Formats in which reports have their notes; beside others these are said."""
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
    if target is None:
        refuse_input(target)
        return
    if form is not None:
        _check_name(target, form)
    refuse_input(target)
    context = click.get_current_context(silent=True)
    if not in_missing and context is not None and not context.meta.get(PARENTS, True):
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
            pass  # writing reports it
    if _identity(target) is not None:
        _refuse_dump_of_store(target)


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
    from ..store.format.store import MARKER, OWN

    with suppress(OSError, RuntimeError, ValueError):
        place = target.resolve()
        for folder in place.parents:
            if place.relative_to(folder).parts[0] in OWN and (folder / MARKER).is_file():
                return folder
    return None


def _refuse_dump_of_store(target: Path) -> None:
    """Check that a file is neither a landed dump nor a hard link to a file of a store.

    The store is that of the command; for commands without one, that of CPMON_STORE or the settings.
    """
    from ..config.values import scheme_of
    from ..ingest.landing import landed_before

    location = click.get_current_context().params.get("store")
    if location is None:
        location = os.environ.get("CPMON_STORE") or settings().store
        if location is None or scheme_of(str(location)):
            return
    try:
        store = store_at(Path(location))
    except StoreError:
        return
    with suppress(DumpError):
        if landed := landed_before(target, store):
            found = f"dump {landed.dump[:12]} of the store {store.location}"
            raise _refused("a dump that has landed would be replaced", target, found)
    if target.stat().st_nlink > 1 and store.files.is_local:
        same = (file for file in store.root.rglob("*") if _identity(file) == _identity(target))
        if (file := next(same, None)) is not None:
            raise _refused("a file of a store would be replaced", target, str(file))


def _check_name(target: Path, form: str) -> None:
    """Check that the file name does not imply another format."""
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
