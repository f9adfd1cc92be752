"""What a device is: its type, control unit, channel paths and volume."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .counters import Values, ebcdic
from .dasd import MOST_PATHS, Volumes
from .noise import I64

ECKD = 0x04
"""RDEVCLAS of disks."""


def device_identity(volumes: Volumes, chosen: I64) -> Values:
    """What MTRDEV and IODVON say of some devices. The type's code within its class is unknown.

    Args:
        chosen: (devices,) indices of volumes.
    """
    group = volumes.group[chosen]
    types = [model_of(one.device_type) for one in volumes.groups]
    units = [model_of(one.control_unit_type) for one in volumes.groups]
    return {
        "rdevclas": ECKD,
        "rdevdvid": _packed([number for number, _ in types])[group],
        "calmodln": np.array([int(model, 10) for _, model in types])[group],
        "rdevlpm": path_masks(volumes)[chosen],
        "rdevdev": volumes.devices[chosen],
        "rdevsid": chosen,
        "rdevchps": volumes.paths[chosen],
        "rdevcuid": _packed([number for number, _ in units])[group],
        "rdevcumn": np.array([int(model, 16) for _, model in units])[group],
        "rdevser": ebcdic(np.array(volumes.serials, dtype="U6")[chosen], 6),
    }


def model_of(name: str) -> tuple[str, str]:
    """Type number and model: "3390-3" is a 3390, model 3."""
    number, _, model = name.partition("-")
    return number, model


def path_masks(volumes: Volumes) -> I64:
    """(volumes,) a bit for each channel path, from the left."""
    bits = 0x80 >> np.arange(MOST_PATHS)
    masks: I64 = ((volumes.path_ids > 0) * bits).sum(axis=1)
    return masks


def _packed(numbers: list[str]) -> npt.NDArray[np.void]:
    """Four digits each as two bytes."""
    return np.array([bytes.fromhex(number) for number in numbers], dtype="V2")
