"""The record about messages between virtual machines, and between them and CP's services."""

from __future__ import annotations

import numpy as np

from .model import Sample
from .record_type import Filled, SampleRecord, online, processors, typed_processors


def _sytcom(sample: Sample) -> Filled:
    messages = sample.messages
    told = np.zeros(len(messages.iucv), dtype=np.int64)
    told[0] = 1  # the monitor tells its reader of each sample
    return Filled(
        flows={
            "plsisevm": messages.iucv,
            "plsistvm": messages.iucv,
            "plsvsevm": messages.vmcf,
            "plsvstvm": messages.vmcf,
            "plsisemo": told,
        }
    )


SYTCOM = SampleRecord("sytcom", processors, typed_processors, _sytcom, present=online)
