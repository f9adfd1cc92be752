"""What MONITOR samples over a run: by domain, user and device, and how often at high frequency."""

from __future__ import annotations

import numpy as np

from .measurement import Measurement, Timeline, moment
from .population import Users, matching
from .presence import Presence, Switch
from .storage import Volumes

_SWITCHES = {"sample-disable": False, "sample-enable": True}


class Sampling:
    """The samples that are taken.

    Attributes:
        users, devices: when each user and device is sampled.
    """

    def __init__(
        self, measurement: Measurement, line: Timeline, users: Users, volumes: Volumes
    ) -> None:
        self._line = line
        self._high_frequency_s = measurement.scenario.monitor.high_frequency_s
        of_users, of_devices, rates = list[Switch](), list[Switch](), list[Switch]()
        for each in measurement.events:
            at = moment(each.at_s)
            if each.kind in _SWITCHES and each.domain == "user":
                mask = matching(users.names, each.users or "*")
                of_users.append(Switch(at, mask, _SWITCHES[each.kind]))
            elif each.kind in _SWITCHES:
                number = int(each.device, 16) if each.device else volumes.devices
                of_devices.append(Switch(at, volumes.devices == number, _SWITCHES[each.kind]))
            elif each.kind in ("rate-stop", "rate-start"):
                rates.append(Switch(at, np.ones(1, dtype=np.bool_), each.kind == "rate-start"))
        self.users = Presence(line, len(users.names), of_users)
        self.devices = Presence(line, len(volumes.devices), of_devices)
        self._rate = Presence(line, 1, rates)

    def high_frequency(self, interval: int) -> int:
        """Number of high-frequency samples in an interval."""
        usual = max(1, round(int(self._line.seconds[interval]) / self._high_frequency_s))
        return int(usual * self._rate.during(interval).share[0])
