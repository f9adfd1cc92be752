"""Feasibility of a run: pages fit in storage, times in a second, and samples have its figures."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping
from decimal import Decimal
from importlib.resources import files
from typing import Any

from msgspec.structs import asdict

from ..config import Document, Place, Table
from ..core.errors import CpmonError, unknown
from .model.measurement import Frames
from .model.processors import MOST_PARTITIONS
from .records.table import Expression
from .scenario.repetitions import (
    CLOCK_CS,
    RATES,
    Difference,
    Repetitions,
    Samples,
    Statistic,
    shortest,
)
from .scenario.scenario import Run, Scenario, Targets

_TOD_BEGINS = dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
_TOD_ENDS = dt.datetime(2042, 9, 17, tzinfo=dt.UTC)
"""The day on which the 64-bit clock wraps."""


class _Room(Table, frozen=True):
    """A target's demand and its limit, as expressions."""

    target: str
    demanded: str
    room: str
    unit: str
    remedy: str = ""


class _TargetTable(Table, frozen=True):
    """The content of `feasibility.toml`."""

    needs: dict[str, str]
    room: tuple[_Room, ...]


def check_feasibility(scenario: Scenario, run: Run, place: Place) -> None:
    """Check one run of a scenario.

    Raises:
        CpmonError: a value does not fit; the error has its key and a value that fits.
    """
    for key, needed in _table().needs.items():
        if getattr(run.targets, key) is not None and getattr(run.targets, needed) is None:
            raise CpmonError(
                f"run {run.run_id}: {key} needs {needed}",
                code="scenario-target-incomplete",
                place=place(f"{run.key}.targets.{key}"),
                found=f"{key} without {needed}",
                remedy=f"add {needed}, or remove {key}",
            )
    figures = _figures(scenario, run)
    for need in _table().room:
        key = need.target
        demanded, room = (
            Expression.compiled(text, key).value(figures) for text in (need.demanded, need.room)
        )
        if demanded > room:
            raise CpmonError(
                f"run {run.run_id}: {key} does not fit",
                code="scenario-target-infeasible",
                place=place(f"{run.key}.targets.{key}"),
                expected=f"room for at most {room:,.1f} {need.unit}",
                found=f"{demanded:,.1f} {need.unit}",
                remedy=f"lower {key}, or {need.remedy}" if need.remedy else f"lower {key}",
            )
    if run.machine.mode == "lpar":
        _check_partitions(scenario, run, place)
    _check_clock(scenario, run, place)
    _check_user_ids(scenario, run, place)


@functools.cache
def _table() -> _TargetTable:
    text = (files(__package__) / "feasibility.toml").read_text(encoding="utf-8")
    return Document(text, "feasibility.toml", "the targets").read(_TargetTable)


def _figures(scenario: Scenario, run: Run) -> dict[str, Any]:
    """The names of the expressions in `feasibility.toml`."""
    frames, targets, processors = Frames(scenario, run), run.targets, run.machine.cpus
    users = sum(group.count for group in scenario.groups_of(run))
    resident = users * (targets.resident_pages_per_user or 0)
    others, others_emul = _others_util(targets, processors)
    return {
        **{key: value or 0 for key, value in asdict(targets).items()},
        "paging_rate": targets.paging_rate or 0,
        "frames": frames,
        "users": users,
        "above": resident * frames.users_above_share,
        "processors": processors,
        "others": others,
        "others_emul": others_emul,
    }


def _others_util(targets: Targets, processors: int) -> tuple[float, float]:
    """Total and emulation percent of each processor besides the master."""
    total, emul = targets.total_util or 0.0, targets.emul_util or 0.0
    if processors == 1:
        return total, emul
    master = total if targets.master_total_util is None else targets.master_total_util
    master_emul = emul if targets.master_emul_util is None else targets.master_emul_util
    rest = processors - 1
    return (processors * total - master) / rest, (processors * emul - master_emul) / rest


def _check_partitions(scenario: Scenario, run: Run, place: Place) -> None:
    """Check that the machine can have the partitions, and has processors for them."""
    machine, others = run.machine, scenario.partitions
    if len(others) >= MOST_PARTITIONS:
        raise CpmonError(
            "there are too many partitions",
            place=place(f"partitions[{MOST_PARTITIONS - 1}]"),
            expected=f"at most {MOST_PARTITIONS - 1} beside this system's",
            found=str(len(others)),
        )
    parts = [(p.name, p.processor_type or machine.processor_type) for p in others]
    for number, part in enumerate(parts):
        if part in parts[:number] or part[0] == machine.partition:
            raise CpmonError(
                "a partition is described twice",
                place=place(f"partitions[{number}].name"),
                expected="one entry for each type of its processors, and none for this system's",
                found=f"{part[0]} with {part[1]}",
            )
    own = (machine.processor_type, machine.processors, machine.dedicated)
    rows = [own, *((k, p.processors, p.dedicated) for (_, k), p in zip(parts, others, strict=True))]
    for kind in dict.fromkeys(kind for kind, _, _ in rows):
        alone = sum(count for of, count, is_alone in rows if of == kind and is_alone)
        pooled = [count for of, count, is_alone in rows if of == kind and not is_alone]
        # Beside a dedicated system the others need not fit: they share the remaining processors.
        least = bool(pooled) if kind == own[0] and machine.dedicated else max([0, *pooled])
        needed, physical = alone + least, machine.physical.get(kind, 0)
        if needed > physical:
            usual = kind == machine.processor_type
            key = "physical_processors" if usual else "other_processors"
            raise CpmonError(
                f"run {run.run_id}: the partitions do not fit the machine",
                place=place(f"machine.{key}"),
                expected=f"at least {needed}{'' if usual else f' {kind}'}: dedicated processors, "
                "and as many shared ones as a partition has",
                found=str(physical),
            )


def _check_clock(scenario: Scenario, run: Run, place: Place) -> None:
    """Check that the TOD clock, 64 bits since 1900, covers the IPL to the last sample."""
    seconds = (run.intervals or scenario.intervals) * scenario.monitor.interval_s
    ipl = run.start - dt.timedelta(hours=run.ipl_hours_before)
    if ipl < _TOD_BEGINS or run.start + dt.timedelta(seconds=seconds) > _TOD_ENDS:
        raise CpmonError(
            f"run {run.run_id}: the TOD clock has no such time",
            place=place(f"{run.key}.start"),
            expected=f"IPL and last sample from {_TOD_BEGINS:%Y-%m-%d} to {_TOD_ENDS:%Y-%m-%d}",
            found=run.start.isoformat(),
        )


def check_volumes(scenario: Scenario, place: Place) -> None:
    """Check that device numbers are hexadecimal and differ, and that serials have six characters.

    Raises:
        CpmonError: they are not; the error has the key of the volumes.
    """
    taken: dict[int, str] = {}
    for number, group in enumerate(scenario.volumes):
        first_device = place(f"volumes[{number}].first_device")
        try:
            devices = group.devices
        except ValueError:
            devices = range(-1, -1)
        if devices.start < 0 or devices.stop > 1 << 16:
            raise CpmonError(
                f"volumes {group.prefix}: first_device is no device number",
                place=first_device,
                expected=f"four hexadecimal digits, 0000 to {(1 << 16) - group.count:04X}",
                found=group.first_device,
            )
        if len(f"{group.prefix}{group.count}") > 6:
            raise CpmonError(
                f"volumes {group.prefix}: the serials would be longer than six characters",
                code="scenario-serial-too-long",
                place=place(f"volumes[{number}].prefix"),
                found=f"{group.prefix}{group.count}",
                remedy="shorten the prefix",
            )
        shared = taken.keys() & set(devices)
        if shared:
            raise CpmonError(
                f"volumes {group.prefix} and {taken[min(shared)]} share device {min(shared):04X}",
                code="scenario-device-shared",
                place=first_device,
                found=group.first_device,
                remedy="give each group devices of its own",
            )
        taken |= dict.fromkeys(devices, group.prefix)


def _check_user_ids(scenario: Scenario, run: Run, place: Place) -> None:
    """Check that user ids (prefix, number) have eight characters and differ between groups."""
    prefixes: set[str] = set()
    for number, group in enumerate(scenario.users):
        count = run.users.get(group.name, group.count)
        if not count:
            continue
        prefix = place(f"users[{number}].prefix")
        if len(f"{group.prefix}{count}") > 8:
            raise CpmonError(
                f"users {group.name}: the user ids would be longer than eight characters",
                code="scenario-user-id-too-long",
                place=prefix,
                found=f"{group.prefix}{count}",
                remedy="shorten the prefix",
            )
        if group.prefix in prefixes:
            raise CpmonError(
                f"two groups of users have the prefix {group.prefix}",
                code="scenario-prefix-duplicate",
                place=prefix,
                found=group.prefix,
                remedy="give each group a prefix of its own",
            )
        prefixes.add(group.prefix)


def check_figures(repetitions: Repetitions) -> None:
    """Check the samples of a scenario.

    Raises:
        CpmonError: a value is impossible; the error has its key and possible values.
    """
    runs = repetitions.runs
    for run in runs.values():
        for measure in run.measures:
            printed = run.statistic(measure)
            _check_least(printed, 1 if measure in RATES else 0)
            printed.check()
        _check_duration(run)
    names: set[str] = {*runs}
    with_rates: set[str] = set()
    for difference in repetitions.differences:
        _check_runs(difference, runs, names)
        names.add(difference.name)
        _check_difference(difference, runs)
    for difference in repetitions.differences:
        if difference.has("read_kb_per_s"):
            # The search for rates of a difference handles two runs at a time.
            if shared := with_rates & set(difference.ends):
                raise CpmonError(
                    f"difference {difference.name}: read_kb_per_s of a run is in two differences",
                    code="scenario-differences-overlap",
                    place=difference.place("read_kb_per_s"),
                    found=", ".join(sorted(shared)),
                    remedy="leave one of them out",
                )
            with_rates |= set(difference.ends)
    for difference in repetitions.differences:
        _check_sums(repetitions, difference)


def _check_least(printed: Statistic, least: int) -> None:
    if printed.mean < least:
        raise CpmonError(
            f"samples cannot have a mean of {printed.mean}",
            place=printed.place,
            expected=f"a mean of at least {least}",
            found=f"{printed.mean}",
        )


def _check_duration(run: Samples) -> None:
    """Check that a sample has a length, and that its processor time fits in it."""
    seconds = float(run.duration_s or 0)
    if run.duration_s is None:
        rates = {m: float(run.statistic(m).mean) for m in RATES if run.has(m)}
        seconds = sum(run.kb(measure) / rate for measure, rate in rates.items())
    if not seconds:
        raise CpmonError(
            f"the samples of run {run.run_id} have no length",
            code="scenario-duration-missing",
            place=run.place(""),
            expected="duration_s, write_kb_per_s or read_kb_per_s",
            remedy="add duration_s = ... there",
        )
    used = sum(run.statistic(m).mean for m in ("virtual_cpu_cs", "cp_cpu_cs"))
    room = (seconds * 100 + CLOCK_CS) * run.virtual_processors
    if used > room:
        raise CpmonError(
            f"run {run.run_id}: a sample uses more processor time than it lasts",
            code="scenario-cpu-time-exceeded",
            place=run.place("virtual_cpu_cs"),
            expected=f"at most {room:,.1f} together with cp_cpu_cs, in {seconds:,.1f} s",
            found=f"{used:,.1f}",
            remedy="lower it, or give the guest more virtual_processors",
        )


def _check_runs(difference: Difference, runs: Mapping[str, Samples], names: set[str]) -> None:
    """Check that the runs of a difference exist, and that its name is free."""
    for end, run_id in zip(("of", "less"), difference.ends, strict=True):
        if run_id not in runs:
            raise unknown("run with samples", run_id, runs, place=difference.place(end))
    if difference.of == difference.less or difference.name in names:
        raise CpmonError(
            f"difference {difference.name} needs two runs and a name of its own",
            place=difference.place(""),
            found=f"{difference.of} less {difference.less}",
        )
    count, other = (runs[run_id].count for run_id in difference.ends)
    if count != other:
        raise CpmonError(
            f"difference {difference.name} pairs samples, and its runs have not as many",
            place=difference.place(""),
            expected=f"{count} samples of {difference.less} as well",
            found=f"{other}",
        )


def _check_difference(difference: Difference, runs: Mapping[str, Samples]) -> None:
    """Check that the mean is the difference of the means, and the deviation within its bounds."""
    of, less = (runs[run_id] for run_id in difference.ends)
    for measure in difference.measures:
        for run in (of, less):
            if not run.has(measure):
                raise CpmonError(
                    f"difference {difference.name} needs {measure} of run {run.run_id}",
                    code="scenario-measure-missing",
                    place=difference.place(measure),
                    remedy=f"add {measure} to [run.{run.run_id}.samples]",
                )
        printed = difference.statistic(measure, of.count)
        if measure in RATES:
            _check_least(printed, 1)
            continue
        minuend, subtrahend = of.statistic(measure), less.statistic(measure)
        mean = minuend.mean - subtrahend.mean
        # Unless means of so many samples are exact, each of the three is off by up to half a digit.
        if abs(printed.mean - mean) > (Decimal("0.15") if 10 % of.count else 0):
            raise CpmonError(
                f"difference {difference.name} has another mean than its runs",
                place=printed.place,
                expected=f"a mean of {shortest(mean, 1)}",
                found=f"{printed.mean}",
            )
        printed.check(signed=True)
        _check_deviation(printed, minuend, subtrahend)


def _check_deviation(printed: Statistic, minuend: Statistic, subtrahend: Statistic) -> None:
    halves = sum(
        1 / (2 * 10**each.written_places)
        for each in (printed, minuend, subtrahend)
        if each.deviation
    )
    low = float(abs(minuend.deviation - subtrahend.deviation)) - halves
    high = float(minuend.deviation + subtrahend.deviation) + halves
    if not low <= float(printed.deviation) <= high:
        raise CpmonError(
            f"no samples that deviate by {minuend.deviation} and {subtrahend.deviation} differ so",
            place=printed.place,
            expected=f"a deviation from {max(low, 0.0):.4g} to {high:.4g}",
            found=f"{printed.deviation}",
        )


def _check_sums(repetitions: Repetitions, difference: Difference) -> None:
    """Check that runs that differences connect have sums that print all their figures."""
    for measure in difference.measures:
        run_ids = repetitions.connected(difference.of, measure)
        if repetitions.sums(run_ids, measure) is None:
            raise CpmonError(
                f"no samples print {measure} of {', '.join(run_ids)} and of their differences",
                code="scenario-figures-contradict",
                place=difference.place(measure),
                expected="means and deviations that whole numbers can have together",
                found=getattr(difference, measure),
                remedy="correct the figures, or leave out the difference",
            )
