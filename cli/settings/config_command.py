"""`cpmon config`: settings with their sources, and the check of a settings file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...config.formats import FORMATS
from ..options import (
    ANY_PATH,
    FILE_PATH,
    choice_option,
    config_option,
    limit_options,
    output_option,
)
from ..output import Output
from ..site_settings import settings


@click.group("config")
def command() -> None:
    """See the settings and where each came from, or check a file of them.

    \b
    Examples:
      cpmon config show --store perf/
      cpmon config check cpmon.toml
    """


@command.command("show", short_help="Every setting, its value, where it came from.")
@config_option
@limit_options
@click.option(
    "--store",
    type=ANY_PATH,
    envvar="CPMON_STORE",
    metavar="DIR",
    help="As for other commands: the store's own file is one of the places.",
)
@choice_option("--format", "form", values=FORMATS, help="How to print the result.")
@output_option
def show(store: Path | None, out: Output) -> None:
    """Print every setting with its value and where it came from.

    That is the file and key, a variable of the environment, an option, or the default.

    \b
    Example:
      cpmon config show --store perf/ --format json
    """
    from ...config import ignored_files
    from ...config.settings import setting_list

    site = settings(store)
    rows: list[dict[str, Any]] = setting_list(site)
    if store is not None:
        source = click.get_current_context().get_parameter_source("store")
        origin = "CPMON_STORE" if source is click.core.ParameterSource.ENVIRONMENT else "--store"
        rows[0] |= {"value": str(store), "origin": origin}
    out.write_rows(rows)
    click.echo(f"settings: {site.file or 'no file'}", err=True)
    for ignored in ignored_files(store or site.store, site.file):
        click.echo(f"passed over: {ignored}", err=True)


@command.command("check", short_help="Whether a file of settings is right.")
@click.argument("file", type=FILE_PATH)
def check(file: Path) -> None:
    """Check FILE: its keys, at every level, and their values; no store is needed.

    \b
    Example:
      cpmon config check cpmon.toml
    """
    from ...batch.plan import check_settings
    from ...config.settings import parse_settings

    read = parse_settings(file)
    check_settings(read)
    click.echo(f"{file}: {len(read.origins):,} settings, all known")
