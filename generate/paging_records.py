"""Records about the ways of pages: blocks on DASD, migration from expanded storage."""

from __future__ import annotations

import numpy as np

from .blocks import blocks_by_size
from .counters import Values
from .model import Model, Sample
from .noise import F64
from .record_type import Filled, SampleRecord, nothing, one

_SIZES = 20
"""Entries of each table of block sizes; those of migration are for two sizes each."""

_DORMANT_SHARE = 0.8
"""Share of the migrated blocks that belonged to dormant users."""

_BLOCKS_OF_A_RUN = 800
_LEAST_AVAILABLE = 50
"""Migration begins when fewer than one block in so many is available."""


def pages_of_a_block(sample: Sample) -> float:
    """Mean over the I/Os of the interval on page volumes; over the volumes where there are none."""
    volumes, work = sample.model.volumes, sample.volumes
    paging = volumes.is_page == 1
    if not paging.any():
        return 1.0
    pages: F64 = (work.reads + work.writes)[paging].astype(np.float64)
    each = volumes.pages_per_io[paging]
    return float(pages.sum() / (pages / each).sum()) if pages.any() else float(each.mean())


def _stobpg(sample: Sample) -> Filled:
    flows, k = sample.model.flows, sample.interval
    mean = pages_of_a_block(sample)
    read = blocks_by_size(int(flows.dasd_in[k]), mean, _SIZES)
    written = blocks_by_size(int(flows.dasd_out[k]), mean, _SIZES)
    migrated = blocks_by_size(int(flows.migrated[k]), mean, 2 * _SIZES)
    return Filled(
        flows={
            "pgdbr_tbl.pgdbr": read[None, :],
            "pgdbm_tbl.pgdbm": migrated.reshape(1, _SIZES, 2).sum(axis=2),
            "pgdbs_tbl.pgdbs": written[None, :],
        }
    )


def _has_expanded(model: Model) -> int:
    return int(model.levels.sizes.expanded > 0)


def _stoxsg_fixed(model: Model) -> Values:
    return {"xstlothr": model.levels.sizes.expanded // _LEAST_AVAILABLE}


def _stoxsg(sample: Sample) -> Filled:
    migrated = int(sample.model.flows.migrated[sample.interval])
    dormant = int(migrated * _DORMANT_SHARE)
    runs = -(-migrated // _BLOCKS_OF_A_RUN)
    return Filled(
        flows={
            "xstmigs": runs,
            "xstblkdm": dormant,
            "xstblkcy": migrated - dormant,
            "xstcycls": runs,
        }
    )


STOBPG = SampleRecord("stobpg", one, nothing, _stobpg)
STOXSG = SampleRecord("stoxsg", _has_expanded, _stoxsg_fixed, _stoxsg)
