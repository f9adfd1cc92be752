"""Options that select data by time span, run and system, and how they are parsed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from ..config.moments import EXAMPLES, TypedSpan, local_text, parse_moment, parse_span
from ..core.errors import CpmonError
from ..core.text import is_pattern
from .options import Parsed, Text, run_option, system_option
from .output import Command, say
from .site_settings import opened, settings, store_at

if TYPE_CHECKING:
    from ..ingest.container.source import Container
    from ..store import Store

UTC_ZONE = ZoneInfo("UTC")


def _checked_moment(text: str) -> str:
    parse_moment(text, UTC_ZONE, datetime.now(UTC))
    return text


TYPED_MOMENT = Parsed("time", EXAMPLES, "TIME", _checked_moment)
"""The text of a time, which is parsed again when the zone is known."""


def span_options(zone: str = "the printed zone") -> Callable[[Command], Command]:
    """Adds `--since` and `--until`, for `read_span`; `zone` is the default zone, for the help."""
    later = f"Later than this time, as {EXAMPLES}; in {zone} unless it names an offset."
    up_to = "Up to this time; a time of day alone is one of the day of --since."
    since = click.option("--since", "--from", "since", type=TYPED_MOMENT, help=later)
    until = click.option("--until", type=TYPED_MOMENT, help=up_to)
    return lambda command: since(until(command))


def read_span(
    since: str | None,
    until: str | None,
    zone: ZoneInfo = UTC_ZONE,
    day: Callable[[], date | None] = lambda: None,
) -> TypedSpan:
    """Parse a time span; prints its interpretation to standard error.

    Args:
        day: the day of the data, if they are of one day only; called for a time of day without
            a date. If it returns None, today is used.

    Raises:
        CpmonError: the span ends before it begins.
    """
    span = parse_span(since, until, zone, datetime.now(UTC), day)
    if span.since and span.until and span.until <= span.since:
        begin, end = (local_text(time, zone) for time in (span.since, span.until))
        raise CpmonError(
            "the span ends before it begins",
            expected=f"--until later than --since, {begin}",
            found=f"{end} {zone.key}",
            effect=" ".join(span.notes) or None,
        )
    if since or until:
        say(f"span: {span}", err=True)
    return span


def whole_day(moment: datetime | None) -> date | None:
    """The UTC day that begins at a bound of a span.

    Raises:
        CpmonError: the bound is not midnight.
    """
    if moment is not None and moment.time() != time():
        raise CpmonError(
            "what is computed are whole days of UTC",
            code="day-required",
            expected="a day, as 2026-01-31, today or yesterday",
            found=f"{moment:%Y-%m-%d %H:%M:%S} UTC",
            effect="nothing was computed",
            remedy=f"name a day, as {moment:%Y-%m-%d}",
        )
    return moment and moment.date()


def day_of_store(
    store: Store, zone: ZoneInfo, system: str | None = None, run: str | None = None
) -> date | None:
    """The day of the data of a store, system or run; None if there are several days."""
    from ..core.grace_period import GRACE, INSIDE, bounds_of_ends
    from ..store.format.landed_dump import days_of
    from ..store.measured.runs import find_run
    from ..store.sql.scope import Scope

    scope = Scope(system)
    if run:
        if (measured := find_run(store, run)) is None:
            return None
        span = map(datetime.fromisoformat, (measured.since, measured.until))
        scope = Scope(measured.system, *bounds_of_ends(*span))
    dumps = [dump for dump in store.dumps() if scope.has_system(dump.system)]
    dumps = [dump for dump in dumps if any(map(scope.has_day, dump.days))]
    if len([*filter(scope.has_day, days_of(dumps))]) > 2:  # of UTC; in a zone there is one less
        return None
    abouts = [*store.abouts(dumps)]
    firsts = [about["first_interval_end"] or about["first_tod"] for about in abouts]
    lasts = [about["last_tod"] for about in abouts]
    if not any(firsts):
        return None
    first, last = (
        datetime.fromisoformat(t) for t in (min(filter(None, firsts)), max(filter(None, lasts)))
    )
    if scope.since and scope.until:  # a run
        first, last = max(first, scope.since - GRACE + INSIDE), min(last, scope.until)
    days = {(end.replace(tzinfo=UTC) - INSIDE).astimezone(zone).date() for end in (first, last)}
    return days.pop() if len(days) == 1 else None


def day_of_dump(dump: Path, container: Container | str) -> date | None:
    """The UTC day of the first sample or event of a dump; None without one or for a pipe.

    Raises:
        DumpError: it is not monitor data.
    """
    from ..core.grace_period import INSIDE
    from ..ingest.codec import moment
    from ..ingest.rewrite import beginning

    first = beginning(dump, container) if dump.is_file() else None
    return (moment(first[1]) - INSIDE).date() if first else None


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--run`, `--system`, `--since` and `--until`, as `selection`: arguments of a report.

    The command also gets `doubts`: notes on local times that are ambiguous or do not exist. CP may
    end an interval late: an end within the grace period after a bound counts as the bound.
    """

    @run_option("--run", type=Text(), help="Only the time of this run.")
    @system_option
    @span_options()
    @functools.wraps(command)
    def select(**values: Any) -> Any:
        from ..config.moments import SYSTEM_ZONE
        from ..core.grace_period import bounds_of_ends

        selection = {name: values.pop(name) for name in ("run", "system", "since", "until")}
        if values.get("zone") == SYSTEM_ZONE:
            values["zone"] = zone_of_system(values["store"], selection)
        doubts: tuple[str, ...] = ()
        if selection["since"] or selection["until"]:
            zone = printed_zone(values.get("zone"), values.get("store"), selection)
            system = None if is_pattern(selection["system"]) else selection["system"]
            named = {"system": system, "run": selection["run"]}
            span = read_span(
                selection["since"],
                selection["until"],
                zone,
                lambda: day_of_store(store_at(values["store"]), zone, **named),
            )
            since, until = bounds_of_ends(span.since, span.until)
            selection |= {"since": since, "until": until}
            doubts = span.notes
        return command(selection=selection, doubts=doubts, **values)

    return select


def printed_zone(zone: str | None, location: Path | None, selection: Mapping[str, Any]) -> ZoneInfo:
    """The zone of the printed times: the named one, else that of the settings for the system.

    The system is the selected one, that of the run, or the only one of the store.
    """
    from ..config.moments import find_zone
    from ..store.measured.runs import measured_system

    system = selection["system"] or None
    if is_pattern(system):
        return find_zone(zone or settings().zone(None))
    if not zone and not system and settings().systems and location:
        system = measured_system(store_at(location), run_id=selection["run"])
    return find_zone(zone or settings().zone(system))


def zone_of_system(location: Path, selection: Mapping[str, Any]) -> str:
    """The zone name of the measured system, from its last dump.

    Raises:
        CpmonError: the dump does not name a zone, or the system is ambiguous.
    """
    from ..config.moments import zone_name
    from ..store.measured.runs import system_of_run

    run, system = selection["run"], selection["system"]
    system = system or (run and system_of_run(store_at(location), run))
    with opened(location) as connection:
        rows = connection.execute(
            "SELECT system, arg_max(zone_s, last_tod) FROM meta.dump"
            " WHERE coalesce(system = ?, true) GROUP BY system ORDER BY system",
            [system],
        ).fetchall()
    if len(rows) == 1 and rows[0][1] is not None:
        return zone_name(rows[0][1])
    raise CpmonError(
        "the zone of the system is not known",
        code="system-zone-unknown",
        expected="one system, and a record MTRSYS that says its zone",
        found=", ".join(f"{name}: {'none' if s is None else s}" for name, s in rows) or "no dump",
        remedy="name a zone, as --tz Europe/Vienna"
        + ("; or a system with --system" if len(rows) > 1 else ""),
    )


zone_option = click.option(
    "--tz",
    "zone",
    metavar="ZONE",
    help="Time zone of the printed times; system for that of the measured system.",
)
