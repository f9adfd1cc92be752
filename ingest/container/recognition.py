"""Detects how a dump is wrapped, and what happened to data that is no dump."""

from __future__ import annotations

import numpy as np

from ...core.errors import DumpError
from ..codec import U8
from .control_records import AREA, are_controls, find_control, read_control
from .monreader import holds_set, set_starts, starts_set
from .record_index import FRAME, is_header
from .source import Container

BINARY = (
    "transfer it again in binary (ftp: `binary` and `quote site fix 4096`; "
    "scp and CMS pipes: no translation), so that its size is a multiple of 4096"
)
HEAD = 64 * FRAME
"""Number of first bytes from which the wrapping is detected if they are good."""
FAR = 16 * 1024 * 1024
"""Number of bytes that are searched if the first ones are damaged."""
CARD = 80
"""Bytes that records are padded to where a file was made of cards."""
LABELLED = (
    "a tape with standard labels",
    "read the file behind the labels by MOVEFILE or a DD statement",
)
WRAPPED = (
    (0, ":CFF", "a VMARC archive", "unpack it by VMARC UNPK"),
    (2, "INMR01", "a file in NETDATA format", "unpack it by RECEIVE or NETDATA RECEIVE"),
    (0, "VOL1", *LABELLED),
    (0, "HDR1", *LABELLED),
)
"""What CMS, TRANSMIT and tapes put in front: its place, its text in EBCDIC, what to do."""
PACKED = (
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x04\x22\x4d\x18", "compressed by lz4"),
    (b"\x1f\x9d\x90", "compressed by compress"),
    (b"\x5d\0\0", "compressed by lzma"),
    (b"PK\x03\x04", "a zip archive in another archive"),
)
"""First bytes of what this system packs and cpmon does not unpack."""
UNPACKED = "then transfer what comes of it in binary, in records of 4096 bytes"
ORIGINAL = f"give the file that MONWRITE wrote; {BINARY}"


def detect_container(head: U8, name: str, final: bool) -> Container | None:
    """Detects how a dump is wrapped from its first bytes; None if these are too few.

    `HEAD` of them are enough if the front is good, else `FAR`; more make no difference.

    Args:
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
        raise DumpError(
            f"{name} is empty",
            code="dump-empty",
            remedy="copy the dump again, after MONWRITE closed it",
        )
    begins = len(head) >= FRAME and _is_start(head)
    _refuse_wrapped(head, name)
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
    for magic, what in PACKED:
        if head[: len(magic)].tobytes() == magic:
            raise _wrapped(
                name, what, head, "unpack it; gzip, zstd, bzip2, xz, zip and tar may stay"
            )
    # TERSE, AMATERSE among it, begins so (believed).
    is_terse = int(head[0]) in (1, 2, 5, 7)
    packed = ", or unpack it first: by its first byte it may be packed by TERSE"
    raise DumpError(
        f"{name} is no monitor data",
        code="dump-unrecognized",
        place="offset 0x0",
        expected="a MONWRITE control record of 4096 bytes, or a monreader control element of 12",
        found=_hex(head),
        effect="nothing was landed",
        remedy="give a file written by MONWRITE or read from /dev/monreader, plain or compressed "
        "by gzip, zstd, bzip2, xz or zip; a file that CMS has packed is unpacked by COPYFILE "
        f"(UNPACK{packed if is_terse else ''}",
    )


def _refuse_wrapped(head: U8, name: str) -> None:
    """Raise if this is an archive or a tape of another system, or a copy record by record."""
    for at, text, what, unpack in WRAPPED:
        if head[at : at + len(text)].tobytes() == text.encode("cp037"):
            raise _wrapped(name, what, head, f"{unpack}, {UNPACKED}")
    if _is_aws_tape(head):
        read = "take the file out of the tape image, such as by hetget of Hercules"
        raise _wrapped(name, "an AWSTAPE image", head, f"{read}, {UNPACKED}")
    if _has_word_each_record(head):
        what = "monitor records, each with a descriptor word"
        raise _wrapped(name, what, head, ORIGINAL)
    if _is_padded(head):
        raise _wrapped(name, f"a copy in records of {CARD} bytes", head, ORIGINAL)


def _wrapped(name: str, what: str, head: U8, remedy: str) -> DumpError:
    return DumpError(
        f"{name} is {what}",
        code="dump-wrapped",
        place="offset 0x0",
        expected="a MONWRITE control record",
        found=_hex(head),
        effect="nothing was landed",
        remedy=remedy,
    )


def _is_aws_tape(head: U8) -> bool:
    """Two block headers of six bytes: length, length of the block before, flags."""
    if len(head) < 6 or head[2:4].any() or not head[4] & 0x80 or head[5]:
        return False
    length = int(head[0]) | int(head[1]) << 8
    behind = head[6 + length :][:6]
    return length > 0 and len(behind) == 6 and int(behind[2]) | int(behind[3]) << 8 == length


def _has_word_each_record(head: U8) -> bool:
    """Whether two records have a descriptor word of four bytes, which counts itself.

    The first can also have that of a block in front.
    """
    at = 0 if _half(head, 4) + 4 == _half(head, 0) else 4
    for _ in range(2):
        length = _half(head, at + 4)
        if not is_header(head, at + 4) or head[at + 2 : at + 4].any():
            return False
        if _half(head, at) != length + 4:
            return False
        at += 4 + length
    return True


def _is_padded(head: U8) -> bool:
    """A frame, or the first record, is filled up to a multiple of 80, where a record begins."""
    mces = read_control(head[:FRAME]) if len(head) >= FRAME else None
    length = FRAME if mces else _half(head, 0) if is_header(head, 0) else 0
    behind = -(-length // CARD) * CARD
    if length == behind or (mces and mces[0].lead == behind - length):
        return False
    # Zeros, or blanks of EBCDIC or ASCII.
    filled = any((head[length:behind] == fill).all() for fill in (0x00, 0x40, 0x20))
    return filled and is_header(head, behind) and not is_header(head, length)


def _half(head: U8, at: int) -> int:
    """The halfword at a position; -1 behind the end."""
    return int(head[at]) << 8 | int(head[at + 1]) if at + 2 <= len(head) else -1


def _refuse_changed(head: U8, name: str) -> None:
    """Raise if a transfer has translated the dump."""
    # An entry's type reads S or E in ASCII, where EBCDIC belongs.
    if len(head) > AREA and int(head[AREA]) in b"SE" and not is_header(head, 0):
        raise _not_binary(name, "EBCDIC translated to ASCII", head)
    if len(head) >= FRAME and _is_unicode(head[:HEAD]):
        raise _not_binary(name, "bytes written as characters of UTF-8", head)


def _is_unicode(head: U8) -> bool:
    """Whether the bytes of a dump were converted to UTF-8, or replaced by its error character."""
    text = head.tobytes().decode("utf-8", errors="ignore")
    if len(text) == len(head):
        return False
    before = np.frombuffer(text.encode("latin-1", errors="replace"), np.uint8)
    is_whole = len(text.encode()) + 4 > len(head)
    # More than a few error characters are no accident.
    return is_whole and (text.count("\ufffd") > 8 or _is_start(before))


def _is_start(frame: U8) -> bool:
    """A control record, or a frame of records as in a dump that starts in mid-stream."""
    return bool(read_control(frame[:FRAME])) or is_header(frame, 0)


def _hides_set(head: U8) -> bool:
    """Whether what looks like a file may be the damaged front of a capture: a set follows it.

    None of the first frames begins with records then.
    """
    if any(_starts_records(head[at : at + FRAME]) for at in range(0, 3 * FRAME, FRAME)):
        return False
    return len(set_starts(head, 1, len(head))) > 0


def _holds_control(head: U8) -> bool:
    """Whether a frame of the file certainly has a control record."""
    return bool(are_controls(head, np.arange(0, len(head), FRAME, dtype=np.int64)).any())


def _starts_records(frame: U8) -> bool:
    """Whether two records follow each other at the front: what a damaged first frame leaves."""
    return is_header(frame, 0) and is_header(frame, _half(frame, 0))


def _line_end(head: U8) -> str:
    """Name of the line end that was put behind the first record, or nothing."""
    for text, name in ((b"\r\n", "CR and LF"), (b"\n", "LF")):
        behind = head[FRAME + len(text) :]
        if head[FRAME:][: len(text)].tobytes() == text and len(behind) and _is_start(behind):
            return name
    return ""


def _not_binary(name: str, content: str, head: U8) -> DumpError:
    return DumpError(
        f"{name} was transferred as text",
        code="dump-transferred-as-text",
        place="offset 0x0",
        expected="a MONWRITE control record, then frames of 4096 bytes",
        found=f"{content}; first bytes {_hex(head)}",
        effect="nothing was landed; a translated dump cannot be repaired",
        remedy=BINARY,
    )


def _hex(head: U8) -> str:
    return head[:12].tobytes().hex(" ")
