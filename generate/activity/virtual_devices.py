"""Work of virtual disks, network adapters, and interfaces of guests in one interval."""

from __future__ import annotations

import numpy as np

from ..model.measurement import TOD_PER_S
from ..model.population import Reported
from ..model.presence import Stay
from ..model.system import Sample, per_sample
from ..model.virtual_devices import Devices
from ..numeric import F64, I64, floor_int
from ..scenario.scenario import GuestInterface
from .usage import virtual_ios


@per_sample
def disk_ios(sample: Sample) -> I64:
    """(disks,) virtual I/Os of each in the interval before a sample."""
    disks = sample.model.virtual.disks
    ios: I64 = _done(sample, disks, sample.disks, ("ios_per_s",), 1.0)[0]
    return ios


@per_sample
def adapter_bytes(sample: Sample) -> I64:
    """(2, adapters) bytes that each received and sent in the interval before a sample."""
    adapters, keys = sample.model.virtual.adapters, ("received_kib_per_s", "sent_kib_per_s")
    return _done(sample, adapters, sample.adapters, keys, 1024.0)


def _done(sample: Sample, devices: Devices, stay: Stay, keys: tuple[str, ...], unit: float) -> I64:
    """(keys, devices) what devices did at their rates, which vary with the load of the users."""
    model, k = sample.model, sample.interval
    rng = model.measurement.rng(f"virtual devices by {keys[0]} in interval {k}")
    shape = (len(keys), len(devices.owner))
    rates = np.array([devices.each(key) for key in keys]).reshape(shape)
    load = model.demand.load[k][model.users.group[devices.owner]] * sample.seconds
    return floor_int(rates * unit * load * stay.share * (0.8 + 0.4 * rng.random(shape)))


_PACKETS = np.array([[5], [4]])
_PACKET_BYTES = np.array([[420.0], [610.0]])
"""Received and sent, for a network I/O."""


@per_sample
def network_packets(sample: Sample) -> I64:
    """(2, guests) packets that the first interfaces of guests received and sent."""
    network: I64 = virtual_ios(sample)[2][sample.model.linux.owner] * _PACKETS
    return network


@per_sample
def network_bytes(sample: Sample) -> F64:
    """(2, guests) bytes of these packets."""
    return np.rint(network_packets(sample) * (_PACKET_BYTES * sample.model.linux.packet))


@per_sample
def interface_growth(sample: Sample) -> F64:
    """(2, users) bytes by which the counts of guests' other interfaces together have grown.

    The count of an interface goes with it, and begins at zero with it. Where the guest's system
    began, this is what makes the part of the interval since then right.
    """
    model, number = sample.model, sample.number
    if model.timeline.starts(number):
        growth = np.zeros((2, len(model.users.names)))
        for each in model.linux.interfaces:
            growth += rates_of(each)[:, None] * each.presence.at(number) * sample.seconds
        return growth
    now, began = _interface_counts(sample, number), sample.boots.began
    lasting = sample.boots.last * sample.boots.share / np.maximum(sample.users.share, 1e-9)
    after = now / np.clip(lasting, 1e-9, 1.0)
    return np.rint(np.where(began, after, now - _interface_counts(sample, number - 1)))


def _interface_counts(sample: Sample, number: int) -> F64:
    """(2, users) bytes that the other interfaces have counted at a sample since they came."""
    model, end = sample.model, int(sample.model.timeline.edges[number])
    logon = (model.logon_tod(number) - np.uint64(model.clock.origin)).view(np.int64)
    ipl = model.ipl_tod(number) - model.clock.origin
    counts = np.zeros((2, len(model.users.names)))
    for each in model.linux.interfaces:
        since = each.presence.since(number)
        lasted = end - np.maximum(np.where(since < 0, logon, since), ipl)
        counts += rates_of(each)[:, None] * lasted * each.presence.at(number) / TOD_PER_S
    return counts


def rates_of(interface: Reported) -> F64:
    """(2,) bytes that an interface receives and sends a second."""
    of = interface.of
    assert isinstance(of, GuestInterface)
    return np.array([of.received_kib_per_s, of.sent_kib_per_s]) * 1024.0
