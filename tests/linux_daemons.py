"""Records of mon_fsstatd and mon_procd, written byte by byte as their sources write them."""

from __future__ import annotations

import struct

from tests.dumps import BEGIN_S, fields

AT = 52
"""Where blocks begin: behind the header of APLSDT."""
SUMMARY = struct.Struct(">QI6s6s6s5II8H6Q6Q")
PROCESS = struct.Struct(">IIIHhhIHH10QcI")


def application(product: bytes, block: bytes, at: float = 60, userid: str = "LINUX01") -> bytes:
    """A record of application data with a block of some product."""
    head = fields("aplsdt", at, caldatof=AT, caldatln=len(block), userid=userid, mdgprod=product)
    record = bytearray(head[:AT].ljust(AT, b"\0") + block)
    record[:2] = len(record).to_bytes(2, "big")
    return bytes(record)


def product(function: int, record: int, level: int) -> bytes:
    """The product id of a record that the monwriter device wrote, buffer `level`."""
    return b"LNXAPPL" + struct.pack(">HBHHH", function, record, 0, 0, level)


def block(body: bytes, at: float, room: int = 0) -> bytes:
    """A block of either daemon: header, body, and zeros that fill its buffer."""
    return (struct.pack(">QHH", BEGIN_S + int(at), len(body), 12) + body).ljust(room, b"\0")


def text(value: str | bytes) -> bytes:
    """Text behind two bytes with its length."""
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">H", len(raw)) + raw


def file_system(
    device: str,
    mount: str | bytes,
    *,
    at: float,
    level: int = 0,
    free: int = 250,
    available: int = 200,
    userid: str = "LINUX01",
    taken: float | None = None,
) -> bytes:
    """A file system of 1,000 blocks of 1 MiB and 400 inodes, 300 of them free."""
    body = text(device) + text(mount) + text("ext4")
    body += struct.pack(">9Q", 4096, 1 << 20, 1000, free, available, 400, 300, 300, 4096)
    return application(
        product(1, 0, level), block(body, at if taken is None else taken, 590), at, userid
    )


def process(
    pid: int,
    command: str,
    ticks: int,
    *,
    at: float,
    level: int = 0,
    parent: int = 1,
    faults: int = 0,
    userid: str = "LINUX01",
    taken: float | None = None,
) -> bytes:
    """A process of 8 MiB, of which 2 are resident."""
    body = PROCESS.pack(
        *(pid, parent, 100, 0, 20, -5, 1, 5000, 12, ticks, 2 * ticks),
        *(8192, 6144, 2048, 100, 4000, 300, 0, faults, b"S", 0x400000),
    )
    names = ("root", "wwwrun", "www", "poll_schedule", command, f"/usr/sbin/{command} -D")
    body += b"".join(map(text, names))
    return application(
        product(2, 1, level), block(body, at if taken is None else taken, 500), at, userid
    )


def summary(*, at: float, uptime: int = 7200, userid: str = "LINUX01") -> bytes:
    """120 processes on 2 processors that were busy for 60 %."""
    body = SUMMARY.pack(
        *(uptime, 3, b"0.51\0", b"1.20\0", b"12.05", 120, 4, 110, 1, 5, 2),
        *(4000, 0, 1500, 3500, 400, 100, 400, 100),
        *(2048 << 10, 1536 << 10, 512 << 10, 9000, 5, 6),
        *(1024 << 10, 256 << 10, 768 << 10, 4096, 7, 8),
    )
    return application(product(2, 0, 0), block(body, at), at, userid)
