"""Measured figures that a run must show again. What is not fixed follows from the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .hardware import Percent, Positive
from .tables import Limits

Busy = Limits(least=0.05, most=99.9)


@dataclass(frozen=True, slots=True)
class Targets:
    """Figures of the steady part of a run; those for a transaction are of the whole run.

    Utilizations are percent of one processor, rates per second, levels 4 KiB pages.
    """

    total_util: Annotated[float, Busy] | None = None
    emul_util: Annotated[float, Percent] | None = None
    master_total_util: Annotated[float, Busy] | None = None
    master_emul_util: Annotated[float, Percent] | None = None
    spin_lock_rate: Annotated[float, Positive] | None = None
    spin_time_us: Annotated[float, Positive] | None = None
    xstor_page_rate: Annotated[float, Positive] | None = None
    xstor_migration_rate: Annotated[float, Positive] | None = None
    dasd_page_rate: Annotated[float, Positive] | None = None
    dasd_read_rate: Annotated[float, Positive] | None = None
    dasd_write_rate: Annotated[float, Positive] | None = None
    dasd_pages_per_tx: Annotated[float, Positive] | None = None
    move_2g_rate: Annotated[float, Positive] | None = None
    page_volume_busy: Annotated[float, Limits(least=0, most=98)] | None = None
    resident_pages_per_user: Annotated[float, Positive] | None = None
    resident_below_2g_pages: Annotated[int, Positive] | None = None
    resident_above_2g_pages: Annotated[int, Positive] | None = None
    xstor_pages_per_user: Annotated[float, Positive] | None = None
    dasd_pages_per_user: Annotated[float, Positive] | None = None
    diag44_rate: Annotated[float, Positive] | None = None
    diag44_fast_rate: Annotated[float, Positive] | None = None
    tx_rate: Annotated[float, Positive] | None = None
    cp_us_per_tx: Annotated[float, Positive] | None = None
    emul_us_per_tx: Annotated[float, Positive] | None = None
    hardware_total_util: Annotated[float, Percent] | None = None
    hardware_emul_util: Annotated[float, Percent] | None = None

    @property
    def paging_rate(self) -> float | None:
        """Pages read from and written to DASD a second, by whichever target is set."""
        if self.dasd_read_rate is not None and self.dasd_write_rate is not None:
            return self.dasd_read_rate + self.dasd_write_rate
        if self.dasd_pages_per_tx is not None and self.tx_rate is not None:
            return self.dasd_pages_per_tx * self.tx_rate
        return self.dasd_page_rate
