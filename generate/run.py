"""A run from model to files: the dump, its run file and the companions beside it.

Companions are console logs, outputs of tools, and counts of load generator and hardware. The output
formats of the tools (exerciser, thrasher, burner) were never published; these are ours.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import asdict

from ..schemas.unplaced import still_unplaced
from .damage.requests import Damage, check_compressed, cut_file, damaged, parse_damage
from .encode.container import END_OF_DATA, Container, Delivery, captured
from .encode.sampler import Sampler
from .model.measurement import Measurement, Timeline
from .model.system import Model
from .numeric import I64, around_one, partition, random_stream
from .samples import durations, samples_of
from .scenario.repetitions import RATES, SCORES, Repetitions, Samples
from .scenario.scenario import Scenario
from .sink import SUFFIXES, Chunk, Compression, dump_file, write_text


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """The files of a run; `bytes` is the size of the dump as written."""

    dump: Path
    run_file: Path
    companions: tuple[Path, ...]
    bytes: int


def dump_frames(
    scenario: Scenario, run_id: str, *, intervals: int | None = None, seed: int | None = None
) -> Iterator[Chunk]:
    """The dump of a run as chunks of bytes, one control record or set at a time.

    Args:
        intervals: number of deltas: the dump has one sample more. The scenario's by default.
        seed: other seeds give other random variations of the same run.

    Raises:
        CpmonError: no such run, or a sample that the monitor segment cannot hold.
    """
    return _chunks(Model(Measurement(scenario, run_id, intervals, seed)))


def write_run(  # noqa: PLR0913 - each is an option of the command
    scenario: Scenario,
    run_id: str,
    folder: Path | str,
    *,
    intervals: int | None = None,
    seed: int | None = None,
    compression: Compression | None = None,
    container: Container = "monwrite",
    damage: Sequence[Damage] = (),
    truth: bool = False,
    progress: Callable[[int], None] | None = None,
) -> WrittenRun:
    """Write a run's dump, run file and companions into a folder; each is renamed when complete.

    Args:
        intervals, seed: see `dump_frames`.
        compression: of the dump; the run's by default.
        container: a MONWRITE file, or what /dev/monreader would deliver of the same data.
        damage: applied to the dump in this order, after the damage that the run has.
            Where a place depends on its size, it is generated twice, the first time to count.
        truth: whether what really happened is written beside the dump, as Parquet files in
            the folder `RUN.truth`.
        progress: called with the number of dump bytes after each chunk, before compression.

    Raises:
        CpmonError: see `dump_frames`.
        DamageError: the damage does not apply to this dump; no dump was written.
    """
    model = Model(Measurement(scenario, run_id, intervals, seed))
    run = model.measurement.run
    damages = [*map(parse_damage, run.damage), *damage]
    packed = run.compression if compression is None else compression
    check_compressed(damages, compressed=packed != "none")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    dump = target / f"{run_id}.mon{SUFFIXES[packed]}"
    picks = model.measurement.seed

    def chunks() -> Iterator[Chunk]:
        return captured(_chunks(model)) if container == "monreader" else _chunks(model)

    is_counted = any(kind.needs_size for kind in damages)
    size = sum(map(len, chunks())) if is_counted else None
    with dump_file(dump, packed, lambda file: cut_file(file, damages, picks)) as sink:
        for chunk in damaged(chunks(), damages, picks, size):
            sink.write(chunk)
            if progress is not None:
                progress(len(chunk))
    if truth:
        from .truth import write_truth  # pyarrow's Parquet takes a while to import

        write_truth(model, target / f"{run_id}.truth")
    beside = {}
    for kind, suffix, text in _companions(model):
        beside[kind] = target / f"{run_id}.{suffix}"
        write_text(beside[kind], text)
    about = target / f"{run_id}.run.toml"
    write_text(about, _run_file(model, beside))
    return WrittenRun(dump, about, tuple(beside.values()), dump.stat().st_size)


def _chunks(model: Model) -> Iterator[Chunk]:
    """Control records and data of every interval, and the end of data."""
    samples = Sampler(model)
    delivery = Delivery(model.measurement.scenario.monitor.segment_mib << 20)
    for number in np.flatnonzero(model.timeline.exists).tolist():
        blocks, events = samples.blocks(number)
        if model.timeline.written[number]:
            yield from delivery.interval(blocks, events, model.clock.end(number))
    yield END_OF_DATA


_ZONE = dt.timezone(dt.timedelta(hours=-5), "EST")
"""Time zone of the system; it has no daylight saving time."""

_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")

_COUNTED = ("virtual_cpu_cs", "cp_cpu_cs", "virtual_ios", "page_reads", "page_writes")
_AT_LOGON = np.array([(300, 900), (20, 60), (3000, 6000), (0, 40), (0, 1)]).T
_BETWEEN = np.array([(1, 4), (0, 2), (0, 12), (0, 1), (0, 1)]).T
"""Ranges, (least, most + 1), of each count at logon, and of its delta between two samples."""

_Series = Mapping[str, tuple[int, ...]]
"""Measure -> its samples; measures that were not taken are missing."""


def repetition_files(
    repetitions: Repetitions, run_id: str, start: dt.datetime, user: str, seed: int
) -> Iterator[tuple[str, str, str]]:
    """Kind, end of the file name, and text of each companion file of a run with samples.

    Args:
        start: when the run begins; the first sample begins some seconds later.
        user: user id of the guest that is measured.

    Raises:
        CpmonError: no samples have the printed figures of the scenario.
    """
    run = repetitions.runs.get(run_id)
    if run is None:
        return
    series = {m: samples_of(repetitions, run_id, m, seed) for m in run.measures}
    lengths = durations(repetitions, run_id, seed)
    moments = _moments(run, series, lengths, start, random_stream(seed, "session", run_id))
    files = {"query_time": _query_time(moments)}
    if run.has("virtual_ios"):
        files["indicate_user"] = _indicate_user(run, moments, user)
    if any(run.has(measure) for measure in RATES):
        files["exerciser"] = _exerciser(run, series)
    for tool in filter(run.has, SCORES):
        scores = enumerate(series[tool], start=1)
        files[tool] = (f"period {n} {run.period_s} s score {score}" for n, score in scores)
    for kind, lines in files.items():
        yield kind, f"{kind.replace('_', '-')}.txt", "\n".join(lines) + "\n"


class _Moment(NamedTuple):
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
    series: _Series,
    lengths: tuple[int, ...],
    start: dt.datetime,
    rng: np.random.Generator,
) -> list[_Moment]:
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
        when = (logon + dt.timedelta(seconds=second)).astimezone(_ZONE)
        moments.append(_Moment(comment, when, second, *row))
    return moments


def _query_time(moments: list[_Moment]) -> Iterator[str]:
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


def _indicate_user(run: Samples, moments: list[_Moment], user: str) -> Iterator[str]:
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


def _exerciser(run: Samples, series: _Series) -> Iterator[str]:
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


_US = 1_000_000
_MARGIN = dt.timedelta(seconds=5)


def _companions(model: Model) -> Iterator[tuple[str, str, str]]:
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
    repetitions, run = measurement.scenario.repetitions, measurement.run
    if repetitions is not None:
        user = str(model.users.names[0])
        yield from repetition_files(repetitions, run.run_id, run.start, user, measurement.seed)


def _hardware(measurement: Measurement, timeline: Timeline) -> list[list[str]]:
    """Busy and emulation seconds of all processors in each interval, as text.

    The instrumentation follows the same load, with its own random error.
    """
    rng, targets = measurement.rng("hardware"), measurement.targets
    span = int(timeline.up_seconds.sum()) * measurement.processors * _US
    total = round(span * (targets.hardware_total_util or 0) / 100)
    emulation = round(span * (targets.hardware_emul_util or 0) / 100)
    spread = measurement.scenario.spread * 0.3 * (1 - (targets.hardware_total_util or 0) / 100)
    varied = timeline.up_seconds * around_one(rng, measurement.intervals, spread)
    return [
        [f"{us / _US:.6f}" for us in partition(span_us, varied).tolist()]
        for span_us in (total, emulation)
    ]


def _csv(header: str, *columns: list[str]) -> str:
    rows = [",".join(row) for row in zip(*columns, strict=True)]
    return "\n".join([header, *rows]) + "\n"


def _run_file(model: Model, companions: Mapping[str, Path]) -> str:
    """The text of a run file; `companions`: kind -> file."""
    measurement, clock, run = model.measurement, model.clock, model.measurement.run
    machine, storage = measurement.machine, measurement.storage
    ends = (0, measurement.warmup, measurement.intervals)
    begin, steady, end = map(clock.end_moment, ends)
    general = {
        "run_id": run.run_id,
        "system": measurement.scenario.system,
        "base_run_id": run.base_run_id or run.run_id,
        # The configuration before the first sample belongs to the run.
        "since": begin - _MARGIN,
        "until": end + _MARGIN,
    }
    if measurement.warmup:
        general |= {"steady_since": steady + _MARGIN, "steady_until": end + _MARGIN}
    lpar = "LPAR dedicated" if machine.dedicated else "LPAR shared"
    attributes = {
        "scenario": measurement.scenario.name,
        "cp_level": run.cp_level,
        "users": measurement.users,
        "processors": machine.processors,
        "machine": f"{machine.type}-{machine.model}",
        "processor_mode": "basic mode" if machine.mode == "basic" else lpar,
        "central_storage": _size(storage.central_mib),
        "expanded_storage": _size(storage.expanded_mib),
        **run.attributes,
    }
    tables = [("", general), ("\n[attributes]\n", attributes)]
    if companions:
        tables.append(("\n[companions]\n", {kind: file.name for kind, file in companions.items()}))
    for place in still_unplaced(measurement.scenario.places):
        tables.append(("\n[[assumed]]\n", asdict(place)))
    return "".join(
        head + "".join(f"{key} = {_value(value)}\n" for key, value in table.items())
        for head, table in tables
    )


def _size(mib: int) -> str:
    if mib and mib % 1024 == 0:
        return f"{mib // 1024}GB"
    return f"{mib}MB" if mib else "0"


def _value(value: Any) -> str:
    """A TOML value; a text is written as JSON, of which TOML's basic strings are a superset."""
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"
    is_scalar = isinstance(value, bool | int | float | str)
    return json.dumps(value if is_scalar else str(value), ensure_ascii=False)
