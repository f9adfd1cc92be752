"""All commands of the command line, as click has them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import click

from cpmon.cli.main import COMMANDS


def leaves() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with its name: `report`, `store info`."""
    for name, (package, _) in COMMANDS.items():
        command: click.Command = import_module(f"cpmon.cli.{package}.{name}_command").command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in command.commands.items())
        else:
            yield name, command
