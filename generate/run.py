"""A run from model to files: the dump, its run file and the companions beside it.

Companions are counts of load generator and hardware, and the samples of a scenario.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from ..schemas.unplaced import still_unplaced
from .damage.requests import Damage, check_compressed, cut_file, damaged, parse_damage
from .encode.container import END_OF_DATA, Container, Delivery, captured
from .encode.sampler import Sampler
from .model.measurement import Measurement, Timeline
from .model.system import Model
from .numeric import around_one, partition
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


def stream_run(
    scenario: Scenario,
    run_id: str,
    *,
    intervals: int | None = None,
    seed: int | None = None,
    container: Container = "monwrite",
    damage: Sequence[Damage] = (),
    pace: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Chunk]:
    """The dump of a run as `write_run` writes it, chunk by chunk; what ends an interval comes then.

    Args:
        pace: how many times as fast as real time; None: at once.
        sleep: waits for some seconds.

    Raises:
        CpmonError: see `dump_frames`.
        DamageError: the damage does not apply to this dump.
    """
    model = Model(Measurement(scenario, run_id, intervals, seed))
    damages, picks = (
        [*map(parse_damage, model.measurement.run.damage), *damage],
        model.measurement.seed,
    )
    is_counted = any(kind.needs_size for kind in damages)
    size = sum(map(len, _contained(_chunks(model), container))) if is_counted else None
    begin = time.monotonic()

    def wait(number: int) -> None:
        if pace is not None:
            due = (model.clock.end(number) - model.clock.end(0)) / 4096e6 / pace
            sleep(max(0.0, begin + due - time.monotonic()))

    yield from damaged(_contained(_chunks(model, wait), container), damages, picks, size)


def _contained(chunks: Iterator[Chunk], container: Container) -> Iterator[Chunk]:
    return captured(chunks) if container == "monreader" else chunks


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
        return _contained(_chunks(model), container)

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


def _chunks(model: Model, wait: Callable[[int], None] = lambda _interval: None) -> Iterator[Chunk]:
    """Control records and data of every interval, and the end of data.

    Args:
        wait: called with the number of an interval before it comes.
    """
    samples = Sampler(model)
    delivery = Delivery(model.measurement.scenario.monitor.segment_mib << 20)
    for number in np.flatnonzero(model.timeline.exists).tolist():
        blocks, events = samples.blocks(number)
        wait(number)
        if model.timeline.written[number]:
            yield from delivery.interval(blocks, events, model.clock.end(number))
    yield END_OF_DATA


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
    if samples := measurement.run.samples:
        names = [measure for measure, values in samples.items() for _ in values]
        numbers = [str(n) for values in samples.values() for n in range(1, len(values) + 1)]
        figures = [str(value) for values in samples.values() for value in values]
        yield "samples", "samples.csv", _csv("measure,sample,value", names, numbers, figures)


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
