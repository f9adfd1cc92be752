"""Virtual disks in storage and virtual network adapters of the users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..numeric import F64, I64
from ..scenario.scenario import Adapter, UserGroup, VirtualDisk
from .population import Population, Users
from .presence import Presence


class Devices(NamedTuple):
    """Virtual devices of one kind, user after user.

    Attributes:
        owner, numbers: (devices,) index of the user, and device number.
        of: what each is.
        presence: their existence.
    """

    owner: I64
    numbers: I64
    of: tuple[VirtualDisk | Adapter, ...]
    presence: Presence

    def each(self, key: str) -> F64:
        """(devices,) numbers under a key of the scenario."""
        return np.array([getattr(each, key) for each in self.of], dtype=np.float64)

    def texts(self, text: Callable[[int], str]) -> npt.NDArray[np.str_]:
        """(devices,) a text of each, made from its place."""
        return np.array([text(place) for place in range(len(self.of))], dtype=np.str_)


class VirtualDevices:
    """The virtual devices of a run.

    Attributes:
        disks, adapters: virtual disks in storage; virtual network adapters.
        spaces: (disks,) names of the address spaces that hold the disks.
        lans, networks: (adapters,) name of the network of each; its owner and name.
    """

    def __init__(self, users: Users, population: Population) -> None:
        self.disks = _devices(users, population, "disk", lambda group: group.virtual_disks)
        self.adapters = _devices(users, population, "adapter", lambda group: group.adapters)
        names, disks, adapters = users.names, self.disks, self.adapters
        self.spaces = disks.texts(
            lambda place: f"{names[disks.owner[place]]:8}VDISK${disks.numbers[place]:04X}$"
        )
        lans = [each.network for each in adapters.of if isinstance(each, Adapter)]
        self.lans = np.array(lans, dtype=np.str_)
        self.networks = adapters.texts(lambda place: f"{_LAN_OWNER:8}{lans[place]}")


_LAN_OWNER = "SYSTEM"


def _devices(
    users: Users,
    population: Population,
    noun: str,
    listed: Callable[[UserGroup], Sequence[VirtualDisk | Adapter]],
) -> Devices:
    every = [
        (user, each)
        for user, group in enumerate(users.group.tolist())
        for each in listed(users.groups[group])
    ]
    owner = np.array([user for user, _ in every], dtype=np.int64)
    numbers = np.array([int(each.device, 16) for _, each in every], dtype=np.int64)
    presence = population.devices(owner, numbers, f"define-{noun}", f"detach-{noun}")
    return Devices(owner, numbers, tuple(each for _, each in every), presence)
