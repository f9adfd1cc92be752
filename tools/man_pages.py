"""Manual pages of the commands, from their help texts: `man/*.1`, which wheels carry.

One page is for `cpmon`, and one for each of its commands with the commands below it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

import click

VERBATIM = "\b"
"""The line before a paragraph that keeps its lines, as in click."""


def man_pages() -> dict[str, str]:
    """The pages by file name: `cpmon.1`, `cpmon-report.1`, ..."""
    group: click.Group = importlib.import_module("cpmon.cli.main").cpmon
    top = _context(group, "cpmon", None)
    below = list(_below(top))
    pages = {"cpmon.1": _page([top], [_name(context) for context in below])}
    for context in below:
        pages[f"{_name(context)}.1"] = _page([context, *_descendants(context)], ["cpmon"])
    return pages


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return command.make_context(name, [], parent, resilient_parsing=True)


def _below(context: click.Context) -> Iterator[click.Context]:
    """Contexts of the commands of a group that are not hidden."""
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                yield _context(command, name, context)


def _descendants(context: click.Context) -> Iterator[click.Context]:
    for below in _below(context):
        yield below
        yield from _descendants(below)


def _name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _page(contexts: list[click.Context], related: list[str]) -> str:
    """The page of the first of some commands; the others are its subcommands."""
    first, *others = contexts
    short = first.command.get_short_help_str(200).rstrip(".")
    lines = [
        '.\\" Written by `make docs` from the help texts of the commands.',
        f'.TH {_escaped(_name(first).upper())} 1 "" "cpmon" "User Commands"',
        ".SH NAME",
        f"{_escaped(_name(first))} \\- {_escaped(short)}",
        ".SH SYNOPSIS",
        *(_usage(context) for context in contexts),
        ".SH DESCRIPTION",
        *_text(first.command.help or ""),
        *_options(first),
    ]
    for context in others:
        lines += [f".SH {_escaped(context.command_path.upper())}"]
        lines += [*_text(context.command.help or ""), *_options(context, ".SS OPTIONS")]
    lines += [".SH SEE ALSO", ",\n".join(f".BR {_escaped(name)} (1)" for name in related)]
    return "\n".join(lines).replace(",\n.BR", "\n.BR") + "\n"


def _usage(context: click.Context) -> str:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return f".B {_escaped(context.command_path)}\n{_escaped(pieces)}\n.br"


def _options(context: click.Context, heading: str = ".SH OPTIONS") -> Iterator[str]:
    parameters = context.command.get_params(context)
    records = [record for one in parameters if (record := one.get_help_record(context))]
    if records:
        yield heading
    for names, text in records:
        yield from (".TP", f".B {_escaped(names)}", _escaped(" ".join(text.split())))
    if isinstance(context.command, click.Group):
        yield heading.replace("OPTIONS", "COMMANDS")
        for below in _below(context):
            short = below.command.get_short_help_str(200)
            yield from (".TP", f".B {_escaped(below.command_path)}", _escaped(short))


def _text(help_text: str) -> Iterator[str]:
    """Paragraphs of a help text; those marked by click keep their lines."""
    text = inspect.cleandoc(help_text).partition("\f")[0]
    for index, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if index:
            yield ".PP"
        lines = paragraph.splitlines()
        if lines and lines[0].strip() == VERBATIM:
            yield from (".nf", *map(_escaped, lines[1:]), ".fi")
        else:
            yield _escaped(" ".join(line.strip() for line in lines))


def _escaped(text: str) -> str:
    """A line of text that troff prints as it is."""
    line = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line
