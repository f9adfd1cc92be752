"""The charts of a page, in order: what an analyst looks at first."""

from __future__ import annotations

from .chart import Chart, Drawn, Kind

_SYSTEM, _SYSTEM2 = "SYSTEM_SUMMARY_BY_TIME", "SYSTEM_SUMMARY2_BY_TIME"
_PROCESSORS = "PROCESSORS_BY_TIME"
_PAGING, _AREAS = "PAGING_BY_TIME", "AUX_STORAGE_BY_TIME"
_USERS, _DEVICES = "USER_RESOURCE_UTIL", "DASD_BY_ACTIVITY"

CHARTS = (
    Chart(
        "utilization",
        "Processor utilization",
        "Mean of all processors: emulation, CP for users, CP for the system, and wait;"
        " what is missing to 100 % is time in which the partition was not dispatched.",
        (
            Drawn(_PROCESSORS, "emul_util", "Emulation", "c1"),
            Drawn(_PROCESSORS, "cp_user_util", "CP for users", "c2"),
            Drawn(_PROCESSORS, "cp_system_util", "CP for the system", "c4"),
            Drawn(_PROCESSORS, "wait_util", "Wait", "rest"),
        ),
        Kind.STACK,
        whole=100,
    ),
    Chart(
        "master",
        "Master processor",
        "The master processor against the mean of all.",
        (
            Drawn(_SYSTEM2, "master_total_util", "Master", "c2"),
            Drawn(_SYSTEM, "total_util", "Mean of all", "c1"),
        ),
        whole=100,
        rule="processor-busy",
    ),
    Chart(
        "xstor-paging",
        "Paging to expanded storage",
        "Pages into, out of and migrated from expanded storage.",
        (
            Drawn(_PAGING, "xstor_in_rate", "In"),
            Drawn(_PAGING, "xstor_out_rate", "Out"),
            Drawn(_PAGING, "xstor_migration_rate", "Migrated"),
        ),
    ),
    Chart(
        "dasd-paging",
        "Paging and spooling on DASD",
        "Pages read from and written to DASD.",
        (
            Drawn(_PAGING, "dasd_read_rate", "Page reads"),
            Drawn(_PAGING, "dasd_write_rate", "Page writes"),
            Drawn(_SYSTEM, "spool_rate", "Spooling"),
        ),
    ),
    Chart(
        "frames",
        "Available frames",
        "Frames that CP can give away at once.",
        (
            Drawn(_PAGING, "available_below_2g", "Below 2 GB"),
            Drawn(_PAGING, "available_above_2g", "Above 2 GB"),
        ),
    ),
    Chart(
        "slots",
        "Page and spool space",
        "Slots that are in use.",
        (
            Drawn(_AREAS, "page_used_share", "Paging"),
            Drawn(_AREAS, "spool_used_share", "Spooling"),
        ),
    ),
    Chart(
        "spin",
        "Time spent spinning",
        "Share of processor time spent waiting for CP locks.",
        (Drawn(_SYSTEM2, "pct_spin", "Spin time", "c6"),),
        rule="spin-time",
    ),
    Chart(
        "spin-rate",
        "Spins on CP locks",
        "How often a processor found a CP lock held.",
        (Drawn(_SYSTEM2, "spin_lock_rate", "Spins", "c6"),),
    ),
    Chart(
        "users",
        "Users",
        "Users logged on and users that are not dormant.",
        (
            Drawn(_SYSTEM, "users_logged_on", "Logged on"),
            Drawn(_SYSTEM, "users_active", "Active"),
        ),
    ),
    Chart(
        "lists",
        "Dispatch and eligible list",
        "Users in the lists of the scheduler.",
        (
            Drawn(_SYSTEM, "dispatch_list_users", "Dispatch list"),
            Drawn(_SYSTEM, "eligible_list_users", "Eligible list", "c2"),
        ),
    ),
    Chart(
        "top-users",
        "Top users",
        "The users with most processor time; 100 % is one processor.",
        (Drawn(_USERS, "cpu_util", ""),),
        top=6,
    ),
    Chart(
        "top-devices",
        "Busiest devices",
        "Share of time that the most active devices were busy.",
        (Drawn(_DEVICES, "busy_util", ""),),
        top=6,
    ),
    Chart(
        "device-response",
        "Response of the busiest devices",
        "Mean time of an I/O, with its time in the queue.",
        (Drawn(_DEVICES, "response_ms", ""),),
        top=6,
        rule="device-response",
    ),
    Chart(
        "response",
        "Response time",
        "Mean time of a transaction as CP counts them.",
        (Drawn(_SYSTEM, "response_s", "Response", "c3"),),
    ),
    Chart(
        "starts",
        "I/O",
        "Start and resume subchannels.",
        (Drawn(_SYSTEM, "ssch_rate", "SSCH + RSCH", "c6"),),
    ),
)
