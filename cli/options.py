"""Options that several commands share, as decorators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

import click

from ..schemas.formats import FORMATS
from .site_settings import CONFIG, FLAGS, command_name, settings

Command = TypeVar("Command", bound=Callable[..., Any])

LONGEST_NAME = 200
"""Bytes of a name as a part of a path, where most characters take three to nine."""


def use_layouts(
    context: click.Context, _option: click.Parameter, store: Path | None
) -> Path | None:
    """Layouts beside a store, in its folder `schemas`, win over the shipped ones."""
    if not context.resilient_parsing:
        from ..schemas.registry import use

        beside = store / "schemas" if store else None
        with suppress(PermissionError):  # opening the store tells it
            use(beside if beside and beside.is_dir() else None)
    return store


def _store(context: click.Context, option: click.Parameter, store: Path | None) -> Path | None:
    """The store that is named, or that of the settings."""
    if context.resilient_parsing:
        return store
    store = store or settings().store
    if store is None:
        raise click.MissingParameter(
            "name the folder; CPMON_STORE or store in the settings will do",
            context,
            option,
        )
    return use_layouts(context, option, store)


def _config(context: click.Context, _option: click.Parameter, file: Path | None) -> None:
    context.meta[CONFIG] = file


def config_option(command: Command) -> Command:
    """`--config`: which settings; `site_settings.settings` reads them."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=_config,
        metavar="FILE",
        help="The settings: else CPMON_CONFIG, ./cpmon.toml, that of the store, the user's.",
    )(command)


def store_option(command: Command) -> Command:
    """`--store`, and `--config`, which may name it."""
    return config_option(
        click.option(
            "--store",
            type=click.Path(path_type=Path),
            envvar="CPMON_STORE",
            callback=_store,
            metavar="DIR",
            help="Folder of the landed dumps; CPMON_STORE or the settings stand for it.",
        )(command)
    )


def _flag(context: click.Context, option: click.Parameter, value: Any) -> None:
    if value is not None:
        context.meta.setdefault(FLAGS, {})[option.name] = value


def limit_options(command: Command) -> Command:
    """`--memory-limit` and `--threads`: what queries may use."""
    command = click.option(
        "--threads",
        type=click.IntRange(1, 1024),
        is_eager=True,
        expose_value=False,
        callback=_flag,
        help="Most threads that a query uses.",
    )(command)
    return click.option(
        "--memory-limit",
        is_eager=True,
        expose_value=False,
        callback=_flag,
        metavar="AMOUNT",
        help="Most memory that a query uses, as 2GB.",
    )(command)


def usual_format(context: click.Context, option: click.Parameter, form: str) -> str:
    """What --format says, or else the settings of a command that reads a store."""
    given = context.get_parameter_source(option.name or "")
    if context.resilient_parsing or "store" not in context.params:
        return form
    if given is not click.core.ParameterSource.DEFAULT:
        return form
    usual = settings().format_of(command_name(context))
    allowed = option.type.choices if isinstance(option.type, click.Choice) else ()
    return usual if usual and usual in allowed else form


dump_arguments = click.argument(
    "dumps", nargs=-1, required=True, metavar="DUMP...", type=click.Path(path_type=Path)
)


class Text(click.ParamType[str]):
    """A name that is looked up: any text, but no bytes that are none."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail(f"{value!r} is no text in UTF-8", param, ctx)
        return str(value)


class Name(click.ParamType[str]):
    """What a system or run is called: any text that is not too long to name a folder."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is."""
        try:
            length = len(quote(str(value), safe=""))
        except UnicodeEncodeError:
            self.fail(f"{value!r} is no text in UTF-8", param, ctx)
        if not str(value).strip() or length > LONGEST_NAME:
            self.fail(f"{value!r} is empty or too long for a name", param, ctx)
        return str(value)


class Release(click.ParamType[str]):
    """A release of z/VM: 5.3 or 5.3.0."""

    name = "release"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The release with three numbers; nothing stays nothing."""
        if not value:
            return ""
        parts = str(value).split(".")
        if not 2 <= len(parts) <= 3 or not all(part.isdigit() for part in parts):
            self.fail(f"{value!r} is no release; write it like 5.3.0", param, ctx)
        return ".".join([*parts, "0"][:3])


release_option = click.option(
    "--release",
    type=Release(),
    default="",
    metavar="V.R.M",
    help="Release of z/VM that wrote the dump, where it is not as its configuration says.",
)


rules_option = click.option(
    "--rules",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Rules that win over the shipped ones and those of the settings.",
)

output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write there instead of standard output (- is standard output).",
)


def format_option(
    *more: str, said: str = "How to print the result."
) -> Callable[[Command], Command]:
    """`--format`, with `more` formats than every command has."""
    return click.option(
        "--format",
        "form",
        type=click.Choice((*FORMATS, *more)),
        default="table",
        show_default=True,
        callback=usual_format,
        help=said,
    )


def output_options(command: Command) -> Command:
    """`--format` and `-o`."""
    return format_option()(output_option(command))


def listing_option(what: str, lines: Callable[[], Iterable[str]]) -> Callable[[Command], Command]:
    """`--list`: print what there is to choose from and end; nothing else need be given."""

    def tell(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            for line in lines():
                click.echo(line)
            context.exit()

    return click.option(
        "--list", is_flag=True, is_eager=True, expose_value=False, callback=tell, help=what
    )


def pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """What a repeated KEY=VALUE option says.

    Raises:
        click.UsageError: one of them has no =.
    """
    found = {}
    for text in texts:
        key, equals, found[key] = text.partition("=")
        if not equals:
            raise click.UsageError(f"{option} {text} has no =; write {option} {text}=VALUE")
    return found


class Moment(click.ParamType[datetime]):
    """A time: ISO 8601, UTC where it names no zone."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """The time as UTC."""
        if isinstance(value, datetime):
            return value
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time; write it like 2001-12-18T10:00", param, ctx)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


class Bound(Moment):
    """A time that bounds a span: an interval counts to it though CP ended it a little later."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """The latest end of an interval that counts to a span up to that time."""
        from ..store.dumps.lateness import LATE

        if isinstance(value, datetime):
            return value
        return super().convert(value, param, ctx) + LATE


class Length(click.ParamType[timedelta]):
    """A length of time: 90s, 15m, 1h, 1d."""

    name = "length"
    _units: ClassVar = {"s": 1, "m": 60, "h": 3600, "d": 86400}

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The length."""
        if isinstance(value, timedelta):
            return value
        number, unit = str(value)[:-1], str(value)[-1:]
        if unit not in self._units or not number.isdigit() or not int(number):
            self.fail(f"{value!r} is no length of time; write it like 15m or 1h", param, ctx)
        return timedelta(seconds=int(number) * self._units[unit])


class Device(click.ParamType[int]):
    """A device number: four hexadecimal digits."""

    name = "device"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        try:
            return value if isinstance(value, int) else int(str(value), 16)
        except ValueError:
            self.fail(f"{value!r} is no device number; write it like 0A1F", param, ctx)


def span_options(command: Command, kind: Moment = Bound()) -> Command:  # noqa: B008 - no state
    """`--since` and `--until`, of intervals."""
    for name, said in (("--until", "Up to this time"), ("--since", "Later than this time")):
        text = f"{said} (ISO 8601; UTC unless it names a zone)."
        command = click.option(name, type=kind, metavar="TIME", help=text)(command)
    return command
