"""The metrics on which runs are compared that no table spec was written for."""

from __future__ import annotations

from dataclasses import dataclass

from .report_set.columns import TOD_MICROSECONDS, TOD_SECONDS


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of run_summary, and what it is in a single interval.

    Attributes:
        label, unit: as printed. digits: decimals, more where a value would show too little.
        measure: the column of `run_summary`.
        over, under: columns of `_run_interval`: `factor` times the first over the second; the
            first alone, as a level, where there is no second.
        scale: what values are multiplied by before they are shown: 100 for shares.
        whole: the value is that of the whole run, the intervals those of its steady state.
    """

    label: str
    measure: str
    unit: str
    digits: int
    over: str
    under: str = ""
    factor: float = 1.0
    scale: int = 1
    whole: bool = False


def _share(label: str, measure: str, over: str, under: str = "processor_seconds") -> Metric:
    return Metric(label, measure, "%", 1, over, under, TOD_SECONDS, 100)


def _rate(label: str, measure: str, over: str, under: str, unit: str = "pages/s") -> Metric:
    return Metric(label, measure, unit, 1, over, under)


def _per_user(label: str, measure: str, over: str) -> Metric:
    return Metric(label, measure, "pages", 0, over, "users")


def _per_transaction(label: str, measure: str, over: str) -> Metric:
    return Metric(label, measure, "ms", 3, over, "load_transactions", 1000 * TOD_SECONDS, 1, True)


STANDARD_METRICS = (
    _share("Total Util/Proc", "total_util", "busy_tod"),
    _share("Emul Util/Proc", "emul_util", "emulation_tod"),
    _share("CP Util/Proc", "cp_util", "cp_tod"),
    Metric("T/V Ratio", "tv_ratio", "", 2, "busy_tod", "emulation_tod"),
    _share("Master Total Util", "master_total_util", "master_busy_tod", "master_seconds"),
    _share("Master Emul Util", "master_emul_util", "master_emulation_tod", "master_seconds"),
    _share("Master CP Util", "master_cp_util", "master_cp_tod", "master_seconds"),
    Metric("Processors", "processors_measured", "", 0, "processors"),
    _rate("Spin Lock Rate", "spin_lock_rate", "spins", "seconds", "/s"),
    Metric("Spin Time/Request", "spin_time_us", "us", 3, "spin_tod", "spins", TOD_MICROSECONDS),
    _share("Pct Spin Time", "pct_spin", "spin_tod"),
    _rate("DIAG 44 Normal", "diag44_rate", "diagnoses_44", "diagnose_seconds", "/s"),
    _rate("Xstor Page Rate", "xstor_page_rate", "xstor_pages", "xstor_seconds"),
    _rate("Xstor Migr Rate", "xstor_migration_rate", "migrated_pages", "xstor_seconds"),
    _rate("DASD Page Rate", "dasd_page_rate", "dasd_pages", "paging_seconds"),
    _rate("DASD Page Reads", "dasd_read_rate", "dasd_reads", "paging_seconds"),
    _rate("DASD Page Writes", "dasd_write_rate", "dasd_writes", "paging_seconds"),
    _rate("Spool Page Rate", "spool_rate", "spool_pages", "paging_seconds"),
    _rate("2G Page Move Rate", "move_2g_rate", "moves_2g", "storage_seconds"),
    _rate("Steal Rate", "steal_rate", "steals", "storage_seconds", "frames/s"),
    _per_user("Resident Pages/User", "resident_pages_per_user", "resident_pages"),
    _per_user("Xstor Pages/User", "xstor_pages_per_user", "user_xstor_pages"),
    _per_user("DASD Pages/User", "dasd_pages_per_user", "user_dasd_pages"),
    _per_user("Total Pages/User", "total_pages_per_user", "user_pages"),
    Metric("Resident below 2G", "resident_below_2g", "pages", 0, "resident_pages"),
    Metric("Resident above 2G", "resident_above_2g", "pages", 0, "resident_above_2g"),
    Metric("Users Logged On", "users_logged_on", "", 0, "users_logged_on"),
    Metric("Users Active", "users_active", "", 1, "users_active"),
    _rate("SSCH+RSCH Rate", "ssch_rate", "starts", "paging_seconds", "/s"),
    Metric("Page Vol Busy", "page_volume_busy", "%", 1, "page_volume_busy", scale=100),
    _rate("CP Trans Rate", "transaction_rate", "transactions", "transaction_seconds", "/s"),
    Metric("CP Resp Time", "response_s", "s", 3, "response_tod", "transactions", TOD_SECONDS),
    Metric("Tx Rate", "tx_rate", "/s", 2, "load_transactions", "seconds"),
    _per_transaction("Total CPU/Tx", "cpu_per_tx_ms", "busy_tod"),
    _per_transaction("CP CPU/Tx", "cp_per_tx_ms", "cp_tod"),
    _per_transaction("Emul CPU/Tx", "emul_per_tx_ms", "emulation_tod"),
    Metric("DASD Pages/Tx", "dasd_pages_per_tx", "pages", 3, "dasd_pages", "load_transactions"),
)
"""In the order of a reader: processors, spinning, paging, storage, users, devices, transactions."""
