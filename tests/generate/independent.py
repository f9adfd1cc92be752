"""What eleven kinds of records say, read by plain struct; the offsets are written down by hand.

Nothing of cpmon is used, so that a mistake which layouts, encoder and decoder share is seen. The
offsets are those of IBM's record pages (control blocks MTRSYS, SYTPRP, ...), 5.3.0 and before;
they count from the first byte of the record's header.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tests.generate.plain_reader import records

Values = dict[str, int | str | None]

RECORDS: dict[str, tuple[int, int]] = {
    "mtrsys": (1, 4),
    "mtrprp": (1, 5),
    "mtrmem": (1, 7),
    "mtrspr": (1, 9),
    "mtrusr": (1, 15),
    "sytprp": (0, 2),
    "sytrsg": (0, 3),
    "sytrsp": (0, 4),
    "stoasp": (3, 4),
    "useact": (4, 3),
    "ioddev": (6, 3),
}

FIELDS = {
    "mtrsys": """28 8s hcpcpeid, 36 Q systodst, 44 Q systerm, 80 I syszone, 88 8s systmid,
        96 6s sysckvol, 108 4s sysmtype, 112 16s sysmmodl, 148 H lpnumber, 160 8s lparname""",
    "mtrprp": "20 H pfxcpuad, 28 B calflags, 30 B pfxidver, 31 B pfxtype, 32 8s caluded",
    "mtrmem": "48 I rsapgabl, 52 I rsanonpg, 84 Q sysgtors, 92 Q rsagstor, 100 Q rsagoffl",
    "mtrspr": "20 i interval, 24 i hfrate, 32 H config",
    "mtrusr": """20 8s vmduser, 28 H vmdcpuad, 31 B vmdcpuct, 36 I vmdrelsh, 40 I vmdabssh,
        44 I vmdssize, 48 8s vmdactno, 56 8s vmdgrpn, 68 Q caltodon""",
    "sytprp": """20 H pfxcpuad, 22 H plscuhaf, 24 Q pfxprbtm, 32 Q pfxutime, 40 Q pfxtmsys,
        68 Q pfxtotwt, 92 Q pfxspint, 100 I pfxspinc, 104 B pfxcputy""",
    "sytrsg": """36 I sysrsvpg, 40 I rsacplok, 44 I rsanonpg, 48 I rsapgabl, 52 I rsaavail,
        56 I rsafrqwt, 68 I rsasavfr, 88 I tcmmain, 108 I sysscmav, 140 Q rsa2gavl""",
    "sytrsp": """20 H pfxcpuad, 24 I plsstlfr, 28 I plsprqdf, 32 I plsshrrd, 36 I plsalemp,
        44 I plsmvb2g, 48 I plsalemg, 60 B pfxcputy""",
    "stoasp": """20 6s calvser, 26 H rdevdev, 28 I rdevsid, 32 I calspool, 36 I calpage,
        48 I expctprd, 52 I expctpwr, 56 I expcurqc, 68 H scmssch, 152 I expdevst,
        160 I cpvlokat, 164 I cpvalocd, 168 I scgssch""",
    "useact": """20 8s vmduser, 28 H vmdcpuad, 32 B vmdslist, 36 Q vmdttime, 44 Q vmdvtime,
        68 I vmdctpvr, 76 I vmdwsspr, 80 I vmdctxbk, 112 I calcppgr, 116 I calcppgw,
        136 I vmdvdsct, 180 I vmdx98ct, 188 I calcpxwt, 192 I calcpxrd""",
    "ioddev": """24 I rdevsid, 36 6s rdevser, 42 8s caluser, 52 H scmssch, 54 H scmcount,
        56 I scmcntim, 60 I scmfptim, 64 I scmddtim, 68 I hfrdevct, 72 I hfctio,
        132 I rdevmcia, 160 I scmdatim, 192 I scgssch, 196 I scgcount, 200 H rdevdev""",
}
"""Offset, struct code and name of each field; text is EBCDIC, filled up with blanks or zeros."""


def rows(dump: bytes, name: str) -> Iterator[Values]:
    """The records of one kind in order: where each starts, its TOD clock, and its fields.

    A field that begins behind the end of a shorter record is None.
    """
    fields = [line.split() for line in FIELDS[name].split(",")]
    for record in records(dump):
        if (record.domain, record.number) != RECORDS[name]:
            continue
        values: Values = {"record_offset": record.offset, "tod_us": _us(record.tod)}
        for offset, code, field in fields:
            values[field] = _value(record.data, int(offset), ">" + code)
        yield values


def _value(data: bytes, offset: int, code: str) -> int | str | None:
    if offset + struct.calcsize(code) > len(data):
        return None
    (value,) = struct.unpack_from(code, data, offset)
    return value.decode("cp037").rstrip(" \0") if isinstance(value, bytes) else int(value)


def _us(tod: int) -> int:
    """Microseconds since 1970 of a TOD clock: 4096 a microsecond, since 1900-01-01 UTC."""
    return tod // 4096 - 2_208_988_800_000_000
