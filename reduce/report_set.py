"""The reports that are shipped, as data. Formulas are in `sql/`, print rules in `printing.py`."""

from __future__ import annotations

from .printing import Format, Style
from .report_shape import WHOLE, Level, Report, ReportColumn, Sums

_TOD_SECONDS = 1 / 4096e6
"""Seconds in a TOD unit."""
_TOD_MICROSECONDS = 1 / 4096
_MASTER = "The master processor is told by MTRPRP_CALFLAGS X'40', which is inferred."
_TIME = ReportColumn("interval_end", "End time", "UTC", width=19)
_LENGTH = ReportColumn("seconds", "T", "s", 6, Format(1), mean=Level())


def _share(name: str, label: str, over: str, under: str) -> ReportColumn:
    """A share of one processor: percent with one decimal, TOD units over seconds."""
    return ReportColumn(name, label, "%", 6, Format(1), 100, Sums(over, under, _TOD_SECONDS))


def _rate(
    name: str, label: str, over: str, under: str, form: Format, unit: str = "/s"
) -> ReportColumn:
    return ReportColumn(name, label, unit, 7, form, mean=Sums(over, under))


def _level(name: str, label: str, form: Format) -> ReportColumn:
    return ReportColumn(name, label, "", 7, form, mean=Level())


def _per_user(name: str, label: str, over: str) -> ReportColumn:
    return ReportColumn(name, label, "pages", 7, mean=Sums(over, "users"))


_TENTHS, _HUNDREDTHS = Format(1), Format(2)
_XSTOR = Format(style=Style.THOUSANDS)

_SYSTEM_SUMMARY = Report(
    "SYSTEM_SUMMARY_BY_TIME",
    "Processors, users, paging and response of a system",
    "system_summary_by_time",
    (
        _TIME,
        _LENGTH,
        _share("total_util", "Total|Util/|Proc", "busy_tod", "processor_seconds"),
        _share("emul_util", "Emul|Util/|Proc", "emulation_tod", "processor_seconds"),
        _share("cp_util", "CP|Util/|Proc", "cp_tod", "processor_seconds"),
        ReportColumn(
            "tv_ratio", "T/V|ratio", "", 6, _HUNDREDTHS, mean=Sums("busy_tod", "emulation_tod")
        ),
        _level("users_logged_on", "Users|logged|on", WHOLE),
        _level("users_active", "Users|active", WHOLE),
        _level("dispatch_list_users", "In disp|list", _TENTHS),
        _level("eligible_list_users", "In elig|list", _TENTHS),
        _rate("xstor_page_rate", "Xstor|page|rate", "xstor_pages", "xstor_seconds", _XSTOR),
        _rate("dasd_page_rate", "DASD|page|rate", "dasd_pages", "paging_seconds", WHOLE),
        _rate("spool_rate", "Spool|page|rate", "spool_pages", "paging_seconds", WHOLE),
        _rate("ssch_rate", "SSCH+|RSCH", "starts", "paging_seconds", _TENTHS),
        _rate("transaction_rate", "Trans|rate", "transactions", "transaction_seconds", _HUNDREDTHS),
        ReportColumn(
            "response_s",
            "Resp|time",
            "s",
            7,
            Format(3),
            mean=Sums("response_tod", "transactions", _TOD_SECONDS),
        ),
    ),
)

_SYSTEM_SUMMARY2 = Report(
    "SYSTEM_SUMMARY2_BY_TIME",
    "Master processor, lock spinning, 2 GB moves and pages per user",
    "system_summary2_by_time",
    (
        _TIME,
        _LENGTH,
        _share("master_total_util", "Master|Total|Util", "master_busy_tod", "master_seconds"),
        _share("master_emul_util", "Master|Emul|Util", "master_emulation_tod", "master_seconds"),
        _share("master_cp_util", "Master|CP|Util", "master_cp_tod", "master_seconds"),
        _rate("spin_lock_rate", "Spin|lock|rate", "spins", "seconds", WHOLE),
        ReportColumn(
            "spin_time_us",
            "Spin time/|request",
            "us",
            10,
            Format(3),
            mean=Sums("spin_tod", "spins", _TOD_MICROSECONDS),
        ),
        ReportColumn(
            "pct_spin",
            "Pct|spin|time",
            "%",
            5,
            Format(style=Style.KEPT),
            100,
            Sums("spin_tod", "processor_seconds", _TOD_SECONDS),
        ),
        _rate("move_2g_rate", "2G page|move|rate", "moves_2g", "storage_seconds", _TENTHS),
        _rate("steal_rate", "Steal|rate", "steals", "storage_seconds", _TENTHS),
        _per_user("resident_pages_per_user", "Resid|pages/|user", "resident_pages"),
        _per_user("xstor_pages_per_user", "Xstor|pages/|user", "xstor_pages"),
        _per_user("dasd_pages_per_user", "DASD|pages/|user", "dasd_pages"),
    ),
    notes=(_MASTER,),
)

_PROCESSORS = Report(
    "PROCESSORS_BY_TIME",
    "What each processor did",
    "processors_by_time",
    (
        _TIME,
        ReportColumn("cpu", "CPU", width=4),
        ReportColumn("cpu_type", "Type", width=4),
        _LENGTH,
        _share("total_util", "Total|Util", "busy_tod", "seconds"),
        _share("emul_util", "Emul|Util", "emulation_tod", "seconds"),
        _share("cp_user_util", "CP|user", "cp_user_tod", "seconds"),
        _share("cp_system_util", "CP|system", "cp_system_tod", "seconds"),
        _share("wait_util", "Wait", "wait_tod", "seconds"),
        _share("spin_util", "Spin", "spin_tod", "seconds"),
        _share("suspended_util", "Susp", "suspended_tod", "seconds"),
        _rate("sie_rate", "SIE|rate", "sie_entries", "seconds", WHOLE),
        _rate("xstor_page_rate", "Xstor|page|rate", "xstor_pages", "xstor_seconds", _XSTOR),
        _rate("dasd_page_rate", "DASD|page|rate", "dasd_pages", "paging_seconds", WHOLE),
        _rate("diagnose_rate", "DIAG|rate", "diagnoses", "paging_seconds", _TENTHS),
        _rate("ssch_rate", "SSCH+|RSCH", "starts", "paging_seconds", _TENTHS),
    ),
    by_cpu=True,
    notes=("SIE rate counts SYTPRP_PFXRUNCP, which is inferred.",),
)

REPORTS = {r.name: r for r in (_SYSTEM_SUMMARY, _SYSTEM_SUMMARY2, _PROCESSORS)}
