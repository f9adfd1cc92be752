"""A dump of two intervals of a minute with virtual disks, a virtual switch and virtual adapters."""

from __future__ import annotations

from tests.dumps import dump, fields, interval

NETWORK = "SYSTEM  VSWPROD "
"""Owner and name of the virtual network."""


def disk(at: float, owner: str, number: int, blocks: int, ios: int) -> bytes:
    """STOVDK of a virtual disk in storage: links twice, size in blocks of 512 bytes."""
    space = f"{owner:8}VDISK${number:04X}$"
    named = {"mdiouser": owner, "mdiovdev": number, "qdisname": space}
    return fields("stovdk", at, **named, mdilinks=2, calsize=blocks, qdiiocnt=ios)


def switch(at: float, device: int, sent: int, received: int) -> bytes:
    """IODVSW of a real device of the switch: packets of 1000 bytes, each 100th is discarded."""
    moved = {"nictxbyt": sent, "nicrxbyt": received, "nictxpkt": sent // 1000}
    moved |= {"nicrxpkt": received // 1000, "nictxdsc": sent // 100_000}
    names = {"vmduser": "DTCVSW1", "lanid": NETWORK, "rdevdev": device, "rdevsid": device}
    return fields("iodvsw", at, **names, **moved, nicrxerr=round(at / 60))


def adapter(at: float, owner: str, sent: int, received: int) -> bytes:
    """VNDSES of the session of a guest's adapter: packets of 500 bytes."""
    moved = {"sestxbyt": sent, "sesrxbyt": received, "sestxpkt": sent // 500}
    moved |= {"sesrxpkt": received // 500, "sesrxdsc": received // 50_000}
    names = {"owner": owner, "nicbase": 0x600, "vdevdev": 0x602, "lanid": NETWORK}
    return fields("vndses", at, **names, **moved)


def virtual_devices() -> bytes:
    """The dump; each counter grows by the same in each minute."""
    sets = []
    for n in range(3):
        at = 60 * n
        config = [fields("mtrsys", at, systmid="VMNET", hcpcpeid="05030000")] if n == 0 else []
        rows = [
            disk(at, "LINUX1", 0x300, 204_800, 5_000 + 1_200 * n),
            disk(at, "LINUX2", 0x301, 40_960, 60 * n),
            switch(at, 0x1A00, 90_000_000 * n, 30_000_000 * n),
            switch(at, 0x1B00, 0, 600_000 * n),
            adapter(at, "LINUX1", 6_000_000 * n, 12_000_000 * n),
            adapter(at, "LINUX2", 0, 0),
        ]
        sets.append(interval(at, *config, *rows))
    return dump(*sets)
