"""What answers are of: systems, spans and objects, as programs name them."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict, TypeVar

from ..core.errors import CpmonError
from ..core.grace_period import bounds_of_ends
from ..reduce.reports.narrowing import named_objects


class Selection(TypedDict, total=False):
    """What a report is of; all of it may be left out.

    Attributes:
        run: a run; it or a system is needed if the store has several systems.
        system: a system.
        since: only intervals that end after it; without a zone it is UTC. A text, such as
            "2006-10-16 13:00", is a time wherever one is.
        until: only intervals that do not end after it; CP may have ended them a second late.
        user: a user to follow, "LNX1"; or the users of a pattern, "LNX*".
        user_class: a class of users.
        device: a device number, or a pair of the first and the last.
        cpu: a processor.
        partition: a logical partition.
        by: length of a line: "15m", "1h", "1d", "1w" or "1mo".
        top: only so many objects, the greatest; of one, or with none: so many lines, by `sort`.
        each: the greatest of each line instead of the whole span.
        sort: a column that orders the lines.
        where: a condition on the lines, as "cpu_util > 50": on values as they are printed.
        columns: only these columns: a list, or "cpu_util, io_rate".
        statistics: of the intervals of a line, beside each figure: "max", with its time, "p95".
        shift: only the hours of this shift of the settings.
        zone: time zone of days and hours.
    """

    run: str
    system: str
    since: datetime | str
    until: datetime | str
    user: str
    user_class: str
    device: int | tuple[int, int]
    cpu: int
    partition: str
    by: str
    top: int
    each: bool
    sort: str
    where: str
    columns: Sequence[str] | str
    statistics: Sequence[str] | str
    shift: str
    zone: str


class Departure(TypedDict, total=False):
    """What is explained, and compared with what; all of it may be left out.

    Attributes:
        run: a run, by default compared with its base run.
        system: a system; it or a run is needed if the store has several systems.
        at: the interval at this time, UTC if it is without a zone.
        since: instead, the span that begins here.
        until: the end of the span.
        base: compare with the steady state of this run.
        against: compare with the time "before", the same hours of other "days", or "auto".
    """

    run: str
    system: str
    at: datetime | str
    since: datetime | str
    until: datetime | str
    base: str
    against: str


class SearchOptions(TypedDict, total=False):
    """Where exceptions are looked for; everywhere by default.

    Attributes:
        run: only in the time of this run.
        system: only in this system.
        since: only in intervals that end after it; without a zone it is UTC.
        until: only in intervals that do not end after it.
        severity: rules of this severity ("info", "warning", "critical") and graver ones.
    """

    run: str
    system: str
    since: datetime | str
    until: datetime | str
    severity: str


class Future(TypedDict, total=False):
    """What is forecast; all of it may be left out.

    Attributes:
        report: the report that prints the metric, if several do.
        system: needed if the store has several systems.
        user: the user that it is the metric of.
        user_class: or the class of users.
        device: or the device.
        cpu: or the processor.
        partition: or the logical partition.
        since: use only later hours.
        until: the end.
        horizon: the end, from the last hour on; 90 days by default.
        by: length of a line: "1d" or "1w"; weeks if there are more than 31 days.
        threshold: limit of the busiest hour, in the unit that the report prints (80 is 80 %); by
            default that of an exception.
        zone: time zone of days and hours.
    """

    report: str
    system: str
    user: str
    user_class: str
    device: int | tuple[int, int]
    cpu: int
    partition: str
    since: datetime | str
    until: datetime | str
    horizon: timedelta
    by: str
    threshold: float
    zone: str


Method = TypeVar("Method", bound=Callable[..., Any])


def documented(options: type) -> Callable[[Method], Method]:
    """Lists the options of a selection, with their meanings, in the docstring of a method."""

    def with_options(method: Method) -> Method:
        meanings = inspect.cleandoc((options.__doc__ or "").partition("Attributes:\n")[2])
        listed = textwrap.indent(meanings, " " * 12)
        method.__doc__ = f"{method.__doc__}\n        Options of `selection`:\n{listed}\n        "
        return method

    return with_options


def with_objects(selection: Mapping[str, Any]) -> dict[str, Any]:
    """A selection with the objects that it names as `objects`."""
    given = dict(selection)
    names = ("cpu", "user", "user_class", "device", "partition")
    given["objects"] = named_objects(*(given.pop(option, None) for option in names))
    return given


def with_grace(selection: Mapping[str, Any]) -> dict[str, Any]:
    """A selection whose bounds count intervals that end late as in time.

    Raises:
        CpmonError: a bound is no time.
    """
    given = with_times(selection)
    since, until = bounds_of_ends(given.get("since"), given.get("until"))
    return {**given, "since": since, "until": until}


def with_times(selection: Mapping[str, Any]) -> dict[str, Any]:
    """A selection with datetimes where it has times as text, and lists of names.

    Raises:
        CpmonError: a text is no time.
    """
    given = dict(selection)
    for name in ("since", "until", "at"):
        if isinstance(text := given.get(name), str):
            try:
                given[name] = datetime.fromisoformat(text)
            except ValueError:
                raise CpmonError(
                    "that is no time",
                    place=name,
                    expected="a datetime, or as 2006-10-16 13:00 in UTC",
                    found=text,
                ) from None
    for name in ("columns", "statistics"):
        if isinstance(names := given.get(name), str):
            given[name] = [each.strip() for each in names.split(",")]
    return given
