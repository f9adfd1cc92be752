"""`cpmon serve`: the pages of a store in a browser."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click

from ...core.errors import CpmonError
from ..options import FILE_PATH, store_option
from ..output import say
from ..site_settings import opened, print_notes, settings

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command("serve")
@store_option
@click.option("--host", default=LOOPBACK[0], show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8094,
    show_default=True,
    help="Port to listen on; 0 takes any free one.",
)
@click.option(
    "--token-file",
    type=FILE_PATH,
    help="Require the token in this file; else that in CPMON_TOKEN.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="A further name of this machine in addresses; may be repeated.",
)
@click.option(
    "--warm",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    metavar="N",
    help="Make the N newest pages, and those of their greatest objects, before they are asked for.",
)
@click.option("--follow", is_flag=True, help="Draw new intervals in open pages as they land.")
@click.option("--verbose", is_flag=True, help="Print a line for each request.")
def command(
    store: Path,
    host: str,
    port: int,
    token_file: Path | None,
    names: tuple[str, ...],
    warm: int,
    follow: bool,
    verbose: bool,
) -> None:
    """Show the pages of a store in a browser, made when asked for, and answer SQL.

    Only this machine can connect, unless --host names another address; then every request needs a
    token, which is printed with the address if none is given. Ctrl-C ends it. It needs the extra
    serve: pip install 'cpmon[serve]'.

    \b
    Examples:
      cpmon serve --store perf/
      cpmon serve --store perf/ --host 0.0.0.0 --allow-host perf.example.com
    """
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise CpmonError(
            "the packages of the extra serve are not installed",
            code="serve-extra-missing",
            found=f"no {', no '.join(missing)}",
            remedy="pip install 'cpmon[serve]'",
        )
    from ...serve.server import serve
    from ...serve.site import Site

    token = given = _token(token_file)
    if not token and host not in LOOPBACK:
        token = secrets.token_urlsafe(24)
    with opened(store):  # checks the store and the limits; limits the memory of the process
        pass
    site = Site(store, settings(), max(2, os.cpu_count() or 1), warm, follow)
    with suppress(BrokenPipeError):
        serve(
            site,
            say,
            host=host,
            port=port,
            token=token,
            is_token_shown=not given and bool(token),
            names=names,
            verbose=verbose,
        )


def _token(file: Path | None) -> str:
    """The given token; empty if there is none."""
    try:
        token = file.read_text("ascii") if file else os.environ.get("CPMON_TOKEN", "")
        if file and file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            print_notes(f"warning: others can read the token in {file}: chmod 600 {file}")
    except (OSError, UnicodeError) as error:
        raise CpmonError("the token cannot be read", place=str(file), found=str(error)) from None
    token = token.strip()
    if (file or token) and not (len(token) >= 16 and token.isascii() and token.isalnum()):
        raise CpmonError(
            "the token cannot be used",
            code="token-not-usable",
            place=str(file or "CPMON_TOKEN"),
            expected="at least 16 letters and digits",
            remedy="openssl rand -hex 24 makes one",
        )
    return token
