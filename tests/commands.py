"""All commands of the command line, as click has them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cpmon.cli.main import COMMANDS, cpmon


def leaves() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with its name: `report`, `store info`."""
    for name in COMMANDS:
        command = cpmon.get_command(click.Context(cpmon), name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in command.commands.items())
        elif command:
            yield name, command
