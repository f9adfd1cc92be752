"""Two runs compared: what changed, by how much, and whether that is proven."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Two runs compared")

with app.setup:
    import altair as alt
    import marimo as mo
    import polars as pl

    import cpmon

    STORE = "perf"


@app.cell(hide_code=True)
def _():
    mo.md("""
    # Two runs compared

    A change (a release, a parameter, a new processor) helped only if the runs did the same work
    and the difference is larger than what two runs of the same system differ by. So this notebook
    looks at the **work** first, then at what it **cost**, then at whether the difference is
    **proven**.

    As a script: `python two_runs.py --store DIR --base RUN --run RUN`.
    """)
    return


@app.cell
def _():
    args = mo.cli_args()
    store_folder = mo.ui.text(value=str(args.get("store") or STORE), label="Store", full_width=True)
    store_folder
    return args, store_folder


@app.cell
def _(args, store_folder):
    store = cpmon.open(store_folder.value)
    runs = store.runs
    names = runs["run_id"].to_list()

    def chosen(option, number):
        name = str(args.get(option) or "")
        return name if name in names else next(iter(names[number:]), None)

    base = mo.ui.dropdown(names, value=chosen("base", 0), label="Base run")
    run = mo.ui.dropdown(names, value=chosen("run", 1), label="compared with")
    mo.vstack(
        [
            mo.ui.table(
                runs.select(
                    "run_id", "system", "since", "until", "cp_level", "users", "processors"
                ),
                selection=None,
            ),
            mo.hstack([base, run], justify="start"),
        ]
    )
    return base, run, store


@app.cell
def _(base, run, store):
    mo.stop(
        not base.value or not run.value or base.value == run.value,
        mo.md("A comparison needs two runs: `cpmon runs` defines them."),
    )
    changes = store.compare(runs=[run.value], base=base.value)
    return (changes,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## The same work?

    Rates per second follow the work. If transactions, I/Os or the users that were active changed,
    a lower utilization may only mean that less was asked for: then compare costs for each
    transaction or I/O, not totals.
    """)
    return


@app.cell
def _(changes):
    work = changes.filter(pl.col("unit").str.contains("/s").fill_null(False)).select(
        "metric", "unit", "base_value", "value", "change_percent", "verdict"
    )
    mo.ui.table(work, selection=None)
    return (work,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## What changed most?

    Changes in percent of the base run. A blank verdict says that there are too few intervals to
    prove anything, which is no proof that nothing changed: `reason` says what is missing,
    `detectable_percent` how large a change would have had to be to be seen.
    """)
    return


@app.cell
def _(changes):
    known = changes.filter(pl.col("change_percent").is_not_null()).sort(
        pl.col("change_percent").abs(), descending=True
    )
    bars = (
        alt.Chart(known.head(15).with_columns(pl.col("verdict").fill_null("not known")))
        .mark_bar()
        .encode(
            x=alt.X("change_percent:Q", title="Change, %"),
            y=alt.Y("metric:N", sort=None, title=None),
            color=alt.Color("verdict:N", title="Verdict"),
            tooltip=["metric", "base_value", "value", "unit", "change_percent", "verdict"],
        )
        .properties(width=480)
    )
    bars if len(known) else mo.md("No metric has a value in both runs.")
    return (known,)


@app.cell
def _(changes):
    mo.ui.table(
        changes.select(
            "metric",
            "unit",
            "base_value",
            "value",
            "change_percent",
            "verdict",
            "confidence",
            "detectable_percent",
            "reason",
        ),
        selection=None,
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## Were the runs steady?

    A mean hides a ramp. Both runs from their begin on: if one climbs while the other is level,
    compare only the level part (`cpmon compare --since`, or `store.compare(since=...,
    until=...)`).
    """)
    return


@app.cell
def _(base, run, store):
    def course(name):
        """The utilization of a run by minutes since its begin; empty if nothing was measured."""
        try:
            lines = store.report("SYSTEM_SUMMARY_BY_TIME", run=name)
        except cpmon.NothingToReportError:
            return pl.DataFrame(schema={"minute": float, "total_util": float, "run": str})
        since = pl.col("interval_end") - pl.col("interval_end").min()
        return lines.select(
            (since.dt.total_seconds() / 60).alias("minute"), "total_util", pl.lit(name).alias("run")
        )

    courses = pl.concat([course(base.value), course(run.value)])
    (
        alt.Chart(courses)
        .mark_line(point=True)
        .encode(
            x=alt.X("minute:Q", title="Minutes"),
            y=alt.Y("total_util:Q", title="Total utilization", axis=alt.Axis(format="%")),
            color=alt.Color("run:N", title=None),
        )
        .properties(width=600, height=200)
    )
    return (courses,)


@app.cell
def _(base, changes, known, run):
    proven = changes.filter(pl.col("verdict") == "change")
    conclusion = [f"{run.value} against {base.value}: {len(known)} metrics have a value in both"]
    conclusion.append(f"Proven to differ: {len(proven)}")
    conclusion += [
        f"{line['metric']}: {line['base_value']:g} to {line['value']:g} {line['unit'] or ''},"
        f" {line['change_percent']:+.1f} %"
        for line in known.head(3).iter_rows(named=True)
    ]
    if not mo.running_in_notebook():
        print(*conclusion, sep="\n")
    mo.md("## In short\n\n" + "\n".join(f"- {line}" for line in conclusion))
    return (conclusion,)


if __name__ == "__main__":
    app.run()
