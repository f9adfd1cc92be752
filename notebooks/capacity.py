"""Capacity over a year: how load grew, when it peaks, and how long it will fit."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Capacity over a year")

with app.setup:
    from datetime import timedelta

    import altair as alt
    import marimo as mo
    import polars as pl

    import cpmon

    STORE = "perf"


@app.cell(hide_code=True)
def _():
    mo.md("""
    # Capacity over a year

    Capacity is not about the mean. A system is too small in its **busiest hours**, and it is too
    small **on a day to come**. So look at the busiest hour of each day, at which hours of the week
    those are (load that can move is cheaper than a processor), at the trend without the weekly
    season, and at when the busiest hour will meet a limit.

    It needs the hours that `cpmon reduce` keeps, for a forecast at least six weeks of them. As a
    script: `python capacity.py --store DIR --system NAME --metric total_util --threshold 90`.
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
    report = mo.ui.text(value=str(args.get("report") or "SYSTEM_SUMMARY_BY_TIME"), label="Report")
    metric = mo.ui.text(value=str(args.get("metric") or "total_util"), label="Metric")
    threshold = mo.ui.number(
        start=0, value=float(args.get("threshold") or 90), label="Limit, as the report prints it"
    )
    days = mo.ui.number(
        start=7, stop=730, value=int(args.get("days") or 180), label="Forecast, days"
    )
    mo.vstack([mo.hstack([system, report, metric]), mo.hstack([threshold, days])])
    return days, metric, report, store, system, threshold


@app.cell
def _(metric, report, store, system):
    try:
        hours = store.report(
            report.value, system=system.value, by="1h", columns=[metric.value]
        ).select("interval_end", pl.col(metric.value).alias("value"))
    except cpmon.NothingToReportError:
        hours = pl.DataFrame(schema={"interval_end": pl.Datetime("us"), "value": pl.Float64})
    daily = (
        hours.with_columns((pl.col("interval_end") - timedelta(seconds=2)).alias("hour"))
        .group_by(pl.col("hour").dt.truncate("1d").alias("day"))
        .agg(
            pl.col("value").mean().alias("mean"),
            pl.col("value").max().alias("busiest_hour"),
            pl.col("value").count().alias("hours"),
        )
        .sort("day")
    )
    return daily, hours


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## How did it grow?

    Each day: the mean, and its busiest hour. If the busiest hours grow and the means do not, work
    moves together; if both grow, there is more of it. A step is a change, not growth: find it in
    the change log before drawing a line through it. A gap has no data.
    """)
    return


@app.cell
def _(daily, metric):
    lines = daily.unpivot(["mean", "busiest_hour"], index="day", variable_name="what")
    (
        alt.Chart(lines)
        .mark_line()
        .encode(
            x=alt.X("day:T", title="UTC"),
            y=alt.Y("value:Q", title=metric.value),
            color=alt.Color("what:N", title=None),
            tooltip=["day:T", "what:N", "value:Q"],
        )
        .properties(width=680, height=200)
    )
    return


@app.cell
def _(daily):
    monthly = (
        daily.group_by(pl.col("day").dt.truncate("1mo").alias("month"))
        .agg(
            pl.col("mean").mean(),
            pl.col("busiest_hour").max(),
            pl.col("hours").sum(),
        )
        .sort("month")
    )
    mo.ui.table(monthly, selection=None)
    return (monthly,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## When does it peak?

    The mean of every hour of the week. A few dark cells on a light ground are a batch window that
    can be spread; a dark block from nine to five is the business, and only capacity helps.
    """)
    return


@app.cell
def _(hours, metric):
    begins = pl.col("interval_end") - timedelta(seconds=2)
    week = hours.group_by(begins.dt.weekday().alias("weekday"), begins.dt.hour().alias("hour")).agg(
        pl.col("value").mean()
    )
    (
        alt.Chart(week)
        .mark_rect()
        .encode(
            x=alt.X("hour:O", title="Hour, UTC"),
            y=alt.Y("weekday:O", title="Day of the week, Monday is 1"),
            color=alt.Color("value:Q", title=metric.value),
            tooltip=["weekday", "hour", "value"],
        )
        .properties(width=560)
    )
    return (week,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## How long will it fit?

    Trend and weekly season go on as they were: a forecast knows nothing of a project that starts in
    March. The band holds nine of ten busiest hours. Plan by the day on which the limit is met with
    10 %, not with 50 %: until then the order must have been placed.
    """)
    return


@app.cell
def _(days, metric, report, store, system, threshold):
    question = {
        "report": report.value,
        "system": system.value,
        "horizon": timedelta(days=days.value),
        "threshold": threshold.value,
    }
    try:
        future = store.forecast(metric.value, **question)
        reading = store.forecast_text(metric.value, **question)
    except cpmon.NothingToReportError as reason:
        future, reading = None, str(reason)
    mo.accordion({"The forecast as text, with what was left out": mo.plain_text(reading)})
    return future, reading


@app.cell
def _(future, metric):
    mo.stop(future is None, mo.md("Too few hours are kept for a forecast."))
    over = alt.Chart(future).encode(x=alt.X("interval_end:T", title="UTC"))
    band = over.mark_area(opacity=0.3).encode(
        y=alt.Y("peak_low:Q", title=f"{metric.value}, busiest hour"), y2="peak_high:Q"
    )
    (band + over.mark_line().encode(y="peak:Q")).properties(width=680, height=200)
    return


@app.cell
def _(daily, future, metric, system):
    conclusion = [f"{system.value}, {metric.value}: {len(daily)} days"]
    known = daily.drop_nulls("busiest_hour")
    if len(known):
        conclusion.append(
            f"Busiest hour: {known['busiest_hour'].head(28).mean():.3f} in the first four weeks,"
            f" {known['busiest_hour'].tail(28).mean():.3f} in the last"
        )
    if future is None:
        conclusion.append("No forecast: fewer than six weeks of hours are kept")
    else:
        risk = future.filter(pl.col("met_by") >= 0.1)
        first = risk["interval_end"].min()
        conclusion.append(
            f"The limit is met with 10 % or more by {first} UTC"
            if first
            else "The limit is not met within the forecast"
        )
    if not mo.running_in_notebook():
        print(*conclusion, sep="\n")
    mo.md("## In short\n\n" + "\n".join(f"- {line}" for line in conclusion))
    return (conclusion,)


if __name__ == "__main__":
    app.run()
