"""The views of schema `interval`: counters as deltas, by one rule for all records.

The rule is defined here and in `sql/deltas.sql`. It uses the facts of `schemas/owners.py`: which
samples have the same owner, how much a counter can increase between them, and what a decrease
means.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...core.sql import exact, name, text
from ...schemas.arrow import arrow_schema, inherited, owner_keys, schema_of, syncs
from ...schemas.field import WIDEST, Field, Role, Type
from ...schemas.layout import Layout
from ...schemas.owners import (
    COUNTDOWN_START,
    ELAPSED,
    Limit,
    Owner,
    limit_of,
    members_of,
    owner_of,
    parts_of,
)
from ...schemas.registry import tables
from ...schemas.unplaced import unplaced
from .clocks import CLOCKED, clocked, was_set
from .membership import CHAINED, absent, happened, is_stoppable, some_event, stopped
from .membership import joins as joins_of
from .views import PLACE, Documented, describe, describe_bit, row_docs

WORD = 4
"""Minimum width, in bytes, of counters whose decrease is evidence: narrower ones wrap often."""
LATE, LATE_S = 1.02, 1
"""Samples of two records are not simultaneous: a counter can increase for 2 % and a second more."""
MOST = f"_s * {LATE}e0 + {LATE_S}e0"
"""Seconds in which a counter can increase, as SQL."""
SLACK = "1.01e0"
"""Tolerance factor by which the sum of parts may exceed the whole."""
JUDGED = {
    "seconds": "Seconds between the two samples; NULL, like every delta, where `cause` says why.",
    "cause": (
        "Why the row has no deltas. first: no sample of the system is directly before. appeared:"
        " the owner was not sampled before. new: its session began in the interval. restart: it is"
        " another session, attachment or boot than before; deltas of a session that begins at 0 are"
        " what it used so far. stale: the guest has written nothing new. clock: the guest's clock"
        " was set, so that the seconds are not known. unmeasured: its measurement is off. missing:"
        " the owner was sampled before, has not ended, and is not sampled now; the row stands for"
        " it. ended: it ended in the interval, and what it did in"
        " that is in no record; likewise. NULL: it has them."
    ),
    "doubts": (
        "What is not known of the deltas, or is a lower bound, and why: the cause, counters that"
        " fell or rose further than is possible, and those that may have wrapped more than once; a"
        " field that says what the row is about, such as a volume serial, that changed."
        " NULL: nothing."
    ),
}
"""Columns about the deltas of a row -> their docs."""

CAUSES = {
    "appeared": "was not sampled before",
    "new": "began",
    "restart": "began anew",
    "stale": "is older than the interval",
    "unmeasured": "is not measured",
    "clock": "has a clock that was set",
    "missing": "is missing",
    "ended": "ended",
}
"""Cause that is a doubt -> predicate of the record in the message. `first` is not a doubt."""
FELL, IMPOSSIBLE, WRAPPED = "fell", "is not possible", "may have wrapped more than once"
"""Predicates of a counter in the message of a doubt, after its table and name."""


@dataclass(frozen=True)
class _Counter:
    """A counter of a table, as SQL over a sample and the previous one.

    Attributes:
        now, before: its values in ascending order; for a countdown the previous sample is `now`.
        delta: the column with its delta, if that is possible.
        untrusted: SQL conditions under which the delta is not reliable.
    """

    field: Field
    limit: Limit
    untrusted: Sequence[str] = ()

    @property
    def previous(self) -> str:
        return name(f"_before_{self.field.name}")

    @property
    def now(self) -> str:
        return self.previous if self.field.role is Role.COUNTDOWN else name(self.field.name)

    @property
    def before(self) -> str:
        return name(self.field.name) if self.field.role is Role.COUNTDOWN else self.previous

    @property
    def delta(self) -> str:
        return name(f"_delta_{self.field.name}")

    @property
    def is_wide(self) -> bool:
        return self.field.length >= WORD

    @property
    def modulus(self) -> str:
        """Value added after a wrap, as SQL; NULL for 64 bits, which never wrap."""
        return "NULL" if self.field.length == WIDEST else f"{1 << 8 * self.field.length}"

    @property
    def most(self) -> str:
        """Maximum possible delta, as SQL."""
        if self.limit.per_second is None:
            return f"{most_of_all(self.field)}"
        return f"{self.limit.per_second:e} * _most"

    def lags(self) -> str:
        """SQL columns: the previous value; for a counter that slips, also the one before that."""
        column = f"r.{name(self.field.name)}"
        lags = f"lag({column}) OVER w AS {self.previous}"
        if not self.limit.slips:
            return lags
        steady = "lag(i.previous_end) OVER w = lag(r.interval_end, 2) OVER w"
        earlier = f"CASE WHEN {steady} THEN lag({column}, 2) OVER w END"
        return f"{lags}, {earlier} AS {name(f'_earlier_{self.field.name}')}"

    def measured(self, has_events: bool) -> str:
        """SQL column `delta`: NULL if it is not possible, and after a slip.

        `has_events`: column `_happened_before` says whether an event made it begin anew instead.
        """
        now = self.now
        if self.field.type is Type.SIGNED:  # the full range overflows its own type
            now = f"CAST({now} AS {'HUGEINT' if self.field.length == WIDEST else 'BIGINT'})"
        delta = f"counter_delta({now}, {self.before}, {self.modulus}, {self.most})"
        if self.limit.slips:
            sign = ">" if self.field.role is Role.COUNTDOWN else "<"
            slipped = f"{self.previous} {sign} {name(f'_earlier_{self.field.name}')}"
            slipped += " AND NOT _happened_before" if has_events else ""
            delta = f"CASE WHEN NOT coalesce({slipped}, false) THEN {delta} END"
        return f"{delta} AS {self.delta}"

    def dropped(self) -> str:
        """SQL: 1 if it decreased without a wrap, else 0."""
        return f"CASE WHEN {self.now} < {self.before} AND {self.delta} IS NULL THEN 1 ELSE 0 END"

    def moved(self) -> str:
        """SQL: 1 if it changed, else 0."""
        return f"CASE WHEN {self.now} <> {self.before} THEN 1 ELSE 0 END"

    def is_old(self) -> str:
        """SQL condition: its value is too large to have started at 0 since the previous sample."""
        column = name(self.field.name)
        since = f"({COUNTDOWN_START} - {column})" if self.field.role is Role.COUNTDOWN else column
        return f"coalesce({since} > {self.most}, false)"

    def steady(self) -> str:
        """SQL: its delta between two samples of one owner, NULL if untrusted."""
        if not self.untrusted:
            return self.delta
        return f"CASE WHEN NOT ({' OR '.join(self.untrusted)}) THEN {self.delta} END"

    def shown(self, from_zero: bool) -> str:
        """Its SQL column in the view; `from_zero`: the value itself for a new owner."""
        column = name(self.field.name)
        begun = f" WHEN {_BEGUN} AND {column} <= {self.most} THEN {column}" if from_zero else ""
        return f"CASE WHEN cause IS NULL THEN {self.steady()}{begun} END AS {column}"

    def is_doubted(self) -> str:
        """SQL condition: the counter has a doubt, or may have one."""
        both = f"{self.now} IS NOT NULL AND {self.before} IS NOT NULL"
        signs = [f"({self.delta} IS NULL AND {both})", *self.untrusted]
        if self.modulus != "NULL":
            signs.append(f"({self.now} < {self.before} AND {self.most} >= {self.modulus})")
        return " OR ".join(signs if self.is_wide else [*signs, self._is_near])

    def doubt(self, table: str) -> str:
        """SQL text of its doubt; NULL if there is none."""
        label, fell = f"{table}.{self.field.name.upper()}", f"{self.now} < {self.before}"
        both = f"{self.now} IS NOT NULL AND {self.before} IS NOT NULL"
        cases = [
            f"WHEN {both} AND {self.steady()} IS NULL THEN CASE WHEN {fell}"
            f" THEN {text(f'{label} {FELL}')} ELSE {text(f'{label} {IMPOSSIBLE}')} END"
        ]
        if self.limit.twin:
            cases.append(f"WHEN coalesce({name('_delta_' + self.limit.twin)}, 0) > 0 THEN NULL")
        if self.modulus != "NULL":
            wrapped = f"{fell} AND {self.most} >= {self.modulus}"
            wrapped += "" if self.is_wide else f" OR {self._is_near}"
            cases.append(f"WHEN {wrapped} THEN {text(f'{label} {WRAPPED}')}")
        return f"CASE {' '.join(cases)} END"

    @property
    def _is_near(self) -> str:
        """SQL condition: a narrow counter has a large delta, and may have wrapped repeatedly."""
        half = 1 << 8 * self.field.length - 1
        return f"({self.delta} >= {half} AND {self.most} >= {2 * half})"


_BEGUN = "cause IN ('new', 'restart')"
"""SQL condition on a row: its owner began since the previous sample."""


def interval_view(layout: Layout) -> Documented:
    """View `interval.<table>`: counters as deltas to the previous sample, one row per owner.

    A delta exists between two samples of one owner at the ends of successive intervals
    (`meta.interval.previous_end`), up to what the counter can increase by in that time. An owner
    that was sampled before, is not sampled now and has not ended in between, has a row without
    figures, so that the sum of the others is not mistaken for the total. If an owner has several
    rows in one interval (two dumps have it, or a frame repeats), the first by dump and offset has
    the deltas; those of the next interval refer to the last.
    """
    owner, counters = owner_of(layout), _counters(layout)
    columns, docs = _columns(layout, owner, counters)
    doubts = _doubts(layout, owner, _watched(owner, counters), owner.noted)
    columns["doubts"] = f"{doubts} AS doubts"
    doc = f"{layout.title}: counters as deltas to the previous sample."
    return Documented(f"interval.{layout.name}", _rows(layout, counters, columns), doc, docs)


def without_rows(layout: Layout) -> str:
    """SELECT of `interval.<table>` over no rows: the same columns and types, planned at once."""
    kinds = dict.fromkeys(counter_names(layout), "BIGINT")
    kinds |= {"seconds": "DOUBLE", "cause": "VARCHAR", "doubts": "VARCHAR"}
    columns, _ = _columns(layout, owner_of(layout), _counters(layout))
    shown = (
        f"CAST(NULL AS {kinds[column]}) AS {name(column)}" if column in kinds else name(column)
        for column in columns
    )
    return f"SELECT {', '.join(shown)} FROM monitor.{name(layout.name)} WHERE false"


def doubts_of(
    layout: Layout, still: Collection[str] = (), owners: Iterable[int] | None = None
) -> str:
    """SELECT of the rows of `interval.<table>` with the doubts of all counters, by the same rule.

    Columns: the place of the row, the keys of its owner, `cause` and `doubts`, which here includes
    counters that the owner does not watch.

    Args:
        still: counters known to be constant. They have no doubts, and the query takes half the time
            without them.
        owners: hashes of those to judge (`owner_hash`); all if not given.
    """
    counters = _moving(layout, still)
    place = ("system", "dump", "tod", "interval_end", "record_offset")
    columns = {column: column for column in place}
    columns |= {key: name(key) for key in owner_keys(layout)} | {"cause": "cause"}
    columns["doubts"] = f"{_doubts(layout, owner_of(layout), counters)} AS doubts"
    where = "" if owners is None else f"{owner_hash(layout)} IN ({', '.join(map(str, owners))})"
    return _rows(layout, counters, columns, where)


def lower_bounds() -> list[str]:
    """The doubts of rows whose deltas are what a new session has counted so far."""
    begun = (layout for layout in tables().values() if owner_of(layout).from_zero)
    return [f"{layout.name.upper()} {CAUSES['restart']}" for layout in begun]


def owner_hash(layout: Layout) -> str:
    """SQL: a hash of the system and keys of the owner of a row."""
    return f"hash({', '.join(['system', *map(name, owner_keys(layout))])})"


def most_of_all(field: Field) -> int:
    """Maximum delta of a counter without a known rate: half of its range.

    Of 64 bits it is what a DOUBLE holds.
    """
    return 2**53 - 1 if field.length == WIDEST else 1 << 8 * field.length - 1


def counter_names(layout: Layout) -> list[str]:
    """The fields of a table that have deltas."""
    return [counter.field.name for counter in _counters(layout)]


def _counters(layout: Layout) -> list[_Counter]:
    """The counters of a table."""
    parts = parts_of(layout)
    return [
        _Counter(
            field,
            limit_of(layout, field),
            [
                condition
                for n, part in enumerate(parts)
                if field.name in part.blank
                for condition in (f"_exceeds_{n}", *([f"_late_{n}"] if part.late else []))
            ],
        )
        for field in layout.columns
        if field.is_cumulative and field.is_number
    ]


def _moving(layout: Layout, still: Collection[str]) -> list[_Counter]:
    """The counters that are not constant, and those that their checks refer to."""
    counters = _counters(layout)
    moving = {counter.field.name for counter in counters} - set(still)
    needed = {c.limit.twin for c in counters if c.field.name in moving}
    for part in parts_of(layout):
        if moving & {*part.parts, *part.whole}:
            needed |= {*part.parts, *part.whole}
    return [counter for counter in counters if counter.field.name in moving | needed]


def _watched(owner: Owner, counters: Sequence[_Counter]) -> list[_Counter]:
    """The counters whose decrease indicates a restart."""
    return [c for c in counters if not owner.watched or c.field.name in owner.watched]


def _rows(
    layout: Layout,
    counters: Sequence[_Counter],
    columns: Mapping[str, str],
    where: str = "",
) -> str:
    """SELECT of columns of the rows of a table, checked by some of its counters.

    `where`: SQL condition on the keys of the rows; none if empty.
    """
    owner, keys = owner_of(layout), [name(key) for key in owner_keys(layout)]
    rows = _untorn(layout, where)
    return f"""{_judged(layout, counters, _sampled(layout, owner, keys, counters, rows))}
      SELECT {", ".join(columns.values())} FROM judged
      UNION ALL {_absent(layout, owner, keys, columns, rows)}"""


def _judged(layout: Layout, counters: Sequence[_Counter], sampled: str) -> str:
    """The CTEs up to `judged`: rows with their deltas, and the cause if they have none.

    Args:
        sampled: query of the rows with the values of their previous rows.
    """
    owner, keys = owner_of(layout), [name(key) for key in owner_keys(layout)]
    present = {counter.field.name for counter in counters}
    exceeds = [
        f"coalesce({_sum(part.parts)} > {SLACK} * ({_sum(part.whole, part.second)})"
        f" + {part.spare:e}, false)"
        if present.issuperset({*part.parts, *part.whole} - {ELAPSED})
        else "false"
        for part in parts_of(layout)
    ]
    falls = [*_falls(_watched(owner, counters)), _is_old(_watched(owner, _counters(layout)))]
    late = [
        f"coalesce(lead(_exceeds_{n} AND _end = previous_end) OVER n, false) AS _late_{n}"
        for n, part in enumerate(parts_of(layout))
        if part.late
    ]
    window = f" WINDOW n AS (PARTITION BY {', '.join(['system', *keys])} ORDER BY interval_end)"
    measured = [counter.measured(bool(owner.events)) for counter in counters]
    judged = [*falls, *(f"{sql} AS _exceeds_{n}" for n, sql in enumerate(exceeds))]
    return f"""
      WITH ticks AS (
        SELECT system, dump, interval_end, previous_end,
          row_number() OVER (ORDER BY system, interval_end, dump) AS _place FROM meta.interval),
      ends AS (
        SELECT DISTINCT system, interval_end, previous_end FROM ticks
        WHERE previous_end IS NOT NULL),
      {happened(owner, keys)}
      {stopped(owner, keys)}
      {CHAINED if owner.is_announced else ""}
      sampled AS ({sampled}),
      timed AS (
        SELECT *, {_elapsed(owner)} AS _s, {MOST} AS _most FROM sampled
        WHERE _end IS NULL OR _end <> interval_end),
      measured AS (SELECT {", ".join(["*", *measured])} FROM timed),
      compared AS (SELECT {", ".join(["*", *judged])} FROM measured),
      judged AS (
        SELECT {", ".join(["*", *late, f"{_cause(owner, counters)} AS cause"])}
        FROM compared{window if late or is_stoppable(owner) else ""})"""


def is_judged_by_next(table: str) -> bool:
    """Whether what an interval has of a table depends on the next one."""
    return table in tables() and any(part.late for part in parts_of(tables()[table]))


def relations_of(layout: Layout) -> list[str]:
    """The views of schema `monitor` that `interval.<table>` reads."""
    read = {*rows_from(layout.name)}
    if members := members_of(layout):
        read.add(members.table)
    if clock := owner_of(layout).clock:
        read.add(clock[0])
    return [f"monitor.{table}" for table in sorted(read)]


def rows_from(table: str) -> list[str]:
    """The tables without whose records `interval.<table>` has no row: samples, and events."""
    return [table, *dict.fromkeys(event.table for event in owner_of(tables()[table]).events)]


def _columns(
    layout: Layout, owner: Owner, counters: Sequence[_Counter]
) -> tuple[dict[str, str], dict[str, str]]:
    """The columns of the view: column -> SQL expression, and column -> doc."""
    docs = PLACE | row_docs(layout) | JUDGED
    begun = f" OR {_BEGUN}" if owner.from_zero else ""
    row = ["system", "dump", "tod", "tod_us", "interval_end", "record_offset"]
    columns = {column: column for column in row}
    columns["seconds"] = f"CASE WHEN cause IS NULL{begun} THEN {exact('_s')} END AS seconds"
    if layout.parent:
        columns |= {field.name: name(field.name) for field in inherited(layout)}
        columns |= {"entry": "entry"}
        columns |= {"code": "code"} if layout.labelled else {}
    shown = {counter.field.name: counter.shown(owner.from_zero) for counter in counters}
    for field in layout.columns:
        columns[field.name] = shown.get(field.name) or name(field.name)
        docs[field.name] = describe(arrow_schema(layout).field(field.name), field.name in shown)
        columns |= {bit.name: name(bit.name) for bit in layout.bits_of(field)}
        docs |= {bit.name: describe_bit(bit) for bit in layout.bits_of(field)}
    columns |= {row.name: name(row.name) for row in unplaced(layout)}
    docs |= {row.name: describe(schema_of(layout.name).field(row.name)) for row in unplaced(layout)}
    columns["cause"] = "cause"
    columns["doubts"] = "doubts"
    return columns, {column: docs[column] for column in columns}


def _sampled(
    layout: Layout, owner: Owner, keys: Sequence[str], counters: Sequence[_Counter], rows: str
) -> str:
    """Query of the sampled rows, each with the values of the previous row of its keys.

    `rows`: SQL relation of them.
    """
    of_events, events = joins_of(owner, keys)
    columns = ["r.*", "i.previous_end", "lag(r.interval_end) OVER w AS _end", *events]
    if owner.has_parts:
        rows = _numbered(rows, layout, keys)
        keys = [*keys, "_part"]
        columns.append("lag(r._parts) OVER w AS _parts_before")
    if owner.clock:
        rows = clocked(rows, layout, owner.clock, keys)
        columns += CLOCKED
    else:
        columns += ["r.tod_us AS _clock", "lag(r.tod_us) OVER w AS _clock_before"]
    both = (*owner.identity, *owner.noted)
    columns += [f"lag(r.{name(f)}) OVER w AS {name(f'_before_{f}')}" for f in both]
    columns += [counter.lags() for counter in counters]
    if owner.events and any(counter.limit.slips for counter in counters):
        happened = some_event(owner, keys)
        columns.append(f"coalesce(lag({happened}) OVER w, false) AS _happened_before")
    partition = ", ".join(f"r.{key}" for key in ["system", *keys])
    return f"""
        SELECT {", ".join(columns)}
        FROM {rows} AS r JOIN ticks AS i USING (system, dump, interval_end){of_events}
        WINDOW w AS (
          PARTITION BY {partition} ORDER BY i._place, r.record_offset)"""


def _numbered(rows: str, layout: Layout, keys: Sequence[str]) -> str:
    """SQL relation: rows with their number among those of their owner, and how many these are.

    A record that stands twice in a sample, with the same bytes, is one part.
    """
    same = ", ".join(["system", "dump", "interval_end", *keys])
    fields = ", ".join(["tod_us", *(name(field.name) for field in layout.columns)])
    return f"""(
          SELECT *,
            row_number() OVER (PARTITION BY {same} ORDER BY record_offset) AS _part,
            count(*) OVER (PARTITION BY {same}) AS _parts
          FROM (
            SELECT *,
              row_number() OVER (PARTITION BY {same}, {fields} ORDER BY record_offset) AS _copy
            FROM {rows} AS c) AS n
          WHERE n._copy = 1)"""


def _elapsed(owner: Owner) -> str:
    """SQL: seconds that the deltas of a row cover."""
    begun = ""
    if owner.events and owner.from_zero:
        begun = "WHEN begun_us <= _clock THEN (_clock - begun_us) / 1e6 "
    return f"CASE {begun}WHEN _end = previous_end THEN (_clock - _clock_before) / 1e6 END"


def _falls(counters: Sequence[_Counter]) -> list[str]:
    """SQL columns: the number of counters of a row that decreased, and that changed."""
    wide = [counter for counter in counters if counter.is_wide and not counter.field.of]
    drops = " + ".join(counter.dropped() for counter in wide) or "0"
    moves = " + ".join(counter.moved() for counter in wide) or "0"
    return [f"{drops} AS _drops", f"{moves} AS _moves"]


def _is_old(counters: Sequence[_Counter]) -> str:
    """SQL column `_is_old`: the owner existed at the previous sample.

    Some counter is larger than it can have become since then.
    """
    limited = [
        c for c in counters if c.is_wide and not c.field.of and c.limit.per_second is not None
    ]
    return f"({' OR '.join(c.is_old() for c in limited) or 'false'}) AS _is_old"


def _cause(owner: Owner, counters: Sequence[_Counter]) -> str:
    """SQL: the cause why a row has no deltas.

    Without other evidence, a decreased counter means a restart if the owner is not old. If it is
    old, the counter has slipped, unless most of the counters that changed decreased. Measurement
    that an event stopped goes on where its counters change in successive intervals.
    """
    signs = [
        "_s < 0",
        *(f"coalesce({name(f)} <> {name(f'_before_{f}')}, false)" for f in owner.identity),
    ]
    signs += ["_happened"] if owner.events else []
    signs += ["_parts <> _parts_before"] if owner.has_parts else []
    signs += ["(_drops > 0 AND (NOT _is_old OR (_drops > 1 AND 2 * _drops >= _moves)))"]
    appeared = "'appeared'"
    if owner.events:
        appeared = (
            "CASE WHEN _has_lost THEN 'restart' WHEN begun_us IS NOT NULL THEN 'new'"
            " ELSE 'appeared' END"
        )
    idle = ""
    if is_stoppable(owner):
        moves = _standing(owner, counters)
        goes_on = f"coalesce(lag(_is_stopped AND {moves} > 0) OVER n, false)"
        seen = [c.delta for c in counters if c.field.name in owner.witness]
        told = " OR ".join(f"coalesce({delta} > 1, false)" for delta in seen) or "false"
        idle = f"""
          WHEN _is_stopped AND NOT ((_resumed OR {goes_on}) AND {moves} > 0)
            OR {moves} = 0 AND ({told})
            THEN 'unmeasured'"""
    clock = ""
    if owner.clock:
        ticks = [c.delta for c in counters if c.field.name in owner.elapsed]
        clock = f"\n          WHEN {was_set(ticks)} THEN 'clock'"
    return f"""CASE WHEN previous_end IS NULL THEN 'first'
          WHEN _end IS NULL OR _end <> previous_end THEN {appeared}
          WHEN _s IS NULL OR _s = 0 THEN 'stale'{idle}{clock}
          WHEN {" OR ".join(signs)} THEN 'restart' END"""


def _standing(owner: Owner, counters: Sequence[_Counter]) -> str:
    """SQL: the number of counters that changed of those that stand while nothing is measured."""
    return " + ".join(c.moved() for c in counters if c.field.name in owner.standing) or "0"


def _doubts(
    layout: Layout, owner: Owner, counters: Sequence[_Counter], noted: Sequence[str] = ()
) -> str:
    """SQL: the doubts of a row; also of one in which some fields have another value than before."""
    table = layout.name.upper()
    causes = {cause: f"{table} {what}" for cause, what in CAUSES.items()}
    if owner.from_zero:
        del causes["new"]
    cases = [f"WHEN cause = {text(cause)} THEN {text(what)}" for cause, what in causes.items()]
    if counters:
        changed = {f: f"coalesce({name(f)} <> {name(f'_before_{f}')}, false)" for f in noted}
        of_fields = [
            f"CASE WHEN {is_other} THEN {text(f'{table}.{f.upper()} changed')} END"
            for f, is_other in changed.items()
        ]
        doubted = " OR ".join([*changed.values(), *(c.is_doubted() for c in counters)])
        texts = ", ".join([*of_fields, *(counter.doubt(table) for counter in counters)])
        doubt = f"nullif(concat_ws(', ', {texts}), '')"
        cases.append(f"WHEN cause IS NULL AND ({doubted}) THEN {doubt}")
    return f"CASE {' '.join(cases)} END"


def _absent(
    layout: Layout, owner: Owner, keys: Sequence[str], columns: Iterable[str], rows: str
) -> str:
    """Query of the owners that were sampled before and have no row, in the columns of the view.

    `rows`: SQL relation of the sampled rows.
    """
    filled = {"system": "m.system", "interval_end": "m.interval_end", "cause": "m.cause"}
    said = " ".join(
        f"WHEN m.cause = '{cause}' THEN {text(f'{layout.name.upper()} {CAUSES[cause]}')}"
        for cause in ("missing", "ended")
    )
    filled["doubts"] = f"CASE {said} END"
    filled |= {key: f"m.{key}" for key in keys}
    shown = (filled.get(column) or filled.get(name(column)) or "NULL" for column in columns)
    gone = absent(layout, owner, keys, rows, every=_untorn(layout))
    return f"""
      SELECT {", ".join(shown)}
      FROM ({gone}) AS m"""


def _untorn(layout: Layout, where: str = "") -> str:
    """SQL relation: the rows of a table without blocks that changed while they were sampled.

    Their figures are inconsistent, so they are not used for deltas or levels. `where`: a further
    condition on the rows.
    """
    conditions = [where] if where else []
    if counts := syncs(layout):
        first, second = map(name, counts)
        conditions.append(f"NOT coalesce({first} <> {second}, false)")
    relation = f"monitor.{name(layout.name)}"
    return (
        f"(SELECT * FROM {relation} WHERE {' AND '.join(conditions)})" if conditions else relation
    )


def _sum(fields: Iterable[str], second: float = 0) -> str:
    """SQL: sum of some deltas; `ELAPSED` stands for the time between the samples.

    `second`: a second in their unit.
    """
    return " + ".join(
        f"_s * {second:e}" if field == ELAPSED else f"CAST({name(f'_delta_{field}')} AS DOUBLE)"
        for field in fields
    )
