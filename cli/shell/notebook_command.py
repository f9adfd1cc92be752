"""`cpmon notebook`: notebooks for analysts, copied beside a store and opened."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import click

from ...config.values import scheme_of
from ...core.errors import CpmonError, fold, unknown
from .. import completion
from ..main import Status
from ..options import ANY_PATH, FILE_PATH, Text, config_option
from ..output import TARGET_FILE, check_target, parents_option, say, write_file
from ..site_settings import settings

_STORE, _DUMP = '    STORE = "perf"\n', '    DUMP = ""\n'
"""The lines of a notebook that name what it asks."""


@click.command("notebook")
@click.argument("name", required=False, type=Text(), shell_complete=completion.notebooks)
@click.option(
    "--store",
    type=ANY_PATH,
    envvar="CPMON_STORE",
    metavar="DIR|URL",
    help="The store that it asks; else CPMON_STORE, settings.",
)
@config_option
@click.option(
    "--dump",
    type=FILE_PATH,
    metavar="DUMP",
    help="The dump that first-look reads, without a store.",
)
@click.option(
    "-o",
    "--output",
    type=TARGET_FILE,
    help="Copy it to this file; by default beside the store, else into this folder.",
)
@parents_option
@click.option("--no-open", is_flag=True, help="Only copy it.")
def command(
    name: str | None,
    store: Path | None,
    dump: Path | None,
    output: Path | None,
    no_open: bool,
) -> Status:
    """Copy the notebook NAME beside a store and open it in a browser; without NAME, list them.

    A notebook is a Python file: the steps of an analysis, what to look at and why, and the calls of
    cpmon behind them (docs/notebooks.md). The copy is yours to edit, and is never overwritten once
    you did. Opening it needs the extra notebook: pip install 'cpmon[notebook]'.

    \b
    Examples:
      cpmon notebook
      cpmon notebook first-look --dump day.mon.gz
      cpmon notebook two-runs --store perf/ -o monday.py
    """
    if name is None:
        for title, text in completion.notebook_titles().items():
            say(f"{title:<14}{text}")
        return Status.DONE
    if not no_open and find_spec("marimo") is None:
        raise CpmonError(
            "the packages of the extra notebook are not installed",
            code="notebook-extra-missing",
            found="no marimo",
            effect="nothing was copied; --no-open copies without it",
            remedy="pip install 'cpmon[notebook]'",
        )
    store = store or settings().store
    source = _filled(name, store, dump)
    folder = Path() if store is None or scheme_of(str(store)) else store.resolve().parent
    file = output or folder / f"{fold(name)}.py"
    _copy(source, file)
    if no_open:
        return Status.DONE
    # The shell sends Ctrl-C to marimo as well, which ends by it.
    marimo = [sys.executable, "-m", "marimo", "edit", "--skip-update-check", str(file)]
    return Status.FAILED if subprocess.run(marimo, check=False).returncode else Status.DONE


def _filled(name: str, store: Path | None, dump: Path | None) -> str:
    """The text of a notebook, with the store and the dump that it asks."""
    titles = completion.notebook_titles()
    if name.lower().replace("_", "-") not in titles:
        raise unknown("notebook", name, titles)
    text = (files(completion.NOTEBOOKS) / f"{fold(name)}.py").read_text(encoding="utf-8")
    if dump is not None and _DUMP not in text:
        raise click.UsageError(f"{name} asks a store: leave out --dump")
    for line, path in ((_STORE, store), (_DUMP, dump)):
        if path is not None:
            place = str(path) if scheme_of(str(path)) else str(path.resolve())
            constant = line.partition('"')[0]
            text = text.replace(line, f"{constant}{json.dumps(place, ensure_ascii=False)}\n")
    return text


def _copy(text: str, file: Path) -> None:
    """Write a notebook, unless the file has been edited."""
    check_target(file)
    data = text.encode()
    if file.exists():
        if file.read_bytes() == data:
            say(f"{file}: unchanged since it was copied")
            return
        raise CpmonError(
            "a file of that name exists, and is not the notebook as it is copied",
            code="notebook-edited",
            place=str(file),
            effect="nothing was written",
            remedy="open it with marimo edit, or name another file with -o",
        )
    write_file(file, data)
    say(f"{file}: copied")
