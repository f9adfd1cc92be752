"""Domain 3: storage of the system and of its processors, areas for paging and spooling."""

from __future__ import annotations

import numpy as np

from ..activity.dispatching import frames_taken, pages_moved
from ..activity.sample import Sample
from ..activity.volume_work import page_load_us, volume_work
from ..model.system import Model
from ..numeric import F64, I64
from .definition import Values, processor_record, sample_record

_FRAMES_OF_A_SCAN = 64

_SIZES = 20
"""Entries of each table of block sizes; those of migration are for two sizes each."""

_SPREAD = 3
"""Blocks are at most so many pages larger or smaller than most of them."""

_DORMANT_SHARE = 0.8
"""Share of the migrated blocks that belonged to dormant users."""

_BLOCKS_OF_A_RUN = 800
_LEAST_AVAILABLE = 50
"""Migration begins when fewer than one block in so many is available."""


def _storsg_fixed(model: Model) -> Values:
    sizes, storage = model.levels.sizes, model.measurement.storage
    return {
        "rsacplok": sizes.locked,
        "rsasavfr": (sizes.nonpageable - sizes.locked) // 40,
        "rsaavllt": storage.available_below_frames * 8 // 10,
        "rsaavlht": storage.available_below_frames * 12 // 10,
        "rsaavllg": storage.available_above_frames * 8 // 10,
        "rsaavlhg": storage.available_above_frames * 12 // 10,
    }


def _storsp(sample: Sample) -> Values:
    paging, (_, above) = pages_moved(sample), frames_taken(sample)
    by_list = _stolen_by_list(sample)
    return {
        "plspread": paging.dasd_in,
        "plspgdrd": paging.dasd_in,
        "plspgdwt": paging.dasd_out,
        "plsretfr": paging.stolen - above,
        "plsretfg": above,
        **by_list,
        # A scan of a list ends when it has found some frames.
        "plsdrmp1": by_list["plsdorm1"] // _FRAMES_OF_A_SCAN,
        "plselgp1": by_list["plselig1"] // _FRAMES_OF_A_SCAN,
        "plsdspp1": by_list["plsdisp1"] // _FRAMES_OF_A_SCAN,
        "plsdspp2": by_list["plsdisp2"] // _FRAMES_OF_A_SCAN,
    }


def _stolen_by_list(sample: Sample) -> dict[str, I64]:
    """(processors,) frames stolen from users of each list.

    Dormant users lose theirs first; users in the dispatch list are spared until a second pass if
    there are enough others.
    """
    lists, n, stolen = sample.model.lists, sample.number, pages_moved(sample).stolen
    defined = max(int(lists.defined[n]), 1)
    dispatched = stolen * int(lists.dispatched[n]) // defined
    second = dispatched // 4
    eligible = stolen * int(lists.eligible[n]) // defined
    return {
        "plsdorm1": stolen - dispatched - eligible,
        "plselig1": eligible,
        "plsdisp1": dispatched - second,
        "plsdisp2": second,
    }


def _stoasp_fixed(model: Model) -> Values:
    volumes, cp = model.volumes, model.volumes.is_cp
    return {
        "calvser": volumes.serials[cp],
        "rdevdev": volumes.devices[cp],
        "rdevsid": np.flatnonzero(cp),
        "calspool": (volumes.slots * volumes.is_spool)[cp],
        "calpage": (volumes.slots * volumes.is_page)[cp],
    }


def _stoasp(sample: Sample) -> Values:
    volumes, work = sample.model.volumes, volume_work(sample)
    used = volumes.slots_used(sample.model.levels, sample.number) + volumes.spool_used
    spool = work.starts * volumes.is_spool
    values = {
        "expcurqc": np.rint(work.queue),
        "expdevst": work.busy * 128 // np.maximum(work.starts, 1),
        "expmload": page_load_us(sample),
        "cpvlokat": used,
        "cpvalocd": used,
        "expctsrd": spool // 2,
        "expctswr": spool - spool // 2,
        "expctprd": work.reads,
        "expctpwr": work.writes,
        "expctacp": work.starts,
        "scmssch": work.starts,
        "scgssch": work.starts,
    }
    return {name: of_volumes[volumes.is_cp] for name, of_volumes in values.items()}


def _stobpg(sample: Sample) -> Values:
    flows, k, mean = sample.model.flows, sample.interval, _pages_of_a_block(sample)
    read = blocks_by_size(int(flows.dasd_in[k]), mean, _SIZES)
    written = blocks_by_size(int(flows.dasd_out[k]), mean, _SIZES)
    migrated = blocks_by_size(int(flows.migrated[k]), mean, 2 * _SIZES)
    return {
        "pgdbr_tbl.pgdbr": read[None, :],
        "pgdbm_tbl.pgdbm": migrated.reshape(1, _SIZES, 2).sum(axis=2),
        "pgdbs_tbl.pgdbs": written[None, :],
    }


def _pages_of_a_block(sample: Sample) -> float:
    """Mean over the I/Os of the interval on page volumes; over the volumes where there are none."""
    volumes, work = sample.model.volumes, volume_work(sample)
    if not volumes.is_page.any():
        return 1.0
    pages: F64 = (work.reads + work.writes)[volumes.is_page].astype(np.float64)
    sizes = volumes.pages_per_io[volumes.is_page]
    return float(pages.sum() / (pages / sizes).sum()) if pages.any() else float(sizes.mean())


def blocks_by_size(pages: int, mean: float, largest: int) -> I64:
    """Blocks of 1 to `largest` pages, moved by one paging I/O each, that hold exactly `pages`.

    Args:
        pages: 0 or more.
        mean: pages of a block on average; the blocks meet it as far as whole ones can.
        largest: 2 or more.

    Returns:
        (largest,) blocks of each size.
    """
    counts = np.zeros(largest, dtype=np.int64)
    usual = _usual_size(pages, mean, largest)
    if not usual:
        return counts
    least, most = -(-pages // (usual + 1)), pages // usual
    count = min(max(round(pages / mean), least), most)
    # As many are smaller by some pages as are larger by so many.
    for away in range(1, min(_SPREAD, usual - 1, largest - 1 - usual) + 1):
        counts[[usual - 1 - away, usual - 1 + away]] = count // (4 * (away + 1))
    counts[usual - 1] = count - counts.sum()
    # The rest of the pages makes some blocks larger by one, in proportion to their counts.
    rest = pages - usual * count
    larger = np.diff(np.cumsum(counts) * rest // max(int(counts.sum()), 1), prepend=0)
    counts -= larger
    counts[1:] += larger[:-1]
    return counts


def _usual_size(pages: int, mean: float, largest: int) -> int:
    """Size of most blocks; 0 where there are no pages."""
    sizes = np.arange(1, min(max(int(mean), 1), largest - 1) + 1)
    fits = -(-pages // (sizes + 1)) <= pages // sizes
    return int(sizes[fits].max(initial=0)) if pages else 0


def _stoxsg(sample: Sample) -> Values:
    migrated = int(sample.model.flows.migrated[sample.interval])
    dormant = int(migrated * _DORMANT_SHARE)
    runs = -(-migrated // _BLOCKS_OF_A_RUN)
    return {
        "xstmigs": runs,
        "xstblkdm": dormant,
        "xstblkcy": migrated - dormant,
        "xstcycls": runs,
    }


RECORDS = (
    sample_record("storsg", lambda sample: {}, fixed=_storsg_fixed),
    processor_record("storsp", _storsp),
    sample_record(
        "stoasp",
        _stoasp,
        rows=lambda model: int(model.volumes.is_cp.sum()),
        fixed=_stoasp_fixed,
        wrapping="expctprd",
    ),
    sample_record("stobpg", _stobpg),
    sample_record(
        "stoxsg",
        _stoxsg,
        rows=lambda model: int(model.levels.sizes.expanded > 0),
        fixed=lambda model: {"xstlothr": model.levels.sizes.expanded // _LEAST_AVAILABLE},
    ),
)
