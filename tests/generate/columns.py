"""Fields of a dump's records as arrays: the plain reader, numpy, and offsets written down by hand.

Nothing of cpmon is used. Offsets count from the first byte of the record's header and are those of
IBM's record pages (control blocks SYTSYP, USEACT, ...), 5.3.0 and before.
"""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.generate.plain_reader import Record, records

I64 = npt.NDArray[np.int64]
TOD_PER_S = 4_096_000_000

TYPES: dict[str, tuple[int, int, slice]] = {
    "sytsyp": (0, 1, slice(20, 22)),
    "sytprp": (0, 2, slice(20, 22)),
    "sytrsg": (0, 3, slice(0)),
    "sytrsp": (0, 4, slice(20, 22)),
    "sytxsp": (0, 5, slice(20, 22)),
    "sytasg": (0, 6, slice(0)),
    "sytusr": (0, 8, slice(0)),
    "sytscg": (0, 10, slice(0)),
    "sytuwt": (0, 12, slice(0)),
    "sytscp": (0, 13, slice(20, 22)),
    "sytxsg": (0, 14, slice(0)),
    "sytcug": (0, 15, slice(0)),
    "sytcup": (0, 16, slice(20, 29)),
    "sytcum": (0, 17, slice(0)),
    "sytlck": (0, 23, slice(0)),
    "mtrsys": (1, 4, slice(0)),
    "mtrmem": (1, 7, slice(0)),
    "mtrspr": (1, 9, slice(0)),
    "mtrpag": (1, 8, slice(20, 40)),
    "mtrend": (1, 11, slice(0)),
    "mtrusr": (1, 15, slice(20, 30)),
    "storsp": (3, 2, slice(20, 22)),
    "stoasp": (3, 4, slice(26, 28)),
    "uselon": (4, 1, slice(20, 30)),
    "uselof": (4, 2, slice(20, 30)),
    "useact": (4, 3, slice(20, 30)),
    "useint": (4, 4, slice(20, 30)),
    "prcvon": (5, 1, slice(20, 22)),
    "prcvof": (5, 2, slice(20, 22)),
    "prcprp": (5, 3, slice(20, 22)),
    "prcdia": (5, 12, slice(20, 22)),
    "iodvon": (6, 1, slice(26, 28)),
    "iodvof": (6, 2, slice(24, 26)),
    "ioddev": (6, 3, slice(200, 202)),
    "linux_memory": (10, 2, slice(24, 48)),
    "linux_os": (10, 2, slice(24, 48)),
}
"""Domain, record, and the bytes that tell one record of a sample from the other."""

LINUX = bytes.fromhex("D3C9D5E4E7D2D9D5D3")
"""Product id of the blocks that a Linux kernel writes; the kind of block follows."""

CONTENT = {"linux_memory": (32, LINUX + b"\1"), "linux_os": (32, LINUX + b"\2")}
"""Of records that hold one of several things: offset and bytes that tell which."""

FIELDS = {
    "sytsyp": """28 u4 plsdiagt, 48 u4 plsctss, 72 u4 plspiopr, 76 u4 plspiopw, 80 u4 plspiosr,
        84 u4 plspiosw, 88 u4 plsdguct""",
    "sytprp": """24 u8 pfxprbtm, 32 u8 pfxutime, 40 u8 pfxtmsys, 68 u8 pfxtotwt, 92 u8 pfxspint,
        100 u4 pfxspinc""",
    "sytrsg": """40 u4 rsacplok, 44 u4 rsanonpg, 48 u4 rsapgabl, 52 u4 rsaavail, 88 u4 tcmmain,
        112 u4 tcmmnblw, 116 u4 tcmmnabv, 136 u4 rsacplkg, 140 u8 rsa2gavl""",
    "sytrsp": "24 u4 plsstlfr",
    "sytxsp": "24 u4 pfxpgin, 28 u4 plspgin, 32 u4 plspgout, 44 u4 plspgmrx",
    "sytasg": """28 u4 calslta1, 32 u4 calslti1, 44 u4 calslta2, 48 u4 calslti2, 60 u4 caltotm1,
        64 u4 calavgm1""",
    "sytusr": """20 u4 sysusrs, 24 u4 srmcdorm, 36 u4 calmptct, 48 u4 calmpnct, 60 u4 caluptct,
        72 u4 calupnct, 84 u4 calqdnct""",
    "sytscg": """20 u2 srmcdisp, 24 u2 srmc1dsp, 26 u2 srmc2dsp, 28 u2 srmc3dsp, 30 u2 srmc1elg,
        32 u2 srmc2elg, 34 u2 srmc3elg, 72 u4 srmwssdl, 116 u4 calslkct, 120 u8 calslktm,
        128 u4 caltlkct, 132 u8 caltlktm""",
    "sytuwt": """20 u4 caltidl, 24 u4 caltsvm, 28 u4 caliowt, 32 u4 calwtpag, 36 u4 calcfwt,
        40 u4 calsimwt, 44 u4 calcpuwt, 48 u4 calcpurn, 52 u4 calothr, 56 u4 calqdisp""",
    "sytscp": "32 u4 plsdspcn",
    "sytxsg": "20 u4 xstxbget, 24 u4 xstxbrel, 32 u8 xstctxav, 40 u8 xstcppar, 140 u4 hcpmdcia",
    "sytcug": "26 u2 lcutpcct, 28 u2 lpnumber, 52 u2 cpudedct",
    "sytcup": "28 u1 lcuppnum, 30 u1 lcupcpct, 32 u2 calcpuof, 34 u2 calcpuln, 36 u8 lcutctod",
    "sytcum": "20 u1 lcupcpct, 24 u2 calmibof, 26 u2 calmibln, 28 u8 lcutctod",
    "sytlck": "20 u4 calnmlks, 24 u2 calentsz, 26 u2 calentdsp",
    "mtrsys": "36 u8 systodst",
    "mtrmem": "84 u8 sysgtors, 92 u8 rsagstor",
    "mtrspr": "20 u4 interval, 24 u4 hfrate",
    "mtrpag": "26 u1 rdcpcyl, 32 u4 calcylno",
    "mtrend": "",
    "mtrusr": "44 u4 vmdssize",
    "storsp": "56 u4 plspread, 100 u4 plsdorm1, 112 u4 plselig1, 116 u4 plsdisp1, 132 u4 plsdisp2",
    "stoasp": """32 u4 calspool, 36 u4 calpage, 40 u4 expctsrd, 44 u4 expctswr, 48 u4 expctprd,
        52 u4 expctpwr, 68 u2 scmssch, 152 u4 expdevst, 156 u4 expmload, 164 u4 cpvalocd,
        168 u4 scgssch""",
    "uselon": "",
    "uselof": """36 u8 vmdttime, 44 u8 vmdvtime, 112 u4 calcppgr, 116 u4 calcppgw, 136 u4 vmdvdsct,
        184 u4 calcpmig, 188 u4 calcpxwt, 192 u4 calcpxrd""",
    "useact": """28 u2 vmdcpuad, 32 u1 vmdslist, 36 u8 vmdttime, 44 u8 vmdvtime, 68 u4 vmdctpvr,
        76 u4 vmdwsspr, 80 u4 vmdctxbk, 104 u4 calctpgs, 112 u4 calcppgr, 116 u4 calcppgw,
        136 u4 vmdvdsct, 184 u4 calcpmig, 188 u4 calcpxwt, 192 u4 calcpxrd""",
    "useint": """48 u4 hfquct, 52 u4 hfdisp0, 56 u4 hfdisp1, 60 u4 hfdisp2, 64 u4 hfdisp3,
        68 u4 hfelig0, 72 u4 hfelig1, 76 u4 hfelig2, 80 u4 hfelig3, 84 u4 hfstct, 88 u4 hftidl,
        92 u4 hftsvm, 96 u4 hfiowt, 100 u4 hfcfwt, 104 u4 hfsimwt, 108 u4 hfwtpag, 112 u4 hfcpuwt,
        116 u4 hfcpurn, 128 u4 hfdorm, 136 u4 hfothr""",
    "prcvon": "",
    "prcvof": "",
    "prcprp": """84 u4 pfxdspcs, 88 u4 plsdspcm, 96 u4 hfcount, 100 u4 hfuserz""",
    "prcdia": "92 u4 plsdgx44, 280 u4 plsdguct, 796 u4 plstotdi",
    "iodvon": "",
    "iodvof": "",
    "ioddev": """52 u2 scmssch, 54 u2 scmcount, 56 u4 scmcntim, 60 u4 scmfptim, 64 u4 scmddtim,
        68 u4 hfrdevct, 72 u4 hfctio, 96 u4 rdevctsi, 124 u4 rdevwrct, 128 u4 rdevrdct,
        132 u4 rdevmcia, 192 u4 scgssch, 196 u4 scgcount""",
    "linux_memory": "20 u2 caldatof, 22 u2 caldatln",
    "linux_os": "20 u2 caldatof, 22 u2 caldatln",
}
"""Offset, type and name of the fields that cross-checks look at."""

PLACES: dict[str, dict[str, tuple[int, int]]] = {
    kind: {
        name: (int(offset), int(code[1:]))
        for offset, code, name in (part.split() for part in text.split(",") if part.strip())
    }
    for kind, text in FIELDS.items()
}
"""Offset and length of each field."""


ENTRIES: dict[str, tuple[str, dict[str, tuple[int, int]]]] = {
    "sytcup": ("calcpuof", {"lcucactm": (6, 8), "lcuclptm": (14, 8)}),
    "sytcum": ("calmibof", {"lcumgtm": (2, 8)}),
    "sytlck": (
        "calentdsp",
        {"calxscnt": (8, 4), "calxtime": (12, 8), "calsscnt": (20, 4), "calstime": (24, 8)},
    ),
    "linux_memory": ("caldatof", {"totalram": (56, 8)}),
    "linux_os": ("caldatof", {"per_cpu_user": (52, 4)}),
}
"""Of located parts: the field that says where they start, and fields by offset in an entry."""


class Rows:
    """Some records of one type, in order.

    Attributes:
        tod: (records,) TOD units.
        keys: (records,) the bytes that tell them from each other; one value where there is one.
        offsets: (records,) where each one starts in the dump.
        lengths: (records,) bytes.
    """

    def __init__(self, kind: str, found: Sequence[Record]) -> None:
        self.kind = kind
        self._width = max((len(r.data) for r in found), default=0)
        joined = b"".join(r.data.ljust(self._width, b"\0") for r in found)
        self._bytes = np.frombuffer(joined, np.uint8).reshape(len(found), self._width)
        self.tod: I64 = np.array([r.tod for r in found], np.uint64).astype(np.int64)
        self.offsets = np.array([r.offset for r in found], np.int64)
        self.lengths = np.array([len(r.data) for r in found], np.int64)
        self.keys = np.array([r.data[TYPES[kind][2]] for r in found], dtype=np.bytes_)

    def __len__(self) -> int:
        return len(self.tod)

    def has(self, field: str) -> bool:
        """Whether there are records, and all of them are long enough for the field."""
        offset, width = PLACES[self.kind][field]
        return len(self) > 0 and bool((self.lengths >= offset + width).all())

    def __getitem__(self, field: str) -> I64:
        """(records,) of a field, unsigned; 8-byte values wrap into the sign."""
        return self.at(*PLACES[self.kind][field])

    def at(self, offset: int, width: int) -> I64:
        """(records,) of the unsigned number at an offset."""
        if not len(self):
            return np.zeros(0, np.int64)
        part = np.ascontiguousarray(self._bytes[:, offset : offset + width])
        return part.view(f">u{width}").ravel().astype(np.int64)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Rows:
        """Some of the records."""
        rows = copy.copy(self)
        rows._bytes = self._bytes[chosen]
        rows.tod, rows.keys = self.tod[chosen], self.keys[chosen]
        rows.offsets, rows.lengths = self.offsets[chosen], self.lengths[chosen]
        return rows

    def blocks(self, first: str, length: str) -> Entries:
        """One located part of each record; all must be as long as the first."""
        start, size = int(self[first][0]), int(self[length][0])
        return Entries(self._bytes[:, start : start + size], self.keys)

    def entries(self, first: str, length: str, count: str) -> Entries:
        """The repeated part: where it starts, how long an entry is and how many are fields."""
        starts, sizes, counts = self[first], self[length], self[count]
        parts, owners = [], []
        for row in range(len(self)):
            start, size, number = int(starts[row]), int(sizes[row]), int(counts[row])
            part = self._bytes[row, start : start + size * number].reshape(number, size)
            parts.append(part)
            owners += [self.keys[row]] * number
        return Entries(np.concatenate(parts), np.array(owners, dtype=np.bytes_))


class Entries:
    """Repeated parts of some records: (entries, length) bytes, and the keys of their records."""

    def __init__(self, data: npt.NDArray[np.uint8], owners: npt.NDArray[np.bytes_]) -> None:
        self._bytes = data
        self.owners = owners

    def at(self, offset: int, width: int) -> I64:
        """(entries,) of the unsigned number at an offset of the entry."""
        part = np.ascontiguousarray(self._bytes[:, offset : offset + width])
        return part.view(f">u{width}").ravel().astype(np.int64)

    def texts(self, offset: int, length: int) -> list[str]:
        """(entries,) of EBCDIC text, without the blanks behind it."""
        part = self._bytes[:, offset : offset + length]
        return [bytes(row).decode("cp037").rstrip() for row in part]


class Columns:
    """A dump: its bytes, its records by type, and its samples."""

    def __init__(self, dump: bytes) -> None:
        self.data = dump
        self._rows: dict[tuple[str, int | None], Rows] = {}
        self._found: dict[tuple[int, int], list[Record]] = defaultdict(list)
        for record in records(dump):
            self._found[record.domain, record.number].append(record)
        self.ends: list[int] = [r.tod for r in self._found[1, 11]]

    def place(self, kind: str, field: str) -> tuple[int, int]:
        """Offset and length of a field, in the first entry if it is one of a repeated part."""
        if field in PLACES[kind]:
            return PLACES[kind][field]
        first, fields = ENTRIES[kind]
        offset, width = fields[field]
        starts = self.rows(kind)[first]
        return (int(starts[0]) if starts.size else 0) + offset, width

    def rows(self, kind: str, sample: int | None = None) -> Rows:
        """The records of one type, all or those of a sample."""
        if (kind, sample) not in self._rows:
            domain, number, _ = TYPES[kind]
            at, wanted = CONTENT.get(kind, (0, b""))
            chosen = [
                r
                for r in self._found[domain, number]
                if (sample is None or r.sample == sample) and r.data.startswith(wanted, at)
            ]
            self._rows[kind, sample] = Rows(kind, chosen)
        return self._rows[kind, sample]

    @property
    def samples(self) -> range:
        """The samples, from 0."""
        return range(len(self.ends))

    def profile(self, kind: str, sample: int) -> Rows:
        """A configuration record as it was in force at a sample: the last one before its end."""
        domain, number, _ = TYPES[kind]
        return Rows(kind, [r for r in self._found[domain, number] if r.sample <= sample][-1:])

    def intervals(self) -> Iterator[Interval]:
        """The intervals that counters can be compared over: none was missed, no IPL was in it."""
        for number in self.samples[:-1]:
            wanted = int(self.profile("mtrspr", number)["interval"][0]) * TOD_PER_S
            length = self.ends[number + 1] - self.ends[number]
            ipls = {int(self.profile("mtrsys", n)["systodst"][0]) for n in (number, number + 1)}
            if length < 1.5 * wanted and len(ipls) == 1:
                yield Interval(self, number)


class Interval:
    """What lies between two samples."""

    def __init__(self, dump: Columns, number: int) -> None:
        self.dump = dump
        self.number = number
        self.since, self.until = dump.ends[number], dump.ends[number + 1]
        self._same: dict[str, I64 | None] = {}

    def before(self, kind: str) -> Rows:
        """The records of the sample that begins the interval."""
        return self.dump.rows(kind, self.number)

    def now(self, kind: str) -> Rows:
        """The records of the sample that ends it."""
        return self.dump.rows(kind, self.number + 1)

    def events(self, kind: str) -> Rows:
        """The event records stamped within the interval."""
        domain, number, _ = TYPES[kind]
        found = self.dump._found[domain, number]
        return Rows(kind, [r for r in found if self.since < r.tod <= self.until])

    def has(self, kind: str, *fields: str) -> bool:
        """Whether the same objects have records in both samples, long enough for the fields."""
        both = (self.before(kind), self.now(kind))
        return self._earlier(kind) is not None and all(r.has(f) for r in both for f in fields)

    def _earlier(self, kind: str) -> I64 | None:
        """For each record of the later sample, the place of its object's record in the earlier one.

        None where the objects are not the same.
        """
        if kind not in self._same:
            before, now = self.before(kind).keys, self.now(kind).keys
            old, new = np.argsort(before, kind="stable"), np.argsort(now, kind="stable")
            self._same[kind] = None
            if np.array_equal(before[old], now[new]):
                places = np.empty_like(old)
                places[new] = old
                self._same[kind] = places
        return self._same[kind]

    def growth(self, kind: str, field: str) -> I64:
        """(objects,) growth of a counter, wraps added back; in the order of the later sample.

        The same objects must be in both samples. Eight bytes do not wrap: a fall is negative.
        """
        earlier = self.before(kind)[field][self._earlier(kind)]
        return _modulo(self.now(kind)[field] - earlier, PLACES[kind][field][1])

    def total(self, kind: str, field: str) -> int | None:
        """Growth over all objects; None where they are not the same in both samples."""
        return int(self.growth(kind, field).sum()) if self.has(kind, field) else None

    def elapsed(self, kind: str) -> I64:
        """(objects,) TOD units between the two records of each, as `growth`."""
        elapsed: I64 = self.now(kind).tod - self.before(kind).tod[self._earlier(kind)]
        return elapsed

    def of_users(self, field: str) -> int | None:
        """What a counter of all users' virtual processors grew by, sessions that ended included.

        A counter begins at zero with the logon. None where somebody came or went and no event
        record tells of it.
        """
        parts = [(self.now("useact"), 1), (self.before("useact"), -1)]
        parts += [(ended, 1)] if len(ended := self.events("uselof")) else []
        if self._sessions is None or not all(rows.has(field) for rows, _ in parts):
            return None
        values = np.concatenate([sign * rows[field] for rows, sign in parts])
        sums = np.zeros(self._sessions.max() + 1, np.int64)
        np.add.at(sums, self._sessions, values)
        return int(_modulo(sums, PLACES["useact"][field][1]).sum())

    @functools.cached_property
    def _sessions(self) -> I64 | None:
        """Number of the virtual processor of each record: of now, before, and of logoffs."""
        now, before, ended = self.now("useact"), self.before("useact"), self.events("uselof")
        come, gone = np.setdiff1d(now.keys, before.keys), np.setdiff1d(before.keys, now.keys)
        if come.size and np.setdiff1d(come, self.events("uselon").keys).size:
            return None
        if gone.size and np.setdiff1d(gone, ended.keys).size:
            return None
        keys = [rows.keys for rows in (now, before, ended) if len(rows)]
        return np.unique(np.concatenate(keys), return_inverse=True)[1] if keys else None


def _modulo(growth: I64, width: int) -> I64:
    return growth if width == 8 else growth % (1 << 8 * width)


def names(kind: str, keys: Any) -> list[str]:
    """Keys as a reader knows them: users by name, all else by number."""
    part = TYPES[kind][2]
    return [_name(bytes(key).ljust(part.stop - (part.start or 0), b"\0")) for key in keys]


def _name(key: bytes) -> str:
    if len(key) < 8:
        return key.hex().upper()
    return f"{key[:8].decode('cp037').rstrip()} {key[8:].hex()}"
