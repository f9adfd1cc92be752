"""Commands that a remedy or the page of operations names exist, with their options."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from cpmon.cli.main import COMMANDS, cpmon
from cpmon.ingest.findings import Code
from cpmon.reduce.reports.report_names import find_report
from cpmon.reduce.rules.layout_checks import KINDS
from cpmon.reduce.rules.rule import Purpose, load_rules
from tools.error_codes import ROOT, catalogue

PAGE = ROOT / "docs" / "operations.md"
COMMAND = re.compile(r"\bcpmon ((?:[A-Za-z_]+(?= |`|$|\n|[.;,:)]) ?)+)([^`\n;|]*)")


def texts() -> Iterator[tuple[str, str]]:
    """Where a text stands, and the text."""
    for code, faults in sorted(catalogue().items()):
        yield from ((code, fault.remedy) for fault in faults if fault.remedy)
    yield from ((code.name, code.remedy) for code in Code)
    yield from ((rule.id, rule.remedy) for rule in load_rules(Purpose.VALIDATION))
    yield from ((f"rules of layouts {n}", kind["remedy"]) for n, kind in KINDS.items())
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        yield f"{PAGE.name}, line {number}", line.replace("/opt/cpmon/bin/cpmon", "cpmon")


NAMED = [
    pytest.param(match[1].split(), match[2], id=f"{where}: {match[0]}")
    for where, text in texts()
    for match in COMMAND.finditer(text)
    if match[1].split()[0] in COMMANDS
]


@pytest.mark.parametrize(("words", "rest"), NAMED)
def test_a_command_that_is_named_exists_with_its_options(words: list[str], rest: str):
    context = click.Context(cpmon)
    command = cpmon.get_command(context, words[0])
    if isinstance(command, click.Group) and words[1:] and not words[1].startswith("waits"):
        command = command.get_command(context, words[1])
    assert command is not None, words
    known = {option for parameter in command.params for option in parameter.opts}
    if words[0] == "report" and words[1:]:
        find_report(words[1])
    assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", rest)) <= known | {"--help"}


def test_commands_are_named_at_all():
    assert len(NAMED) > 20
    assert {"ingest", "batch", "schema", "validate"} <= {param.values[0][0] for param in NAMED}
