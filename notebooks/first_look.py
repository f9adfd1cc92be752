"""A first look at a dump: whether it is whole, and where to begin."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="A first look at a dump")

with app.setup:
    import marimo as mo
    import polars as pl

    import cpmon

    DUMP = ""
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
    # A first look at a dump

    Before any question about performance there are three about the data: is it whole, what time
    does it cover, and was anything going on? A conclusion from a dump with a gap in the busy hour
    is worth nothing. So this notebook looks at the dump first, then at processors, users, storage
    and disks: the order in which trouble usually shows.

    Name a dump, or leave it empty and name a store. As a script:
    `python first_look.py --dump FILE`, or `--store DIR --system NAME`.
    """)
    return


@app.cell
def _():
    args = mo.cli_args()
    given = args.get("dump") or ("" if args.get("store") else DUMP)
    dump_file = mo.ui.text(value=str(given), label="Dump", full_width=True)
    store_folder = mo.ui.text(value=str(args.get("store") or STORE), label="or store")
    mo.hstack([dump_file, store_folder], widths=[2, 1])
    return args, dump_file, store_folder


@app.cell
def _(dump_file, store_folder):
    source = cpmon.read(dump_file.value) if dump_file.value else cpmon.open(store_folder.value)
    dumps = source.sql("""
        SELECT system, release, first_tod, last_tod, intervals, rows, dump
        FROM meta.dump ORDER BY system, first_tod
    """)
    return dumps, source


@app.cell
def _(args, dumps):
    systems = dumps["system"].unique().sort().to_list()
    asked = str(args.get("system") or "")
    system = mo.ui.dropdown(
        systems, value=asked if asked in systems else next(iter(systems), None), label="System"
    )
    system
    return (system,)


@app.cell(hide_code=True)
def _(dumps, system):
    mo.vstack(
        [
            mo.md("""
            ## Is it whole?

            A dump has a sample of every interval. `gaps` counts intervals before which samples are
            missing, `restarts` those before which CP was loaded: counters began anew, so nothing
            is known of the time between. A finding is damage or something unknown in the dump,
            with what to do about it.
            """),
            mo.ui.table(dumps.filter(pl.col("system") == system.value), selection=None),
        ]
    )
    return


@app.cell
def _(source, system):
    wholeness = source.sql(
        """
        SELECT count(*) AS intervals,
               min(interval_end) AS first_end,
               max(interval_end) AS last_end,
               count(*) FILTER (gap) AS gaps,
               count(*) FILTER (restart) AS restarts,
               count(*) FILTER (clock_set) AS clock_changes
        FROM meta.interval WHERE system = $system
        """,
        system=system.value,
    )
    findings = source.sql(
        "SELECT severity, code, meaning, remedy FROM meta.finding WHERE system = $system"
        " ORDER BY severity, code",
        system=system.value,
    )
    mo.vstack(
        [
            mo.ui.table(wholeness, selection=None),
            mo.ui.table(findings, selection=None) if len(findings) else mo.md("No findings."),
        ]
    )
    return findings, wholeness


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## Was anything going on?

    Processor utilization first, as nearly everything else costs processor time. One line is what
    guests ran themselves (emulation), the other what CP did for them. Look at the level, then at
    the ratio: **T/V** is total over virtual time. Near 1 the guests do their own work; above 1.5
    CP works much for them, for I/O, paging, or many small DIAGNOSEs, and the next question is what
    for.
    """)
    return


@app.cell
def _(source, system):
    shown(
        lambda: source.chart(
            "SYSTEM_SUMMARY_BY_TIME",
            system=system.value,
            columns=["emul_util", "cp_util", "tv_ratio"],
        )
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## Who did it?

    Ten users are nearly always enough: on most systems they use most of the processor time. A
    single user near 100 % of one processor is a loop until proven otherwise; a long row of equal
    small users is a system that runs for its timers.
    """)
    return


@app.cell
def _(source, system):
    shown(lambda: source.chart("USER_RESOURCE_UTIL", system=system.value, top=10))
    return


@app.cell
def _(source, system):
    users = shown(lambda: source.report("USER_RESOURCE_UTIL", system=system.value, top=10))
    users
    return (users,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## Storage and disks

    Paging by itself is no trouble: CP pages out what nobody uses. Pages **read** from disk are, as
    somebody waits for each. Of disks look at the response time and the rate together: a slow volume
    that nobody uses harms nobody. Below 1 ms is a cache hit, several are a queue or a miss; a queue
    length above 0.5 means that too many share the volume. A blank has no data in this dump.
    """)
    return


@app.cell
def _(source, system):
    shown(
        lambda: source.chart(
            "PAGING_BY_TIME",
            system=system.value,
            columns=["dasd_read_rate", "dasd_write_rate", "steal_rate"],
        )
    )
    return


@app.cell
def _(source, system):
    volumes = shown(lambda: source.report("DASD_BY_ACTIVITY", system=system.value, top=10))
    volumes
    return (volumes,)


@app.cell
def _(findings, source, system, users, wholeness):
    whole = wholeness.row(0, named=True)
    summary = shown(lambda: source.report("SYSTEM_SUMMARY_BY_TIME", system=system.value))
    conclusion = [
        f"{system.value}: {whole['intervals']} intervals that end from {whole['first_end']} to"
        f" {whole['last_end']} UTC",
        f"Gaps: {whole['gaps']}, restarts: {whole['restarts']}, findings: {len(findings)}",
    ]
    if isinstance(summary, pl.DataFrame) and summary["total_util"].max() is not None:
        busiest = summary.sort("total_util", descending=True, nulls_last=True).row(0, named=True)
        conclusion.append(
            f"Busiest: {busiest['total_util']:.1%} in the interval to {busiest['interval_end']}"
        )
    if isinstance(users, pl.DataFrame):
        conclusion.append(f"Most processor time: {', '.join(users['userid'].head(3))}")
    if not mo.running_in_notebook():
        print(*conclusion, sep="\n")
    mo.md(
        "## In short\n\n"
        + "\n".join(f"- {line}" for line in conclusion)
        + "\n\nIf that was slow for somebody, go on with `cpmon explain --at TIME`."
    )
    return (conclusion,)


if __name__ == "__main__":
    app.run()
