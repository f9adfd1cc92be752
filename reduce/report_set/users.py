"""Reports about users: what they use and hold, wait for, answer, and tell of themselves."""

from __future__ import annotations

from ..printing import Format
from ..report_shape import Latest, Lines, Mean, Report, ReportColumn, Sums, Total
from .columns import (
    HUNDREDTHS,
    LENGTH,
    TENTHS,
    THOUSANDTHS,
    TIME,
    TOD_SECONDS,
    WHOLE,
    key,
    level,
    percent,
    rate,
    share,
    total,
)

_TICK_SECONDS = 0.01
"""Linux counts processor time in units of 10 ms."""
_KIB = 1 / 1024

_USERID = key("userid", "Userid")
_PER_USER = {"user": "userid"}


def _seconds(column: str, label: str, of: str) -> ReportColumn:
    return ReportColumn(column, label, "s", 9, HUNDREDTHS, mean=Total(of, TOD_SECONDS))


def _ratio(column: str, label: str, over: str, under: str, form: Format = WHOLE) -> ReportColumn:
    return ReportColumn(column, label, "", 7, form, mean=Sums(over, under))


def _pages(column: str, label: str) -> ReportColumn:
    return level(column, label, unit="pages")


def _setting(column: str, label: str, unit: str = "", form: Format = WHOLE) -> ReportColumn:
    """A number that holds until it is set anew: what it was last."""
    return ReportColumn(column, label, unit, 7, form, mean=Latest())


def _ticks(column: str, label: str, of: str) -> ReportColumn:
    mean: Mean = Sums(of, "cpu_seconds", _TICK_SECONDS)
    return ReportColumn(column, label, "%", 6, TENTHS, 100, mean)


_CPU = share("cpu_util", "%CPU", "cpu_tod", "seconds", HUNDREDTHS)
_TCPU = _seconds("cpu_s", "TCPU", "cpu_tod")
_VCPU = _seconds("virtual_s", "VCPU", "virtual_tod")
_TV = _ratio("tv_ratio", "T/V", "cpu_tod", "virtual_tod", HUNDREDTHS)

_SHARE = "Share and storage are those of the latest MTRUSR, USELON or SCLSHR record."
_ABOVE = "Frames above 2 GB are not known per user: resident pages are those below."
_LOGOFF = (
    "Processor time, I/Os and paging from the last sample to a logoff are included (USELOF), "
    "those from a logon to the first sample are not."
)

_RESOURCES = Report(
    "USER_RESOURCE_UTIL",
    "What each user used and held",
    "users_by_time",
    (
        _USERID,
        _CPU,
        _TCPU,
        _VCPU,
        _TV,
        rate("io_rate", "I/O|rate", "ios", form=TENTHS),
        rate("dasd_io_rate", "DASD|I/O", "dasd_ios", form=TENTHS),
        rate("unit_record_io_rate", "UR|I/O", "unit_record_ios", form=TENTHS),
        rate("tape_io_rate", "Tape|I/O", "tape_ios", form=TENTHS),
        rate("console_io_rate", "Cons|I/O", "console_ios", form=TENTHS),
        rate("other_io_rate", "Other|I/O", "other_ios", form=TENTHS),
        _pages("working_set_pages", "Working|set"),
        _pages("resident_pages", "Resid|pages"),
        rate("page_rate", "Page|rate", "pages_moved", form=TENTHS),
        _setting("relative_share", "Rel|share"),
        ReportColumn("absolute_share", "Abs|share", "%", 6, TENTHS, 100, Latest()),
        _setting("storage_mib", "Virt|stor", "MiB"),
    ),
    lines=Lines.OBJECT,
    keys=("userid",),
    follows=_PER_USER,
    sort="cpu_util",
    notes=(_LOGOFF, _SHARE, _ABOVE),
)

_PAGING = Report(
    "USER_PAGING",
    "What was paged for each user, and where its pages are",
    "users_by_time",
    (
        _USERID,
        rate("page_rate", "Page|rate", "pages_moved", form=TENTHS),
        rate("page_read_rate", "Page|reads", "page_reads", form=TENTHS),
        rate("page_write_rate", "Page|writes", "page_writes", form=TENTHS),
        rate("xstor_in_rate", "Xstor|in", "xstor_ins", form=TENTHS),
        rate("xstor_out_rate", "Xstor|out", "xstor_outs", form=TENTHS),
        rate("migration_rate", "Migr|rate", "migrations", form=TENTHS),
        rate("steal_rate", "Steal|rate", "steals", form=TENTHS),
        _pages("resident_pages", "Resid|<2G"),
        _pages("resident_above_pages", "Resid|>2G"),
        _pages("locked_pages", "Locked|<2G"),
        _pages("xstor_pages", "Xstor"),
        _pages("dasd_pages", "DASD|slots"),
    ),
    lines=Lines.OBJECT,
    keys=("userid",),
    follows=_PER_USER,
    sort="page_rate",
    notes=(_LOGOFF,),
)

_CLASSES = Report(
    "UCLASS_RESOURCE_UTIL",
    "What the users of each class used and held",
    "user_classes_by_time",
    (
        key("class", "Class"),
        level("members", "Mem-|bers", TENTHS),
        _CPU,
        share("cpu_util_per_member", "%CPU/|member", "cpu_tod", "member_seconds", HUNDREDTHS),
        _TCPU,
        _VCPU,
        _TV,
        rate("io_rate", "I/O|rate", "ios", form=TENTHS),
        rate("io_rate_per_member", "I/O/|member", "ios", "member_seconds", TENTHS),
        rate("page_rate", "Page|rate", "pages_moved", form=TENTHS),
        rate("page_rate_per_member", "Pages/|member", "pages_moved", "member_seconds", TENTHS),
        rate("xstor_rate", "Xstor|rate", "xstor_moves", form=TENTHS),
        _ratio("working_set_per_member", "Working|set/|member", "working_set_pages", "members"),
        _ratio("resident_per_member", "Resid|pages/|member", "resident_pages", "members"),
        _ratio("xstor_per_member", "Xstor|pages/|member", "xstor_pages", "members"),
        _ratio("dasd_per_member", "DASD|slots/|member", "dasd_pages", "members"),
        _ratio("share_per_member", "Rel|share/|member", "share_sum", "sharers"),
        _ratio("storage_per_member", "MiB/|member", "storage_sum", "storage_members"),
    ),
    lines=Lines.OBJECT,
    keys=("class",),
    sort="cpu_util",
    notes=(
        "Classes are those of the store's classes.txt (cpmon classes); OTHER is all other users.",
        _LOGOFF,
        _ABOVE,
    ),
)


def _in_queue(state: str, label: str) -> ReportColumn:
    return percent(f"{state}_share", label, f"{state}_samples", "in_queue_samples")


_STATES = Report(
    "USER_STATES",
    "What samples found each user doing or waiting for",
    "user_states_by_time",
    (
        _USERID,
        total("samples", "Samples", "samples"),
        percent("active_share", "In|queue", "in_queue_samples", "samples"),
        _in_queue("running", "Run-|ning"),
        _in_queue("cpu_wait", "CPU|wait"),
        _in_queue("page_wait", "Page|wait"),
        _in_queue("io_wait", "I/O|wait"),
        _in_queue("simulation_wait", "Simul|wait"),
        _in_queue("console_wait", "Cons|wait"),
        _in_queue("svm_wait", "SVM|wait"),
        _in_queue("loading", "Load-|ing"),
        _in_queue("eligible", "Elig-|ible"),
        _in_queue("idle", "Test|idle"),
        _in_queue("other", "Other"),
        percent("dormant_share", "Dor-|mant", "dormant_samples", "samples"),
    ),
    lines=Lines.OBJECT,
    keys=("userid",),
    follows=_PER_USER,
    sort="active_share",
    notes=("In queue and dormant are of all samples, the states of those in a queue.",),
)


def _answered(kind: str, label: str) -> tuple[ReportColumn, ReportColumn]:
    """Rate and response of a kind of transactions."""
    mean = Sums(f"{kind}_tod", f"{kind}_count", TOD_SECONDS)
    return (
        rate(f"{kind}_rate", f"{label}|rate", f"{kind}_count", form=HUNDREDTHS),
        ReportColumn(f"{kind}_response_s", f"{label}|resp", "s", 7, THOUSANDTHS, mean=mean),
    )


_TRANSACTIONS = Report(
    "TRANSACTIONS",
    "Transactions as CP counts them, and how long they took",
    "transactions_by_time",
    (
        TIME,
        LENGTH,
        total("transactions", "Trans", "transactions"),
        rate("rate", "Trans|rate", "transactions", form=HUNDREDTHS),
        ReportColumn(
            "response_s",
            "Resp|time",
            "s",
            7,
            THOUSANDTHS,
            mean=Sums("response_tod", "transactions", TOD_SECONDS),
        ),
        *_answered("trivial_uni", "Uni|triv"),
        *_answered("nontrivial_uni", "Uni|nontr"),
        *_answered("trivial_multi", "Multi|triv"),
        *_answered("nontrivial_multi", "Multi|nontr"),
        *_answered("quick", "Quick|disp"),
    ),
)


def _mebibytes(column: str, label: str) -> ReportColumn:
    return level(column, label, unit="MiB")


def _paged(column: str, label: str, of: str, unit: str = "/s") -> ReportColumn:
    return rate(column, label, of, "memory_seconds", TENTHS, unit)


def _moved(column: str, label: str, of: str) -> ReportColumn:
    """KiB of bytes that went through the network."""
    return ReportColumn(column, label, "KiB/s", 8, TENTHS, mean=Sums(of, "network_seconds", _KIB))


_LINUX = Report(
    "LINUX_GUESTS",
    "What Linux guests tell of themselves",
    "linux_guests_by_time",
    (
        _USERID,
        _setting("processors", "Procs"),
        _ticks("cpu_util", "%CPU", "busy_ticks"),
        _ticks("user_util", "User", "user_ticks"),
        _ticks("nice_util", "Nice", "nice_ticks"),
        _ticks("system_util", "System", "system_ticks"),
        _ticks("irq_util", "IRQ", "irq_ticks"),
        _ticks("softirq_util", "Soft|IRQ", "softirq_ticks"),
        _ticks("iowait_util", "I/O|wait", "iowait_ticks"),
        _ticks("steal_util", "Steal", "steal_ticks"),
        level("load_1", "Load|1 min", HUNDREDTHS),
        level("load_5", "Load|5 min", HUNDREDTHS),
        level("load_15", "Load|15 min", HUNDREDTHS),
        level("runnable", "Run-|nable", TENTHS),
        level("threads", "Threads"),
        _mebibytes("memory_mib", "Mem"),
        _mebibytes("used_mib", "Mem|used"),
        _mebibytes("free_mib", "Mem|free"),
        _mebibytes("buffer_mib", "Buf-|fers"),
        _mebibytes("cache_mib", "Cached"),
        _mebibytes("swap_used_mib", "Swap|used"),
        _paged("swap_in_rate", "Swap|in", "swap_ins"),
        _paged("swap_out_rate", "Swap|out", "swap_outs"),
        _paged("disk_read_kib_rate", "Disk|reads", "disk_reads_kib", "KiB/s"),
        _paged("disk_write_kib_rate", "Disk|writes", "disk_writes_kib", "KiB/s"),
        _paged("fault_rate", "Page|faults", "faults"),
        _paged("major_fault_rate", "Major|faults", "major_faults"),
        _moved("received_kib_rate", "Net|recvd", "received_bytes"),
        _moved("sent_kib_rate", "Net|sent", "sent_bytes"),
        rate("received_packet_rate", "Pkts|recvd", "received_packets", "network_seconds", TENTHS),
        rate("sent_packet_rate", "Pkts|sent", "sent_packets", "network_seconds", TENTHS),
        rate("network_error_rate", "Net|errors", "network_errors", "network_seconds", TENTHS),
    ),
    lines=Lines.OBJECT,
    keys=("userid",),
    follows=_PER_USER,
    sort="cpu_util",
    notes=("Processor time is as the guest counts it, in percent of one processor.",),
)

REPORTS = (_RESOURCES, _PAGING, _CLASSES, _STATES, _TRANSACTIONS, _LINUX)
