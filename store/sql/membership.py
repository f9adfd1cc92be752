"""Which owners of a table exist at the end of an interval, sampled or not, as SQL.

Events say when an owner begins and ends (`schemas/owners.csv`), and some records how many there are
(`schemas/members.csv`). An owner whose end an event announces exists until then, however long it is
not sampled, unless as many are sampled as CP states.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.sql import name
from ...schemas.layout import Layout
from ...schemas.owners import Change, Event, Members, Owner, members_of
from ...schemas.registry import tables

KeySets = dict[tuple[str, ...], list[Event]]
"""Keys of a row that events have -> these events."""


def key_sets(owner: Owner, keys: Sequence[str]) -> KeySets:
    """The events of an owner, by the keys of the row that they have."""
    found: KeySets = {}
    for event in owner.events:
        found.setdefault(tuple(event_columns(event, keys)), []).append(event)
    return found


def happened(owner: Owner, keys: Sequence[str]) -> str:
    """CTEs `happened_N`, one a set of keys: what events did to owners in each interval.

    Columns: the keys, `interval_end`, `begun_us` (the last begin), `has_lost` (whether some event
    ended it before that without its counters), `ended` and `has_totals` (1 if some event ended it,
    and told its counters; it has lost nothing), `passed` (whether it began, and ended after that),
    `stopped` and `resumed` (whether the last event stopped it, and the first resumed it).
    """
    return " ".join(
        f"happened_{n} AS ({_happened(shared, events, keys)}),"
        for n, (shared, events) in enumerate(key_sets(owner, keys).items())
    )


def _happened(shared: Sequence[str], events: Sequence[Event], keys: Sequence[str]) -> str:
    selects = []
    for event in events:
        columns = event_columns(event, keys)
        listed = ["system", *(f"{other} AS {own}" for own, other in columns.items())]
        ends = int(event.change not in (Change.BEGINS, Change.RESUMES))
        listed += ["tod", "tod_us", f"{ends} AS ends", f"{int(event.has_totals)} AS totals"]
        listed.append(f"{int(event.change is Change.STOPS)} AS stops")
        listed.append(f"{int(event.change is Change.RESUMES)} AS resumes")
        selects.append(f"SELECT {', '.join(listed)} FROM monitor.{name(event.table)}")
    of_event = ", ".join(f"e.{key}" for key in ["system", *shared])
    stop = "max(CASE WHEN e.stops = 1 THEN e.tod_us END)"
    begun = "max(CASE WHEN e.ends = 0 THEN e.tod_us END)"
    untold = "min(CASE WHEN e.ends = 1 AND e.totals = 0 THEN e.tod_us END)"
    lost = f"coalesce({untold} < {begun}, false)"
    return f"""
        SELECT {of_event}, n.interval_end, {begun} AS begun_us, {lost} AS has_lost,
          max(e.ends) AS ended,
          CASE WHEN {lost} THEN 0 ELSE max(e.totals) END AS has_totals,
          coalesce({stop} > coalesce({begun}, 0), false) AS stopped,
          coalesce(max(CASE WHEN e.ends = 1 THEN e.tod_us END) > {begun}, false) AS passed,
          coalesce(min(CASE WHEN e.resumes = 1 THEN e.tod_us END) = min(e.tod_us), false)
            AS resumed
        FROM ({" UNION ALL ".join(selects)}) AS e
        JOIN ends AS n
          ON n.system = e.system AND e.tod > n.previous_end AND e.tod <= n.interval_end
        GROUP BY {of_event}, n.interval_end"""


def event_columns(event: Event, keys: Sequence[str]) -> dict[str, str]:
    """Key of the row -> column of an event that has it, as SQL."""
    if event.keys:
        return {name(own): name(other) for own, other in event.keys.items()}
    columns = {name(field.name) for field in tables()[event.table].columns}
    return {key: key for key in keys if key in columns}


def joins(owner: Owner, keys: Sequence[str]) -> tuple[str, list[str]]:
    """Joins of the rows `r` with what happened to their owners, and the columns from there.

    These are `begun_us`, `_has_lost`, `_happened` and, where measurement can be stopped,
    `_is_stopped` and `_resumed`: no event says that it was, only one that it was resumed.
    """
    sets = list(key_sets(owner, keys))
    if not sets:
        return "", []
    text = "".join(
        f" LEFT JOIN happened_{n} AS h{n} ON {_same(f'h{n}', 'r', shared)}"
        f" AND h{n}.interval_end = r.interval_end"
        for n, shared in enumerate(sets)
    )
    begun = [f"h{n}.begun_us" for n in range(len(sets))]
    last = begun[0] if len(begun) == 1 else f"greatest({', '.join(begun)})"
    lost = " OR ".join(f"coalesce(h{n}.has_lost, false)" for n in range(len(sets)))
    columns = [f"{last} AS begun_us", f"({lost}) AS _has_lost"]
    columns.append(f"({some_event(owner, keys)}) AS _happened")
    if is_stoppable(owner):
        text += f" LEFT JOIN stopped AS x ON {_same('x', 'r', sets[0])}"
        text += " AND (x.since_end IS NULL OR r.interval_end > x.since_end)"
        text += " AND (x.until_end IS NULL OR r.interval_end < x.until_end)"
        columns.append("x.system IS NOT NULL AS _is_stopped")
        columns.append("x.system IS NOT NULL AND x.since_end IS NULL AS _resumed")
    return text, columns


def some_event(owner: Owner, keys: Sequence[str]) -> str:
    """SQL condition on rows with these joins: events happened to their owner in the interval."""
    return " OR ".join(f"h{n}.system IS NOT NULL" for n in range(len(key_sets(owner, keys))))


def is_stoppable(owner: Owner) -> bool:
    """Whether events stop the measurement of an owner."""
    return any(event.change is Change.STOPS for event in owner.events)


def stopped(owner: Owner, keys: Sequence[str]) -> str:
    """CTE `stopped`: between which intervals an owner was not measured; empty if it always is.

    Without `since_end`, it was not until an event that resumed it, before which none stopped it.
    """
    if not is_stoppable(owner):
        return ""
    (shared, *_) = key_sets(owner, keys)
    of_owner = ", ".join(f"s.{key}" for key in ["system", *shared])
    return f"""stopped AS (
        SELECT {of_owner}, s.interval_end AS since_end, min(b.interval_end) AS until_end
        FROM happened_0 AS s
        LEFT JOIN happened_0 AS b
          ON {_same("b", "s", shared)} AND b.interval_end > s.interval_end
          AND b.begun_us IS NOT NULL
        WHERE s.stopped
        GROUP BY {of_owner}, s.interval_end
        UNION ALL
        SELECT {of_owner}, NULL AS since_end, s.interval_end AS until_end
        FROM (
          SELECT *, lag(interval_end) OVER (
            PARTITION BY {", ".join(["system", *shared])} ORDER BY interval_end) AS earlier_end
          FROM happened_0) AS s
        WHERE s.resumed AND s.earlier_end IS NULL),"""


def absent(layout: Layout, owner: Owner, keys: Sequence[str], rows: str, every: str) -> str:
    """Query of the owners without a row in an interval, with the cause.

    Columns: `system`, the keys, `interval_end` and `cause`: missing, if the owner exists, or ended,
    in the interval in which it ended, also if it began in that.

    Args:
        rows: the relation of rows. every: that of all rows, where `rows` are of some owners: it is
            held against what CP states.
    """
    place = ", ".join(["system", *keys])
    gone = f"""
        SELECT {", ".join(f"p.{key}" for key in ["system", *keys])}, n.interval_end, p.back_end
        FROM (
          SELECT {place}, interval_end,
            lead(interval_end) OVER (PARTITION BY {place} ORDER BY interval_end) AS back_end
          FROM {rows} AS r) AS p
        JOIN ends AS n ON n.system = p.system AND n.previous_end = p.interval_end
        WHERE p.back_end IS NULL OR p.back_end > n.interval_end"""
    if not owner.is_announced:
        missing = f"SELECT {place}, interval_end, 'missing' AS cause FROM ({gone}) AS g"
        return _with_unsampled(missing, layout, keys, every)
    of_gone = ", ".join(f"g.{key}" for key in ["system", *keys])
    members = members_of(layout)
    stated, cause = "", "CASE WHEN e.interval_end = o.over_end THEN 'ended' ELSE 'missing' END"
    if members:
        cause = """CASE WHEN e.interval_end = o.over_end OR c.stated <= c.sampled THEN 'ended'
            ELSE 'missing' END"""
        same = "".join(f" AND c.{name(key)} = o.{name(key)}" for key in members.of)
        stated = f"""
      LEFT JOIN ({_counted(members, every)}) AS c
        ON c.system = e.system AND c.interval_end = e.interval_end{same}"""
    kept = "o.over_end IS NULL OR e.interval_end < o.over_end OR o.total_end IS NULL"
    kept = f"({kept} OR o.total_end <> o.since_end)"
    if members:
        kept += """
        AND (c.stated IS NULL OR c.stated > c.sampled OR e.interval_end = o.since_end
          OR e.interval_end = o.over_end)"""
    missing = f"""
      SELECT {", ".join(f"o.{key}" for key in ["system", *keys])}, e.interval_end, {cause} AS cause
      FROM (
        SELECT {of_gone}, g.interval_end AS since_end, min(g.back_end) AS back_end,
          min(h.interval_end) AS over_end,
          min(CASE WHEN h.has_totals = 1 THEN h.interval_end END) AS total_end
        FROM ({gone}) AS g
        {_endings(owner, keys)}
        GROUP BY {of_gone}, g.interval_end) AS o
      JOIN chained AS f ON f.system = o.system AND f.interval_end = o.since_end
      JOIN chained AS e
        ON e.system = o.system AND e.chain = f.chain AND e.interval_end >= o.since_end
        AND (o.back_end IS NULL OR e.interval_end < o.back_end)
        AND (o.over_end IS NULL OR e.interval_end <= o.over_end){stated}
      WHERE {kept}{_passing(owner, keys, rows)}"""
    return _with_unsampled(missing, layout, keys, every)


def _passing(owner: Owner, keys: Sequence[str], rows: str) -> str:
    """UNION with the owners that ended without a sample before, of which no record tells.

    They began and ended between two samples, or were not sampled: then totals are of a longer time.
    """
    selects = [
        f"""
      UNION
      SELECT {", ".join(f"h.{key}" for key in ["system", *keys])}, h.interval_end, 'ended' AS cause
      FROM happened_{n} AS h
      JOIN ends AS n ON n.system = h.system AND n.interval_end = h.interval_end
      LEFT JOIN {rows} AS r ON {_same("r", "h", keys)}
        AND (r.interval_end = h.interval_end OR r.interval_end = n.previous_end)
      WHERE (h.passed AND h.has_totals = 0 OR h.begun_us IS NULL AND h.has_totals = 1)
        AND r.system IS NULL"""
        for n, shared in enumerate(key_sets(owner, keys))
        if set(keys) <= set(shared)
    ]
    return "".join(selects)


def _counted(members: Members, every: str) -> str:
    """Query of how many members are stated, and how many were sampled, where some were.

    Columns: `system`, `interval_end`, the keys that the number is stated of, `stated`, `sampled`.
    """
    of = [name(key) for key in members.of]
    by = ", ".join(["system", "interval_end", *of])
    counted = ", ".join(name(key) for key in members.keys)
    same = "".join(f" AND n.{key} = t.{key}" for key in of)
    return f"""
        SELECT {", ".join(f"t.{key}" for key in ["system", "interval_end", *of])},
          max(t.{name(members.field)}) AS stated, max(n.sampled) AS sampled
        FROM monitor.{name(members.table)} AS t
        JOIN (
          SELECT {by}, count(DISTINCT {counted}) AS sampled FROM {every} AS m GROUP BY {by}) AS n
          ON n.system = t.system AND n.interval_end = t.interval_end{same}
        GROUP BY {", ".join(f"t.{key}" for key in ["system", "interval_end", *of])}"""


def _with_unsampled(missing: str, layout: Layout, keys: Sequence[str], every: str) -> str:
    """Query of missing owners, with a row for the members that are stated beside them.

    These were never sampled, and it has no keys but those that the number is stated of. Without a
    row for such members it is the query as it is.
    """
    members = members_of(layout)
    if members is None or not members.has_row:
        return missing
    of = [name(key) for key in members.of]
    listed = ", ".join(f"c.{key}" if key in of else f"NULL AS {key}" for key in keys)
    place = ", ".join(["system", *keys, "interval_end", "cause"])
    return f"""
      SELECT {place}
      FROM (
        SELECT {place}, lacking,
          count(CASE WHEN lacking IS NULL AND cause = 'missing' THEN 1 END) OVER (
            PARTITION BY {", ".join(["system", "interval_end", *of])}) AS known
        FROM (
          SELECT {place}, NULL AS lacking FROM ({missing}) AS m
          UNION ALL
          SELECT c.system, {listed}, c.interval_end, 'missing' AS cause,
            c.stated - c.sampled AS lacking
          FROM ({_counted(members, every)}) AS c
          JOIN ends AS n ON n.system = c.system AND n.interval_end = c.interval_end
          WHERE c.stated > c.sampled) AS u) AS v
      WHERE lacking IS NULL OR lacking > known"""


CHAINED = """chained AS (
        SELECT system, interval_end,
          sum(begins) OVER (PARTITION BY system ORDER BY interval_end) AS chain
        FROM (
          SELECT system, interval_end,
            CASE WHEN previous_end = lag(interval_end) OVER (
              PARTITION BY system ORDER BY interval_end) THEN 0 ELSE 1 END AS begins
          FROM ends) AS b),"""
"""CTE of the intervals with a previous one; those of a chain follow each other without a gap."""


def _endings(owner: Owner, keys: Sequence[str]) -> str:
    """Join of gone owners `g` with the intervals in which they ended, `h`."""
    selects = []
    for n, shared in enumerate(key_sets(owner, keys)):
        listed = ", ".join(
            key if key in shared else f"NULL AS {key}" for key in ["system", *keys]
        ).replace("NULL AS system", "system")
        selects.append(
            f"SELECT {listed}, interval_end, has_totals FROM happened_{n} WHERE ended = 1"
        )
    same = " AND ".join(f"(h.{key} IS NULL OR h.{key} = g.{key})" for key in keys)
    return f"""LEFT JOIN ({" UNION ALL ".join(selects)}) AS h
          ON h.system = g.system AND h.interval_end >= g.interval_end
          AND (g.back_end IS NULL OR h.interval_end < g.back_end)
          {f"AND {same}" if same else ""}"""


def _same(left: str, right: str, keys: Sequence[str]) -> str:
    return " AND ".join(f"{left}.{key} = {right}.{key}" for key in ["system", *keys])
