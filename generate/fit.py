"""Whether a run's figures can be true together: pages in their storage, times in their second."""

from __future__ import annotations

import datetime as dt

from .frames import Frames
from .partitions import check_partitions
from .scenario import Run, Scenario
from .tables import ScenarioError
from .targets import Targets

TOD_BEGINS = dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
TOD_ENDS = dt.datetime(2042, 9, 17, tzinfo=dt.UTC)
"""The day on which the 64 bits are full."""

ROOM = 1.01
"""Levels vary by a part of a percent around their mean; so much room must be left."""


NEEDED = {
    "emul_util": "total_util",
    "master_total_util": "total_util",
    "master_emul_util": "master_total_util",
    "spin_time_us": "spin_lock_rate",
    "dasd_read_rate": "dasd_write_rate",
    "dasd_write_rate": "dasd_read_rate",
    "dasd_pages_per_tx": "tx_rate",
    "cp_us_per_tx": "emul_us_per_tx",
    "emul_us_per_tx": "tx_rate",
    "hardware_emul_util": "hardware_total_util",
}
"""Targets that need another one."""
_TO_DISK = "pages a second to disk"
_TO_XSTOR = "pages a second to expanded storage"
_MORE = {
    "frames below 2 GB": "raise central_mib",
    "frames above 2 GB": "raise central_mib",
    "blocks of expanded storage": "raise expanded_mib, or have fewer users",
    "page slots": 'add [[volumes]] of kind = "page"',
    _TO_DISK: 'add [[volumes]] of kind = "page"',
    _TO_XSTOR: "raise expanded_mib",
}
"""What gives more room, by the unit of what does not fit."""


def check_fit(scenario: Scenario, run: Run, file: str) -> None:
    """Check one run of a scenario.

    Raises:
        ScenarioError: with the key whose value does not fit, and what would.
    """
    place = f"{file}: run.{run.run_id}.targets"
    _check_together(run, place)
    for key, wanted, room, unit in (*_storage(scenario, run), *_times(scenario, run)):
        if wanted > room:
            raise ScenarioError(
                f"run {run.run_id}: {key} does not fit",
                place=f"{place}.{key}",
                expected=f"room for at most {room:,.1f} {unit}",
                found=f"{wanted:,.1f} {unit}",
                remedy=f"lower {key}, or {_MORE[unit]}" if unit in _MORE else f"lower {key}",
            )
    check_partitions(scenario, run, file)
    _check_clock(scenario, run, file)
    _check_devices(scenario, file)
    _check_user_ids(scenario, run, file)


def _storage(scenario: Scenario, run: Run) -> list[tuple[str, float, float, str]]:
    frames, targets = Frames.of_run(scenario, run), run.targets
    users = sum(group.count for group in scenario.groups_of(run))
    resident = users * (targets.resident_pages_per_user or 0)
    above = resident * frames.users_above_share(run.storage)
    below, room_below, room_above = resident - above, frames.users_below, frames.users_above
    fixed_below = targets.resident_below_2g_pages or 0
    fixed_above = targets.resident_above_2g_pages or 0
    return [
        ("resident_pages_per_user", below * ROOM, room_below, "frames below 2 GB"),
        ("resident_pages_per_user", above * ROOM, room_above, "frames above 2 GB"),
        ("resident_below_2g_pages", fixed_below * ROOM, room_below, "frames below 2 GB"),
        ("resident_above_2g_pages", fixed_above * ROOM, room_above, "frames above 2 GB"),
        (
            "xstor_pages_per_user",
            users * (targets.xstor_pages_per_user or 0) * ROOM,
            frames.expanded,
            "blocks of expanded storage",
        ),
        (
            "dasd_pages_per_user",
            users * (targets.dasd_pages_per_user or 0) * ROOM,
            frames.slots,
            "page slots",
        ),
        ("dasd_page_rate", targets.paging_rate or 0, 1e9 if frames.slots else 0, _TO_DISK),
        ("xstor_page_rate", targets.xstor_page_rate or 0, 1e9 if frames.expanded else 0, _TO_XSTOR),
    ]


def _times(scenario: Scenario, run: Run) -> list[tuple[str, float, float, str]]:
    targets, processors = run.targets, run.machine.processors
    if targets.total_util is None:
        return []
    total, emul = targets.total_util, targets.emul_util or 0.0
    spins = (targets.spin_lock_rate or 0.0) * (targets.spin_time_us or 0.0)
    spin = spins / (10_000 * processors)
    others, others_emul = _others_util(targets, processors)
    busiest = max(total, targets.master_total_util or 0, others)
    master_emul = targets.master_emul_util or 0
    master_total = targets.master_total_util or total
    hardware = targets.hardware_total_util
    return [
        ("master_total_util", max(0.0, -others), 0, "percent more than all processors together"),
        ("master_emul_util", max(0.0, -others_emul), 0, "percent more than all together"),
        ("emul_util", emul, 0.99 * total, "percent"),
        ("master_emul_util", master_emul, 0.99 * master_total, "percent"),
        ("emul_util", others_emul, max(0.99 * others, 0), "percent besides the master"),
        ("total_util", busiest, 99.9, "percent on the busiest processor"),
        ("spin_time_us", spin, 0.9 * (total - emul), "percent"),
        ("hardware_emul_util", targets.hardware_emul_util or 0, hardware or 0, "percent"),
    ]


def _others_util(targets: Targets, processors: int) -> tuple[float, float]:
    """Total and emulation percent of each processor besides the master."""
    total, emul = targets.total_util or 0.0, targets.emul_util or 0.0
    if processors == 1:
        return total, emul
    master = total if targets.master_total_util is None else targets.master_total_util
    master_emul = emul if targets.master_emul_util is None else targets.master_emul_util
    rest = processors - 1
    return (processors * total - master) / rest, (processors * emul - master_emul) / rest


def _check_together(run: Run, place: str) -> None:
    """Targets that say nothing without another."""
    targets = run.targets
    for key, needed in NEEDED.items():
        if getattr(targets, key) is not None and getattr(targets, needed) is None:
            raise ScenarioError(
                f"run {run.run_id}: {key} needs {needed}",
                place=f"{place}.{key}",
                found=f"{key} without {needed}",
                remedy=f"add {needed}, or remove {key}",
            )


def _check_clock(scenario: Scenario, run: Run, file: str) -> None:
    """The TOD clock, 64 bits since 1900, can tell every time from the IPL to the last sample."""
    seconds = (run.intervals or scenario.intervals) * scenario.monitor.interval_s
    ipl = run.start - dt.timedelta(hours=run.ipl_hours_before)
    end = run.start + dt.timedelta(seconds=seconds)
    if ipl < TOD_BEGINS or end > TOD_ENDS:
        raise ScenarioError(
            f"run {run.run_id}: the TOD clock has no such time",
            place=f"{file}: run.{run.run_id}.start",
            expected=f"IPL and last sample from {TOD_BEGINS:%Y-%m-%d} to {TOD_ENDS:%Y-%m-%d}",
            found=run.start.isoformat(),
        )


def _check_devices(scenario: Scenario, file: str) -> None:
    """Device numbers are hexadecimal, and no two volumes share one."""
    taken: dict[int, str] = {}
    for number, group in enumerate(scenario.volumes, start=1):
        place = f"{file}: volumes[{number}].first_device"
        try:
            first = int(group.first_device, 16)
        except ValueError:
            first = -1
        devices = range(first, first + group.count)
        if first < 0 or devices.stop > 1 << 16:
            raise ScenarioError(
                f"volumes {group.prefix}: first_device is no device number",
                place=place,
                expected=f"four hexadecimal digits, 0000 to {(1 << 16) - group.count:04X}",
                found=group.first_device,
            )
        if len(f"{group.prefix}{group.count}") > 6:
            raise ScenarioError(
                f"volumes {group.prefix}: the serials would be longer than six characters",
                place=f"{file}: volumes[{number}].prefix",
                found=f"{group.prefix}{group.count}",
                remedy="shorten the prefix",
            )
        both = taken.keys() & set(devices)
        if both:
            raise ScenarioError(
                f"volumes {group.prefix} and {taken[min(both)]} share device {min(both):04X}",
                place=place,
                found=group.first_device,
                remedy="give each group devices of its own",
            )
        taken |= dict.fromkeys(devices, group.prefix)


def _check_user_ids(scenario: Scenario, run: Run, file: str) -> None:
    """User ids are a prefix and a number, eight characters, and differ between groups."""
    prefixes: set[str] = set()
    for number, group in enumerate(scenario.groups_of(run), start=1):
        place = f"{file}: users[{number}].prefix"
        if len(f"{group.prefix}{group.count}") > 8:
            raise ScenarioError(
                f"users {group.name}: the user ids would be longer than eight characters",
                place=place,
                found=f"{group.prefix}{group.count}",
                remedy="shorten the prefix",
            )
        if group.prefix in prefixes:
            raise ScenarioError(
                f"two groups of users have the prefix {group.prefix}",
                place=place,
                found=group.prefix,
                remedy="give each group a prefix of its own",
            )
        prefixes.add(group.prefix)
