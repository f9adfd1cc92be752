"""The views of schema `interval`: counters as deltas, by one rule for all records.

The rule is stated here and in `sql/deltas.sql`, over the facts of `schemas/owners.py`: which
samples are of one owner, how far a counter can have grown between them, and what its fall means.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...core.sql import exact, name, text
from ...schemas.arrow import arrow_schema, inherited, owner_keys, schemas, syncs
from ...schemas.field import WIDEST, Field, Role, Type
from ...schemas.layout import Layout
from ...schemas.owners import COUNTDOWN_START, ELAPSED, Limit, Owner, limit_of, owner_of, parts_of
from ...schemas.registry import tables
from ...schemas.unplaced import unplaced
from .views import PLACE, Documented, describe, describe_bit, row_docs

WORD = 4
"""Bytes of counters whose fall tells something: narrower ones wrap from sample to sample."""
MOST = "_s * 1.02e0 + 1e0"
"""Seconds for which a counter can have grown: the samples of two records are not of one moment."""
SLACK = "1.01e0"
"""Deltas may be this much more than what they are part of."""
TOD_UNITS = "4096e6"
"""TOD units of a second."""

JUDGED = {
    "seconds": "Seconds between the two samples; NULL, like every delta, where `cause` says why.",
    "cause": (
        "Why the row has no deltas. first: no sample of the system is directly before. appeared:"
        " the owner was not sampled before. new: its session began in the interval. restart: it is"
        " another session, attachment or boot than before; deltas of a session that begins at 0 are"
        " what it used so far. stale: the guest has written nothing new. missing: the owner was"
        " sampled before, and is not now; the row stands for it. NULL: it has them."
    ),
    "doubts": (
        "What is not known of the deltas, or is a lower bound, and why: the cause, counters that"
        " fell or rose further than is possible, and those that may have wrapped more than once."
        " NULL: nothing."
    ),
}
"""The columns that say what became of the deltas of a row."""

CAUSES = {
    "appeared": "was not sampled before",
    "new": "began",
    "restart": "began anew",
    "stale": "is older than the interval",
    "missing": "is missing",
}
"""Causes that are doubts -> what is said of the record then. A first sample is none."""
FELL, IMPOSSIBLE, WRAPPED = "fell", "is not possible", "may have wrapped more than once"
"""What is said of a counter in doubt, behind its table and name."""


@dataclass(frozen=True)
class _Counter:
    """A counter of a table, as SQL over a sample and the one before.

    Attributes:
        now, before: its values in ascending order: of a countdown the sample before is `now`.
        delta: the column with its delta as far as it is possible.
        untrusted: conditions under which it is not what it should be.
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
        """What is added where it wrapped; a counter of 64 bits never does."""
        return "NULL" if self.field.length == WIDEST else f"{1 << 8 * self.field.length}"

    @property
    def most(self) -> str:
        """What it can have grown by."""
        if self.limit.per_second is None:  # half of its range; of 64 bits what a DOUBLE holds
            return f"{2**53 - 1 if self.field.length == WIDEST else 1 << 8 * self.field.length - 1}"
        return f"{self.limit.per_second:e} * _most"

    def lags(self) -> str:
        """The values of the sample before; of a counter that slips also of the one before that."""
        column = f"r.{name(self.field.name)}"
        lags = f"lag({column}) OVER w AS {self.previous}"
        if not self.limit.slips:
            return lags
        steady = "lag(i.previous_end) OVER w = lag(r.interval_end, 2) OVER w"
        earlier = f"CASE WHEN {steady} THEN lag({column}, 2) OVER w END"
        return f"{lags}, {earlier} AS {name(f'_earlier_{self.field.name}')}"

    def measured(self) -> str:
        """The column `delta`: NULL where it cannot have grown so, and behind a slip."""
        now = self.now
        if self.field.type is Type.SIGNED:  # from the least to the greatest is more than it holds
            now = f"CAST({now} AS {'HUGEINT' if self.field.length == WIDEST else 'BIGINT'})"
        delta = f"counter_delta({now}, {self.before}, {self.modulus}, {self.most})"
        if self.limit.slips:
            sign = ">" if self.field.role is Role.COUNTDOWN else "<"
            slipped = f"{self.previous} {sign} {name(f'_earlier_{self.field.name}')}"
            delta = f"CASE WHEN NOT coalesce({slipped}, false) THEN {delta} END"
        return f"{delta} AS {self.delta}"

    def dropped(self) -> str:
        """1 where it fell without a wrap."""
        return f"CASE WHEN {self.now} < {self.before} AND {self.delta} IS NULL THEN 1 ELSE 0 END"

    def moved(self) -> str:
        """1 where it has another value than before."""
        return f"CASE WHEN {self.now} <> {self.before} THEN 1 ELSE 0 END"

    def is_old(self) -> str:
        """Whether it is more than it can have come to since the sample before."""
        column = name(self.field.name)
        since = f"({COUNTDOWN_START} - {column})" if self.field.role is Role.COUNTDOWN else column
        return f"coalesce({since} > {self.most}, false)"

    def steady(self) -> str:
        """Its delta between two samples of one owner."""
        if not self.untrusted:
            return self.delta
        return f"CASE WHEN NOT ({' OR '.join(self.untrusted)}) THEN {self.delta} END"

    def shown(self, from_zero: bool) -> str:
        """Its column in the view."""
        column = name(self.field.name)
        begun = f" WHEN {_BEGUN} AND {column} <= {self.most} THEN {column}" if from_zero else ""
        return f"CASE WHEN cause IS NULL THEN {self.steady()}{begun} END AS {column}"

    def is_doubted(self) -> str:
        """Whether anything is to be said of it."""
        both = f"{self.now} IS NOT NULL AND {self.before} IS NOT NULL"
        signs = [f"({self.delta} IS NULL AND {both})", *self.untrusted]
        if self.modulus != "NULL":
            signs.append(f"({self.now} < {self.before} AND {self.most} >= {self.modulus})")
        return " OR ".join(signs if self.is_wide else [*signs, self._is_near])

    def doubt(self, table: str) -> str:
        """What is to be said of it; NULL for nothing."""
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
        """Whether a counter of few bits comes near to what they hold, and could have passed it."""
        half = 1 << 8 * self.field.length - 1
        return f"({self.delta} >= {half} AND {self.most} >= {2 * half})"


_BEGUN = "cause IN ('new', 'restart')"
"""Of a row: that its owner began since the sample before."""


def interval_view(layout: Layout) -> Documented:
    """`interval.<table>`: counters as their deltas to the previous sample, one row for each owner.

    A delta exists between two samples of one owner at the ends of successive intervals
    (`meta.interval.previous_end`), as far as the counter can grow in that time. An owner that was
    sampled before, and neither now nor ended since, has a row without figures, so that nobody takes
    the sum of the others for the whole. Of several rows of an owner in one interval (two dumps hold
    it, or a frame repeats) the first by dump and offset counts; the next interval follows the last.
    """
    owner, counters = owner_of(layout), _counters(layout)
    columns, docs = _columns(layout, owner, counters)
    columns["doubts"] = f"{_doubts(layout, owner, _watched(owner, counters))} AS doubts"
    doc = f"{layout.title}: counters as deltas to the previous sample."
    return Documented(f"interval.{layout.name}", _rows(layout, counters, columns), doc, docs)


def doubts_of(layout: Layout, still: Collection[str] = ()) -> str:
    """SELECT of the rows of `interval.<table>`, by the same rule, with the doubts of all counters.

    A row has its place, the keys of its owner, `cause` and `doubts`, which here also names counters
    that the owner does not watch.

    Args:
        still: counters that have but one value, as far as the caller knows. There is nothing to
            doubt of them, and the query takes half the time without them.
    """
    counters = _moving(layout, still)
    place = ("system", "dump", "tod", "interval_end", "record_offset")
    columns = {column: column for column in place}
    columns |= {key: name(key) for key in owner_keys(layout)} | {"cause": "cause"}
    columns["doubts"] = f"{_doubts(layout, owner_of(layout), counters)} AS doubts"
    return _rows(layout, counters, columns)


def undoubted_of(layout: Layout, still: Collection[str], where: str) -> str:
    """SELECT of whether no row of a table is in doubt, and how many have a row before.

    The rule is that of `doubts_of`; but a row finds the one before by a hash of its keys, in half
    the time. That holds while owners neither come nor go, and none has two rows at one end: else
    the answer is no, and `doubts_of` has to tell. Not for tables with a clock of their own.

    Args:
        where: the condition on rows that are counted; all are judged.
    """
    owner, counters = owner_of(layout), _moving(layout, still)
    keys = [name(key) for key in owner_keys(layout)]
    table = f"monitor.{name(layout.name)}"
    judged = _judged(layout, counters, _paired(layout, owner, keys, counters))
    doubts = _doubts(layout, owner, counters)
    return f"""{judged},
      pairs AS (SELECT system, interval_end, cause, {doubts} AS doubts FROM judged),
      counted AS (
        SELECT count(*) AS n, count(coalesce(cause, doubts)) AS doubted,
          count(CASE WHEN {where} THEN 1 END) AS shown FROM pairs),
      later AS (SELECT count(*) AS n FROM {table} JOIN ends USING (system, interval_end)),
      earlier AS (
        SELECT count(*) AS n FROM {table} AS r
        JOIN ends AS n ON n.system = r.system AND n.previous_end = r.interval_end)
      SELECT c.doubted = 0 AND c.n = l.n AND c.n = e.n, c.shown
      FROM counted AS c, later AS l, earlier AS e"""


def counter_names(layout: Layout) -> list[str]:
    """The fields of a table that a delta is made of."""
    return [counter.field.name for counter in _counters(layout)]


def _counters(layout: Layout) -> list[_Counter]:
    """The counters of a table."""
    parts = parts_of(layout)
    return [
        _Counter(
            field,
            limit_of(layout, field),
            [f"_exceeds_{n}" for n, part in enumerate(parts) if field.name in part.blank],
        )
        for field in layout.columns
        if field.is_cumulative and field.is_number
    ]


def _moving(layout: Layout, still: Collection[str]) -> list[_Counter]:
    """The counters that have several values, and those that these are judged by."""
    counters = _counters(layout)
    moving = {counter.field.name for counter in counters} - set(still)
    needed = {c.limit.twin for c in counters if c.field.name in moving}
    for part in parts_of(layout):
        if moving & {*part.parts, *part.whole}:
            needed |= {*part.parts, *part.whole}
    return [counter for counter in counters if counter.field.name in moving | needed]


def _watched(owner: Owner, counters: Sequence[_Counter]) -> list[_Counter]:
    """Those that tell of a restart."""
    return [c for c in counters if not owner.watched or c.field.name in owner.watched]


def _rows(layout: Layout, counters: Sequence[_Counter], columns: Mapping[str, str]) -> str:
    """SELECT of columns of the rows of a table, judged by some of its counters."""
    owner, keys = owner_of(layout), [name(key) for key in owner_keys(layout)]
    return f"""{_judged(layout, counters, _sampled(layout, owner, keys, counters))}
      SELECT {", ".join(columns.values())} FROM judged
      UNION ALL {_missing(layout, owner, keys, columns)}"""


def _judged(layout: Layout, counters: Sequence[_Counter], sampled: str) -> str:
    """The queries up to `judged`: rows with their deltas, and why they have none.

    Args:
        sampled: the query of the rows with those before.
    """
    owner, keys = owner_of(layout), [name(key) for key in owner_keys(layout)]
    present = {counter.field.name for counter in counters}
    exceeds = [
        f"coalesce({_sum(part.parts)} > {SLACK} * ({_sum(part.whole)}) + {part.spare:e}, false)"
        if present.issuperset({*part.parts, *part.whole} - {ELAPSED})
        else "false"
        for part in parts_of(layout)
    ]
    falls = [*_falls(_watched(owner, counters)), _is_old(_watched(owner, _counters(layout)))]
    judged = [*falls, *(f"{sql} AS _exceeds_{n}" for n, sql in enumerate(exceeds))]
    return f"""
      WITH ticks AS (SELECT system, dump, interval_end, previous_end FROM meta.interval),
      ends AS (
        SELECT DISTINCT system, interval_end, previous_end FROM ticks
        WHERE previous_end IS NOT NULL),
      {_happened(owner, keys)}
      sampled AS ({sampled}),
      timed AS (
        SELECT *, {_elapsed(owner)} AS _s, {MOST} AS _most FROM sampled
        WHERE _end IS NULL OR _end <> interval_end),
      measured AS (SELECT {", ".join(["*", *(c.measured() for c in counters)])} FROM timed),
      compared AS (SELECT {", ".join(["*", *judged])} FROM measured),
      judged AS (SELECT *, {_cause(owner)} AS cause FROM compared)"""


def relations_of(layout: Layout) -> list[str]:
    """The views of schema `monitor` that the view of a table reads."""
    owner = owner_of(layout)
    read = {layout.name, *(event.table for event in owner.events)}
    if owner.clock:
        read.add(owner.clock[0])
    return [f"monitor.{table}" for table in sorted(read)]


def _columns(
    layout: Layout, owner: Owner, counters: Sequence[_Counter]
) -> tuple[dict[str, str], dict[str, str]]:
    """The columns of the view: what each is selected as, and what it says."""
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
    docs |= {row.name: describe(schemas()[layout.name].field(row.name)) for row in unplaced(layout)}
    columns["cause"] = "cause"
    columns["doubts"] = "doubts"
    return columns, {column: docs[column] for column in columns}


def _happened(owner: Owner, keys: Sequence[str]) -> str:
    """The query of what began and ended owners in each interval; nothing where no event tells."""
    if not owner.events:
        return ""
    shared = ", ".join(["system", *_event_keys(owner, keys)])
    each = (
        f"SELECT {shared}, tod, tod_us, {str(event.begins).lower()} AS begins"
        f" FROM monitor.{name(event.table)}"
        for event in owner.events
    )
    of_event = ", ".join(f"e.{key}" for key in ["system", *_event_keys(owner, keys)])
    return f"""happened AS (
        SELECT {of_event}, n.interval_end, min(CASE WHEN e.begins THEN e.tod_us END) AS begun_us,
          max(CASE WHEN e.begins THEN 0 ELSE 1 END) AS ended
        FROM ({" UNION ALL ".join(each)}) AS e
        JOIN ends AS n
          ON n.system = e.system AND e.tod > n.previous_end AND e.tod <= n.interval_end
        GROUP BY {of_event}, n.interval_end),"""


def _event_keys(owner: Owner, keys: Sequence[str]) -> list[str]:
    """The keys of a row that the events about its owner have as well."""
    columns = [{name(f.name) for f in tables()[event.table].columns} for event in owner.events]
    return [key for key in keys if all(key in each for each in columns)]


def _sampled(
    layout: Layout, owner: Owner, keys: Sequence[str], counters: Sequence[_Counter]
) -> str:
    """The query of the rows as sampled, each with what the previous one of its key had."""
    clock, joins = "r.tod_us", "JOIN ticks AS i USING (system, dump, interval_end)"
    if owner.clock:
        table, column = owner.clock
        at = "r" if table == layout.name else "c"
        clock = f"date_diff('microsecond', TIMESTAMP '1970-01-01', {at}.{name(column + '_at')})"
        if at == "c":
            joins += f" LEFT JOIN monitor.{name(table)} AS c"
            joins += " ON c.system = r.system AND c.dump = r.dump"
            joins += " AND c.record_offset = r.record_offset"
    columns = [
        "r.*",
        "i.previous_end",
        f"{clock} AS _clock",
        f"lag({clock}) OVER w AS _clock_before",
    ]
    columns.append("lag(r.interval_end) OVER w AS _end")
    if owner.events:
        joins += f" LEFT JOIN happened AS h ON {_same_owner('h', 'r', owner, keys)}"
        joins += " AND h.interval_end = r.interval_end"
        columns += ["h.begun_us", "h.system IS NOT NULL AS _happened"]
    columns += [f"lag(r.{name(f)}) OVER w AS {name(f'_before_{f}')}" for f in owner.identity]
    columns += [counter.lags() for counter in counters]
    partition = ", ".join(f"r.{key}" for key in ["system", *keys])
    return f"""
        SELECT {", ".join(columns)}
        FROM {_untorn(layout)} AS r {joins}
        WINDOW w AS (
          PARTITION BY {partition} ORDER BY r.interval_end, r.dump, r.record_offset)"""


def _paired(layout: Layout, owner: Owner, keys: Sequence[str], counters: Sequence[_Counter]) -> str:
    """The same by a join, of the rows that have one before; nothing is known of what slipped."""
    columns = [
        "r.*",
        "n.previous_end",
        "r.tod_us AS _clock",
        "e._clock AS _clock_before",
        "n.previous_end AS _end",
    ]
    joins = ""
    if owner.events:
        joins = f" LEFT JOIN happened AS h ON {_same_owner('h', 'r', owner, keys)}"
        joins += " AND h.interval_end = r.interval_end"
        columns += ["h.begun_us", "h.system IS NOT NULL AS _happened"]
    before = [*owner.identity, *(counter.field.name for counter in counters)]
    columns += [f"e.{name(f'_before_{field}')}" for field in before]
    columns += [
        f"CAST(NULL AS BIGINT) AS {name(f'_earlier_{counter.field.name}')}"
        for counter in counters
        if counter.limit.slips
    ]
    values = "".join(f", {name(field)} AS {name(f'_before_{field}')}" for field in before)
    relation = f"monitor.{name(layout.name)}"
    place = ", ".join(["r.system", "n.previous_end", *(f"r.{key}" for key in keys)])
    return f"""
        SELECT {", ".join(columns)}
        FROM {relation} AS r JOIN ends AS n USING (system, interval_end)
        JOIN (
          SELECT tod_us AS _clock{values},
            hash({", ".join(["system", "interval_end", *keys])}) AS _place
          FROM {relation}) AS e ON e._place = hash({place}){joins}"""


def _elapsed(owner: Owner) -> str:
    """Seconds in which the counters of a row grew, as SQL."""
    begun = ""
    if owner.events and owner.from_zero:
        begun = " WHEN begun_us IS NOT NULL THEN (_clock - begun_us) / 1e6"
    return f"CASE WHEN _end = previous_end THEN (_clock - _clock_before) / 1e6{begun} END"


def _falls(counters: Sequence[_Counter]) -> list[str]:
    """Columns for the row as a whole: how many of its counters fell, and how many moved."""
    wide = [counter for counter in counters if counter.is_wide and not counter.field.of]
    drops = " + ".join(counter.dropped() for counter in wide) or "0"
    moves = " + ".join(counter.moved() for counter in wide) or "0"
    return [f"{drops} AS _drops", f"{moves} AS _moves"]


def _is_old(counters: Sequence[_Counter]) -> str:
    """The column that says whether a row is old.

    What began since the sample before has no counter above what it can have grown by in that time.
    """
    limited = [
        c for c in counters if c.is_wide and not c.field.of and c.limit.per_second is not None
    ]
    return f"({' OR '.join(c.is_old() for c in limited) or 'false'}) AS _is_old"


def _cause(owner: Owner) -> str:
    """Why a row has no deltas, as SQL.

    Without a sign of it a fall means a restart of what is not old. Of what is old a counter that
    fell has slipped, unless most of those that moved fell.
    """
    signs = [
        "_s < 0",
        *(f"coalesce({name(f)} <> {name(f'_before_{f}')}, false)" for f in owner.identity),
    ]
    signs += ["_happened"] if owner.events else []
    signs += ["(_drops > 0 AND (NOT _is_old OR (_drops > 1 AND 2 * _drops >= _moves)))"]
    appeared = "'appeared'"
    if owner.events:
        appeared = "CASE WHEN begun_us IS NOT NULL THEN 'new' ELSE 'appeared' END"
    return f"""CASE WHEN previous_end IS NULL THEN 'first'
          WHEN _end IS NULL OR _end <> previous_end THEN {appeared}
          WHEN _s IS NULL OR _s = 0 THEN 'stale'
          WHEN {" OR ".join(signs)} THEN 'restart' END"""


def _doubts(layout: Layout, owner: Owner, counters: Sequence[_Counter]) -> str:
    """What is to be said of the deltas of a row, as SQL."""
    table = layout.name.upper()
    causes = {cause: f"{table} {what}" for cause, what in CAUSES.items()}
    if owner.from_zero:
        del causes["new"]
    cases = [f"WHEN cause = {text(cause)} THEN {text(what)}" for cause, what in causes.items()]
    if counters:
        some = " OR ".join(counter.is_doubted() for counter in counters)
        texts = ", ".join(counter.doubt(table) for counter in counters)
        cases.append(f"WHEN cause IS NULL AND ({some}) THEN nullif(concat_ws(', ', {texts}), '')")
    return f"CASE {' '.join(cases)} END"


def _missing(layout: Layout, owner: Owner, keys: Sequence[str], columns: Iterable[str]) -> str:
    """The query of the owners that were sampled at the end of an interval, and not of the next."""
    known = {"system": "m.system", "interval_end": "m.interval_end", "cause": "'missing'"}
    known["doubts"] = text(f"{layout.name.upper()} {CAUSES['missing']}")
    known |= {key: f"m.{key}" for key in keys}
    shown = (known.get(column) or known.get(name(column)) or "NULL" for column in columns)
    ended = ""
    if owner.events:
        ended = f"""
      LEFT JOIN happened AS h ON {_same_owner("h", "m", owner, keys)}
        AND h.interval_end = m.interval_end AND h.ended = 1
      WHERE h.system IS NULL"""
    place = ", ".join(["system", *keys])
    return f"""
      SELECT {", ".join(shown)}
      FROM (
        SELECT {", ".join(f"p.{key}" for key in ["system", *keys])}, n.interval_end
        FROM {_untorn(layout)} AS p
        JOIN ends AS n ON n.system = p.system AND n.previous_end = p.interval_end
        EXCEPT
        SELECT {place}, interval_end FROM {_untorn(layout)} AS n) AS m{ended}"""


def _untorn(layout: Layout) -> str:
    """The rows of a table, as SQL, without blocks that were being written when they were sampled.

    Their figures are of no one time: they take part in no delta and no level.
    """
    relation, counts = f"monitor.{name(layout.name)}", syncs(layout)
    if not counts:
        return relation
    first, second = map(name, counts)
    return f"(SELECT * FROM {relation} WHERE NOT coalesce({first} <> {second}, false))"


def _same_owner(left: str, right: str, owner: Owner, keys: Sequence[str]) -> str:
    shared = ["system", *_event_keys(owner, keys)]
    return " AND ".join(f"{left}.{key} = {right}.{key}" for key in shared)


def _sum(fields: Iterable[str]) -> str:
    """The sum of some deltas, or the time between the samples, as SQL."""
    return " + ".join(
        f"_s * {TOD_UNITS}" if field == ELAPSED else f"CAST({name(f'_delta_{field}')} AS DOUBLE)"
        for field in fields
    )
