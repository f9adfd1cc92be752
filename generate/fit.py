"""Whether a run's figures can be true together: pages in their storage, times in their second."""

from __future__ import annotations

import datetime as dt

from .frames import Frames
from .scenario import Run, Scenario, Targets
from .tables import ScenarioError

TOD_BEGINS = dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
TOD_ENDS = dt.datetime(2042, 9, 17, tzinfo=dt.UTC)
"""The day on which the 64 bits are full."""

ROOM = 1.01
"""Levels vary by a part of a percent around their mean; so much room must be left."""


def check_fit(scenario: Scenario, run: Run, file: str) -> None:
    """Check one run of a scenario.

    Raises:
        ScenarioError: with the key whose value does not fit, and what would.
    """
    place = f"{file}: run.{run.run_id}.targets"
    for key, wanted, room, unit in (*_storage(scenario, run), *_times(scenario, run)):
        if wanted > room:
            raise ScenarioError(
                f"run {run.run_id}: {key} does not fit",
                place=f"{place}.{key}",
                expected=f"room for at most {room:,.1f} {unit}",
                found=f"{wanted:,.1f} {unit}",
                remedy=f"lower {key}, or give the scenario more room",
            )
    _check_clock(scenario, run, file)
    _check_devices(scenario, file)
    _check_user_ids(scenario, run, file)
    targets = run.targets
    if targets.tx_rate is None and targets.dasd_pages_per_tx is not None:
        raise ScenarioError(
            f"run {run.run_id}: dasd_pages_per_tx needs tx_rate",
            place=f"{place}.dasd_pages_per_tx",
            remedy="add tx_rate, or give dasd_page_rate instead",
        )


def _storage(scenario: Scenario, run: Run) -> list[tuple[str, float, float, str]]:
    frames, storage, targets = Frames.of(scenario), scenario.storage, run.targets
    users = sum(group.count for group in scenario.groups_of(run))
    resident = users * targets.resident_pages_per_user
    above = resident * storage.resident_above_share
    room_below = frames.pageable - frames.cache_below - storage.available_below_frames
    room_above = frames.above - frames.cache_above - storage.available_above_frames
    return [
        ("resident_pages_per_user", (resident - above) * ROOM, room_below, "frames below 2 GB"),
        ("resident_pages_per_user", above * ROOM, room_above, "frames above 2 GB"),
        (
            "xstor_pages_per_user",
            users * targets.xstor_pages_per_user * ROOM,
            frames.expanded,
            "blocks of expanded storage",
        ),
        (
            "dasd_pages_per_user",
            users * targets.dasd_pages_per_user * ROOM,
            frames.slots,
            "page slots",
        ),
        ("dasd_page_rate", targets.paging_rate, 1e9 if frames.slots else 0, "pages a second"),
        ("xstor_page_rate", targets.xstor_page_rate, 1e9 if frames.expanded else 0, "pages"),
    ]


def _times(scenario: Scenario, run: Run) -> list[tuple[str, float, float, str]]:
    targets, processors = run.targets, scenario.machine.processors
    cp = targets.total_util - targets.emul_util
    spin = targets.spin_lock_rate * targets.spin_time_us / (10_000 * processors)
    others, others_emul = others_util(targets, processors)
    busiest = max(targets.total_util, targets.master_total_util or 0, others)
    master_emul = targets.master_emul_util or 0
    master_total = targets.master_total_util or targets.total_util
    hardware = targets.hardware_total_util
    return [
        ("master_total_util", max(0.0, -others), 0, "percent more than all processors together"),
        ("master_emul_util", max(0.0, -others_emul), 0, "percent more than all together"),
        ("emul_util", targets.emul_util, 0.95 * targets.total_util, "percent"),
        ("master_emul_util", master_emul, 0.95 * master_total, "percent"),
        (
            "emul_util",
            others_emul,
            max(0.95 * others, 0),
            "percent besides the master",
        ),
        ("total_util", busiest, 99.5, "percent on the busiest processor"),
        ("spin_time_us", spin, 0.9 * cp, "percent"),
        ("hardware_emul_util", targets.hardware_emul_util or 0, hardware or 0, "percent"),
    ]


def others_util(targets: Targets, processors: int) -> tuple[float, float]:
    """Total and emulation percent of each processor besides the master."""
    if processors == 1:
        return targets.total_util, targets.emul_util
    total = targets.total_util if targets.master_total_util is None else targets.master_total_util
    emul = targets.emul_util if targets.master_emul_util is None else targets.master_emul_util
    rest = processors - 1
    return (
        (processors * targets.total_util - total) / rest,
        (processors * targets.emul_util - emul) / rest,
    )


def _check_clock(scenario: Scenario, run: Run, file: str) -> None:
    """The TOD clock, 64 bits since 1900, can tell every time from the IPL to the last sample."""
    seconds = scenario.intervals * scenario.monitor.interval_s
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
