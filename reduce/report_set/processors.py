"""Reports about what processors are shared with and held up by: partitions, locks, DIAGNOSEs."""

from __future__ import annotations

from ..report_shape import Lines, Report, ReportColumn, Sums
from .columns import (
    HUNDREDTHS,
    LENGTH,
    TENTHS,
    THOUSANDTHS,
    TOD_MICROSECONDS,
    key,
    name,
    rate,
    share,
    total,
)

_US_SECONDS = 1e-6
_FLAGS = (
    "Dedicated and capped are told by LCUCFLGS X'80' and X'20', which is inferred; that LCUCACTM"
    " and LCUCLPTM count microseconds is believed."
)
_PHYSICAL = "*PHYSICAL* is the time for which the machine managed partitions."
_OLD_LOCKS = (
    "Before CP 5.3.0 only the scheduler's lock and the timer-request lock are known, without"
    " telling exclusive from shared use."
)
_FAST = (
    "44 fast is an upper bound: SYTPRP_CALFSTPH counts entries into guests by any fast path. There"
    " is none before CP 5.2.0, as the level in MTRSYS tells."
)


def _of_time(column: str, label: str, over: str, under: str) -> ReportColumn:
    """Percent: microseconds over seconds."""
    return ReportColumn(column, label, "%", 6, TENTHS, 100, Sums(over, under, _US_SECONDS))


def _length(column: str, label: str, over: str, under: str) -> ReportColumn:
    """Length of a spin."""
    mean = Sums(over, under, TOD_MICROSECONDS)
    return ReportColumn(column, label, "us", 8, THOUSANDTHS, mean=mean)


_LPAR = Report(
    "LPAR",
    "Logical partitions of the machine",
    "lpar_by_time",
    (
        key("partition_name", "Partition", 10),
        name("partition_number", "Number", 6),
        name("is_own", "Own", 4),
        LENGTH,
        name("logical_processors", "Logical|CPUs", 7),
        name("weight", "Weight", 6),
        name("is_dedicated", "Dedicated", 9),
        name("is_capped", "Capped", 6),
        _of_time("busy_util", "Busy", "dispatched_us", "logical_seconds"),
        _of_time("overhead_util", "Ovhd", "overhead_us", "logical_seconds"),
        share("suspended_util", "Susp", "suspended_tod", "own_seconds"),
        _of_time("physical_util", "Of|physical", "active_us", "physical_seconds"),
    ),
    lines=Lines.OBJECT,
    keys=("partition_name",),
    sort="physical_util",
    notes=(_PHYSICAL, _FLAGS),
)

_SPIN_LOCKS = Report(
    "SPIN_LOCKS",
    "Spinning on CP's formal locks",
    "spin_locks_by_time",
    (
        key("lock", "Lock"),
        LENGTH,
        rate("spin_rate", "Spins", "spins", form=TENTHS),
        _length("spin_us", "Spin|time", "spin_tod", "spins"),
        share("spin_busy", "Busy", "spin_tod", "seconds", THOUSANDTHS),
        rate("exclusive_rate", "Excl|spins", "exclusive_spins", form=TENTHS),
        _length("exclusive_us", "Excl|time", "exclusive_tod", "exclusive_spins"),
        share("exclusive_busy", "Excl|busy", "exclusive_tod", "seconds", THOUSANDTHS),
        rate("shared_rate", "Shared|spins", "shared_spins", form=TENTHS),
        _length("shared_us", "Shared|time", "shared_tod", "shared_spins"),
        share("shared_busy", "Shared|busy", "shared_tod", "seconds", THOUSANDTHS),
    ),
    lines=Lines.OBJECT,
    keys=("lock",),
    sort="spin_busy",
    notes=("Busy is of one processor, all processors together.", _OLD_LOCKS),
)

_DIAGNOSES = Report(
    "DIAGNOSE_RATES",
    "DIAGNOSEs by code",
    "diagnoses_by_time",
    (
        key("code", "Code"),
        LENGTH,
        rate("diagnose_rate", "Rate", "diagnoses", form=HUNDREDTHS),
        total("diagnoses", "Uses", "diagnoses"),
    ),
    lines=Lines.OBJECT,
    keys=("code",),
    sort="diagnose_rate",
    notes=(_FAST,),
)

REPORTS = (_LPAR, _SPIN_LOCKS, _DIAGNOSES)
