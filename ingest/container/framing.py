"""What a transfer puts around the records of a dump: words of length, blocks of them, line ends.

A file of z/OS that is read with its descriptor words has one in front of each record or segment
(RDW), maybe one in front of each block as well (BDW). Other programs write lengths of their own.
All are forms of one thing, a `Word`; a `Framing` is the word of the pieces and, maybe, that of
blocks. It is detected from the first bytes: of all that match, the one without which most
frames begin as frames of a dump do.

Pieces are followed and taken out by whole arrays: the time for a byte does not depend on how long
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..codec import I64, U8, Mask, chain
from .compression import Readable
from .control_records import are_controls, read_control
from .monreader import are_followed, set_starts, starts_set
from .record_index import FRAME, are_headers, is_header

HEAD = 16 * FRAME
"""Number of first bytes from which the framing of a dump is detected."""
STEP = 64 * 1024
"""Bytes that are followed at a time."""
LARGEST = 256 * 1024
"""Bytes of a piece, and of a record that is filled up; more are no length."""
LARGEST_BLOCK = 16 * 1024 * 1024
REPEATED = b"length"
"""Stands for a second copy of the word behind a piece."""
MOST = 512
"""Records that are filled up at a time: one can be as short as its word. And places in a dump where
no word is: behind more of them the rest is given as it is."""
_SURE = 4
"""So many good frames make up for a damaged first one."""


@dataclass(frozen=True)
class Word:
    """The bytes in front of a piece of data, with its length, and those behind it.

    Attributes:
        name: for people.
        size: bytes of it.
        length: dtype of the length in it. at: its offset.
        counted: bytes of the word that the length counts.
        zeros: positions in it of bytes that are zero.
        segments: its third byte tells whether a piece is all of a record (0), its first (1), its
            last (2) or another part of it (3).
        marks: its first byte has bits of FTP's block mode: 80 ends a record, 40 the file, 10 is a
            mark and no data.
        is_block: it is that of a block, which may be a large one: four bytes, the first bit is set.
        behind: bytes behind each piece, or `REPEATED`.
    """

    name: str
    size: int
    length: str
    at: int = 0
    counted: int = 0
    zeros: tuple[int, ...] = ()
    segments: bool = False
    marks: bool = False
    is_block: bool = False
    behind: bytes = b""

    @property
    def tail(self) -> int:
        """Bytes behind a piece."""
        return self.size if self.behind == REPEATED else len(self.behind)

    def lengths(self, data: U8) -> I64:
        """(positions,) bytes of the piece behind a word at each position; -1 where none can be."""
        count = max(len(data) - self.size + 1, 0)
        lengths = _numbers(data, self.length, self.at, count) - self.counted
        good = (lengths >= 0) & (lengths <= LARGEST)
        for zero in self.zeros:
            good &= data[zero : zero + count] == 0
        if self.segments:
            good &= data[2 : 2 + count] <= _MIDDLE
        if self.marks:
            good &= (data[:count] & 0x0F == 0) & ((data[:count] != 0) | (lengths > 0))
        if self.is_block:
            large = _numbers(data, ">u4", 0, count) - (1 << 31)
            is_large = (large >= self.counted) & (large <= LARGEST_BLOCK)
            good |= is_large
            lengths[is_large] = large[is_large] - self.counted
        lengths[~good] = -1
        return lengths

    def ends(self, data: U8) -> tuple[I64, Mask]:
        """(positions,) behind which byte the piece at each position ends; whether it is whole."""
        lengths = self.lengths(data)
        start = np.arange(len(lengths))
        ends = start + self.size + lengths + self.tail
        whole = (lengths >= 0) & (ends <= len(data))
        if self.behind == REPEATED:
            numbers = _numbers(data, self.length, self.at, len(lengths))
            whole[whole] = numbers[ends[whole] - self.size] == numbers[start[whole]]
        else:
            for back, byte in enumerate(reversed(self.behind), 1):
                whole[whole] = data[ends[whole] - back] == byte
        return np.where(lengths >= 0, ends, -1), whole


def _numbers(data: U8, kind: str, offset: int, count: int) -> I64:
    """(count,) the number that begins at each byte from an offset on."""
    numbers = np.ndarray((count,), kind, data, offset, (1,)) if count else np.empty(0, kind)
    return numbers.astype(np.int64)


_WHOLE, _FIRST, _LAST, _MIDDLE = range(4)
WORDS = (
    Word("RDW", 4, ">u2", counted=4, zeros=(3,), segments=True),
    Word("RDW that does not count itself", 4, ">u2", zeros=(3,), segments=True),
    Word("length of four bytes", 4, ">u4"),
    Word("length of four bytes that counts itself", 4, ">u4", counted=4),
    Word("little-endian length of four bytes", 4, "<u4"),
    Word("little-endian RDW", 4, "<u4", counted=4),
    Word("reversed RDW", 4, "<u2", at=2, counted=4, zeros=(0, 1)),
    Word("reversed RDW that does not count itself", 4, "<u2", at=2, zeros=(0, 1)),
    Word("block of FTP", 3, ">u2", at=1, marks=True),
    Word("length of two bytes", 2, ">u2"),
    Word("length of two bytes that counts itself", 2, ">u2", counted=2),
    Word("little-endian length of two bytes", 2, "<u2"),
    Word("little-endian length of two bytes that counts itself", 2, "<u2", counted=2),
)
"""In front of records or segments; of several that match equally the first is used."""
BEHIND = {b"": "", b"\r\n": " and CR LF", b"\n": " and LF", b"\x15": " and NL", REPEATED: " twice"}
BLOCKS = (
    None,
    Word("BDW", 4, ">u2", counted=4, zeros=(2, 3), is_block=True),
    Word("BDW that does not count itself", 4, ">u2", zeros=(2, 3), is_block=True),
    Word("little-endian BDW", 4, "<u4", counted=4),
    Word("little-endian BDW that does not count itself", 4, "<u4"),
)
"""In front of blocks of them."""


@dataclass(frozen=True)
class _Pieces:
    """The whole pieces at the front of some data.

    Attributes:
        start, end: (pieces,) positions of their words, and behind their last bytes.
        last: (pieces,) whether each ends a record.
        words: positions of the words of blocks.
        bounds: ends of blocks, ascending.
        used: where following them ended.
        more: bytes that the next one lacks; 0 where no word is.
    """

    start: I64
    end: I64
    last: Mask
    words: I64
    bounds: I64
    used: int
    more: int

    def upto(self, count: int, used: int) -> _Pieces:
        """The first ones."""
        first = (self.start[:count], self.end[:count], self.last[:count])
        return replace(self, start=first[0], end=first[1], last=first[2], used=used)

    @property
    def block_end(self) -> int:
        """Where the block ends in which reading goes on, from there."""
        number = int(np.searchsorted(self.bounds, self.used))
        return int(self.bounds[number]) - self.used if number < len(self.bounds) else 0


@dataclass(frozen=True)
class Framing:
    """What is around the pieces of a dump.

    Attributes:
        is_filled: the trailing zeros of records were stripped: each is a whole number of frames.
        is_stream: the data is one of record sets and not of frames.
    """

    word: Word
    block: Word | None = None
    is_filled: bool = False
    is_stream: bool = False

    @property
    def lead(self) -> int:
        """Bytes in front of the first piece."""
        return self.word.size + (self.block.size if self.block else 0)

    @property
    def name(self) -> str:
        """What it is, for people."""
        word = self.word.name + BEHIND[self.word.behind]
        return f"{self.block.name} and {word}" if self.block else word

    def pieces(self, data: U8, block_end: int = 0, *, is_open: bool = False) -> _Pieces:
        """The complete pieces at the front of some data.

        Args:
            block_end: where the block that it begins in ends. is_open: a record goes on.
        """
        ends, whole = self.word.ends(data)
        following = np.arange(len(data) + 1)
        following[: len(whole)][whole] = ends[whole]
        words, bounds, more, first = np.empty(0, np.int64), np.empty(0, np.int64), 0, 0
        if self.block:
            words, bounds, more = self._blocks(self.block, data, block_end)
            enter = np.arange(len(data) + 1)
            enter[words] += self.block.size
            following = enter[following]
            following[bounds[bounds <= len(data)]] = bounds[bounds <= len(data)]
            first = int(enter[0])
        start = chain(following, first)
        used, start = int(start[-1]), start[:-1]
        end = ends[start]
        bad = np.zeros(len(start), np.bool_)
        if self.block:
            inside = np.append(bounds, np.iinfo(np.int64).max)
            bad |= end > inside[np.searchsorted(bounds, start, side="right")]
        last = np.ones(len(start), np.bool_)
        if self.word.segments:
            code = data[start + 2]
            last = (code == _WHOLE) | (code == _LAST)
            opens = np.append(is_open, ~last)[: len(start)]
            bad |= ((code == _LAST) | (code == _MIDDLE)) != opens
        elif self.word.marks:
            last = data[start] & 0xC0 != 0
        if used not in bounds or used in words:
            more = self._lacks(data, ends, used, bounds)
        found = _Pieces(start, end, last, words, bounds, used, more)
        if bad.any():
            count = int(np.argmax(bad))
            found = replace(found.upto(count, int(start[count])), more=0)
        return found

    def _lacks(self, data: U8, ends: I64, at: int, bounds: I64) -> int:
        """Bytes that are missing of the piece at a position; 0 if there is no word."""
        if at + self.word.size > len(data):
            return at + self.word.size - len(data)
        end = int(ends[at])
        number = int(np.searchsorted(bounds, at, side="right"))
        if number < len(bounds) and end > bounds[number]:
            return 0
        return max(end - len(data), 0)

    @staticmethod
    def _blocks(word: Word, data: U8, first: int) -> tuple[I64, I64, int]:
        """Words of blocks from a position on, ends of blocks, and what is missing of the last word.

        The first end is that position.
        """
        if first > len(data):
            return np.empty(0, np.int64), np.array([first]), 0
        ends, whole = word.ends(data)
        following = np.arange(len(data) + 1)
        following[: len(whole)][whole] = ends[whole]
        words = chain(following, first)
        at = int(words[-1])
        more = at + word.size - len(data)
        if more > 0 or ends[at] < at + 2 * word.size:
            words = words[:-1]
        return words, np.append(first, ends[words]), max(more, 0)

    def data(self, stored: U8, found: _Pieces) -> U8:
        """What is in pieces, without their words."""
        keep = np.ones(found.used, np.bool_)
        for byte in range(self.word.size):
            keep[found.start + byte] = False
        for byte in range(self.word.tail):
            keep[found.end - 1 - byte] = False
        for byte in range(self.block.size if self.block else 0):
            keep[found.words[found.words < found.used] + byte] = False
        if self.word.marks:
            marks = stored[found.start] & 0x10 != 0
            keep &= ~_runs(found.start[marks], found.end[marks], found.used)
        return stored[: found.used][keep]

    def records(self, stored: U8, found: _Pieces) -> I64:
        """(records,) bytes of each record that ends in the pieces."""
        lengths = found.end - found.start - self.word.size - self.word.tail
        mark = stored[found.start] if self.word.marks else np.full(len(lengths), 0x80, np.uint8)
        lengths[mark & 0x10 != 0] = 0
        records: I64 = np.diff(np.cumsum(lengths)[found.last], prepend=0)
        is_record = (records > 0) | (mark[found.last] & 0x80 != 0)  # the end alone is none
        return np.asarray(records[is_record])

    def front(self, stored: U8, found: _Pieces) -> U8:
        """What is in the first pieces and in the one that is cut behind them."""
        whole = _records_of(found)
        begin = self.data(stored, whole)
        if self.is_filled:
            lengths = self.records(stored, whole)[: HEAD // FRAME]
            return self.filled(begin[: int(lengths.sum())], lengths)
        return np.append(begin, self.open(stored, found, whole))

    def open(self, stored: U8, found: _Pieces, whole: _Pieces) -> U8:
        """What is in the pieces behind whole records, and in the one that is cut behind them."""
        rest = self.data(stored, found)[len(self.data(stored, whole)) :]
        length = self.word.lengths(stored[found.used :][: self.word.size]) if found.more else ()
        cut = stored[found.used + self.word.size :][: max([*length, 0])]
        return np.concatenate([rest, cut])

    def resume(self, stored: U8) -> int:
        """Position of the first word, but for one in front, that frames follow; 0 without one."""
        ends, whole = self.word.ends(stored)
        at = np.flatnonzero(whole)
        at = at[_begin_frames(stored, at + self.word.size)]
        if self.block:
            size = self.block.size
            at = at[at > size] - size
            lengths = self.block.lengths(stored)[at]
            at = at[lengths >= ends[at + size] - at - size]
        else:
            behind = ends[at]
            at, behind = at[behind < len(ends)], behind[behind < len(ends)]
            at = at[(ends[behind] >= 0) & _begin_frames(stored, behind + self.word.size)]
        return int(at[at > 0][0]) if (at > 0).any() else 0

    def filled(self, data: U8, lengths: I64) -> U8:
        """Records with zeros behind each, up to a whole number of frames."""
        whole = np.maximum(-(-lengths // FRAME), 1) * FRAME
        behind = np.cumsum(whole)
        size = int(behind[-1]) if len(behind) else 0
        is_zero = _runs(behind - whole + lengths, behind, size)
        frames = np.zeros(size, np.uint8)
        frames[~is_zero] = data
        return frames


def _runs(first: I64, behind: I64, size: int) -> Mask:
    """(size,) whether each position is in a run; none overlap."""
    edges = np.zeros(size + 1, np.int8)
    some = behind > first
    edges[first[some]] += 1
    edges[behind[some]] -= 1
    return np.cumsum(edges[:-1], dtype=np.int8) > 0


def _records_of(found: _Pieces) -> _Pieces:
    """The pieces up to the end of the last record."""
    count = len(found.last) - int(np.argmax(found.last[::-1])) if found.last.any() else 0
    return found.upto(count, int(found.end[count - 1]) if count else 0)


def find_framing(head: bytes) -> Framing | None:
    """What is around a dump, by its first `HEAD` bytes; None if nothing is, or nothing known.

    Those are tried whose first piece begins as a dump does beyond doubt; else all, since that may
    be damaged, or a few bytes.
    """
    stored = np.frombuffer(head, np.uint8)
    if _begins_dump(stored):
        return None
    candidates = [*_candidates(stored)]
    near = [each for each in candidates if _surely_begins_dump(stored[each.lead :])]
    others = [each for each in candidates if each not in near]
    return _best(near, stored, 1) or _best(others, stored, 2)


def _best(candidates: Sequence[Framing], stored: U8, least: int) -> Framing | None:
    """The first of those without which most frames, and at least some, begin as frames do."""
    best, framing = (least, -2, False, 0, 0), None
    for candidate in candidates:
        found = candidate.pieces(stored)
        lengths = candidate.records(stored, _records_of(found))
        is_even = bool(len(lengths)) and not lengths[0] % FRAME
        some = int((found.end - found.start > candidate.word.size + candidate.word.tail).sum())
        is_short = bool(((lengths % FRAME != 0) | (lengths == 0))[:-1].any())
        for is_filled in (True, False) if is_short else (False,):
            each = replace(candidate, is_filled=is_filled)
            data = each.front(stored, found)
            is_stream = starts_set(data, 0)
            frames = _frames(data, int(lengths[0]) if len(lengths) else len(data))
            # Lengths of 0 fill nothing up: they are zeros of a dump, which are no words.
            is_wrong = not found.more or 2 * some < len(found.start)
            is_end = len(stored) < HEAD and found.used == len(stored)
            quality = -1 if is_wrong else is_end + (some > 0)
            rank = frames, quality, is_even, some, candidate.word.tail
            is_likely = not is_wrong or is_even or frames > 1
            if is_likely and rank > best and not (is_filled and is_stream):
                best, framing = rank, replace(each, is_stream=is_stream)
    return framing


def _candidates(stored: U8) -> Iterator[Framing]:
    """What may be around the first piece, by its length alone."""
    for block in BLOCKS:
        size = block.size if block else 0
        if block and not (block.lengths(stored[:size]) > 0).any():
            continue
        for word in WORDS:
            if (word.lengths(stored[size : size + word.size]) > 0).any():
                yield Framing(word, block)
                for behind in filter(None, BEHIND) if not block else ():
                    yield Framing(replace(word, behind=behind), block)


def _frames(data: U8, first: int) -> int:
    """How many of the first frames begin as those of a dump do, or sets; 0 if this is none.

    Args:
        first: bytes of the first record. One record of the monitor in each is no dump.
    """
    data = data[:HEAD]
    if starts_set(data, 0):
        starts = set_starts(data, 0, len(data))
        return 2 + int(are_followed(data, starts, final=False).sum())
    window = np.append(data, np.zeros(FRAME, np.uint8))
    at = np.arange(0, len(data), FRAME)
    count = int(_begin_frames(window, at).sum())
    if _begins_dump(data):
        return max(count, 1)
    length = int(window[0]) << 8 | int(window[1])
    if is_header(window, 0) and length < min(first, len(data)) and is_header(window, length):
        return count
    is_sure = count >= _SURE and are_controls(window, at).any()
    return count if is_sure and 2 * count >= len(at) else 0


def _begin_frames(window: U8, at: I64) -> Mask:
    """Whether a control record or a record header is at each position."""
    return np.asarray(are_controls(window, at) | are_headers(window, at), np.bool_)


def _begins_dump(data: U8) -> bool:
    """Whether a control record or a record set is in front."""
    return starts_set(data, 0) or bool(read_control(data[:FRAME]))


def _surely_begins_dump(data: U8) -> bool:
    """The same; the interrupt buffer must agree with the entries: noise can have one."""
    whole = np.append(data[:FRAME], np.zeros(FRAME, np.uint8))
    return starts_set(data, 0) or bool(are_controls(whole, np.zeros(1, np.int64))[0])


def unframed(stream: Readable, framing: Framing, broken: Callable[[str], None]) -> Iterator[bytes]:
    """What is in the pieces, filled up to whole frames as the framing has it.

    Where no word is, what follows it up to the next one that frames follow is given as a record;
    all of it if there is none near.

    Args:
        broken: called with the first such place.
    """
    reading = _FramedReading(stream, framing, broken)
    while not reading.ended:
        yield from filter(len, reading.more())


class _FramedReading:
    """The bytes that are still to be processed, and their state.

    Attributes:
        ended: nothing follows.
    """

    def __init__(self, stream: Readable, framing: Framing, broken: Callable[[str], None]) -> None:
        self.ended = False
        self._stream, self._framing, self._broken = stream, framing, broken
        self._waiting, self._base, self._size = b"", 0, STEP
        self._block_end, self._is_open = 0, False
        self._frame = b""
        self._damages = 0

    def more(self) -> Iterator[bytes]:
        """What the next bytes hold."""
        framing, piece = self._framing, self._stream.read(self._size)
        stored = np.frombuffer(self._waiting + piece, np.uint8)
        found = framing.pieces(stored, self._block_end, is_open=self._is_open)
        whole = _records_of(found) if framing.is_filled else found
        yield from self._given(stored, whole)
        if not found.more or found.used - whole.used > LARGEST:
            yield from self._damage(stored, replace(found, more=0), whole)
        elif not piece:
            yield from self._end(stored, found, whole)
        else:
            self._size = max(STEP, found.more)
            self._waiting = stored[whole.used :].tobytes()
            self._base += whole.used
            self._block_end = whole.block_end
            if len(whole.last):
                self._is_open = not whole.last[-1]

    def _given(self, stored: U8, whole: _Pieces) -> Iterator[bytes]:
        """What is in whole pieces, or records that are filled up: a few of these at a time."""
        framing = self._framing
        data = framing.data(stored, whole)
        if not framing.is_filled:
            yield self._passed(data)
            return
        lengths = framing.records(stored, whole)
        for first in range(0, len(lengths), MOST):
            some = lengths[first : first + MOST]
            size = int(some.sum())
            yield framing.filled(data[:size], some).tobytes()
            data = data[size:]

    def _passed(self, data: U8) -> bytes:
        """Some data; what has come of its last frame is remembered."""
        given = data.tobytes()
        frame = self._frame + given
        self._frame = frame[len(frame) - len(frame) % FRAME :]
        return given

    def _damage(self, stored: U8, found: _Pieces, whole: _Pieces) -> Iterator[bytes]:
        """What is up to the next word, filled up to where a frame begins; or all that follows."""
        framing, at = self._framing, found.used
        if not self._damages:
            self._broken(f"no descriptor word at stored offset 0x{self._base + at:x}")
        self._damages += 1
        opened, behind = framing.open(stored, found, whole), stored[at:].tobytes()
        while len(behind) < LARGEST and (piece := self._stream.read(STEP)):
            behind += piece
        rest = np.frombuffer(behind, np.uint8)
        resumed = framing.resume(rest) if self._damages < MOST and not framing.is_stream else 0
        if not resumed:
            self.ended = True
            yield opened.tobytes() + behind
            yield from iter(lambda: self._stream.read(STEP), b"")
            return
        lost = rest[framing.lead : max(framing.lead, resumed - framing.word.tail)]
        given = self._passed(np.append(opened, lost))
        yield given + bytes(-len(self._frame) % FRAME)
        self._frame, self._block_end, self._is_open = b"", 0, False
        self._waiting = behind[resumed:]
        self._base += at + resumed

    def _end(self, stored: U8, found: _Pieces, whole: _Pieces) -> Iterator[bytes]:
        """What is in a record that was cut; or zeros, behind a control record without its own."""
        self.ended = True
        if missing := len(stored) - whole.used:
            if not self._damages:
                place = f"stored offset 0x{self._base + whole.used:x}"
                self._broken(f"{missing} bytes at {place} are no whole record")
            yield self._framing.open(stored, found, whole).tobytes()
            return
        frame = np.frombuffer(self._frame, np.uint8)
        if not self._framing.is_stream and read_control(frame) is not None:
            yield bytes(-len(self._frame) % FRAME)
