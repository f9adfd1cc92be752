"""Why was it slow: the system, a user, or something that a user waits for?"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Why was it slow?")

with app.setup:
    from datetime import UTC, datetime, timedelta

    import marimo as mo
    import polars as pl

    import cpmon

    STORE = "perf"


@app.function
def shown(answer):
    """An answer, or why there is none: what was not measured is no error."""
    try:
        return answer()
    except cpmon.NothingToReportError as reason:
        return mo.callout(mo.plain_text(str(reason)))


@app.cell(hide_code=True)
def _():
    mo.md("""
    # Why was it slow?

    "Slow" is a time, a user, and something that took longer than before. So first ask what was
    **different** at that time, then whether it hit everybody or one user, then what that user
    waited for: processors, pages, disks, or other users. Only then look at the device or process
    behind it. Starting from a favourite suspect finds it busy, as it is on every good day too.

    Times are UTC. Without a time the busiest interval of the system is taken. As a script:
    `python why_slow.py --store DIR --system NAME --at 2006-10-16T13:30 --user LINUX001`.
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
    system
    return store, system


@app.cell
def _(args, store, system):
    busiest = store.sql(
        """
        SELECT max_by(interval_end, total_util) FROM system_summary_by_time
        WHERE system = $system
        """,
        system=system.value,
    ).item()
    at = mo.ui.text(value=str(args.get("at") or busiest or ""), label="Slow in the interval at")
    minutes = mo.ui.number(
        start=5, stop=1440, step=5, value=int(args.get("minutes") or 60), label="Minutes around it"
    )
    mo.hstack([at, minutes], justify="start")
    return at, minutes


@app.cell
def _(at, minutes):
    mo.stop(not at.value, mo.md("The store has no interval of this system."))
    moment = datetime.fromisoformat(at.value)
    if moment.tzinfo:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    half = timedelta(minutes=minutes.value / 2)
    around = {"since": moment - half, "until": moment + half}
    return around, moment


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## What was different?

    Each metric of the system and of its users, devices, partitions and locks is compared with the
    time before, or with the same hours of other days. A row left its usual range by more than
    chance explains; the heaviest comes first, with who contributed. No row of a metric means that
    the monitor saw nothing unusual: then the delay was outside, in the network or in the
    application.
    """)
    return


@app.cell
def _(moment, store, system):
    different = store.explain(at=moment, system=system.value)
    mo.ui.table(
        different.select("weight", "object", "what", "value", "usual", "unit", "first", "last"),
        selection=None,
    )
    return (different,)


@app.cell
def _(moment, store, system):
    mo.accordion(
        {
            "With what it was compared, and what could not be looked at": mo.lazy(
                lambda: mo.plain_text(store.explain_text(at=moment, system=system.value))
            )
        }
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## What should not be, whatever is usual?

    Something can be wrong every day: a full paging area, a looping user, a volume at its limit.
    Rules find that without a baseline.
    """)
    return


@app.cell
def _(around, store, system):
    episodes = store.exceptions(system=system.value, **around)
    mo.ui.table(
        episodes.select("severity", "title", "object", "value", "unit", "first_interval"),
        selection=None,
    )
    return (episodes,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## Everybody, or one user?

    Above about 90 % of all processors everybody waits for them. `eligible_list_users` above 0
    means that CP held users back for storage. If both are low and one user was slow, the reason is
    nearer to that user.
    """)
    return


@app.cell
def _(around, store, system):
    shown(
        lambda: store.chart(
            "SYSTEM_SUMMARY_BY_TIME",
            system=system.value,
            columns=["total_util", "eligible_list_users", "dasd_page_rate"],
            **around,
        )
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## What did users wait for?

    CP looks at each user several times a second. Shares are of the samples in which the user was
    active: **running** is good; **waiting for a processor** is contention or a low share; **for
    pages** is storage; **for I/O** are disks or what is behind them; **simulation** is CP working
    for the user, often on one processor at a time. Name a user to follow it over the time.
    """)
    return


@app.cell
def _(around, store, system):
    waits = shown(
        lambda: store.report(
            "USER_STATES",
            system=system.value,
            top=15,
            columns=[
                "active_share",
                "running_share",
                "cpu_wait_share",
                "page_wait_share",
                "io_wait_share",
                "simulation_wait_share",
                "eligible_share",
            ],
            **around,
        )
    )
    waits
    return (waits,)


@app.cell
def _(args, waits):
    names = waits["userid"].to_list() if isinstance(waits, pl.DataFrame) else []
    wanted = str(args.get("user") or next(iter(names), "")).upper()
    user = mo.ui.text(value=wanted, label="User")
    user
    return (user,)


@app.cell
def _(around, store, system, user):
    mo.stop(not user.value)
    shown(
        lambda: store.chart(
            "USER_STATES",
            system=system.value,
            user=user.value,
            columns=["running_share", "cpu_wait_share", "page_wait_share", "io_wait_share"],
            **around,
        )
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## Disks

    If users wait for I/O, look here: the volumes of that time by rate. Pending time is the path or
    the control unit, disconnect time a cache miss, connect time the amount of data; what is beyond
    their sum is the queue in z/VM.
    """)
    return


@app.cell
def _(around, store, system):
    shown(lambda: store.report("DASD_BY_ACTIVITY", system=system.value, top=10, **around))
    return


@app.cell
def _(different, episodes, moment, system):
    conclusion = [f"{system.value}, the interval at {moment} UTC"]
    conclusion += [
        f"Different: {line['object']}, {line['what']}"
        for line in different.head(3).iter_rows(named=True)
    ] or ["Nothing was different from the time before"]
    conclusion.append(f"Exceptions around it: {len(episodes)}")
    if not mo.running_in_notebook():
        print(*conclusion, sep="\n")
    mo.md("## In short\n\n" + "\n".join(f"- {line}" for line in conclusion))
    return (conclusion,)


if __name__ == "__main__":
    app.run()
