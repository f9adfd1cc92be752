"""What really happened in a run: a row for each object and interval, from the model's own state.

The figures never come from counters, samples or encoded records, so that no mistake of these can
be in them. What the model cannot say truly has no column. Units are those of the metrics: seconds
used, operations, pages, levels in pages or MiB; `exists_s` is how long the object existed in the
interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..core.atomic import replacing
from .activity.dispatching import dispatch_times, pages_moved, processor_activity
from .activity.usage import (
    ended_transactions,
    holdings,
    slots_used,
    usage,
    virtual_ios,
    volume_work,
)
from .activity.virtual_devices import adapter_bytes, disk_ios, network_bytes, rates_of
from .model.measurement import SCM_PER_S, TOD_PER_S, TOD_PER_US, moment
from .model.population import Reported
from .model.presence import Presence, Stay
from .model.processors import Partitions
from .model.system import Model, Sample
from .numeric import F64, I64
from .scenario.scenario import FileSystem, GuestProcess

Columns = Mapping[str, Any]
"""(objects,) values by column; the first columns name the object."""


def write_truth(model: Model, folder: Path) -> list[Path]:
    """Writes the truth of a run as Parquet files, one a kind of object, into a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, table in truth(model).items():
        file = folder / f"{kind}.parquet"
        with replacing(file) as part:
            pq.write_table(table, part, compression="zstd")
        files.append(file)
    return files


def truth(model: Model) -> dict[str, pa.Table]:
    """The truth of a run: a table for each kind of object of the system.

    Each has `system`, `interval_begin` and `interval_end` (UTC, microseconds), `seconds`, what
    names the object, `exists_s`, `in_dump` (whether the samples at begin and end were
    written), `sampled` (whether MONITOR samples the object then), and its figures.
    """
    parts: dict[str, list[pa.Table]] = {}
    line = model.timeline
    for number in range(1, len(line.exists)):
        if line.up[number - 1]:
            sample = Sample(model, number)
            for kind, columns in _KINDS.items():
                if (table := _table(sample, columns(sample))).num_rows:
                    parts.setdefault(kind, []).append(table)
    return {kind: pa.concat_tables(tables) for kind, tables in parts.items()}


def _table(sample: Sample, columns: Columns) -> pa.Table:
    model, number = sample.model, sample.number
    rows = len(next(iter(columns.values())))
    begin, end = (model.clock.end_moment(n).replace(tzinfo=None) for n in (number - 1, number))
    seconds = (end - begin).total_seconds()
    micros = pa.timestamp("us")
    written = bool(model.timeline.written[number - 1 : number + 1].all())
    arrays = {
        "system": pa.array([model.measurement.scenario.system] * rows, pa.string()),
        "interval_begin": pa.array([begin] * rows, micros),
        "interval_end": pa.array([end] * rows, micros),
        "seconds": pa.array(np.full(rows, seconds)),
        "in_dump": pa.array([written] * rows),
        **{name: pa.array(_plain(values)) for name, values in columns.items()},
    }
    return pa.table(arrays)


def _plain(values: Any) -> npt.NDArray[Any]:
    return np.ascontiguousarray(values)


def _existence(sample: Sample, stay: Stay, chosen: Any = slice(None)) -> Columns:
    """How long some objects existed, whether at begin and end, how often they began and ended."""
    begun, ended = np.zeros(len(stay.now), dtype=np.int64), np.zeros(len(stay.now), dtype=np.int64)
    for _, objects in stay.begins:
        begun += objects
    for each in stay.ends:
        ended += each.objects
    columns = {
        "exists_s": _existed(sample, stay),
        "at_begin": stay.before,
        "at_end": stay.now,
        "begun": begun,
        "ended": ended,
    }
    return {name: values[chosen] for name, values in columns.items()}


def _existed(sample: Sample, stay: Stay) -> F64:
    """(objects,) seconds that objects existed between two samples, which are early or late by ms.

    What happens in between happens at its time.
    """
    late = (sample.model.clock.ends - sample.model.timeline.edges) / TOD_PER_S
    begin, end = late[sample.number - 1 : sample.number + 1]
    existed: F64 = stay.share * sample.seconds - begin * stay.before + end * stay.now
    return np.where(stay.share > 0, existed, 0.0)


def _sampled(sample: Sample, presence: Presence) -> Any:
    """(objects,) whether MONITOR samples each at begin and end of the interval."""
    return presence.at(sample.number - 1) & presence.at(sample.number)


def _of_users(sample: Sample, of_rows: I64) -> F64:
    """(users,) sum of (virtual processors,) values, seconds."""
    users = sample.model.users
    return np.bincount(users.owner, of_rows, len(users.names)) / TOD_PER_S


def _suspended(sample: Sample) -> bool:
    """Whether CP records no events for a part of the interval."""
    begin, end = sample.model.timeline.edges[sample.number - 1 : sample.number + 1]
    told = (each for each in sample.model.measurement.events if each.kind == "suspend")
    return any(moment(e.at_s) <= end and moment(e.at_s + e.lasts_s) > begin for e in told)


def _system(sample: Sample) -> Columns:
    model, times, work = sample.model, sample.times, volume_work(sample)
    ended, moved, held = ended_transactions(sample), pages_moved(sample), holdings(sample)
    response = ended.trivial_time.sum() + ended.nontrivial_time.sum()
    values = {
        "online_s": _existed(sample, sample.processors).sum(),
        "working_s": times.working.sum() * sample.seconds,
        "emulation_s": times.emulation.sum() / TOD_PER_S,
        "charged_s": times.charged.sum() / TOD_PER_S,
        "system_s": times.system.sum() / TOD_PER_S,
        "suspended_s": times.suspended.sum() / TOD_PER_S,
        "spins": times.spins.sum(),
        "spin_s": times.spin_time.sum() / TOD_PER_S,
        "user_s": _existed(sample, sample.users).sum(),
        "users_at_end": sample.users.now.sum(),
        "page_reads": moved.dasd_in.sum(),
        "page_writes": moved.dasd_out.sum(),
        "xstor_pages": moved.fast_in.sum() + moved.slow_in.sum() + moved.out.sum(),
        "starts": work.starts.sum(),
        "transactions": ended.trivial.sum() + ended.nontrivial.sum(),
        "transaction_s": response / TOD_PER_S,
        "storage_mib": model.measurement.storage.central_mib + model.added_mib(sample.number),
        "storage_added_mib": model.added_mib(sample.number),
        "suspended": _suspended(sample),
        "virtual_mib": (model.users.storage * sample.present).sum() >> 20,
        "resident_pages": held.resident_below.sum(),
        "dasd_pages": held.slots.sum(),
        "spool_slots": (model.volumes.slots * model.volumes.is_spool * sample.areas.now).sum(),
    }
    return {name: np.array([float(value)]) for name, value in values.items()}


def _users(sample: Sample) -> Columns:
    users, used, held = sample.model.users, usage(sample), holdings(sample)
    console, unit_record, network = virtual_ios(sample)
    return {
        "userid": users.names,
        **_existence(sample, sample.users),
        "sampled": _sampled(sample, sample.model.sampling.users),
        "processors_change": _change(sample),
        "cpu_s": _of_users(sample, used.virtual + used.cp),
        "virtual_s": _of_users(sample, used.virtual),
        "dasd_ios": used.disk_ios,
        "console_ios": console,
        "unit_record_ios": unit_record,
        "other_ios": network,
        "page_reads": used.dasd_reads,
        "page_writes": used.dasd_writes,
        "steals": used.stolen,
        "resident_pages": held.resident_below,
        "working_set_pages": held.working_set,
        "xstor_pages": held.expanded,
        "dasd_pages": held.slots,
        "relative_share": users.share(int(sample.model.timeline.edges[sample.number])),
        "storage_mib": users.storage >> 20,
        "virtual_processors": np.bincount(users.owner[sample.rows.now], minlength=len(users.names)),
    }


def _change(sample: Sample) -> Any:
    """(users,) whether virtual processors are defined or detached in the interval."""
    users, rows, sessions = sample.model.users, sample.rows, sample.users
    changed = rows.ended & ~sessions.ended[users.owner]
    changed |= rows.share != sessions.share[users.owner]
    return np.bincount(users.owner, changed, len(users.names)) > 0


def _virtual_processors(sample: Sample) -> Columns:
    users, used = sample.model.users, usage(sample)
    return {
        "userid": users.names[users.owner],
        "address": users.address,
        **_existence(sample, sample.rows),
        "cpu_s": (used.virtual + used.cp) / TOD_PER_S,
        "virtual_s": used.virtual / TOD_PER_S,
    }


def _processors(sample: Sample) -> Columns:
    times, moved, activity = sample.times, pages_moved(sample), processor_activity(sample)
    return {
        "cpu": np.arange(len(times.busy)),
        **_existence(sample, sample.processors),
        "working_s": times.working * sample.seconds,
        "emulation_s": times.emulation / TOD_PER_S,
        "charged_s": times.charged / TOD_PER_S,
        "system_s": times.system / TOD_PER_S,
        "suspended_s": times.suspended / TOD_PER_S,
        "spin_s": times.spin_time / TOD_PER_S,
        "page_reads": moved.dasd_in,
        "page_writes": moved.dasd_out,
        "diagnoses": activity["diagnoses"] + activity["diagnose_44"],
    }


def _devices(sample: Sample) -> Columns:
    volumes, work = sample.model.volumes, volume_work(sample)
    begin, end = (int(edge) for edge in sample.model.timeline.edges[sample.number - 1 :][:2])
    return {
        "device": volumes.devices,
        "volser": volumes.serials_at(end),
        "volume_changes": volumes.serials_at(begin) != volumes.serials_at(end),
        "kind": np.where(volumes.is_page, "page", np.where(volumes.is_spool, "spool", "user")),
        **_existence(sample, sample.devices),
        "measured_s": _existed(sample, sample.measured),
        "sampled": _sampled(sample, sample.model.sampling.devices),
        "starts": work.starts,
        "avoided": work.avoided,
        "pending_s": work.pending / SCM_PER_S,
        "disconnect_s": work.disconnect / SCM_PER_S,
        "connect_s": work.connect / SCM_PER_S,
        "page_reads": work.reads,
        "page_writes": work.writes,
    }


def _page_areas(sample: Sample) -> Columns:
    volumes = sample.model.volumes
    spooled = volume_work(sample).starts * volumes.is_spool / 2
    columns = {
        "slots": volumes.slots,
        "slots_used": slots_used(sample) + volumes.spool_used,
        "spool_reads": spooled,
        "spool_writes": spooled,
        **{name: values for name, values in _devices(sample).items() if name != "measured_s"},
        **_existence(sample, sample.areas),
    }
    return {name: values[volumes.is_cp] for name, values in columns.items()}


def _partitions(sample: Sample) -> Columns:
    lpars = sample.model.partitions
    if not lpars.names:
        return {"partition_name": np.zeros(0, dtype=np.str_)}
    active, effective, _ = dispatch_times(sample)
    places = range(len(lpars.counts))
    edges = [int(edge) for edge in sample.model.timeline.edges[sample.interval :][:2]]
    stay = sample.during(lpars.active)
    return {
        "partition_name": np.array(lpars.names, dtype=np.str_),
        "partition_number": np.array(lpars.numbers, dtype=np.int64),
        "processor_type": np.array(lpars.types, dtype=np.str_),
        **_existence(sample, stay),
        "weights_change": np.full(len(places), _weights_change(lpars, stay, *edges)),
        "logical_processors": np.array(lpars.counts, dtype=np.int64),
        # Dedicated processors take no part in weights.
        "weight": np.where(lpars.dedicated, 0, lpars.weights_at(edges[1])),
        "entitled_s": lpars.entitled(*edges) * sample.seconds,
        "dispatched_s": _seconds(active, [lpars.processors(place) for place in places]),
        "effective_s": _seconds(effective, [lpars.processors(place) for place in places]),
    }


def _weights_change(lpars: Partitions, stay: Stay, begin: int, end: int) -> bool:
    """Whether what partitions are entitled to changes in an interval."""
    return bool(stay.begins or stay.ends) or lpars.weights_at(begin) != lpars.weights_at(end)


def _seconds(us: I64, parts: list[slice]) -> F64:
    """(parts,) sums of microseconds, seconds."""
    return np.array([float(us[part].sum()) for part in parts]) * TOD_PER_US / TOD_PER_S


def _logical_processors(sample: Sample) -> Columns:
    lpars = sample.model.partitions
    if not lpars.names:
        return {"partition_name": np.zeros(0, dtype=np.str_)}
    active, effective, _ = dispatch_times(sample)
    return {
        "partition_name": lpars.by_processor(lpars.names),
        "partition_number": lpars.by_processor(lpars.numbers),
        "processor_type": lpars.by_processor(lpars.types),
        "address": np.concatenate([np.arange(count) for count in lpars.counts]),
        "dispatched_s": active * TOD_PER_US / TOD_PER_S,
        "effective_s": effective * TOD_PER_US / TOD_PER_S,
    }


def _linux_guests(sample: Sample) -> Columns:
    model, used = sample.model, usage(sample)
    users, linux = model.users, model.linux
    fast = model.population.clock_offset(sample.number)
    booted = np.minimum(sample.boots.share / np.maximum(sample.users.share, 1e-9), 1.0)
    return {
        "userid": users.names[linux.owner],
        **_existence(sample, sample.boots, linux.owner),
        "clock_fast_s": fast[linux.owner] / TOD_PER_S,
        "clock_set": (fast != model.population.clock_offset(sample.number - 1))[linux.owner],
        "busy_s": (_of_users(sample, used.virtual) * booted)[linux.owner],
        "virtual_processors": linux.online(linux.owner, sample.number),
        "online_change": _of_guests(sample, _set_changes(sample.online)),
        "memory_mib": linux.memory / 1024,
    }


def _set_changes(stay: Stay) -> Any:
    """(objects,) which are there at one end of the interval alone."""
    return stay.before != stay.now


def _of_guests(sample: Sample, rows: Any) -> Any:
    """(guests,) whether something is so of a virtual processor of a guest while it is booted."""
    users = sample.model.users
    of_users = np.bincount(users.owner, rows, len(users.names)) > 0
    return of_users[sample.model.linux.owner]


def _guest_networks(sample: Sample) -> Columns:
    """Bytes that all interfaces of guests received and sent while they were there."""
    linux, guests = sample.model.linux, _linux_guests(sample)
    kept = ("userid", "exists_s", "at_begin", "at_end", "begun", "ended", "clock_set")
    booted = np.minimum(sample.boots.share / np.maximum(sample.users.share, 1e-9), 1.0)
    moved = network_bytes(sample) * booted[linux.owner]
    changes = np.zeros(len(linux.owner), dtype=np.bool_)
    for each in linux.interfaces:
        stay, own = sample.during(each.presence), np.isin(linux.owner, each.owner)
        moved = moved + rates_of(each)[:, None] * (_existed(sample, stay)[linux.owner] * own)
        changes |= own & (stay.ended | (stay.before != stay.now))[linux.owner]
    return {
        **{name: guests[name] for name in kept},
        "interfaces_change": changes,
        "received_bytes": moved[0],
        "sent_bytes": moved[1],
    }


def _virtual_disks(sample: Sample) -> Columns:
    disks = sample.model.virtual.disks
    return {
        "owner": sample.model.users.names[disks.owner],
        "virtual_device": disks.numbers,
        **_existence(sample, sample.disks),
        "size_mib": disks.each("size_mib"),
        "ios": disk_ios(sample),
    }


def _virtual_adapters(sample: Sample) -> Columns:
    adapters = sample.model.virtual.adapters
    received, sent = adapter_bytes(sample)
    return {
        "owner": sample.model.users.names[adapters.owner],
        "adapter": adapters.numbers,
        **_existence(sample, sample.adapters),
        "received_bytes": received,
        "sent_bytes": sent,
    }


def _reported(
    sample: Sample, items: Sequence[Reported], columns: Callable[[Any], Mapping[str, Any]]
) -> Columns:
    """Columns of what daemons of guests report, each for all guests that have it."""
    parts: dict[str, list[Any]] = {"userid": []}
    for each in items:
        rows = {
            "userid": sample.model.users.names[each.owner],
            **_existence(sample, stay := sample.during(each.presence), each.owner),
            **{k: np.repeat(value, len(each.owner)) for k, value in columns(each.of).items()},
        }
        if "cpu_s" in rows:
            rows["cpu_s"] = rows["cpu_s"] * stay.share[each.owner]
        for name, values in rows.items():
            parts.setdefault(name, []).append(values)
    return {name: np.concatenate(values or [np.zeros(0)]) for name, values in parts.items()}


def _file_systems(sample: Sample) -> Columns:
    hours = sample.number * sample.seconds / 3600

    def columns(of: FileSystem) -> Mapping[str, Any]:
        grown = of.size_mib * of.used_percent / 100 + of.growth_mib_per_h * hours
        return {
            "mount_point": of.directory,
            "mounted_device": of.device,
            "size_mib": float(of.size_mib),
            "used_mib": min(grown, float(of.size_mib)),
        }

    return _reported(sample, sample.model.linux.file_systems, columns)


def _processes(sample: Sample) -> Columns:
    def columns(of: GuestProcess) -> Mapping[str, Any]:
        return {
            "pid": of.pid,
            "command": of.command,
            "cpu_s": of.cpu_percent / 100 * sample.seconds,
            "resident_mib": of.resident_mib,
        }

    return _reported(sample, sample.model.linux.processes, columns)


_KINDS: Mapping[str, Callable[[Sample], Columns]] = {
    "system": _system,
    "users": _users,
    "virtual_processors": _virtual_processors,
    "processors": _processors,
    "devices": _devices,
    "page_areas": _page_areas,
    "partitions": _partitions,
    "logical_processors": _logical_processors,
    "linux_guests": _linux_guests,
    "guest_networks": _guest_networks,
    "virtual_disks": _virtual_disks,
    "virtual_adapters": _virtual_adapters,
    "file_systems": _file_systems,
    "processes": _processes,
}
