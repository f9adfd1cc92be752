"""The record about messages between virtual machines, and between them and CP's services."""

from __future__ import annotations

import numpy as np

from .model import Sample
from .noise import I64
from .record_type import Filled, SampleRecord, online, processors, typed_processors
from .services import entry_of

_PER_TRANSFER = 2
"""An exchange takes an instruction (or DIAGNOSE X'68') to send and one to receive."""


def _sytcom(sample: Sample, elapsed: I64) -> Filled:
    services = sample.services
    sent = services.instructions[:, entry_of("prcins", "IUCV")] // _PER_TRANSFER
    mail = services.diagnoses[:, entry_of("prcdia", "68")] // _PER_TRANSFER
    told = np.zeros(len(sent), dtype=np.int64)
    told[0] = 1  # the monitor tells its reader of each sample
    return Filled(
        flows={
            "plsisevm": sent,
            "plsistvm": sent,
            "plsvsevm": mail,
            "plsvstvm": mail,
            "plsisemo": told,
        }
    )


SYTCOM = SampleRecord("sytcom", processors, typed_processors, _sytcom, present=online)
