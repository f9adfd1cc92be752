"""What a remedy or the page of operations names exists: commands, options, settings, extras."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

import click
import msgspec
import pytest

from cpmon.cli.main import COMMANDS, cpmon
from cpmon.config.settings import SiteSettings
from cpmon.core.errors import CpmonError
from cpmon.ingest.findings import Code
from cpmon.reduce.reports.report_names import find_report
from cpmon.reduce.rules.layout_checks import KINDS
from cpmon.reduce.rules.rule import Purpose, RuleKeys, load_rules
from tests.commands import leaves
from tools.error_codes import ROOT, catalogue

PAGE = ROOT / "docs" / "operations.md"
COMMAND = re.compile(r"\bcpmon ((?:[A-Za-z_]+(?= |`|$|\n|[.;,:)]) ?)+)([^`\n;|]*)")
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
VARIABLE = re.compile(r"\bCPMON_[A-Z_]+")
SETTING = re.compile(r"\b([a-z_]+)(?: = \w+)? (?:in|of) (?:the|your own) settings")
EXTRA = re.compile(r"'cpmon\[(\w+)\]'")
FILLED = {"REST", "STORE"}
"""Words in capitals that stand for files in remedies, and in no help of a command."""


def texts() -> Iterator[tuple[str, str]]:
    """Where a text stands, and the text."""
    for code, faults in sorted(catalogue().items()):
        yield from ((code, fault.remedy) for fault in faults if fault.remedy)
    yield from ((code.name, code.remedy) for code in Code)
    yield from ((rule.id, rule.remedy) for rule in load_rules(Purpose.VALIDATION))
    yield from ((f"rules of layouts {n}", kind["remedy"]) for n, kind in KINDS.items())
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        yield f"{PAGE.name}, line {number}", line.replace("/opt/cpmon/bin/cpmon", "cpmon")


@cache
def options() -> frozenset[str]:
    """The options of all commands."""
    return frozenset(o for _, leaf in leaves() for each in leaf.params for o in each.opts)


@cache
def placeholders() -> frozenset[str]:
    """The words in capitals that stand for a value in the help of any command."""
    shown = [
        parameter.make_metavar(click.Context(leaf))
        for _, leaf in leaves()
        for parameter in leaf.params
    ]
    return frozenset(word for each in shown for word in re.findall(r"[A-Z][A-Z_]+", each))


@cache
def variables() -> frozenset[str]:
    """The variables of the environment that pages describe; that of errors has remedies alone."""
    pages = set(ROOT.joinpath("docs").rglob("*.md")) - {ROOT / "docs" / "errors.md"}
    return frozenset(v for page in pages for v in VARIABLE.findall(page.read_text("utf-8")))


def keys(table: Any) -> Iterator[str]:
    """The keys of a file of settings, and of the tables in it."""
    for field in msgspec.structs.fields(table):
        yield field.encode_name
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from keys(field.type)


def extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])


def unknown(text: str) -> list[str]:
    """What a text names and cpmon does not have."""
    found = [name for name in VARIABLE.findall(text) if name not in variables()]
    found += [
        name for name in SETTING.findall(text) if name not in {*keys(SiteSettings), *keys(RuleKeys)}
    ]
    found += [name for name in EXTRA.findall(text) if name not in extras()]
    for match in COMMAND.finditer(text):
        words, rest = match[1].split(), match[2]
        if words[0] in COMMANDS:
            found += unknown_of_command(words, rest)
    return found


def unknown_of_command(words: list[str], rest: str) -> Iterator[str]:
    """What a command has not: itself, a report, options, or what a word in capitals stands for."""
    context = click.Context(cpmon)
    command = cpmon.get_command(context, words[0])
    if isinstance(command, click.Group) and words[1:] and not words[1].startswith("waits"):
        command = command.get_command(context, words[1])
    if command is None:
        yield " ".join(words)
        return
    if words[0] == "report" and words[1:]:
        try:
            find_report(words[1])
        except CpmonError:
            yield words[1]
    else:
        capitals = [word for word in words[1:] if word.isupper()]
        yield from (word for word in capitals if word not in placeholders() | FILLED)
    capitals = re.findall(r"(?<![\w-])[A-Z][A-Z_]+\b", rest)
    yield from (w for w in capitals if w not in placeholders() | FILLED | variables())
    known = {option for parameter in command.params for option in parameter.opts}
    yield from (o for o in OPTION.findall(rest) if o not in known | {"--help"})


def test_what_remedies_name_exists():
    wrong = {f"{where}: {text}": unknown(text) for where, text in texts()}
    assert {where: names for where, names in wrong.items() if names} == {}


def test_options_that_remedies_name_alone_exist():
    """Those of no command in the text: of one of them, the test above."""
    named = {o for _, fault in remedies() for o in re.findall(r"(?<![\w-])--[a-z][a-z-]*", fault)}
    assert named - options() == set()
    assert len(named) > 20


def remedies() -> Iterator[tuple[str, str]]:
    return ((where, text) for where, text in texts() if not where.startswith(PAGE.name))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("run cpmon store mend; then report", "store mend"),
        ("cpmon ingest DUMP --stoer STORE", "--stoer"),
        ("then `cpmon ingest TAPE --store STORE`", "TAPE"),
        ("cpmon report no_such_report --store STORE", "no_such_report"),
        ("cpmon report lpar --user-name NAME", "--user-name"),
        ("raise memory_limits in the settings", "memory_limits"),
        ("set CPMON_SCHEMES", "CPMON_SCHEMES"),
        ("pip install 'cpmon[icebreg]'", "icebreg"),
    ],
)
def test_a_name_that_does_not_exist_is_found(text: str, name: str):
    assert unknown(text) == [name]


def test_commands_are_named_at_all():
    named = [m[1].split() for _, text in texts() for m in COMMAND.finditer(text)]
    commands = [words[0] for words in named if words[0] in COMMANDS]
    assert len(commands) > 20
    assert {"ingest", "batch", "schema", "validate"} <= set(commands)
