"""What records of one dump must say about each other: figures that come from two places agree.

A check takes a sample, an interval or the whole run and yields claims: two figures, and how they
must relate. Most of them are exact, because CP counts the same thing twice; where one is not, the
slack is stated with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from tests.generate.claims import (
    Claim,
    Claims,
    Evidence,
    Figure,
    Sample,
    check_names,
    cross_checked,
    in_intervals,
    in_runs,
    in_samples,
)
from tests.generate.columns import TOD_PER_S, Entries, Interval, Rows, names

__all__ = ["check_names", "cross_checked"]

TOD_PER_US = 4096
SCM_US = 128
FRAMES_BELOW_2G = 2**31 // 4096
DISPATCH, DORMANT = 0x37, 0x0B
DISPATCH_STATES = (
    *("caltidl", "caltsvm", "caliowt", "calwtpag", "calcfwt", "calsimwt"),
    *("calcpuwt", "calcpurn", "calothr"),
)
SAMPLED_STATES = (
    *("hftidl", "hftsvm", "hfiowt", "hfcfwt", "hfsimwt", "hfwtpag"),
    *("hfcpuwt", "hfcpurn", "hfothr"),
)
TRANSACTIONS = ("calmptct", "calmpnct", "caluptct", "calupnct", "calqdnct")
SYSTEM_KINDS = (
    *("sytrsg", "sytasg", "sytusr", "sytscg", "sytuwt", "sytxsg", "sytcug", "sytcup", "sytcum"),
    "sytlck",
)
SCHEDULER_LOCK, TIMER_LOCK = "SRMSLOCK", "HCPTRQLK"
DIAGNOSES = 193
JIFFY = TOD_PER_S // 100


def _sum(*figures: int | None) -> int | None:
    return None if any(f is None for f in figures) else sum(f for f in figures if f is not None)


def _labels(rows: Rows) -> Callable[[], list[str]]:
    return lambda: names(rows.kind, rows.keys)


# Processors and users


@in_intervals
def cpu_time(interval: Interval) -> Claims:
    """Users' CPU time is what the processors charged, to the last TOD unit."""
    yield Claim(
        "users' total CPU = processors' charged time",
        interval.of_users("vmdttime"),
        interval.total("sytprp", "pfxutime"),
    )
    emulation = interval.total("sytprp", "pfxprbtm")
    yield Claim(
        "users' virtual CPU = processors' emulation time",
        interval.of_users("vmdvtime"),
        None if emulation is None else -emulation,
    )


@in_intervals
def user_clock(interval: Interval) -> Claims:
    """A virtual processor runs on one processor at a time."""
    if not interval.has("useact", "vmdttime"):
        return
    total, virtual = (interval.growth("useact", f) for f in ("vmdttime", "vmdvtime"))
    who = _labels(interval.now("useact"))
    yield Claim("virtual CPU <= total CPU", virtual, total, at_most=True, objects=who)
    yield Claim("CPU <= time", total, interval.elapsed("useact"), at_most=True, objects=who)


@in_intervals
def processor_clock(interval: Interval) -> Claims:
    """Charged + system + wait is the time between the records, to the last TOD unit.

    Where the partition's processors are shared, it is at most that: others had the rest.
    """
    if not interval.has("sytprp"):
        return
    names_ = ("pfxprbtm", "pfxutime", "pfxtmsys", "pfxtotwt", "pfxspint")
    fall, charged, system, wait, spin = (interval.growth("sytprp", f) for f in names_)
    emulation, system = -fall, -system
    who, elapsed = _labels(interval.now("sytprp")), interval.elapsed("sytprp")
    used = charged + system + wait
    yield Claim("charged + system + wait <= time", used, elapsed, at_most=True, objects=who)
    if not _shares_processors(interval):
        yield Claim("charged + system + wait = time", used, elapsed, objects=who)
    yield Claim("emulation <= charged", emulation, charged, at_most=True, objects=who)
    yield Claim("spin <= CP", spin, charged + system - emulation, at_most=True, objects=who)
    for what, part in {"emulation": emulation, "system": system, "wait": wait}.items():
        yield Claim(f"0 <= {what}", 0, part, at_most=True, objects=who)


def _shares_processors(interval: Interval) -> bool:
    cug, here = interval.now("sytcug"), len(interval.now("sytprp"))
    return cug.has("cpudedct") and int(cug["cpudedct"][0]) < here


@in_intervals
def dispatches(interval: Interval) -> Claims:
    """Dispatches are counted by the processor's record and by the scheduler's."""
    if interval.has("prcprp", "pfxdspcs"):
        all_, master = (interval.growth("prcprp", f) for f in ("pfxdspcs", "plsdspcm"))
        who = _labels(interval.now("prcprp"))
        yield Claim("master's <= all", master, all_, at_most=True, objects=who)
        if interval.has("sytscp", "plsdspcn"):
            yield Claim("PFXDSPCS = PLSDSPCN", all_, interval.growth("sytscp", "plsdspcn"))


@in_intervals
def spin_locks(interval: Interval) -> Claims:
    """The scheduler and the timer lock are two of the locks that processors spin on."""
    for unit, two, every in (
        ("spins", ("calslkct", "caltlkct"), "pfxspinc"),
        ("time", ("calslktm", "caltlktm"), "pfxspint"),
    ):
        both = _sum(*(interval.total("sytscg", f) for f in two))
        spun = interval.total("sytprp", every)
        yield Claim(f"{unit} of two locks <= of all", both, spun, at_most=True)


@in_intervals
def lock_table(interval: Interval) -> Claims:
    """The spins of all locks in the table are those of all processors."""
    if not interval.has("sytlck", "calnmlks"):
        return
    before, now = (
        rows.entries("calentdsp", "calentsz", "calnmlks")
        for rows in (interval.before("sytlck"), interval.now("sytlck"))
    )
    counts = np.sum([(now.at(at, 4) - before.at(at, 4)) % 2**32 for at in (8, 20)], axis=0)
    times = np.sum([now.at(at, 8) - before.at(at, 8) for at in (12, 24)], axis=0)
    spun, spent = (interval.total("sytprp", f) for f in ("pfxspinc", "pfxspint"))
    yield Claim("spins of all locks = of all processors", int(counts.sum()), spun)
    yield Claim("time of all locks = of all processors", int(times.sum()), spent)
    lock = now.texts(0, 8)
    for name, count, time in (
        (SCHEDULER_LOCK, "calslkct", "calslktm"),
        (TIMER_LOCK, "caltlkct", "caltlktm"),
    ):
        place = lock.index(name)
        yield Claim(f"spins on {name}", int(counts[place]), interval.total("sytscg", count))
        yield Claim(f"time on {name}", int(times[place]), interval.total("sytscg", time))


@in_intervals
def diagnoses(interval: Interval) -> Claims:
    """DIAGNOSEs by code, all together, and in the system record."""
    if not interval.has("prcdia", "plstotdi"):
        return
    before, now = interval.before("prcdia"), interval.now("prcdia")
    by_code = [now.at(at, 4) - before.at(at, 4) for at in range(24, 24 + 4 * DIAGNOSES, 4)]
    total, own = (interval.growth("prcdia", f) for f in ("plstotdi", "plsdguct"))
    who = _labels(now)
    yield Claim("all codes = total", sum(g % 2**32 for g in by_code), total, objects=who)
    if interval.has("sytsyp", "plsdguct"):
        ibm, site = (interval.growth("sytsyp", f) for f in ("plsdiagt", "plsdguct"))
        yield Claim("total without the site's = PLSDIAGT", total - own, ibm, objects=who)
        yield Claim("the site's = SYTSYP's", own, site, objects=who)


# Partitions


@in_intervals
def partitions(interval: Interval) -> Claims:
    """Logical processors are dispatched for as long as they are busy; there is room for all.

    A dedicated processor is always dispatched. Times are whole microseconds: one may be lost for
    every processor.
    """
    if not interval.has("sytcup", "lcutctod") or not interval.has("sytcum", "lcutctod"):
        return
    now, cug = interval.now("sytcup"), interval.now("sytcug")
    owners, active, effective = _dispatch_times(interval)
    yield Claim("effective <= dispatched", effective, active, at_most=True)
    clock = int((now["lcutctod"] - interval.before("sytcup")["lcutctod"]).max()) // TOD_PER_US
    yield Claim("dispatched <= time", active, clock, at_most=True)
    spent = int(active.sum()) + int(_management(interval).sum())
    most = int(interval.now("sytcum")["lcupcpct"][0]) * clock
    yield Claim("partitions + machine <= physical", spent, most, at_most=True)
    charged, system = (interval.total("sytprp", f) for f in ("pfxutime", "pfxtmsys"))
    if charged is None or system is None or not cug.has("cpudedct"):
        return
    own = np.isin(owners, now.keys[now["lcuppnum"] == int(cug["lpnumber"][0])])
    online = len(interval.now("sytprp"))
    if int(cug["cpudedct"][0]):
        yield Claim("dedicated: dispatched = time", int(active[own].sum()), online * clock)
        return
    busy, cores = (charged - system) // TOD_PER_US, int(effective[own].sum())
    if int(own.sum()) < online:
        # A core is dispatched while one of its threads is busy, or both.
        yield Claim("cores <= threads", cores, busy, slack=online + 1, at_most=True)
        yield Claim("threads <= 2 x cores", busy, 2 * cores, slack=online + 1, at_most=True)
    else:
        yield Claim("shared: effective = busy", cores, busy, slack=online + 1)


def _dispatch_times(interval: Interval) -> tuple[Figure, Figure, Figure]:
    """Of every logical processor: its partition, and growth of both dispatch times (us)."""
    before, now = (
        rows.entries("calcpuof", "calcpuln", "lcupcpct")
        for rows in (interval.before("sytcup"), interval.now("sytcup"))
    )
    active, effective = (now.at(at, 8) - before.at(at, 8) for at in (6, 14))
    return now.owners, active, effective


def _management(interval: Interval) -> Figure:
    """Of every physical processor, growth of the time that belongs to no partition (us)."""
    before, now = (
        rows.entries("calmibof", "calmibln", "lcupcpct").at(2, 8)
        for rows in (interval.before("sytcum"), interval.now("sytcum"))
    )
    return now - before


# Guests


@in_intervals
def linux_processors(interval: Interval) -> Claims:
    """What a Linux guest says of its processors is the virtual time that CP gave it.

    Its counters are whole jiffies, five of them for each of its processors.
    """
    if not interval.has("useact", "vmdvtime"):
        return
    users = interval.now("useact").keys.astype("S8")
    virtual = interval.growth("useact", "vmdvtime")
    for before, now in _linux_processors(interval):
        processors = int(now.at(16, 4)[0])
        size, first = int(now.at(20, 4)[0]), int(now.at(24, 4)[0])
        busy = 0
        for cpu in range(processors):
            for field_ in (0, 4, 8, 16, 20):
                at = first + cpu * size + field_
                busy += (now.at(at, 4) - before.at(at, 4)) % 2**32
        given = np.array([int(virtual[users == who[:8]].sum()) for who in now.owners])
        slack = 5 * processors * JIFFY
        yield Claim("Linux's CPU time = CP's", busy * JIFFY, given, slack=slack)


@in_samples
def linux_memory(sample: Sample) -> Claims:
    """A Linux guest's memory is within its virtual storage; what is free and cached within it."""
    rows = sample.rows("linux_memory")
    if not len(rows):
        return
    blocks = rows.blocks("caldatof", "caldatln")
    total, free, buffers, cached = (blocks.at(at, 8) for at in (56, 64, 88, 96))
    yield Claim("free + buffers + cached <= memory", free + buffers + cached, total, at_most=True)
    yield Claim("written whole", blocks.at(8, 4), blocks.at(12, 4))
    users = sample.dump.rows("mtrusr")
    if users.has("vmdssize"):
        sizes = dict(zip(users.keys.astype("S8").tolist(), users["vmdssize"].tolist(), strict=True))
        known = np.array([sizes.get(who[:8], 0) for who in blocks.owners.tolist()])
        yield Claim("memory <= storage", total * 1024, known, at_most=True)


def _linux_processors(interval: Interval) -> Iterator[tuple[Entries, Entries]]:
    """Blocks before and after, by length, of the guests that wrote one for both samples."""
    before, now = interval.before("linux_os"), interval.now("linux_os")
    for length in np.unique(now["caldatln"]).tolist():
        pair = [rows.where(rows["caldatln"] == length) for rows in (before, now)]
        both = np.intersect1d(pair[0].keys, pair[1].keys)
        found = [rows.where(np.isin(rows.keys, both)) for rows in pair]
        if len(both):
            first, second = (rows.blocks("caldatof", "caldatln") for rows in found)
            yield first, second


# Paging


@in_intervals
def dasd_paging(interval: Interval) -> Claims:
    """Pages read and written: processors, volumes and users count them."""
    reads, writes = (interval.total("sytsyp", f) for f in ("plspiopr", "plspiopw"))
    for who, read, write in (
        ("volumes'", interval.total("stoasp", "expctprd"), interval.total("stoasp", "expctpwr")),
        ("users'", interval.of_users("calcppgr"), interval.of_users("calcppgw")),
    ):
        yield Claim(f"{who} reads = processors'", read, reads)
        yield Claim(f"{who} writes = processors'", write, writes)
    yield Claim("STORSP page reads = SYTSYP's", interval.total("storsp", "plspread"), reads)


@in_intervals
def spool_paging(interval: Interval) -> Claims:
    """Spool pages: processors and volumes count them."""
    for volume, processor in (("expctsrd", "plspiosr"), ("expctswr", "plspiosw")):
        yield Claim(
            f"volumes' {volume} = processors' {processor}",
            interval.total("stoasp", volume),
            interval.total("sytsyp", processor),
        )


@in_intervals
def expanded_paging(interval: Interval) -> Claims:
    """Expanded storage: processors and users count pages, the system counts its blocks."""
    fast, slow, out, migrated = (
        interval.total("sytxsp", f) for f in ("pfxpgin", "plspgin", "plspgout", "plspgmrx")
    )
    ins = _sum(fast, slow)
    yield Claim("users' page-ins = processors'", interval.of_users("calcpxrd"), ins)
    yield Claim("users' page-outs = processors'", interval.of_users("calcpxwt"), out)
    yield Claim("users' migration = processors'", interval.of_users("calcpmig"), migrated)
    yield Claim("blocks got = page-outs", interval.total("sytxsg", "xstxbget"), out)
    left = _sum(ins, migrated)
    yield Claim("blocks released = ins + migration", interval.total("sytxsg", "xstxbrel"), left)


@in_intervals
def steals(interval: Interval) -> Claims:
    """Frames stolen, and from whom: from users in a list or from dormant ones."""
    lists = ("plsdorm1", "plselig1", "plsdisp1", "plsdisp2")
    parts = _sum(*(interval.total("storsp", f) for f in lists))
    yield Claim("by list = in all", parts, interval.total("sytrsp", "plsstlfr"))


# Storage


@in_samples
def frames_below_2g(sample: Sample) -> Claims:
    """Resident pages, available frames and minidisk cache have room in the pageable frames."""
    resident = sample.total("useact", "vmdctpvr")
    held = _sum(resident, sample.total("sytrsg", "rsaavail", "tcmmnblw"))
    pageable = sample.total("sytrsg", "rsapgabl")
    yield Claim("resident + available + cache <= pageable", held, pageable, at_most=True)
    memory = sample.dump.profile("mtrmem", sample.number)
    if memory.has("rsagstor"):
        frames = min(int(memory["rsagstor"][0]) // 4096, FRAMES_BELOW_2G)
        yield Claim(
            "pageable + fixed = frames", sample.total("sytrsg", "rsapgabl", "rsanonpg"), frames
        )
    locked, fixed = sample.total("sytrsg", "rsacplok"), sample.total("sytrsg", "rsanonpg")
    yield Claim("locked <= fixed", locked, fixed, at_most=True)
    if sample.rows("useact").has("vmdctpvr"):
        below, size = sample.rows("useact")["vmdctpvr"], _pages_of_users(sample)
        yield Claim("a user's pages <= its storage", below, size, at_most=True)


def _pages_of_users(sample: Sample) -> Figure:
    """(users,) pages of each one's virtual storage by the configuration; None where unknown."""
    users, rows = sample.dump.rows("mtrusr"), sample.rows("useact")
    if not users.has("vmdssize") or np.setdiff1d(rows.keys, users.keys).size:
        return None
    keys, first = np.unique(users.keys, return_index=True)
    return users["vmdssize"][first][np.searchsorted(keys, rows.keys)] // 4096


@in_samples
def frames_above_2g(sample: Sample) -> Claims:
    """Available frames, minidisk cache and locked frames have room above 2 GB."""
    memory = sample.dump.profile("mtrmem", sample.number)
    cache = sample.total("sytrsg", "tcmmnabv")
    if memory.has("rsagstor") and cache is not None:
        frames = max(int(memory["rsagstor"][0]) // 4096 - FRAMES_BELOW_2G, 0)
        held = cache + sample.level("sytrsg", "rsa2gavl") + sample.level("sytrsg", "rsacplkg")
        yield Claim("available + cache + locked <= frames", held, frames, at_most=True)


@in_samples
def minidisk_cache_size(sample: Sample) -> Claims:
    """The cache lies below and above 2 GB."""
    parts = sample.total("sytrsg", "tcmmnblw", "tcmmnabv")
    yield Claim("below + above = in all", parts, sample.total("sytrsg", "tcmmain"))


@in_samples
def expanded_storage(sample: Sample) -> Claims:
    """Blocks of users and available ones are the same sum in every sample."""
    first = Sample(sample.dump, 0)
    now, then = (
        _sum(s.total("useact", "vmdctxbk"), s.total("sytxsg", "xstctxav")) for s in (sample, first)
    )
    yield Claim("used + available = at first", now, then)
    partition = sample.total("sytxsg", "xstcppar")
    if partition:
        yield Claim("used + available <= CP's partition", now, partition, at_most=True)


@in_samples
def page_slots(sample: Sample) -> Claims:
    """Slots in use: users, volumes and the system count them; none has more than it has."""
    volumes = sample.rows("stoasp")
    if not volumes.has("cpvalocd"):
        return
    paging = volumes["calpage"] > 0
    used, size = volumes["cpvalocd"], volumes["calpage"] + volumes["calspool"]
    yield Claim("in use <= slots", used, size, at_most=True, objects=_labels(volumes))
    slots, spool = sample.total("sytasg", "calslti1"), sample.total("sytasg", "calslti2")
    yield Claim("users' = system's", sample.total("useact", "calctpgs"), slots)
    yield Claim("volumes' = system's", int(used[paging].sum()), slots)
    yield Claim("spool volumes' = system's", int(used[~paging].sum()), spool)
    for kind, total in (("calpage", "calslta1"), ("calspool", "calslta2")):
        yield Claim(
            f"{kind} = {total}", sample.total("stoasp", kind), sample.total("sytasg", total)
        )


# Devices


@in_intervals
def device_starts(interval: Interval) -> Claims:
    """I/Os started: by device, by volume, by processor, in long and in short counters."""
    if not interval.has("ioddev", "scgssch"):
        return
    starts, who = interval.growth("ioddev", "scgssch"), _labels(interval.now("ioddev"))
    yield Claim("devices' = processors'", int(starts.sum()), interval.total("sytsyp", "plsctss"))
    for name in ("scgcount", "rdevctsi"):
        yield Claim(f"{name} = scgssch", interval.growth("ioddev", name), starts, objects=who)
    for short, long in (("scmssch", "scgssch"), ("scmcount", "scgcount")):
        two, four = (interval.growth("ioddev", f) for f in (short, long))
        yield Claim(f"{short} = {long} without its high half", two, four % 2**16, objects=who)
    kinds = sum(interval.growth("ioddev", f) for f in ("rdevwrct", "rdevrdct"))
    yield Claim("reads + writes = starts", kinds, starts, objects=who)
    if interval.has("stoasp", "scgssch"):
        long = interval.growth("stoasp", "scgssch")
        short = interval.growth("stoasp", "scmssch")
        who = _labels(interval.now("stoasp"))
        yield Claim("volume's = device's", long, _of_device(interval, starts), objects=who)
        yield Claim("volume's short = long without its high half", short, long % 2**16, objects=who)


def _of_device(interval: Interval, figure: Figure) -> Figure:
    """(volumes,) a figure of the devices, for CP's volumes."""
    devices, volumes = interval.now("ioddev").keys, interval.now("stoasp").keys
    order = np.argsort(devices, kind="stable")
    return figure[order][np.searchsorted(devices[order], volumes)]


@in_intervals
def device_busy(interval: Interval) -> Claims:
    """Busy time is I/Os times service, and at most the time there is."""
    if not interval.has("ioddev", "scgssch"):
        return
    busy_us, elapsed_us = _busy_us(interval), interval.elapsed("ioddev") / TOD_PER_US
    who = _labels(interval.now("ioddev"))
    yield Claim("busy <= time", busy_us, elapsed_us, at_most=True, objects=who)
    if interval.has("stoasp", "scgssch"):
        starts, service = interval.growth("stoasp", "scgssch"), interval.now("stoasp")["expdevst"]
        who = _labels(interval.now("stoasp"))
        # The service time is written in whole microseconds: one for every I/O may be lost.
        busy = _of_device(interval, busy_us)
        yield Claim("I/Os x service = busy", starts * service, busy, slack=starts, objects=who)


def _busy_us(interval: Interval) -> Figure:
    parts = (interval.growth("ioddev", f) for f in ("scmcntim", "scmfptim", "scmddtim"))
    return sum(parts) * SCM_US


@in_intervals
def device_queue(interval: Interval) -> Claims:
    """The mean queue is that of random arrivals: use x use / (1 - use), by Little's law.

    High-frequency samples count whole requests: half a request may be lost. The use of a device
    is known to a thousandth, because intervals end a little early or late.
    """
    if not interval.has("ioddev", "hfctio"):
        return
    use = _busy_us(interval) / (interval.elapsed("ioddev") / TOD_PER_US)
    count, queued = (interval.growth("ioddev", f) for f in ("hfrdevct", "hfctio"))
    slack = 0.5 + count * (_queue(use * 1.001) - _queue(use * 0.999))
    who = _labels(interval.now("ioddev"))
    yield Claim(
        "queued = samples x mean queue", queued, count * _queue(use), slack=slack, objects=who
    )


def _queue(use: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Requests that wait, on average; a device is never taken to be busier than 99 %."""
    capped = np.minimum(use, 0.99)
    return capped * capped / (1 - capped)


@in_intervals
def page_response(interval: Interval) -> Claims:
    """The time to get a page is service / (1 - use), as Little's law has it.

    Times are written in whole microseconds, the interval is known to a thousandth.
    """
    if not interval.has("stoasp", "expmload") or not interval.has("ioddev", "scgssch"):
        return
    volumes = interval.now("stoasp")
    pages = sum(interval.growth("stoasp", f) for f in ("expctprd", "expctpwr"))
    busy = _of_device(interval, _busy_us(interval))
    use = busy / (_of_device(interval, interval.elapsed("ioddev")) / TOD_PER_US)
    service, load, who = busy / np.maximum(pages, 1), volumes["expmload"], _labels(volumes)
    paging = pages > 0
    least, most = (service / (1 - np.minimum(use * f, 0.991)) for f in (0.999, 1.001))
    yield Claim("response <= MLOAD", least * paging, load, at_most=True, slack=1, objects=who)
    yield Claim("MLOAD <= response", load * paging, most, at_most=True, slack=1, objects=who)
    loads = load[volumes["calpage"] > 0]
    if interval.now("sytasg").has("caltotm1") and loads.size:
        total, mean = (int(interval.now("sytasg")[f][0]) for f in ("caltotm1", "calavgm1"))
        yield Claim("MLOADs = system's total", int(loads.sum()), total)
        yield Claim("total / volumes = mean", total // loads.size, mean)


@in_intervals
def high_frequency(interval: Interval) -> Claims:
    """High-frequency samples are as many as the time has room for, everywhere."""
    profile = interval.dump.profile("mtrspr", interval.number)
    if not profile.has("hfrate") or not int(profile["hfrate"][0]):
        return
    apart = int(profile["hfrate"][0]) * TOD_PER_S // 100
    # One more or less fits in, by when the interval begins and ends.
    for kind, name in (("prcprp", "hfcount"), ("ioddev", "hfrdevct")):
        if interval.has(kind, name):
            room = interval.elapsed(kind) / apart
            who = _labels(interval.now(kind))
            yield Claim(
                f"{name} = time / rate", interval.growth(kind, name), room, slack=1, objects=who
            )
    if interval.has("prcprp", "hfuserz"):
        idle, every = (interval.growth("prcprp", f) for f in ("hfuserz", "hfcount"))
        yield Claim("idle samples <= samples", idle, every, at_most=True)


@in_intervals
def minidisk_cache(interval: Interval) -> Claims:
    """I/Os that the cache avoided: devices and the system count them."""
    avoided = interval.total("ioddev", "rdevmcia")
    yield Claim("devices' = system's", avoided, interval.total("sytxsg", "hcpmdcia"))


@in_intervals
def user_ios(interval: Interval) -> Claims:
    """Users' disk I/Os are those of the volumes that are not CP's, the avoided ones included."""
    if not interval.has("ioddev", "rdevmcia"):
        return
    done = sum(interval.growth("ioddev", f) for f in ("scgssch", "rdevmcia"))
    theirs = ~np.isin(interval.now("ioddev").keys, interval.now("stoasp").keys)
    yield Claim("users' = volumes'", interval.of_users("vmdvdsct"), int(done[theirs].sum()))


# Scheduler


@in_samples
def lists(sample: Sample) -> Claims:
    """Every user is in one list, and has one base row."""
    users = sample.rows("useact")
    logged_on = sample.total("sytusr", "sysusrs")
    dispatched = sample.total("sytscg", "srmcdisp")
    eligible = sample.total("sytscg", "srmc1elg", "srmc2elg", "srmc3elg")
    dormant = sample.total("sytusr", "srmcdorm")
    yield Claim("in the lists = logged on", _sum(dispatched, eligible, dormant), logged_on)
    classes = sample.total("sytscg", "srmc1dsp", "srmc2dsp", "srmc3dsp")
    yield Claim("classes = dispatch list", classes, dispatched)
    if users.has("vmdslist"):
        base = np.unique(users.keys.astype("S8")).size
        yield Claim("user ids = logged on", base, logged_on)
        state = users["vmdslist"]
        yield Claim(
            "dormant rows >= dormant users", dormant, int((state == DORMANT).sum()), at_most=True
        )
        in_list = sample.total("sytuwt", "calqdisp")
        yield Claim("rows in the dispatch list", int((state == DISPATCH).sum()), in_list)
        yield Claim("rows >= users in the list", dispatched, in_list, at_most=True)


@in_samples
def wait_states(sample: Sample) -> Claims:
    """The states of virtual processors in the dispatch list add up; as many run as can."""
    states = sample.total("sytuwt", *DISPATCH_STATES)
    yield Claim("states = dispatch list", states, sample.total("sytuwt", "calqdisp"))
    running, processors = sample.total("sytuwt", "calcpurn"), len(sample.rows("sytprp"))
    yield Claim("running <= processors", running, processors, at_most=True)


@in_intervals
def sampled_states(interval: Interval) -> Claims:
    """A virtual processor is found in one list and in one state by every high-frequency sample."""
    if not interval.has("useint", "hfothr"):
        return
    who = _labels(interval.now("useint"))

    def grown(*fields: str) -> Figure:
        return sum(interval.growth("useint", f) for f in fields)

    dispatched, dormant = grown(*(f"hfdisp{n}" for n in range(4))), grown("hfdorm")
    eligible, states = grown(*(f"hfelig{n}" for n in range(4))), grown(*SAMPLED_STATES)
    lists = dispatched + eligible + dormant
    yield Claim("lists = samples of the user", lists, grown("hfquct"), objects=who)
    every = states + eligible + dormant
    yield Claim("states = samples of the user", every, grown("hfstct"), objects=who)
    yield Claim("states = dispatched", states, dispatched, objects=who)
    if interval.has("prcprp", "hfcount"):
        taken = int(interval.growth("prcprp", "hfcount").max())
        yield Claim("samples of the user = samples", grown("hfstct"), taken, objects=who)


@in_samples
def working_sets(sample: Sample) -> Claims:
    """The scheduler's sum of working sets is that of the users in the dispatch list."""
    users = sample.rows("useact")
    if users.has("vmdwsspr"):
        who = users.keys.astype("S8")
        chosen = np.isin(who, who[users["vmdslist"] == DISPATCH])
        held = int(users["vmdwsspr"][chosen].sum())
        yield Claim("users' = scheduler's", held, sample.total("sytscg", "srmwssdl"))


@in_runs
def throughput(evidence: Evidence) -> Claims:
    """Transactions that CP counts are those that the load generator logged."""
    for interval in evidence.dump.intervals():
        counted = _sum(*(interval.total("sytusr", f) for f in TRANSACTIONS))
        logged = [n for end, n in evidence.transactions if abs(end - interval.until) < TOD_PER_S]
        what = f"transactions of interval {interval.number}"
        yield Claim(what, counted, logged[0] if logged else None)


# Objects: who is there


@in_samples
def processor_records(sample: Sample) -> Claims:
    """Every record about processors comes once for each of them."""
    count, keys = len(sample.rows("sytprp")), sample.rows("sytprp").keys
    for kind in ("sytsyp", "sytrsp", "sytxsp", "sytscp", "storsp", "prcprp", "prcdia"):
        rows = sample.rows(kind)
        if len(sample.dump.rows(kind)):
            both = int(np.isin(rows.keys, keys).sum()) if len(rows) == count else len(rows)
            yield Claim(f"{kind} = sytprp", both, count)


@in_samples
def system_records(sample: Sample) -> Claims:
    """What is written of the whole system is written in every sample."""
    for kind in SYSTEM_KINDS:
        count, first = len(sample.rows(kind)), len(sample.dump.rows(kind, 0))
        yield Claim(f"{kind} as in the first sample", count, first)


@in_runs
def extents(evidence: Evidence) -> Claims:
    """The extents of the configuration hold the slots that the system has."""
    sample = Sample(evidence.dump, 0)
    pages = sample.rows("mtrpag")
    if pages.has("calcylno"):
        slots = int((pages["calcylno"] * pages["rdcpcyl"]).sum())
        yield Claim("extents = slots", slots, sample.total("sytasg", "calslta1", "calslta2"))


@in_samples
def volume_records(sample: Sample) -> Claims:
    """A volume of CP is a device."""
    volumes = sample.rows("stoasp").keys
    there = int(np.isin(volumes, sample.rows("ioddev").keys).sum())
    yield Claim("volumes that are devices", there, len(volumes))


@in_intervals
def comings_and_goings(interval: Interval) -> Claims:
    """Who is new or missing in a sample was logged on or off, varied on or off."""
    for kind, on, off in (
        ("useact", "uselon", "uselof"),
        ("sytprp", "prcvon", "prcvof"),
        ("ioddev", "iodvon", "iodvof"),
    ):
        before, now = interval.before(kind).keys, interval.now(kind).keys
        come, gone = np.setdiff1d(now, before), np.setdiff1d(before, now)
        told_on = int(np.isin(come, interval.events(on).keys).sum())
        told_off = int(np.isin(gone, interval.events(off).keys).sum())
        yield Claim(f"new in {kind}, by event", told_on, len(come))
        yield Claim(f"missing in {kind}, by event", told_off, len(gone))
