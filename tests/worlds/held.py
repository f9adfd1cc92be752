"""Holds the figures of reports against what really happened.

A figure is right (equal to the truth within its printed digits), blank, marked (its line has a
doubt, or the report a note), or wrong. `figures.csv` says what of the truth each column of a report
is.
"""

from __future__ import annotations

import csv
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from cpmon.generate import parse_scenario, write_run
from cpmon.ingest.landing import ingest
from cpmon.reduce.metrics.metric import ReportColumn
from cpmon.reduce.metrics.report_set import Report
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report_names import find_report
from cpmon.render.printing import Style
from cpmon.store import Store
from cpmon.store.connection import connect
from cpmon.store.measured.runs import Run, save_run
from tests.worlds.world import INTERVALS, SECONDS, START, World

Truth = dict[str, pl.DataFrame]

OWN = (
    "users",
    "processors",
    "devices",
    "page_areas",
    "linux_guests",
    "file_systems",
    "processes",
    "partitions",
    "guest_networks",
    "virtual_disks",
    "virtual_adapters",
)
"""Kinds of objects that exist for parts of intervals."""


class Figure(NamedTuple):
    """A row of `figures.csv`.

    `value` and `per` are expressions over columns of the table `truth` of the truth; `rests_on`
    names the kinds of objects of which the figure is a sum, or `storage`, which is added to.
    """

    report: str
    column: str
    truth: str
    keys: str
    value: str
    per: str
    kind: str
    rests_on: str


@functools.cache
def figures() -> dict[str, list[Figure]]:
    """The figures by report."""
    by_report: dict[str, list[Figure]] = {}
    with (Path(__file__).parent / "figures.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            by_report.setdefault(row["report"], []).append(Figure(**row))
    return by_report


class Wrong(NamedTuple):
    """A printed figure that is neither right nor marked."""

    world: World
    report: str
    line: str
    column: str
    printed: float | None
    true: float | None
    why: str = "wrong"
    slack: float = 0.0
    """What integers of sessions that ended, and stamps in whole seconds, may lack."""

    @property
    def text(self) -> str:
        """One line."""
        return (
            f"{self.report} {self.line}: {self.column} {self.why}:"
            f" printed {self.printed}, truth {self.true}"
        )


@dataclass
class Outcome:
    """What was found: figures by verdict, of lines that no event touches and of the others."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[Wrong] = field(default_factory=list)
    unknown: list[Wrong] = field(default_factory=list)
    """Figures of lines that an event touches, which are blank or marked."""

    def add(
        self,
        found: Wrong,
        column: ReportColumn,
        *,
        whole: bool,
        doubted: bool,
        told: bool = False,
    ) -> None:
        """Count a figure that a column says.

        `whole`: no event touches it; `told`: one does, but the records suffice to know it.
        """
        verdict = _verdict(found, column, doubted=doubted)
        self.counts["whole" if whole else "told" if told else "touched", verdict] += 1
        if verdict == "wrong":
            self.wrong.append(found)
        elif verdict in ("blank", "marked") and found.true is not None:
            if whole:
                why = f"{verdict}, though no event touches it,"
                self.wrong.append(found._replace(why=why))
            else:
                self.unknown.append(found._replace(why=verdict))

    def of(self, world: World) -> list[Wrong]:
        """What was found in a world."""
        return [each for each in self.wrong if each.world == world]


def hold(
    worlds: Sequence[World],
    folder: Path,
    *,
    spans: bool = True,
    explains: bool = False,
    land: Callable[[Path, Store], object] = ingest,
) -> Outcome:
    """Generates worlds, lands them in a store, and holds the figures of reports to the truth.

    `spans`: also exceptions, comparisons, and what is said of longer times, of each world in one
    way, by turns; `explains`: also what `explain` says of the first world.
    """
    from tests.worlds.answers import WAYS, exceptions_of, explained, runs_compared

    store, truths = Store(folder / "store", create=True), dict[str, Truth]()
    for world in worlds:
        scenario = parse_scenario(world.text, f"{world.name}.toml")
        written = write_run(scenario, "A", folder / world.name, truth=True)
        files = (folder / world.name / "A.truth").iterdir()
        truths[world.name] = {file.stem: pl.read_parquet(file) for file in files}
        land(written.dump, store)
        for run in halves(world):
            save_run(store, run)
    outcome = Outcome()
    with connect(store, reductions()) as con:
        ends = con.sql("SELECT system, max(interval_end) FROM meta.interval GROUP BY system")
        for system, end in ends.fetchall():  # nobody knows what was behind the last sample
            recorded = pl.col("interval_end") <= end
            truths[system] = {k: rows.filter(recorded) for k, rows in truths[system].items()}
        for name in figures():
            _hold_intervals(con, find_report(name), worlds, truths, outcome)
        if spans:
            exceptions_of(con, worlds, truths, outcome)
            runs_compared(con, worlds, truths, outcome)
            for world in worlds:
                way = WAYS[world.seed % len(WAYS)]
                way(con, world, truths[world.name], outcome)
        if explains:
            explained(con, worlds, truths, outcome)
    return outcome


def halves(world: World) -> tuple[Run, Run]:
    """The first and the second half of a world as runs."""
    half = timedelta(seconds=INTERVALS * SECONDS // 2)
    bounds = [START + n * half for n in range(3)]
    first, second = itertools.pairwise(bounds)
    return Run(f"{world.name}-1", world.name, *first), Run(f"{world.name}-2", world.name, *second)


def _verdict(found: Wrong, column: ReportColumn, *, doubted: bool) -> str:
    """What a figure of a column is."""
    printed, true = found.printed, found.true
    if printed is None:
        return "nothing" if true is None else "blank"
    if true is not None:
        digits = _digits(column)
        texts = (f"{value * column.scale:.{digits}f}" for value in (printed, true))
        if abs(printed - true) <= tolerance(column, true) + found.slack:
            return "right"
        if next(texts) == next(texts):
            return "right"
    return "marked" if doubted else "wrong"


def _hold_intervals(
    con: duckdb.DuckDBPyConnection,
    shown: Report,
    worlds: Iterable[World],
    truths: dict[str, Truth],
    outcome: Outcome,
) -> None:
    """Hold each line of an interval of a report, as the report's reduction has it, to the truth."""
    lines = con.sql(f"FROM {shown.reduction}").pl()
    for world in worlds:
        # A first sample, also one after an IPL, ends no interval of which there is a truth.
        measured = truths[world.name]["system"].get_column("interval_end").implode()
        own = lines.filter(pl.col("system") == world.name, pl.col("interval_end").is_in(measured))
        for figure in figures()[shown.name]:
            true = expected(truths[world.name], figure, ["interval_end"])
            if true is not None:
                compare(world, shown, figure, own, true, outcome)


def expected(truth: Truth, figure: Figure, times: list[str]) -> pl.DataFrame | None:
    """The true values of a figure: `true`, and `whole`, whether no event touches it, by line."""
    if figure.truth not in truth:
        return None
    keys = [*times, *figure.keys.split()]
    rows = truth[figure.truth]
    for name, told in (("whole", False), ("told", True)):
        rows = rows.join(_whole(truth, figure, told=told), on="interval_end", how="left")
        own = pl.col("in_dump") & pl.col("rests").fill_null(True)
        if figure.truth in OWN:
            own = own & _is_whole(rows, told=told)
            if figure.kind == "latest":
                own = own & _is_told(rows)
        rows = rows.with_columns(own.alias(name)).drop("rests")
    rows = rows.with_columns(
        there=pl.col("exists_s") > 0 if "exists_s" in rows.columns else pl.lit(True),
        value=pl.sql_expr(figure.value).cast(pl.Float64),
        per=pl.sql_expr(figure.per or "1").cast(pl.Float64),
    )
    if figure.kind == "level" and "at_end" in rows.columns:
        rows = rows.with_columns(there=pl.col("at_end"))
    rows = rows.filter("there")
    value, per, weight = pl.col("value"), pl.col("per"), pl.col("seconds")
    cut = pl.lit(0.0)
    if "ended" in rows.columns and rows.select(pl.sql_expr(figure.value)).dtypes[0].is_integer():
        cut = pl.col("ended").sum()
        cut = cut / per.sum() if figure.kind == "ratio" else cut
    if figure.truth == "processes" and figure.kind == "ratio":  # stamped in whole seconds
        cut = value.sum() / per.sum() ** 2
    true = {
        "ratio": value.sum() / pl.when(per.sum() != 0).then(per.sum()),
        "level_ratio": (value * weight).sum()
        / pl.when((per * weight).sum() != 0).then((per * weight).sum()),
        "total": value.sum(),
        "level": (value * weight).sum() / weight.sum(),
        "latest": value.sort_by("interval_end").last(),
    }[figure.kind]
    return rows.group_by(keys or [pl.lit(1).alias("one")]).agg(
        true.alias("true"), pl.col("whole").all(), pl.col("told").all(), slack=cut.cast(pl.Float64)
    )


def _is_whole(rows: pl.DataFrame, *, told: bool = False) -> pl.Expr:
    """Whether an object is there, sampled and measured all of the time, without a change.

    `told`: or whether records tell all that it did, as of users, who log on with counts of 0 and
    log off with totals.
    """
    whole = pl.col("at_begin") & pl.col("at_end") & (pl.col("ended") == 0)
    if told and "processors_change" in rows.columns:
        whole = pl.lit(True)
    for name, condition in (
        ("sampled", pl.col("sampled")),
        ("measured_s", pl.col("measured_s") == pl.col("exists_s")),
        ("working_s", pl.col("working_s") == pl.col("exists_s")),
        ("processors_change", ~pl.col("processors_change")),
        ("clock_set", ~pl.col("clock_set")),
        ("weights_change", ~pl.col("weights_change")),
        ("online_change", ~pl.col("online_change")),
        ("interfaces_change", ~pl.col("interfaces_change")),
        ("volume_changes", ~pl.col("volume_changes")),
    ):
        if name in rows.columns:
            whole = whole & condition
    return whole


def _is_told(rows: pl.DataFrame) -> pl.Expr:
    """Whether no session began where its record is lost, so that settings of users are known."""
    if "userid" not in rows.columns:
        return pl.lit(True)
    untold = (pl.col("begun") > 0) & ~pl.col("in_dump")
    return ~untold.cum_max().over("userid", order_by="interval_end")


def _whole(truth: Truth, figure: Figure, *, told: bool = False) -> pl.DataFrame:
    """`rests`, by interval: whether all objects of which a figure is a sum are whole, or absent."""
    recorded, added = pl.col("suspended") == 0, pl.col("storage_added_mib") == 0
    if (figure.kind, figure.truth) == ("latest", "users") or "storage" in figure.rests_on:
        # Settings are told by events, of which a sample that is missing may have lost some.
        recorded = (recorded & pl.col("in_dump")).cum_min()
    rests = truth["system"].sort("interval_end")
    rests = rests.select(
        "interval_end", rests=recorded & added if "storage" in figure.rests_on else recorded
    )
    for kind in figure.rests_on.replace("storage", "").split():
        rows = truth[kind]
        absent = (pl.col("exists_s") == 0) & ~pl.col("at_begin") & ~pl.col("at_end")
        whole = absent | _is_whole(rows, told=told)
        if "virtual_mib" in figure.value:
            whole = whole & _is_told(rows)
        whole = rows.with_columns(own=whole).group_by("interval_end").agg(pl.col("own").all())
        rests = rests.join(whole, on="interval_end").with_columns(
            rests=pl.col("rests") & pl.col("own")
        )
        rests = rests.drop("own")
    return rests


def compare(
    world: World,
    shown: Report,
    figure: Figure,
    lines: pl.DataFrame,
    true: pl.DataFrame,
    outcome: Outcome,
) -> None:
    columns = {column.name: column for column in shown.columns}
    if figure.column not in columns:
        return
    doubts = "doubts" if "doubts" in lines.columns else None
    keys = [key for key in ("interval_end", *figure.keys.split()) if key in true.columns]
    printed = lines.with_columns(
        printed=pl.col(figure.column).cast(pl.Float64) if figure.column in lines.columns else None,
        doubted=pl.col(doubts).is_not_null() if doubts else False,
    ).select(*keys, "printed", "doubted")
    joined = (
        true.join(printed.with_columns(line=True), on=keys, how="full", coalesce=True)
        if keys
        else pl.concat([true.drop("one"), printed.with_columns(line=True)], how="horizontal")
    )
    for row in joined.iter_rows(named=True):
        column = columns[figure.column]
        line = " ".join(str(row[key]) for key in keys)
        found = Wrong(world, shown.name, line, figure.column, row["printed"], row["true"])
        found = found._replace(slack=row["slack"] or 0.0)
        whole, told = bool(row["whole"]), bool(row["told"])
        outcome.add(found, column, whole=whole, told=told, doubted=row["doubted"])


def tolerance(column: ReportColumn, true: float) -> float:
    """Half a unit of the last printed digit, and what integers of the records cut off."""
    return 0.5 * 10.0 ** -_digits(column) / column.scale * 1.02 + 2e-5 * abs(true)


def _digits(column: ReportColumn) -> int:
    return column.form.digits if column.form.style is not Style.KEPT else 4


def smallest(world: World, folder: Path, *, tries: int = 12) -> tuple[World, list[Wrong]]:
    """The smallest world that still shows something wrong, and what."""
    found = hold([world], folder / "0").wrong
    for turn in range(1, tries):
        for place, less in enumerate(world.smaller()):
            if wrong := hold([less], folder / f"{turn}-{place}").wrong:
                world, found = less, wrong
                break
        else:
            break
    return world, found


def lines_of(found: Iterable[Wrong]) -> Iterator[str]:
    """A line for each figure and reason, the first that shows it."""
    seen = set[tuple[str, str, str]]()
    for each in found:
        key = (each.report, each.column, each.why)
        if key not in seen:
            seen.add(key)
            yield each.text
