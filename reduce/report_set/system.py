"""Reports about the system as a whole and its processors."""

from __future__ import annotations

from ..printing import Format
from ..report_shape import Latest, Report, ReportColumn, Sums
from .columns import (
    HUNDREDTHS,
    KEPT,
    LENGTH,
    TENTHS,
    THOUSANDS,
    TIME,
    TOD_MICROSECONDS,
    TOD_SECONDS,
    WHOLE,
    level,
    per_user,
    rate,
    share,
)

_MASTER = "The master processor is told by MTRPRP_CALFLAGS X'40', which is inferred."

_SYSTEM_SUMMARY = Report(
    "SYSTEM_SUMMARY_BY_TIME",
    "Processors, users, paging and response of a system",
    "system_summary_by_time",
    (
        TIME,
        LENGTH,
        share("total_util", "Total|Util/|Proc", "busy_tod", "processor_seconds"),
        share("emul_util", "Emul|Util/|Proc", "emulation_tod", "processor_seconds"),
        share("cp_util", "CP|Util/|Proc", "cp_tod", "processor_seconds"),
        ReportColumn(
            "tv_ratio", "T/V|ratio", "", 6, HUNDREDTHS, mean=Sums("busy_tod", "emulation_tod")
        ),
        level("users_logged_on", "Users|logged|on", WHOLE),
        level("users_active", "Users|active", WHOLE),
        level("dispatch_list_users", "In disp|list", TENTHS),
        level("eligible_list_users", "In elig|list", TENTHS),
        rate("xstor_page_rate", "Xstor|page|rate", "xstor_pages", "xstor_seconds", THOUSANDS),
        rate("dasd_page_rate", "DASD|page|rate", "dasd_pages", "paging_seconds", WHOLE),
        rate("spool_rate", "Spool|page|rate", "spool_pages", "paging_seconds", WHOLE),
        rate("ssch_rate", "SSCH+|RSCH", "starts", "paging_seconds", TENTHS),
        rate("transaction_rate", "Trans|rate", "transactions", "transaction_seconds", HUNDREDTHS),
        ReportColumn(
            "response_s",
            "Resp|time",
            "s",
            7,
            Format(3),
            mean=Sums("response_tod", "transactions", TOD_SECONDS),
        ),
    ),
)

_SYSTEM_SUMMARY2 = Report(
    "SYSTEM_SUMMARY2_BY_TIME",
    "Master processor, lock spinning, 2 GB moves and pages per user",
    "system_summary2_by_time",
    (
        TIME,
        LENGTH,
        share("master_total_util", "Master|Total|Util", "master_busy_tod", "master_seconds"),
        share("master_emul_util", "Master|Emul|Util", "master_emulation_tod", "master_seconds"),
        share("master_cp_util", "Master|CP|Util", "master_cp_tod", "master_seconds"),
        rate("spin_lock_rate", "Spin|lock|rate", "spins", "seconds", WHOLE),
        ReportColumn(
            "spin_time_us",
            "Spin time/|request",
            "us",
            10,
            Format(3),
            mean=Sums("spin_tod", "spins", TOD_MICROSECONDS),
        ),
        ReportColumn(
            "pct_spin",
            "Pct|spin|time",
            "%",
            5,
            KEPT,
            100,
            Sums("spin_tod", "processor_seconds", TOD_SECONDS),
        ),
        rate("move_2g_rate", "2G page|move|rate", "moves_2g", "storage_seconds", TENTHS),
        rate("steal_rate", "Steal|rate", "steals", "storage_seconds", TENTHS),
        per_user("resident_pages_per_user", "Resid|pages/|user", "resident_pages"),
        per_user("xstor_pages_per_user", "Xstor|pages/|user", "xstor_pages"),
        per_user("dasd_pages_per_user", "DASD|pages/|user", "dasd_pages"),
    ),
    notes=(_MASTER,),
)

_PROCESSORS = Report(
    "PROCESSORS_BY_TIME",
    "What each processor did",
    "processors_by_time",
    (
        TIME,
        ReportColumn("cpu", "CPU", width=4),
        ReportColumn("cpu_type", "Type", width=4, mean=Latest()),
        LENGTH,
        share("total_util", "Total|Util", "busy_tod", "seconds"),
        share("emul_util", "Emul|Util", "emulation_tod", "seconds"),
        share("cp_user_util", "CP|user", "cp_user_tod", "seconds"),
        share("cp_system_util", "CP|system", "cp_system_tod", "seconds"),
        share("wait_util", "Wait", "wait_tod", "seconds"),
        share("spin_util", "Spin", "spin_tod", "seconds"),
        share("suspended_util", "Susp", "suspended_tod", "seconds"),
        rate("sie_rate", "SIE|rate", "sie_entries", "seconds", WHOLE),
        rate("xstor_page_rate", "Xstor|page|rate", "xstor_pages", "xstor_seconds", THOUSANDS),
        rate("dasd_page_rate", "DASD|page|rate", "dasd_pages", "paging_seconds", WHOLE),
        rate("diagnose_rate", "DIAG|rate", "diagnoses", "paging_seconds", TENTHS),
        rate("ssch_rate", "SSCH+|RSCH", "starts", "paging_seconds", TENTHS),
    ),
    keys=("cpu",),
    follows={"cpu": "cpu"},
    notes=("SIE rate counts SYTPRP_PFXRUNCP, which is inferred.",),
)

REPORTS = (_SYSTEM_SUMMARY, _SYSTEM_SUMMARY2, _PROCESSORS)
