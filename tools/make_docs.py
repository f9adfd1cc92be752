"""Write the generated pages of docs/: `python -m tools.make_docs`, run by `make docs`.

docs/dictionary* come from the Arrow schemas of the landed tables, docs/cli-reference.md from
the help texts of the commands, docs/findings.md from the catalogue of findings, docs/errors.md from
the places that raise errors, docs/reports.md and docs/report-names.md from reports and reductions,
docs/events.md from what the generator's world does,
and the manual pages, man/*.1, from the help texts of the commands.
With `--check` nothing is written; pages that are not current are named, and the exit status is 1.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from cpmon.ingest.findings import Code, FindingSeverity

from .dashboard import dashboard
from .dictionary_pages import dictionary_pages
from .error_codes import catalogue
from .event_pages import events_page
from .man_pages import man_pages
from .report_pages import names_page, report_page

ROOT = Path(__file__).resolve().parent.parent
GENERATED = "<!-- Written by `make docs`; changes belong into what it is made from. -->"


def cli_reference() -> str:
    """The help text of `cpmon` and of every command, as the terminal shows it."""
    group: click.Group = importlib.import_module("cpmon.cli.main").cpmon
    return "\n".join(reference(group, "cpmon")) + "\n"


def reference(command: click.Command, name: str) -> Iterator[str]:
    """The reference page of a command and those below it, in lines of Markdown."""
    yield from ("# Commands", "", GENERATED)
    for context in _contexts(command, name, None):
        yield from ("", f"## {context.command_path}", "", "```")
        yield from (line.rstrip() for line in context.get_help().splitlines())
        yield "```"


def _contexts(
    command: click.Command, name: str, parent: click.Context | None
) -> Iterator[click.Context]:
    """Contexts of a command and of all below it that are not hidden."""
    context = command.make_context(
        name, [], parent, resilient_parsing=True, terminal_width=96, max_content_width=96
    )
    yield context
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            if below is not None and not below.hidden:
                yield from _contexts(below, word, context)


STATUS = {FindingSeverity.INFO: 0, FindingSeverity.WARNING: 3, FindingSeverity.DATA_LOSS: 5}
"""Exit status of a command whose worst finding is of that severity."""


def findings() -> str:
    """Every finding, the gravest first: what it means and what to do."""
    return "\n".join(_findings()) + "\n"


def _findings() -> Iterator[str]:
    yield from ("# Findings", "", GENERATED, "")
    yield (
        "Everything that can be wrong with a dump. Each finding is counted, located by its offset"
        " in the\ndecompressed dump, printed by `cpmon ingest`, and kept in `meta.finding`."
        " `cpmon check` tells the same,\nand what is odd about the values, without landing"
        " anything."
    )
    for severity in reversed(FindingSeverity):
        yield from ("", f"## {severity}", "", f"Exit status {STATUS[severity]}.")
        for code in (c for c in Code if c.severity is severity):
            yield from ("", f"### {code.name}", "", code.meaning, "", f"What to do: {code.remedy}")


EXIT_STATUSES = """\
## Exit statuses

| status | meaning |
|---|---|
| 0 | done |
| 1 | a failure of cpmon; `cpmon --debug ...` shows where |
| 2 | usage: an option, a name, a file of your own, SQL |
| 3 | done, with warnings: about a dump, a rule of validation, or exceptions found |
| 4 | a critical rule of validation is broken |
| 5 | a dump is damaged or none; what could be read of it has landed |
| 75 | busy: try again later |
| 130 | interrupted |

Of several dumps the worst counts: 1, 2 or 75, with which one did not land, before 5 and 3. Data
goes to standard output, talk to standard error; `-o FILE` writes beside the file and renames.
"""
"""What a command ends with; tools/fuzz_answers.py reads it from docs/errors.md."""


def errors() -> str:
    """The code of every error that has a remedy, with its problem and the remedy."""
    return "\n".join(_errors()) + "\n"


def _errors() -> Iterator[str]:
    yield from ("# Errors", "", GENERATED, "", EXIT_STATUSES, "## Codes", "")
    yield (
        "An error names its problem and a remedy. Texts may change; the code of an error stays:"
        " programs find\nit as `code` in JSON of `cpmon doctor`, `cpmon batch run` and the log of a"
        " batch, and in the attribute\n`code` of a `CpmonError`. Words in braces stand for names"
        " and values of the case."
    )
    yield from ("", "| code | problem | remedy |", "|---|---|---|")
    for code, faults in sorted(catalogue().items()):
        for fault in faults:
            if fault.remedy:
                cells = (f"`{code}`", _cell(fault.problem), _cell(fault.remedy))
                yield f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """A text of a message inside a Markdown table."""
    if text in ("{problem}", "{remedy}", "{look}"):
        return "the message has it"
    return text.replace("{}", "...").replace("|", "\\|").replace("<", "&lt;")


PAGES: dict[str, Callable[[], str]] = {
    "docs/cli-reference.md": cli_reference,
    "docs/examples/grafana-cpmon.json": dashboard,
    "docs/events.md": lambda: "\n".join(["# Events", "", GENERATED, "", *events_page()]) + "\n",
    "docs/findings.md": findings,
    "docs/errors.md": errors,
    "docs/report-names.md": lambda: names_page(GENERATED),
    "docs/reports.md": lambda: report_page(GENERATED),
}


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with `--check` name those that are not current."""
    texts = {name: make() for name, make in PAGES.items()}
    texts |= dictionary_pages(GENERATED)
    texts |= {f"man/{name}": text for name, text in man_pages().items()}
    stale = []
    for name, text in texts.items():
        path = ROOT / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in (*ROOT.glob("man/*.1"), *ROOT.glob("docs/dictionary/*.md")):
        if (name := path.relative_to(ROOT).as_posix()) not in texts:
            stale.append(name)
            if "--check" not in arguments:
                path.unlink()
    said = "not current, run make docs" if "--check" in arguments else "written"
    print(*(f"{name}: {said}" for name in stale) if stale else ("docs: current",), sep="\n")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
