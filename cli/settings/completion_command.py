"""`cpmon completion`: prints the completion script of a shell."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL, which completes commands, options and names.

    Names are those of reports, tables, queries, runs, systems, users and more, also of the store
    that the line, CPMON_STORE or the settings name.

    \b
    Examples:
      cpmon completion bash >> ~/.bashrc
      cpmon completion fish > ~/.config/fish/completions/cpmon.fish
    """
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None, shell
    root = context.find_root().command
    click.echo(completion(root, {}, "cpmon", "_CPMON_COMPLETE").source())
