"""The manual pages: current, complete, and rendered as text without a complaint of troff."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from cpmon.cli.main import cpmon
from tools.man_pages import man_pages

FOLDER = Path(__file__).resolve().parents[2] / "man"


def test_the_committed_pages_are_current():
    committed = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
    assert committed == man_pages(), "run make docs and review the diff"


def test_every_command_and_every_option_has_its_place():
    pages = man_pages()
    for name, command in cpmon.commands.items():
        page = pages[f"cpmon-{name}.1"].replace("\\-", "-")
        below = command.commands.values() if isinstance(command, click.Group) else ()
        for one in (command, *(c for c in below if not c.hidden)):
            for parameter in one.params:
                if isinstance(parameter, click.Option) and not parameter.hidden:
                    assert parameter.opts[-1] in page, (name, one.name, parameter.name)


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_troff_prints_every_page_without_a_warning():
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    for file in FOLDER.iterdir():
        command = ["groff", "-man", "-ww", "-Tutf8", "-P-cbou", str(file)]
        done = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
        assert done.stderr == ""
        title = file.stem.upper()
        assert done.stdout.startswith(f"{title}(1)") and "SYNOPSIS" in done.stdout


def test_text_that_troff_would_read_as_a_request_is_printed():
    @click.command(name="odd")
    @click.option("--mask", help=".dot first, a \\ and a-b.")
    def odd(mask: str) -> None:
        """One line.

        \b
        .cpmonrc
        'quoted'
        """

    from tools.man_pages import _context, _page

    page = _page([_context(odd, "odd", None)], [])
    assert "\n\\&.cpmonrc\n\\&'quoted'\n" in page
    assert "\n\\&.dot first, a \\e and a\\-b.\n" in page
