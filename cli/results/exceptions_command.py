"""`cpmon exceptions`: episodes in which a metric exceeded the limit of a rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..main import Status, status_of
from ..options import (
    choice_option,
    output_options,
    rules_option,
    store_option,
)
from ..output import Output, say_notes
from ..site_settings import opened
from ..site_settings import settings as site_settings
from ..spans import measured_system, selection_options, zone_option

SEVERITIES = ("info", "warning", "critical")


@click.command("exceptions")
@store_option
@selection_options
@choice_option("--severity", values=SEVERITIES, help="Only rules of this severity or a graver one.")
@rules_option
@click.option("--list", "listing", is_flag=True, help="Name the rules and their limits.")
@zone_option
@output_options
def command(
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
    from ...config.moments import find_zone
    from ...reduce.rules.exceptions import exceptions
    from ...reduce.rules.rendering import render_findings, render_rules, unknowns
    from ...reduce.rules.rule import Purpose, Severity, load_rules

    settings = site_settings()
    rules_in_force = load_rules(Purpose.EXCEPTIONS, settings, rules)
    if listing:
        least = Severity(severity).rank
        rules_listed = [rule for rule in rules_in_force if rule.severity.rank >= least]
        out.write(render_rules(rules_listed, out.format))
        return Status.DONE
    with opened(store) as connection:
        matches = exceptions(
            connection,
            rules_in_force,
            **selection,
            severity=Severity(severity),
            settings=settings,
        )
    printed = find_zone(zone or settings.zone(measured_system(store, selection))).key
    out.write(render_findings(matches, out.format, printed))
    say_notes(doubts)
    if out.format not in ("table", "text"):
        say_notes(unknowns(matches))
    return Status.WARNINGS if status_of(matches.worst) else Status.DONE
