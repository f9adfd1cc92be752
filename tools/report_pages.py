"""docs/reports.md: every report with its columns, from the reductions; part of `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby

from sqlglot import exp, parse_one
from sqlglot.lineage import Node, lineage

from cpmon.reduce.metrics.metric import MetricKind, ReportColumn
from cpmon.reduce.metrics.report_set import Lines, Report, reports
from cpmon.reduce.reductions.reduction import Reduction
from cpmon.reduce.reductions.reductions import reduction, reductions
from cpmon.reduce.reports.report_names import ForeignName, Product, State, foreign_names
from cpmon.render.printing import Style
from cpmon.schemas.registry import record_of, tables

OWN = ("seconds", "interval_end", "system", "dump", "tod", "tod_us")
"""Columns of landed tables that are cpmon's: they name no field."""

LINES = {
    Lines.TIME: "a line each interval, then the mean",
    Lines.OBJECT: "a line each object over the whole span",
    Lines.ROW: "a line each row",
}

INTRODUCTION = """\
`cpmon report NAME --store S` prints a report; `cpmon report --list` names them all. Columns instead
of reports, as `cpmon report total_util steal_rate users_active --by 1h`, make one table by time: of
the system, or of one object that is named.

| option | effect |
|---|---|
| `--run R`, `--system S` | the system and window of a run; a system, where the store has several |
| `--since T`, `--until T` | only intervals between them; one may end up to a second late (1) |
| `--shift NAME` | only intervals in the hours of a shift; one may end a second late as well |
| `--by 15m` | a line for each part of a day from midnight, `1d`, `1w` or `1mo`; of reports of \
objects one for each object in it |
| `--top N` | only the N greatest objects; with `--by` those of the whole span, or of each line \
(`--top-of line`); of one object, or where there is none, the N greatest lines by `--sort` |
| `--system 'PROD*'` | the lines of all these systems, each with its system; no mean line, and \
totals of sums alone |
| `--with max,p95` | beside each figure the maximum of the intervals of the line, with the time of \
it, and their 95th percentile |
| `--user`, `--device`, `--partition` (`--lpar`), `--class`, `--cpu` | follows one: reports of \
objects show it over time |
| `--user 'LNX*'`, `--device 0A00-0AFF`, `--class WEB` | only objects like a pattern (`*`, `?`), \
of a range, or users of a class; totals are of these |
| `--where "cpu_util > 50"` | only lines that it holds for: SQL over the columns of the report \
by their names, values as they are printed (percent, rounded); there are no lines of all then |
| `--sort COLUMN` | figures with the greatest first, names in order; `COLUMN:asc`, `COLUMN:desc` |
| `--columns A,B` | only these, behind times and names of objects |
| `--wide`, `--pager` | a terminal shows the columns that fit, and names the others; what is \
longer than it is shown page by page; values beyond the limit of an [exception](exceptions.md) \
have a colour, and without colours a `!` |
| `--notes` | all notes; without it those on layouts and on what columns mean are counted, where \
there are several; a file (`-o`) has all |
| `--tz ZONE` | time zone of the printed times |
| `--format`, `-o` | text, or the unrounded values as CSV, JSON, Parquet, Markdown, XLSX (2) |

(1) T is a time as the report prints it, of the printed zone: `2006-10-16 10:00`, a date, `10:00`,
`today`, `yesterday`, `now`, `-2h`. A time with an offset, such as `2006-10-16T10:00Z`, is that of
its offset. `10:00` alone is of the day of `--since`; else of the day of the data, if they are all
of one; else of today. All commands read T so, and print on standard error what they understood, as
`span: 09:00 to 11:00 on 2006-10-16 UTC`.

(2) All but XLSX have `system` behind the columns of the report, and lines by time or object `begin`
and `end` (UTC) and `measured_s`, the seconds that were measured between them.

Every figure of a line, of the mean line and of a line over several intervals is computed from
sums: deltas over elapsed seconds, never a mean of means. A level is the mean over time. What
is not known is blank, with the reason below the report, and never zero. A column marked *where
known* is left out, in every format, where no line has it. What each report assumes is in
[what-reports-assume.md](what-reports-assume.md).

Time zone and shifts come from the settings ([configuration.md](configuration.md)):

    timezone = "Europe/Vienna"

    [shifts.prime]
    days = "mon-fri"
    from = "08:00"
    to = "18:00"

    [shifts.night]
    days = "sun-thu"
    from = "22:00"
    to = "06:00"

In the tables below, *formula* is how a line is computed from the columns of the reduction, *fields*
are the monitor fields behind it, and *layout* says how sure the places of these fields are: the
least sure of them counts.
"""


def report_page(note: str) -> str:
    """The page.

    Args:
        note: the line that says where it comes from.
    """
    return "\n".join(_page(note)) + "\n"


def _page(note: str) -> Iterator[str]:
    yield from ("# Reports", "", note, "", INTRODUCTION)
    yield from ("| report | lines | what it tells |", "|---|---|---|")
    for report in reports().values():
        anchor = report.name.lower()
        yield f"| [{report.name}](#{anchor}) | {LINES[report.lines]} | {report.title} |"
    for report in reports().values():
        yield from _report(report)


def _report(report: Report) -> Iterator[str]:
    view = reduction(report.reduction)
    yield from ("", f"## {report.name}", "", f"{report.title}: {LINES[report.lines]}.")
    if report.follows:
        options = " or ".join(f"`--{option}`" for option in report.follows)
        yield f"It can follow one with {options}."
    yield from ("", f"From `{view.name}`. {view.doc}", "")
    yield "| column | unit | digits | formula | what it is | fields | layout |"
    yield "|---|---|---|---|---|---|---|"
    origin = fields_of(view)
    for column in report.columns:
        fields = origin.get(column.name, ())
        cells = (
            f"{column.heading} (where known)" if column.is_optional else column.heading,
            column.unit,
            _digits(column),
            _formula(column, report),
            view.column(column.name).doc,
            _listed(fields),
            _provenance(fields),
        )
        yield (
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
        )
    for note in report.notes:
        levels = [f"from CP {note.since} on"] * bool(note.since)
        levels += [f"before CP {note.before}"] * bool(note.before)
        yield from ("", f"{note.text} ({' and '.join(levels)})" if levels else note.text)


def _digits(column: ReportColumn) -> str:
    if column.form.style is Style.FIXED:
        return (
            str(column.form.digits)
            if column.kind not in (MetricKind.KEY, MetricKind.LATEST)
            else ""
        )
    return "5 characters" if column.form.style is Style.KEPT else "0, `101k`"


def _formula(column: ReportColumn, report: Report) -> str:
    match column.kind:
        case _ if report.lines is Lines.ROW:
            return ""
        case MetricKind.RATIO:
            return f"Σ `{column.numerator}` / Σ `{column.denominator}`"
        case MetricKind.LEVEL_RATIO:
            return f"Σ `{column.numerator}` · T / Σ `{column.denominator}` · T"
        case MetricKind.TOTAL:
            return f"Σ `{column.numerator}`"
        case MetricKind.LEVEL:
            return f"mean of `{column.name}`"
        case MetricKind.ELAPSED:
            return f"Σ `{column.name}`"
        case MetricKind.LATEST:
            return "the latest"
    return ""


@cache
def _selects() -> dict[str, exp.Query]:
    views = {known.name: parse_one(known.select, dialect="duckdb") for known in reductions()}
    return {name: view for name, view in views.items() if isinstance(view, exp.Query)}


@cache
def fields_of(view: Reduction) -> dict[str, tuple[tuple[str, str], ...]]:
    """Column -> (table, field) of all that it comes from."""
    sources = _selects()
    # Trimmed selects would be copies, one for each column of each reduction.
    nodes = lineage(
        None, sources[view.name], {}, sources=sources, dialect="duckdb", trim_selects=False
    )
    if isinstance(nodes, Node):
        raise TypeError("sqlglot gave the lineage of one column, not of all")
    names = [column.name for column in view.columns]
    return {
        name: tuple(sorted(set(_leaves(node))))
        for name, node in zip(names, nodes.values(), strict=True)
    }


def _leaves(node: Node, reader: Node | None = None) -> Iterator[tuple[str, str]]:
    """The fields behind a column.

    Args:
        reader: the column that is computed from it.
    """
    if node.downstream:
        for below in node.downstream:
            yield from _leaves(below, node)
        return
    field = node.name.rpartition(".")[2]
    for table in _read_tables(node, field, reader):
        if table in tables() and field not in OWN and not field.isdigit():  # NULL in a UNION
            yield table, field


def _read_tables(node: Node, field: str, reader: Node | None) -> Iterator[str]:
    """The landed tables that a leaf can be of, without their schema.

    sqlglot does not say it of a column without alias in a SELECT DISTINCT; the tables that its
    reader selects from do, by their fields.
    """
    if not isinstance(node.source, exp.Placeholder):
        table = node.source if isinstance(node.source, exp.Table) else node.source.find(exp.Table)
        yield table.name if table is not None else ""
    elif reader is not None:
        names = dict.fromkeys(table.name for table in reader.source.find_all(exp.Table))
        yield from (name for name in names if _is_field(name, field))


def _listed(fields: tuple[tuple[str, str], ...]) -> str:
    """Fields as analysts write them: SYTPRP_PFXUTIME, of one record one after the other."""
    parts = []
    for table, of_table in groupby(fields, key=lambda pair: pair[0]):
        names = ", ".join(field.upper() for _, field in of_table)
        parts.append(f"{table.upper()}: {names}")
    return "; ".join(parts)


def _provenance(fields: tuple[tuple[str, str], ...]) -> str:
    """The least sure of the layouts of some fields."""
    order = ("inferred", "derived", "published")
    known = {
        field: tables()[table].field(field) for table, field in fields if _is_field(table, field)
    }
    told = {str(field.provenance) for field in known.values()}
    told |= {str(record_of(tables()[table]).provenance) for table, _ in fields if table in tables()}
    return next((word for word in order if word in told), "")


def _is_field(table: str, field: str) -> bool:
    return table in tables() and field in {known.name for known in tables()[table].columns}


STATES = {
    State.SAME: "the same name here",
    State.RENAMED: "another name here",
    State.PART: "with some of the figures",
    State.NONE: "not printed",
}

NAMES = """\
What VMPRF and Performance Toolkit for z/VM print, and which report prints it here. Their names and
numbers work wherever a report is named, in any case:

    cpmon report FCX112 --store perf/ --top 10
    cpmon report ustat --store perf/ --user LINUX001 --by 15m
    cpmon report locklog --store perf/

A report of a name of these has a note on what it lacks. One that is not printed says why. A log
by time is the report of the same objects with a line for each interval; `--by 1h` makes lines of
hours. What cpmon prints under a name may be in other columns and units; [reports.md](reports.md)
has each column.

*Public text* names the text that shows the name or number beside what it stands for; *(number)*
behind it, that it shows the number and what it stands for, but not the name. Where it says *not
found*, the name is one that users of the product gave, and none of the public texts that were
searched confirms it; an empty number means that none of them shows it.
"""

ADVICE = {
    "memory overcommit: virtual storage defined over real storage": "STORAGE_BY_TIME, Overcommit",
    "load of a logical processor (%LOGLD)": "PROCESSORS, Logical load",
    "T/V by user": "USER_RESOURCE_UTIL, T/V",
    "prorated core time, and time as with one thread, by user": "USER_RESOURCE_UTIL, %CPU core and"
    " %CPU MT-1, where records have them",
    "processor time per transaction": "`cpmon compare`, Total CPU/Tx, of the transactions of a load"
    " generator ([companions.md](companions.md))",
    "top users by processor time, I/Os, paging and waiting": "`cpmon query top_users`",
    "charges": "CHARGEBACK",
    "dispatch delay": "not printed: no record of a known layout adds up the time; USER_STATES has"
    " the share of the samples that found a user waiting for a processor",
}
"""What IBM's advice on performance computes, and where it is here."""


def names_page(generated: str) -> str:
    """docs/report-names.md: the reports of other products and what prints them here."""
    lines = ["# Names of reports in VMPRF and Performance Toolkit", "", generated, "", NAMES]
    for product in (Product.TOOLKIT, Product.VMPRF):
        known = [foreign for foreign in foreign_names() if foreign.product is product]
        counts = ", ".join(
            f"{count} {text}"
            for state, text in STATES.items()
            if (count := sum(foreign.state is state for foreign in known))
        )
        lines += [f"## {product.full_name}", "", f"{len(known)} reports: {counts}.", ""]
        lines += ["| number | name | about | here | what is missing | public text |"]
        lines += ["|---|---|---|---|---|---|", *map(_name_row, known), ""]
    lines += ["## What IBM's advice computes", "", "| figure | here |", "|---|---|"]
    lines += [f"| {figure} | {here} |" for figure, here in ADVICE.items()]
    return "\n".join([*lines, ""])


def _name_row(foreign: ForeignName) -> str:
    here = f"[{foreign.report}](reports.md#{foreign.report.lower()})" if foreign.report else "none"
    over = ", a line for each interval" if foreign.lines is Lines.TIME else ""
    cells = (foreign.number, foreign.name, foreign.title, f"{here}{over}", foreign.missing)
    return f"| {' | '.join(cells)} | {foreign.source or 'not found'} |"
