"""A metric of one's own: define it in SQL, check it, look at it, and keep it."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="A metric of one's own")

with app.setup:
    import altair as alt
    import marimo as mo
    import polars as pl

    import cpmon

    STORE = "perf"
    METRIC = """
    SELECT interval_end,
           vmduser AS userid,
           1e3 * sum(vmdttime) / 4096e6 / nullif(sum(vmdvdsct), 0) AS value,
           sum(vmdttime) / 4096e6 AS cpu_s
    FROM interval.useact
    WHERE system = $system
    GROUP BY interval_end, vmduser
    """


@app.cell(hide_code=True)
def _():
    mo.md("""
    # A metric of one's own

    Reports show what everybody asks. What **your** systems are short of may be a ratio that nobody
    else looks at. Four steps keep it honest: write it over `interval.*`, where counters are deltas
    and a restart is a NULL instead of a nonsense value; **check** its parts against a report that
    is right; look at whether it tells users or times apart; then keep it where everybody has it.

    The example is the processor time of a user for each virtual disk I/O: milliseconds per I/O. A
    rise says that the work behind an I/O changed, at any load.

    As a script: `python own_metric.py --store DIR --system NAME`.
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
    systems = store.sql("SELECT DISTINCT system FROM meta.dump ORDER BY system")["system"].to_list()
    asked = str(args.get("system") or "")
    system = mo.ui.dropdown(
        systems, value=asked if asked in systems else next(iter(systems), None), label="System"
    )
    definition = mo.ui.code_editor(value=METRIC, language="sql", label="The metric")
    mo.vstack([system, definition])
    return definition, store, system


@app.cell
def _(store):
    mo.accordion(
        {
            "The columns that there are": mo.ui.table(
                store.sql(
                    "SELECT column_name, unit, meaning FROM meta.dictionary"
                    " WHERE table_name = 'useact'"
                ),
                selection=None,
            )
        }
    )
    return


@app.cell
def _(definition, store, system):
    values = store.sql(definition.value, system=system.value)
    mo.ui.table(values, selection=None)
    return (values,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## Is it right?

    Add up a part of it and compare with a report. Here the processor seconds of each user must be
    those of USER_RESOURCE_UTIL. A difference is a join that counts twice, an interval too many, or
    a unit. (The report also counts what a user did from the last sample to its logoff.)
    """)
    return


@app.cell
def _(store, system, values):
    try:
        printed = store.report("USER_RESOURCE_UTIL", system=system.value)
    except cpmon.NothingToReportError:
        printed = pl.DataFrame(schema={"userid": str, "cpu_s": float})
    check = (
        values.group_by("userid")
        .agg(pl.col("cpu_s").sum().alias("of_metric"))
        .join(
            printed.select("userid", pl.col("cpu_s").alias("of_report")), on="userid", how="inner"
        )
        .with_columns((pl.col("of_metric") - pl.col("of_report")).alias("difference"))
        .sort(pl.col("difference").abs(), "userid", descending=[True, False], nulls_last=True)
    )
    mo.ui.table(check, selection=None)
    return (check,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## Does it tell anything apart?

    A metric that is the same for all users at all times is a constant. Look at the spread between
    users, then at how one user moves in time: the first says for whom to look, the second when.
    """)
    return


@app.cell
def _(values):
    spread = (
        values.drop_nulls("value")
        .group_by("userid")
        .agg(
            pl.col("value").median().alias("median"),
            pl.col("value").quantile(0.1).alias("low"),
            pl.col("value").quantile(0.9).alias("high"),
            pl.len().alias("intervals"),
        )
        .sort("median", "userid", descending=[True, False])
    )
    over = alt.Chart(spread.head(20)).encode(y=alt.Y("userid:N", sort=None, title=None))
    (
        over.mark_rule().encode(x=alt.X("low:Q", title="ms per I/O"), x2="high:Q")
        + over.mark_point(filled=True).encode(x="median:Q", tooltip=list(spread.columns))
    ).properties(width=560)
    return (spread,)


@app.cell
def _(spread):
    user = mo.ui.dropdown(
        spread["userid"].to_list(), value=next(iter(spread["userid"]), None), label="User"
    )
    user
    return (user,)


@app.cell
def _(user, values):
    (
        alt.Chart(values.filter(pl.col("userid") == user.value))
        .mark_line(point=True)
        .encode(x=alt.X("interval_end:T", title="UTC"), y=alt.Y("value:Q", title="ms per I/O"))
        .properties(width=680, height=180)
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## Keep it

    As a notebook it is yours alone. As a metric of the site it is a column of reports, rules and
    forecasts: a table of TOML in the folder `reports` beside the settings, which `cpmon report
    --new` begins and docs/own-reports.md describes.

    ```toml
    [[metric]]
    name = "cpu_ms_per_io"
    views = ["users_by_time"]
    kind = "ratio"
    numerator = "cpu_tod"
    denominator = "dasd_ios"
    factor = "1e3 / 4096e6"
    unit = "ms"
    format = "2"
    heading = "CPU|per I/O"
    low = "0"
    meaning = "Processor time for each disk I/O. NULL without I/Os."
    ```
    """)
    return


@app.cell
def _(check, spread, system):
    worst = check["difference"].abs().max() if len(check) else None
    conclusion = [
        f"{system.value}: the metric is known of {len(spread)} users",
        "Largest difference to the report: "
        + ("not known" if worst is None else f"{worst:.6f} processor seconds"),
    ]
    if len(spread):
        top = spread.row(0, named=True)
        conclusion.append(f"Highest median: {top['userid']}, {top['median']:.2f} ms per I/O")
    if not mo.running_in_notebook():
        print(*conclusion, sep="\n")
    mo.md("## In short\n\n" + "\n".join(f"- {line}" for line in conclusion))
    return (conclusion,)


if __name__ == "__main__":
    app.run()
