"""`cpmon exceptions` and `cpmon validate`: rules over metrics, and over what landed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..main import Status, allow_pandas, status_of
from ..options import choice_option, output_options, rules_option, store_option
from ..output import Output, check_target, say_notes
from ..site_settings import opened, settings
from ..spans import printed_zone, selection_options, zone_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...reduce.rules.rule import Rule


@click.command("exceptions")
@store_option
@selection_options
@choice_option(
    "--severity",
    values=("info", "warning", "critical"),
    help="Only rules of this severity or a graver one.",
)
@rules_option
@click.option("--list", "listing", is_flag=True, help="Name the rules and their limits.")
@zone_option
@output_options
def exceptions_command(
    store: Path,
    selection: dict[str, Any],
    doubts: tuple[str, ...],
    severity: str,
    rules: Path | None,
    listing: bool,
    zone: str | None,
    out: Output,
) -> Status:
    """Look for what should not be: busy processors and volumes, looping users, lost data.

    For each rule and object, the episodes in which its figure was beyond the limit: first and last
    interval, the worst value, and where in which dump the record of it stands. A rule looks at what
    it needs before --since, and an episode that began earlier is listed from its begin on. What
    could not be judged, because records are missing, is named. Formats other than table carry
    unrounded values, times in UTC. The exit status is 3 where a rule of severity warning or
    critical was met.

    Rules are TOML tables; those of the store's cpmon.toml or of --rules change limits of the
    shipped ones, switch them off, or add to them.

    \b
    Examples:
      cpmon exceptions --store perf/ --system VMPROD --since 2006-10-16T08:00
      cpmon exceptions --store perf/ --run BANKDAY --severity warning --format json
      cpmon exceptions --store perf/ --rules my-rules.toml --list
    """
    from ...reduce.rules.exceptions import exceptions
    from ...reduce.rules.rendering import render_findings, render_rules, unknowns
    from ...reduce.rules.rule import Purpose, Severity, load_rules

    rules_in_force = load_rules(Purpose.EXCEPTIONS, settings(), rules)
    least = Severity(severity)
    if listing:
        listed = [rule for rule in rules_in_force if rule.severity.rank >= least.rank]
        out.write(render_rules(listed, out.format))
        return Status.DONE
    with opened(store) as connection:
        matches = exceptions(
            connection, rules_in_force, **selection, severity=least, settings=settings()
        )
    printed = printed_zone(zone, store, selection)
    out.write(render_findings(matches, out.format, printed.key))
    say_notes(doubts)
    if out.format not in ("table", "text"):
        say_notes(unknowns(matches))
    return Status.WARNINGS if status_of(matches.worst) else Status.DONE


@click.command("validate")
@store_option
@selection_options
@click.option("--rule", "only", multiple=True, metavar="ID", help="Only this rule; repeatable.")
@rules_option
@click.option("--list", "listing", is_flag=True, help="Name the rules that hold for the store.")
@click.option("--rows", metavar="ID", help="Print the rows that break this rule instead.")
@click.option("--sql", is_flag=True, help="With --rows: print the SQL that finds them.")
@click.option("--html", is_flag=True, help="Write a page of the result to the file -o.")
@click.option(
    "--expectations",
    is_flag=True,
    help="Hold kept results against what their metrics may be, by Great Expectations.",
)
@click.option(
    "--data-docs",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="With --expectations: also write Data Docs there.",
)
@output_options
def validate_command(
    store: Path,
    selection: dict[str, Any],
    doubts: tuple[str, ...],
    only: tuple[str, ...],
    rules: Path | None,
    listing: bool,
    rows: str | None,
    sql: bool,
    html: bool,
    expectations: bool,
    data_docs: Path | None,
    out: Output,
) -> Status:
    """Check what landed by rules: keys, texts and counters by the layouts, and sums that close.

    Rules follow from the layout of every table that landed; others say that processor time closes
    to the elapsed time, that pages fit into storage, that the configuration is known. DuckDB counts
    the rows that break each of them. A rule that has nothing to check is not applicable, never
    passed.

    With --expectations the results that are kept of reductions (cpmon reduce) are held against what
    their metrics may be: possible range, type, and whether a value may be missing. Great
    Expectations does that; --format json is its result, --data-docs its pages.

    The exit status is 4 where a rule of severity critical failed or an expectation was not met, 3
    where a rule of severity warning failed, else 0. Table and text name what failed; the other
    formats have every rule or expectation.

    \b
    Examples:
      cpmon validate --store perf/ --system VMPROD --since 2006-10-16T08:00
      cpmon validate --store perf/ --run BANKDAY --format json -o validation.json
      cpmon validate --store perf/ --rows useact.counters --format csv
      cpmon validate --store perf/ --html -o validation.html
      cpmon validate --store perf/ --run BANKDAY --expectations --data-docs docs/
    """
    from ...reduce.rules.coverage import scope_of
    from ...reduce.rules.rendering import render_findings, render_rules
    from ...reduce.rules.rule import Purpose, find_rule, load_rules
    from ...reduce.rules.validation import offending, rows_sql, validate

    _check(rows, sql, html, out)
    if expectations and (only or rules or listing or rows or html):
        raise click.UsageError("--expectations looks at kept results, not at rules: take one")
    if data_docs and not expectations:
        raise click.UsageError("--data-docs has the results of --expectations: name both")
    say_notes(doubts)
    if expectations:
        return _judge(store, selection, data_docs, out)
    with opened(store) as connection:
        scope = scope_of(connection, **selection)
        connection.point(scope)
        landed = connection.tables
        rules_in_force: Sequence[Rule] = load_rules(
            Purpose.VALIDATION, settings(), rules, landed=landed
        )
        rules_in_force = [find_rule(rules_in_force, name) for name in only] or rules_in_force
        if listing:
            out.write(render_rules(rules_in_force, out.format))
        elif rows and sql:
            text = rows_sql(connection, find_rule(rules_in_force, rows), scope)
            Output("text", out.file).write(f"{text};\n".encode())
        elif rows:
            rule = find_rule(rules_in_force, rows)
            out.write_table(offending(connection, rule, landed, scope))
        else:
            result = validate(connection, rules_in_force, landed, scope, selection["run"])
            form = "html" if html else out.format
            Output(form, out.file).write(render_findings(result, form))
            return status_of(result.worst)
    return Status.DONE


def _judge(store: Path, selection: dict[str, Any], data_docs: Path | None, out: Output) -> Status:
    """Hold the kept results against what their metrics may be."""
    from ...reduce.rules.coverage import scope_of
    from ...reduce.rules.rendering import render_expectations
    from ...reduce.rules.suite import judge

    allow_pandas()
    with opened(store) as connection:
        scope = scope_of(connection, **selection)
        connection.point(scope)
        found = judge(connection, connection.store, scope, selection["run"], data_docs)
    out.write(render_expectations(found, out.format))
    return Status.DONE if found.holds else status_of("critical")


def _check(rows: str | None, sql: bool, html: bool, out: Output) -> None:
    if sql and not rows:
        raise click.UsageError("--sql says how --rows RULE finds its rows: name the rule")
    if html and rows:
        raise click.UsageError("--html is a page of all rules, --rows the rows of one: take one")
    if html and out.file is None:
        raise click.UsageError("--html writes a page: name its file with -o FILE")
    if html:
        check_target(out.file, "html")
