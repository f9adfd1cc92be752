"""Reports about disks, page and spool space, real storage and the minidisk cache."""

from __future__ import annotations

from ..printing import Format
from ..report_shape import HEX, Latest, Level, Lines, Report, ReportColumn, Sums
from .columns import (
    HUNDREDTHS,
    LENGTH,
    TENTHS,
    THOUSANDS,
    TIME,
    WHOLE,
    key,
    level,
    name,
    percent,
    rate,
)

_DEVICE = ReportColumn("device", "Dev", width=4, base=HEX)


def _per_io(name: str, label: str, over: str, under: str = "starts") -> ReportColumn:
    """Milliseconds of an I/O, from seconds over I/Os."""
    return ReportColumn(name, label, "ms", 6, TENTHS, mean=Sums(over, under, 1000))


def _slots(name: str, label: str) -> ReportColumn:
    """Space, as the last interval has it."""
    return ReportColumn(name, label, "", 9, WHOLE, mean=Latest())


def _frames(name: str, label: str) -> ReportColumn:
    """Frames of 4 KB, the mean of the samples."""
    return ReportColumn(name, label, "frames", 9, WHOLE, mean=Level())


def _ratio(name: str, label: str, over: str, under: str, form: Format = TENTHS) -> ReportColumn:
    """Something over something else, without a unit."""
    return ReportColumn(name, label, "", 6, form, mean=Sums(over, under))


_ACTIVITY = Report(
    "DASD_BY_ACTIVITY",
    "I/Os and response of disks, the busiest first",
    "dasd_by_activity",
    (
        _DEVICE,
        name("volser", "Volume", 6),
        name("device_type", "Type", 6),
        rate("ssch_rate", "SSCH+|RSCH", "starts", form=TENTHS),
        rate("avoided_rate", "MDC|avoided", "avoided", form=TENTHS),
        _per_io("pending_ms", "Pend", "pending_seconds"),
        _per_io("disconnect_ms", "Disc", "disconnect_seconds"),
        _per_io("connect_ms", "Conn", "connect_seconds"),
        _per_io("service_ms", "Serv", "busy_seconds"),
        _per_io("response_ms", "Resp", "response_seconds"),
        _ratio("queue_length", "Queue", "queued_samples", "queue_samples", HUNDREDTHS),
        percent("busy_util", "Busy", "busy_seconds", "seconds", WHOLE),
    ),
    lines=Lines.OBJECT,
    keys=("device",),
    follows={"device": "device"},
    sort="ssch_rate",
)

_CONTROL_UNIT = Report(
    "DASD_BY_CONTROL_UNIT",
    "I/Os and service of the disks behind each control unit",
    "dasd_by_control_unit",
    (
        key("control_unit", "Control|unit"),
        key("subsystem", "SSID", 4),
        key("paths", "Channel|paths"),
        level("devices", "Dev-|ices"),
        rate("ssch_rate", "SSCH+|RSCH", "starts", form=TENTHS),
        _per_io("pending_ms", "Pend", "pending_seconds", "timed_starts"),
        _per_io("disconnect_ms", "Disc", "disconnect_seconds", "timed_starts"),
        _per_io("connect_ms", "Conn", "connect_seconds", "timed_starts"),
        _per_io("service_ms", "Serv", "busy_seconds", "timed_starts"),
        _per_io("unit_queue_ms", "CU|queue", "unit_queue_seconds", "timed_starts"),
        percent("busy_util", "Busy/|dev", "busy_seconds", "device_seconds"),
    ),
    lines=Lines.OBJECT,
    keys=("control_unit", "subsystem", "paths"),
    sort="ssch_rate",
    notes=(
        "Disks whose control units have the same type, subsystem id and channel paths are taken"
        " to share one, which is inferred.",
    ),
)

_SYSTEM_AREAS = Report(
    "DASD_SYSTEM_AREAS_BY_TYPE",
    "Page and spool volumes, the busiest first",
    "dasd_system_areas_by_type",
    (
        key("area_type", "Area", 5),
        _DEVICE,
        name("volser", "Volume", 6),
        _slots("slots", "Slots"),
        percent("used_share", "Used", "used_slots", "slots", WHOLE),
        rate("page_read_rate", "Page|reads", "page_reads", form=TENTHS),
        rate("page_write_rate", "Page|writes", "page_writes", form=TENTHS),
        rate("spool_read_rate", "Spool|reads", "spool_reads", form=TENTHS),
        rate("spool_write_rate", "Spool|writes", "spool_writes", form=TENTHS),
        rate("total_rate", "Total|pages", "pages", form=TENTHS),
        level("mload_ms", "MLOAD", TENTHS, "ms"),
        level("service_ms", "Serv", TENTHS, "ms"),
        _ratio("block_pages", "Block|pages", "pages", "blocks"),
        level("queue_length", "Queue", TENTHS),
    ),
    lines=Lines.OBJECT,
    keys=("area_type", "device"),
    follows={"device": "device"},
    sort="total_rate",
    notes=(
        "MLOAD and Serv are taken to be in microseconds in the record, which nobody has published.",
    ),
)

_AUX_STORAGE = Report(
    "AUX_STORAGE_BY_TIME",
    "Page and spool space on DASD and its use",
    "aux_storage_by_time",
    (
        TIME,
        LENGTH,
        _slots("page_slots", "Page|slots"),
        percent("page_used_share", "Page|used", "page_slots_used", "page_slots", WHOLE),
        _slots("spool_slots", "Spool|slots"),
        percent("spool_used_share", "Spool|used", "spool_slots_used", "spool_slots", WHOLE),
        rate("page_read_rate", "Page|reads", "page_reads", "paging_seconds", TENTHS),
        rate("page_write_rate", "Page|writes", "page_writes", "paging_seconds", TENTHS),
        rate("spool_read_rate", "Spool|reads", "spool_reads", "paging_seconds", TENTHS),
        rate("spool_write_rate", "Spool|writes", "spool_writes", "paging_seconds", TENTHS),
        _ratio("read_block_pages", "Pages/|block|read", "block_reads", "blocks_read"),
        _ratio("stolen_block_pages", "Pages/|block|stolen", "block_steals", "blocks_stolen"),
    ),
)

_PAGING = Report(
    "PAGING_BY_TIME",
    "Frames of real storage and pages that moved",
    "paging_by_time",
    (
        TIME,
        LENGTH,
        _frames("pageable_below_2g", "Pageable|<2G"),
        _frames("pageable_above_2g", "Pageable|>2G"),
        _frames("available_below_2g", "Available|<2G"),
        _frames("available_above_2g", "Available|>2G"),
        _frames("locked_below_2g", "Locked|<2G"),
        _frames("locked_above_2g", "Locked|>2G"),
        rate("xstor_in_rate", "Xstor|in", "xstor_ins", "xstor_seconds", THOUSANDS),
        rate("xstor_out_rate", "Xstor|out", "xstor_outs", "xstor_seconds", THOUSANDS),
        rate("xstor_migration_rate", "Xstor|migr", "xstor_migrations", "xstor_seconds"),
        rate("dasd_read_rate", "DASD|reads", "dasd_reads", "paging_seconds"),
        rate("dasd_write_rate", "DASD|writes", "dasd_writes", "paging_seconds"),
        rate("steal_rate", "Steals", "steals", "storage_seconds", TENTHS),
        rate("empty_below_2g_rate", "Empty|<2G", "empty_below_2g", "storage_seconds", TENTHS),
        rate("empty_above_2g_rate", "Empty|>2G", "empty_above_2g", "storage_seconds", TENTHS),
    ),
)

_MINIDISK_CACHE = Report(
    "MINIDISK_CACHE_BY_TIME",
    "Size of the minidisk cache and what it answered",
    "minidisk_cache_by_time",
    (
        TIME,
        LENGTH,
        level("real_pages", "Real|cache", unit="pages"),
        level("xstor_ideal_pages", "Xstor|ideal", unit="pages"),
        rate("read_rate", "Reads", "reads", "xstor_seconds", TENTHS),
        rate("avoided_rate", "I/Os|avoided", "avoided", "xstor_seconds", TENTHS),
        percent("hit_share", "Hits", "read_hits", "reads"),
        rate("insert_rate", "Pages|in", "inserts", "storage_seconds", TENTHS),
        rate("delete_rate", "Pages|deleted", "deletes", "storage_seconds", TENTHS),
        rate("real_steal_rate", "Real|steals", "real_steals", "storage_seconds", TENTHS),
        rate("xstor_steal_rate", "Xstor|steals", "xstor_steals", "xstor_seconds", TENTHS),
    ),
    notes=(
        "I/Os avoided are HCPMDCIA, and pages in follow from those deleted and the growth of the"
        " cache; both are inferred. What the cache has of expanded storage is in no known field.",
    ),
)

REPORTS = (_ACTIVITY, _CONTROL_UNIT, _SYSTEM_AREAS, _AUX_STORAGE, _PAGING, _MINIDISK_CACHE)
