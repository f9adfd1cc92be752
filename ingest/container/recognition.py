"""Detects how a dump is wrapped; tells what happened to data that is no dump."""

from __future__ import annotations

import numpy as np

from ...schemas.errors import DumpError
from ..codec import U8
from .control_records import AREA, EVENT, SAMPLE, are_controls, find_control, read_control
from .frames import FRAME, are_headers
from .record_sets import holds_set
from .set_starts import set_starts, starts_set
from .source import Container

BINARY = (
    "transfer it again in binary (ftp: `binary` and `quote site fix 4096`; "
    "scp and CMS pipes: no translation), so that its size is a multiple of 4096"
)
HEAD = 64 * FRAME
"""How many of the first bytes tell how a dump is wrapped if they are good."""
FAR = 16 * 1024 * 1024
"""How many of them are searched if the first ones are damaged."""
PREFIXES = (4, 8)
"""Lengths of record, and of block and record descriptor words."""


def detect_container(head: U8, name: str, final: bool) -> Container | None:
    """Detects how a dump is wrapped from its first bytes; None if these are too few.

    If the front is good, `HEAD` of them tell; behind a damaged one, up to `FAR`. More make no
    difference.

    Args:
        head: the first bytes of the dump.
        name: of the dump, for the message.
        final: the dump has no others.

    Raises:
        DumpError: they are no monitor data; the message names what they look like instead.
    """
    final, head = final and len(head) <= FAR, head[:FAR]
    if len(head) < HEAD and not final:
        return None
    front = head[:HEAD]
    if len(head) == 0:
        raise DumpError(f"{name} is empty", remedy="copy the dump again, after MONWRITE closed it")
    begins = len(head) >= FRAME and _is_start(head)
    line_end = _line_end(head) if begins else ""
    if line_end:
        raise _not_binary(name, f"{line_end} behind the first 4096 bytes", head)
    if _holds_control(front):
        return Container.MONWRITE
    if starts_set(head, 0):
        return Container.MONREADER
    if len(head) < FAR and not final:
        return None
    if holds_set(head, final):
        return Container.MONREADER
    if begins:
        return Container.MONREADER if _hides_set(front) else Container.MONWRITE
    _refuse_changed(head, name)
    if any(_starts_records(head[at:][:FRAME]) for at in range(FRAME, len(front), FRAME)):
        return Container.MONWRITE
    if _holds_control(head) or find_control(head, 0, len(head)) is not None:
        return Container.MONWRITE
    raise DumpError(
        f"{name} is no monitor data",
        place="offset 0x0",
        expected="a MONWRITE control record of 4096 bytes, or a monreader control element of 12",
        found=_hex(head),
        effect="nothing was landed",
        remedy="give a file written by MONWRITE or read from /dev/monreader, plain or compressed "
        "by gzip or zstd",
    )


def _refuse_changed(head: U8, name: str) -> None:
    """Raise if a transfer has put prefixes in front of the frames, or has translated them."""
    for width in PREFIXES:
        shifted = head[width:]
        if len(shifted) >= FRAME and _is_start(shifted):
            raise DumpError(
                f"{name} has {width} bytes in front of its records",
                place="offset 0x0",
                expected="a control record",
                found=f"{_hex(head)}, then a control record",
                effect="nothing was landed",
                remedy="it was read with record or block descriptor words; " + BINARY,
            )
    if len(head) > AREA and _translated(head):
        raise _not_binary(name, "EBCDIC translated to ASCII", head)


def _is_start(frame: U8) -> bool:
    """A control record, or a frame of records as in a dump that starts in mid-stream."""
    return bool(read_control(frame[:FRAME])) or bool(are_headers(frame, np.zeros(1, np.int64))[0])


def _hides_set(head: U8) -> bool:
    """Whether what looks like a file may be the damaged front of a capture: a set follows it.

    None of the first frames begins with records then.
    """
    if any(_starts_records(head[at : at + FRAME]) for at in range(0, 3 * FRAME, FRAME)):
        return False
    return len(set_starts(head, 1, len(head))) > 0


def _holds_control(head: U8) -> bool:
    """Whether a control record beyond doubt stands on a frame of the file."""
    return bool(are_controls(head, np.arange(0, len(head), FRAME, dtype=np.int64)).any())


def _starts_records(frame: U8) -> bool:
    """Whether two records follow each other at the front: what a damaged first frame leaves."""
    first = np.zeros(1, np.int64)
    if not are_headers(frame, first)[0]:
        return False
    second = first + (int(frame[0]) << 8 | int(frame[1]))
    return bool(are_headers(frame, second)[0])


def _line_end(head: U8) -> str:
    """Name of the line end that was put behind the first record, or nothing."""
    for text, name in ((b"\r\n", "CR and LF"), (b"\n", "LF")):
        behind = head[FRAME + len(text) :]
        if head[FRAME:][: len(text)].tobytes() == text and len(behind) and _is_start(behind):
            return name
    return ""


def _translated(head: U8) -> bool:
    """Whether an entry's type reads S or E in ASCII, where EBCDIC belongs."""
    ascii_types = {bytes([t]).decode("cp037").encode("ascii")[0] for t in (SAMPLE, EVENT)}
    return int(head[AREA]) in ascii_types and not are_headers(head, np.zeros(1, np.int64))[0]


def _not_binary(name: str, found: str, head: U8) -> DumpError:
    return DumpError(
        f"{name} was transferred as text",
        place="offset 0x0",
        expected="a MONWRITE control record, then frames of 4096 bytes",
        found=f"{found}; first bytes {_hex(head)}",
        effect="nothing was landed; a translated dump cannot be repaired",
        remedy=BINARY,
    )


def _hex(head: U8) -> str:
    return head[:12].tobytes().hex(" ")
