"""Options that several commands share, as decorators."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import click

from ..config.formats import FORMATS, format_of_file
from ..config.moments import parse_length, parse_line_length, parse_moment
from . import completion
from .output import TARGET, Command, Output, check_target, parents_option
from .site_settings import CONFIG, FLAGS, settings, site_store

if TYPE_CHECKING:
    from ..jobs import Engine

ANY_PATH = click.Path(path_type=Path)
FILE_PATH = click.Path(path_type=Path, dir_okay=False)


def _store(
    context: click.Context, option: click.Parameter, store: Path | None, what: str
) -> Path | None:
    """The store of the option or of the settings; `what` requires a local folder."""
    if context.resilient_parsing:
        return store
    # A query of a dump needs no store, nor does a screen of a source.
    if store is None and (context.params.get("dump") or context.params.get("shown_source")):
        settings()
        return None
    store = store or settings().store
    if store is None:
        raise click.MissingParameter(
            "name the folder; CPMON_STORE or store in the settings will do", context, option
        )
    if what:
        need_folder(store, what)
    with suppress(PermissionError):  # opening the store reports it
        site_store(store).use()
    return store


def config_option(command: Command) -> Command:
    """Adds `--config`, a settings file; `site_settings.settings` reads it."""

    def keep(context: click.Context, _option: click.Parameter, file: Path | None) -> None:
        context.meta[CONFIG] = file

    return click.option(
        "--config",
        type=FILE_PATH,
        is_eager=True,
        expose_value=False,
        callback=keep,
        help="The settings: else CPMON_CONFIG, ./cpmon.toml, that of the store, the user's.",
    )(command)


def folder_option(what: str = "") -> Callable[[Command], Command]:
    """Adds `--store` and `--config`, whose settings may name the store.

    Args:
        what: begins the error message if the store is in no local folder; empty if that will do.
    """
    place = "Folder of the landed dumps" + ("" if what else ", or s3://BUCKET/PREFIX")
    option = click.option(
        "--store",
        type=ANY_PATH,
        envvar="CPMON_STORE",
        callback=functools.partial(_store, what=what),
        metavar="DIR" if what else "DIR|URL",
        help=f"{place}; else CPMON_STORE, settings.",
    )
    return lambda command: config_option(option(command))


store_option = folder_option()


def need_folder(store: Path, what: str) -> None:
    """Check that a store is a local folder.

    Raises:
        StoreError: it is in object storage. `what` begins the message.
    """
    from ..config.values import scheme_of, url
    from ..core.errors import StoreError

    if scheme_of(str(store)):
        raise StoreError(
            f"{what} needs a store in a folder of this machine",
            code="store-not-local",
            place=url(str(store)),
            effect="nothing was done",
            remedy="name a folder; ingest, reduce, runs, classes, store prune and all commands that"
            " read a store take object storage too",
        )


def limit_options(command: Command) -> Command:
    """Adds `--memory-limit` and `--threads`, limits for queries."""

    def keep(context: click.Context, option: click.Parameter, value: Any) -> None:
        if value is not None:
            context.meta.setdefault(FLAGS, {})[option.name] = value

    limit = functools.partial(click.option, is_eager=True, expose_value=False, callback=keep)
    count, most = click.IntRange(1, 1024), "Most memory that a query uses, as 2GB."
    threads = limit("--threads", type=count, help="Most threads that a query uses.")
    return limit("--memory-limit", metavar="AMOUNT", help=most)(threads(command))


def usual_format(context: click.Context, option: click.Parameter, form: str) -> str:
    """The format: of --format, else of the file name of -o, else of the settings for a store."""
    source = context.get_parameter_source(option.name or "")
    if context.resilient_parsing or source is not click.core.ParameterSource.DEFAULT:
        return form
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    by_name = format_of_file(context.params.get("output"), choices)
    if by_name or "store" not in context.params:
        return by_name or form
    usual = settings().format_of(context.command_path.split()[1])
    return usual if usual and usual in choices else form


dump_argument = click.argument("dump", metavar="DUMP", type=ANY_PATH)
dump_arguments = click.argument("dumps", nargs=-1, required=True, metavar="DUMP...", type=ANY_PATH)


def choice_option(
    *names: str, values: Sequence[str], help: str, **more: Any
) -> Callable[[Command], Command]:
    """An option with a choice of values, by default the first; `more`: arguments of click."""
    kind = click.Choice(values)
    return click.option(*names, type=kind, default=values[0], show_default=True, help=help, **more)


class Parsed(click.ParamType[Any]):
    """A parameter type with a parser function, which raises ValueError for invalid texts."""

    def __init__(self, name: str, example: str, metavar: str, parse: Callable[[str], Any]) -> None:
        self.name, self._example, self._metavar, self._parse = name, example, metavar, parse

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The placeholder of a value in the help."""
        return self._metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Converts the text; returns a default unchanged."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError:
            self.fail(f"{value!r} is no {self.name}; write it like {self._example}", param, ctx)


class Text(click.ParamType[str]):
    """A name to look up: any text that is valid UTF-8."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the text unchanged."""
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail(f"{value!r} is no text in UTF-8", param, ctx)
        return str(value)


class Name(Text):
    """The name of a system or run: any text that is short enough for a folder name."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the name unchanged."""
        name = super().convert(value, param, ctx)
        # Percent-encoded in a path; most characters take three to nine bytes.
        if not name.strip() or len(quote(name, safe="")) > 200:
            self.fail(f"{value!r} is empty or too long for a name", param, ctx)
        return name


def _release(text: str, level: str = "") -> str:
    """Completes a release to three numbers; an empty text stays empty.

    Args:
        level: pattern of what may follow, and is kept.
    """
    match = re.fullmatch(rf"(\d+\.\d+)(\.\d+)?({level})", text)
    if text and not match:
        raise ValueError(text)
    return f"{match[1]}{match[2] or '.0'}{match[3]}" if match else ""


def _day(text: str) -> date:
    """Parses a UTC day: a date, or a word that means its beginning."""
    moment = parse_moment(text, ZoneInfo("UTC"), datetime.now(UTC))
    if moment.time() != time():
        raise ValueError(text)
    return moment.date()


def _offset(text: str) -> int:
    offset = int(text, 0)
    if offset < 0:
        raise ValueError(text)
    return offset


RELEASE = Parsed("release", "5.3.0", "V.R.M", _release)
LEVEL = Parsed(
    "release",
    "5.3.0 or 7.3.0+callevel.5",
    "V.R.M",
    functools.partial(_release, level=r"(?:\+callevel(?:\.\d+)*)?"),
)
LENGTH = Parsed("length of time", "15m or 1h", "SPAN", parse_length)
LINE_LENGTH = Parsed("length of time", "15m, 1h, 1d, 1w or 1mo", "SPAN", parse_line_length)
DAY = Parsed("day", "2026-01-31, today or yesterday", "DATE", _day)
OFFSET = Parsed("offset", "8192 or 0x2000", "OFFSET", _offset)


def _devices(text: str) -> int | tuple[int, int]:
    """Parses a device number, or a range of them as first and last."""
    first, dash, last = text.partition("-")
    return (int(first, 16), int(last, 16)) if dash else int(first, 16)


DEVICES = Parsed("device number or range of them", "0A1F or 0A00-0AFF", "NUMBER", _devices)


run_option = functools.partial(click.option, metavar="RUN", shell_complete=completion.runs)
"""An option that names a run of the store."""
system_option = click.option(
    "--system",
    type=Text(),
    metavar="NAME",
    help="Only this system.",
    shell_complete=completion.systems,
)


def object_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--cpu`, `--user`, `--class`, `--device` and `--partition`, as `objects` of a report."""

    @click.option("--cpu", type=int, help="Follow this processor.")
    @click.option(
        "--user",
        type=Text(),
        metavar="USERID",
        help="Follow this user; of several, as 'LNX*', each has a line.",
        shell_complete=completion.users,
    )
    @click.option(
        "--class",
        "user_class",
        type=Text(),
        metavar="NAME",
        help="Follow this user class, or only its users.",
    )
    @click.option("--device", type=DEVICES, help="Follow this device, as 0A1F; or 0A00-0AFF.")
    @click.option(
        "--partition", "--lpar", type=Text(), metavar="NAME", help="Follow this logical partition."
    )
    @functools.wraps(command)
    def follow(**values: Any) -> Any:
        from ..reduce.reports.narrowing import named_objects

        options = ("cpu", "user", "user_class", "device", "partition")
        objects = named_objects(*(values.pop(option) for option in options))
        return command(objects=objects, **values)

    return follow


release_option = click.option(
    "--release",
    type=LEVEL,
    default="",
    help="Release of z/VM that wrote the dump, where it is not as its configuration says.",
)


rules_option = click.option(
    "--rules",
    type=FILE_PATH,
    help="Rules that win over the shipped ones and those of the settings.",
)


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `-o`, passed as `out` together with the format of `--format`."""

    @click.option(
        "-o",
        "--output",
        type=TARGET,
        is_eager=True,  # the file name may determine the format
        metavar="FILE",
        help="Write there instead of standard output (-), in the format that .csv, .xlsx ... say.",
    )
    @parents_option
    @functools.wraps(command)
    def with_output(form: str, output: Path | None, **values: Any) -> Any:
        file = None if output is None or str(output) == "-" else output
        check_target(file, None if values.get("html") else form)
        return command(out=Output(form, file), **values)

    return with_output


def format_option(
    *more: str, help_text: str = "How to print the result."
) -> Callable[[Command], Command]:
    """Adds `--format`, with `more` formats in addition to the common ones."""
    values = (*FORMATS, *more)
    return choice_option("--format", "form", values=values, callback=usual_format, help=help_text)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--format` and `-o`, passed as `out`."""
    return format_option()(output_option(command))


def listing_option(what: str, lines: Callable[[], Iterable[str]]) -> Callable[[Command], Command]:
    """Adds `--list`, which prints the available names and exits; no other argument is required."""

    def print_list(context: click.Context, _option: click.Parameter, value: bool) -> None:
        if value and not context.resilient_parsing:
            for line in lines():
                click.echo(line)
            context.exit()

    return click.option(
        "--list", is_flag=True, is_eager=True, expose_value=False, callback=print_list, help=what
    )


def pairs(option: str, texts: Iterable[str], example: str = "") -> dict[str, str]:
    """Parse KEY=VALUE texts.

    Raises:
        click.UsageError: a text has no =; the message contains the example.
    """
    values = {}
    for text in texts:
        key, equals, values[key] = text.partition("=")
        if not equals:
            example = example or f"{option} {text}=VALUE"
            raise click.UsageError(f"{option} {text} has no =; write {example}")
    return values


SPARK = "spark"


def engine_options(of_job: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `--jobs`, `--engine` and `--master`, passed as `engine`; None: one job, in this process.

    Args:
        of_job: what one job does, for the help.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @click.option(
            "--jobs",
            type=click.IntRange(1, 1024),
            default=1,
            show_default=True,
            metavar="N",
            help=f"So many processes on this machine, each of which {of_job}.",
        )
        @choice_option(
            "--engine",
            values=("local", SPARK),
            help="Where that is done: spark has it done by the executors of a Spark.",
        )
        @click.option(
            "--master",
            metavar="URL",
            help="Where Spark is, as spark://host:7077; else as its own settings have it.",
        )
        @functools.wraps(command)
        def choose(jobs: int, engine: str, master: str | None, **values: Any) -> Any:
            chosen: Engine | None = None
            if engine == SPARK:
                if jobs > 1:
                    raise click.UsageError("--jobs is of this machine; Spark has executors instead")
                from ..jobs.spark import Spark

                chosen = Spark(master)
            elif master:
                raise click.UsageError("--master is of Spark; add --engine spark")
            elif jobs > 1:
                from ..jobs.processes import Processes

                chosen = Processes(jobs)
            return command(engine=chosen, **values)

        return choose

    return decorate
