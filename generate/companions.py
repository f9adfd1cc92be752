"""Files beside a dump: run file, console logs, tool outputs, counts of load generator and hardware.

The output formats of the tools (exerciser, thrasher, burner) were never published; these are ours.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import asdict

from ..schemas.unplaced import still_unplaced
from .model.measurement import Clock, Measurement, Timeline
from .model.system import Model
from .numeric import I64, around_one, partition, random_stream
from .samples import durations, samples_of
from .scenario.repetitions import RATES, SCORES, Repetitions, Samples

ZONE = dt.timezone(dt.timedelta(hours=-5), "EST")
"""Time zone of the system; it has no daylight saving time."""

_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")

_COUNTED = ("virtual_cpu_cs", "cp_cpu_cs", "virtual_ios", "page_reads", "page_writes")
_AT_LOGON = np.array([(300, 900), (20, 60), (3000, 6000), (0, 40), (0, 1)]).T
"""Range of each count at logon, when the guest was started: (least, most + 1)."""
_BETWEEN = np.array([(1, 4), (0, 2), (0, 12), (0, 1), (0, 1)]).T
"""Range of the delta of each count between two samples."""

Series = Mapping[str, tuple[int, ...]]
"""Measure -> its samples; measures that were not taken are missing."""


def repetition_files(
    repetitions: Repetitions, run_id: str, start: dt.datetime, user: str, seed: int
) -> Iterator[tuple[str, str, str]]:
    """Kind, end of the file name, and text of each companion file of a run with samples.

    Args:
        start: when the run begins; the first sample begins some seconds later.
        user: user id of the guest that is measured.
        seed: the same seed gives the same files.

    Raises:
        CpmonError: no samples have the printed figures of the scenario.
    """
    run = repetitions.runs.get(run_id)
    if run is None:
        return
    series = {m: samples_of(repetitions, run_id, m, seed) for m in run.measures}
    lengths = durations(repetitions, run_id, seed)
    moments = _moments(run, series, lengths, start, random_stream(seed, "session", run_id))
    yield "query_time", "query-time.txt", _text(_query_time(moments))
    if run.has("virtual_ios"):
        yield "indicate_user", "indicate-user.txt", _text(_indicate_user(run, moments, user))
    if any(run.has(measure) for measure in RATES):
        yield "exerciser", "exerciser.txt", _text(_exerciser(run, series))
    for tool in SCORES:
        if run.has(tool):
            yield tool, f"{tool}.txt", _text(_scores(series[tool], run.period_s))


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Moment:
    """Counts since logon at the begin or end of a sample. Times are seconds and 0.01 s."""

    comment: str
    when: dt.datetime
    connect_s: int
    virtual_cs: int
    cp_cs: int
    ios: int
    page_reads: int
    page_writes: int

    @property
    def total_cs(self) -> int:
        """Virtual and CP time."""
        return self.virtual_cs + self.cp_cs


def _moments(
    run: Samples,
    series: Series,
    lengths: tuple[int, ...],
    start: dt.datetime,
    rng: np.random.Generator,
) -> list[Moment]:
    """Begin and end of every sample in the guest's session, the first some seconds after `start`.

    Args:
        lengths: of the samples, s.
    """
    connected = int(rng.integers(1200, 5400))
    pauses = rng.integers(3, 9, size=run.count)
    pauses[0] += connected
    seconds = np.cumsum(np.stack([pauses, lengths], axis=1)).tolist()
    none = (0,) * run.count
    deltas: I64 = np.array([series.get(measure, none) for measure in _COUNTED], dtype=np.int64).T
    idle = rng.integers(_BETWEEN[0], _BETWEEN[1], size=deltas.shape)
    idle[0] = rng.integers(_AT_LOGON[0], _AT_LOGON[1])
    counts = np.cumsum(np.stack([idle, deltas], axis=1).reshape(-1, len(_COUNTED)), axis=0)
    logon = start.replace(microsecond=0) - dt.timedelta(seconds=connected)
    moments = []
    for at, (second, row) in enumerate(zip(seconds, counts.tolist(), strict=True)):
        # CP ignores a line that begins with an asterisk: a comment of the operator.
        comment = f"* {run.run_id} sample {at // 2 + 1} {'ends' if at % 2 else 'begins'}"
        when = (logon + dt.timedelta(seconds=second)).astimezone(ZONE)
        moments.append(Moment(comment, when, second, *row))
    return moments


def _query_time(moments: list[Moment]) -> Iterator[str]:
    """CP QUERY TIME responses: time of day; since logon time connected and processor time."""
    for moment in moments:
        yield moment.comment
        yield "QUERY TIME"
        # Not %A, which the locale of the process changes.
        day = _DAYS[moment.when.weekday()]
        yield f"TIME IS {moment.when:%H:%M:%S} {moment.when.tzname()} {day} {moment.when:%m/%d/%y}"
        minutes, seconds = divmod(moment.connect_s, 60)
        connect = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
        virtual, total = _mmm_ss_hs(moment.virtual_cs), _mmm_ss_hs(moment.total_cs)
        yield f"CONNECT= {connect} VIRTCPU= {virtual} TOTCPU= {total}"


def _mmm_ss_hs(hundredths: int) -> str:
    return f"{hundredths // 6000:03}:{hundredths // 100 % 60:02}.{hundredths % 100:02}"


def _indicate_user(run: Samples, moments: list[Moment], user: str) -> Iterator[str]:
    """CP INDICATE USER responses: counts since logon.

    I/Os and processor time are given for each virtual processor; the first has the remainder.
    """
    for moment in moments:
        yield moment.comment
        yield "INDICATE USER"
        yield f"USERID={user} MACH=ESA STOR={run.storage_mib}M VIRT=V XSTORE=NONE"
        yield "IPLSYS=DEV 0201 DEVNUM=00014"
        yield (
            f"PAGES: RES={run.resident_pages:08} WS={run.working_set_pages:08}"
            " LOCK=00000028 RESVD=00000000"
        )
        yield (
            f"NPREF=00000000 PREF=00000000"
            f" READS={moment.page_reads:08} WRITES={moment.page_writes:08}"
        )
        connected, totals = moment.connect_s // 60, (moment.virtual_cs, moment.total_cs)
        for number in range(run.virtual_processors):
            ios, virtual, total = (
                count // run.virtual_processors + (count % run.virtual_processors) * (number == 0)
                for count in (moment.ios, *(hundredths // 100 for hundredths in totals))
            )
            yield (
                f"CPU {number:02}: CTIME={connected // 60:02}:{connected % 60:02}"
                f" VTIME={virtual // 60:03}:{virtual % 60:02}"
                f" TTIME={total // 60:03}:{total % 60:02} IO={ios:06}"
            )
            yield "        RDR=000000 PRT=000000 PCH=000000"


def _exerciser(run: Samples, series: Series) -> Iterator[str]:
    """Output of the DASD exerciser: in each sample the file is written once, then read.

    A line has the rate in whole KB/s.
    """
    operations = (("write", "write_kb_per_s", 1), ("read", "read_kb_per_s", run.read_passes))
    for sample in range(run.count):
        for operation, measure, passes in operations:
            if measure in series:
                kb, rate = run.kb(measure), series[measure][sample]
                # Hundredths of a second, rounded half up in whole numbers.
                hundredths = (200 * kb + rate) // (2 * rate)
                seconds = f"{hundredths // 100}.{hundredths % 100:02}"
                done = f"{operation} {passes} {'pass' if passes == 1 else 'passes'}"
                yield f"sample {sample + 1} {done} {kb} KB {seconds} s {rate} KB/s"


def _scores(counts: tuple[int, ...], period_s: int) -> Iterator[str]:
    """Output of thrasher or burner: the count of each period."""
    for period, score in enumerate(counts, start=1):
        yield f"period {period} {period_s} s score {score}"


_US = 1_000_000
_MARGIN = dt.timedelta(seconds=5)


def companions(model: Model) -> Iterator[tuple[str, str, str]]:
    """Kind, file suffix and text of each companion file that a run asks for."""
    measurement, clock = model.measurement, model.clock
    ends = [
        clock.end_moment(k).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
        for k in range(1, measurement.intervals + 1)
    ]
    seconds = [f"{us / _US:.6f}" for us in np.diff(clock.ends // 4096).tolist()]
    if measurement.targets.tx_rate is not None:
        counts = [str(count) for count in model.transactions.count.tolist()]
        text = _csv("interval_end,seconds,transactions", ends, seconds, counts)
        yield "throughput", "throughput.csv", text
    if measurement.targets.hardware_total_util is not None:
        columns = _hardware(measurement, model.timeline)
        text = _csv("interval_end,seconds,busy_s,emulation_s", ends, seconds, *columns)
        yield "hardware", "hardware.csv", text
    repetitions = measurement.scenario.repetitions
    if repetitions is not None:
        user, seed = str(model.users.names[0]), measurement.seed
        yield from repetition_files(
            repetitions, measurement.run.run_id, measurement.run.start, user, seed
        )


def _hardware(measurement: Measurement, timeline: Timeline) -> tuple[list[str], list[str]]:
    """Busy and emulation seconds of all processors in each interval, as text.

    The instrumentation follows the same load, with its own random error.
    """
    rng, targets = measurement.rng("hardware"), measurement.targets
    span = int(timeline.up_seconds.sum()) * measurement.processors * _US
    total = round(span * (targets.hardware_total_util or 0) / 100)
    emulation = round(span * (targets.hardware_emul_util or 0) / 100)
    spread = measurement.scenario.spread * 0.3 * (1 - (targets.hardware_total_util or 0) / 100)
    varied = timeline.up_seconds * around_one(rng, measurement.intervals, spread)
    columns = [partition(us, varied).tolist() for us in (total, emulation)]
    busy, emul = ([f"{us / _US:.6f}" for us in column] for column in columns)
    return busy, emul


def _csv(header: str, *columns: list[str]) -> str:
    rows = [",".join(row) for row in zip(*columns, strict=True)]
    return "\n".join([header, *rows]) + "\n"


def run_file(measurement: Measurement, clock: Clock, companions: Mapping[str, str]) -> str:
    """The text of a run file.

    Args:
        companions: kind -> file name.
    """
    run, begin = measurement.run, clock.end_moment(0)
    steady, end = clock.end_moment(measurement.warmup), clock.end_moment(measurement.intervals)
    lines = [
        f"run_id = {_value(run.run_id)}",
        f"system = {_value(measurement.scenario.system)}",
        f"base_run_id = {_value(run.base_run_id or run.run_id)}",
        # The configuration before the first sample belongs to the run.
        f"since = {_time(begin - _MARGIN)}",
        f"until = {_time(end + _MARGIN)}",
    ]
    if measurement.warmup:
        lines += [
            f"steady_since = {_time(steady + _MARGIN)}",
            f"steady_until = {_time(end + _MARGIN)}",
        ]
    lines += ["", "[attributes]"]
    lines += [f"{key} = {_value(value)}" for key, value in _attributes(measurement).items()]
    if companions:
        lines += ["", "[companions]"]
        lines += [f"{kind} = {_value(name)}" for kind, name in companions.items()]
    for place in still_unplaced(measurement.scenario.places):
        lines += ["", "[[assumed]]"]
        lines += [f"{key} = {_value(value)}" for key, value in asdict(place).items()]
    return "\n".join(lines) + "\n"


def _attributes(measurement: Measurement) -> dict[str, Any]:
    machine, storage = measurement.machine, measurement.storage
    lpar = "LPAR dedicated" if machine.dedicated else "LPAR shared"
    return {
        "scenario": measurement.scenario.name,
        "cp_level": measurement.run.cp_level,
        "users": measurement.users,
        "processors": machine.processors,
        "machine": f"{machine.type}-{machine.model}",
        "processor_mode": "basic mode" if machine.mode == "basic" else lpar,
        "central_storage": _size(storage.central_mib),
        "expanded_storage": _size(storage.expanded_mib),
        **measurement.run.attributes,
    }


def _size(mib: int) -> str:
    if mib and mib % 1024 == 0:
        return f"{mib // 1024}GB"
    return f"{mib}MB" if mib else "0"


def _time(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"


def _value(value: Any) -> str:
    """A TOML value; a text is written as JSON, of which TOML's basic strings are a superset."""
    if isinstance(value, dt.datetime):
        return _time(value)
    is_scalar = isinstance(value, bool | int | float | str)
    return json.dumps(value if is_scalar else str(value), ensure_ascii=False)
