"""The sample records of a system, in the order in which CP writes them.

Which field holds what is said in the modules named here (and, for configuration, in
`configuration.py`), and nowhere else. Values go in as levels or flows; `counters.py` turns flows
into counters by the roles of the layouts.
"""

from __future__ import annotations

from . import appldata_records as appldata
from . import channel_records as channel
from . import control_unit_records as control_unit
from . import device_records as device
from . import interaction_records as interaction
from . import lock_records as lock
from . import message_records as message
from . import paging_records as paging
from . import partition_records as partition
from . import processor_records as processor
from . import scheduler_records as scheduler
from . import storage_records as storage
from . import system_records as system
from . import transaction_records as transaction
from . import user_records as user

SAMPLE_RECORDS = (
    system.SYTSYP,
    system.SYTPRP,
    storage.SYTRSG,
    storage.SYTRSP,
    storage.SYTXSP,
    storage.SYTASG,
    storage.SYTSHS,
    transaction.SYTUSR,
    channel.SYTCPC,
    scheduler.SYTSCG,
    message.SYTCOM,
    scheduler.SYTUWT,
    scheduler.SYTSCP,
    storage.SYTXSG,
    partition.SYTCUG,
    *partition.SYTCUPS,
    partition.SYTCUM,
    system.SYTSYG,
    lock.SYTLCK,
    scheduler.SYTSPT,
    storage.STORSG,
    storage.STORSP,
    device.STOASP,
    paging.STOBPG,
    paging.STOXSG,
    user.USEACT,
    interaction.USEINT,
    processor.PRCPRP,
    processor.PRCIOP,
    processor.PRCINS,
    processor.PRCDIA,
    device.IODDEV,
    control_unit.IODCAD,
    *appldata.APLSDTS,
)
"""Domains 0, 3, 4, 5, 6 and 10; by record number within a domain."""
