"""A run from model to files: the dump, its run file and the companions beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .companions import companions, run_file
from .damage.requests import Damage, check_compressed, cut_file, damaged, parse_damage
from .encode.container import END_OF_DATA, Container, Delivery, captured
from .encode.sampler import Sampler
from .model.measurement import Measurement
from .model.system import Model
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
    progress: Callable[[int], None] | None = None,
) -> WrittenRun:
    """Write a run's dump, run file and companions into a folder; each is renamed when complete.

    Args:
        intervals, seed: see `dump_frames`.
        compression: of the dump; the run's by default.
        container: a MONWRITE file, or what /dev/monreader would deliver of the same data.
        damage: applied to the dump in this order, after the damage that the run has.
            Where a place depends on its size, it is generated twice, the first time to count.
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
    with dump_file(dump, packed, lambda file: cut_file(file, damages, picks)) as sink:
        for chunk in _damaged_chunks(model, container, damages, picks):
            sink.write(chunk)
            if progress is not None:
                progress(len(chunk))
    beside = {}
    for kind, suffix, text in companions(model):
        beside[kind] = target / f"{run_id}.{suffix}"
        write_text(beside[kind], text)
    about = target / f"{run_id}.run.toml"
    names = {kind: path.name for kind, path in beside.items()}
    write_text(about, run_file(model.measurement, model.clock, names))
    return WrittenRun(dump, about, tuple(beside.values()), dump.stat().st_size)


def _damaged_chunks(
    model: Model, container: Container, damage: Sequence[Damage], seed: int
) -> Iterator[Chunk]:
    """The chunks as they are written: in their container, then damaged."""

    def whole() -> Iterator[Chunk]:
        chunks = _chunks(model)
        return captured(chunks) if container == "monreader" else chunks

    counted = any(kind.needs_size for kind in damage)
    return damaged(whole(), damage, seed, sum(map(len, whole())) if counted else None)


def _chunks(model: Model) -> Iterator[Chunk]:
    """Control records and data of every interval, and the end of data."""
    measurement, samples = model.measurement, Sampler(model)
    size = measurement.scenario.monitor.segment_mib << 20
    delivery = Delivery(size)
    for number in np.flatnonzero(model.timeline.exists).tolist():
        blocks = samples.blocks(number)
        if model.timeline.written[number]:
            yield from delivery.interval(blocks, samples.events, model.clock.end(number))
    yield END_OF_DATA
