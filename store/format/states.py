"""The numbered states of a folder of the manifest. A commit creates the next number.

    manifest/system=VMSYS1/2001-12/dumps.000007.jsonl

A state is a file of JSON lines that never changes: a head, then a line for each entry. To create a
number takes one request that only one of several writers gets granted, on a disk and in object
storage alike; whoever does not get it reads again and tries the next number. So there is no lock,
and nothing is left to finish after a kill: files that a killed writer made are named by no state.

Readers take the newest state. Those before it, and the files that only they name, stay for
`GRACE_S`: a reader may have begun when they were the newest.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from ...core.errors import BusyError, StoreError
from ..files.files import Files

MANIFEST = "manifest"
GRACE_S = 86_400
"""How long what a newer state replaced stays, in seconds."""
TRIES = 100
"""Attempts of a commit, and of a read: each fails only because another process has succeeded."""
_NAME = re.compile(r".*/(?P<kind>[a-z]+)\.(?P<number>[0-9]{6,})\.jsonl")


class Head(msgspec.Struct, omit_defaults=True):
    """The first line of a state.

    Attributes:
        lines: digest of the lines behind it.
        before: digest of the state before, if there is one.
        token: differs between writers, so that each knows its own state.
        dropped: entry -> how often it was taken out; one that was may come again.
    """

    lines: str
    before: str = ""
    token: str = ""
    dropped: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class State:
    """What a state says.

    Attributes:
        lines: entry -> its line, in the order in which they were committed.
        dropped: as in `Head`.
    """

    lines: Mapping[str, bytes] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)

    def replaced(self, gone: Iterable[str], lines: Mapping[str, bytes]) -> State:
        """This state without some entries, and with others behind those that it has."""
        going = {*gone, *lines}
        kept = {name: line for name, line in self.lines.items() if name not in going}
        return State({**kept, **lines}, self.dropped)


Change = Callable[[State], State | None]
"""Makes the next state from the newest one; None changes nothing."""


class States:
    """The states of a folder of the manifest, of one kind.

    Args:
        folder: `manifest/system=VMSYS1/2001-12`.
        kind: `dumps` or `results`.
        name_of: the name of an entry, from its line.
        path_of: the file or folder below the store that an entry names, from its line.
    """

    def __init__(
        self,
        files: Files,
        folder: str,
        kind: str,
        name_of: Callable[[bytes], str],
        path_of: Callable[[bytes], str],
    ) -> None:
        """Reads nothing."""
        self._files, self._folder, self._kind = files, folder, kind
        self._name_of, self._path_of = name_of, path_of

    def read(self) -> State:
        """The newest state.

        Raises:
            StoreError: it is damaged.
        """
        for _ in range(TRIES):
            with suppress(FileNotFoundError):  # it was replaced, long ago, while this read
                numbers = self._numbers()
                return self._state(max(numbers)) if numbers else State()
        raise restless(self._files)

    def commit(self, change: Change) -> bool:
        """Creates the next state; returns whether `change` made one.

        Args:
            change: is called again where another process has committed meanwhile.

        Raises:
            StoreError: the newest state is damaged, or the disk or network refuses the new one.
            BusyError: others commit all the time.
        """
        for _ in range(TRIES):
            with suppress(FileNotFoundError):
                numbers = self._numbers()
                newest = max(numbers, default=0)
                before = self._files.read(self._name(newest)) if newest else b""
                state = change(self._parsed(newest, before) if newest else State())
                if state is None:
                    return False
                if self._files.create(self._name(newest + 1), self._text(state, before)):
                    with suppress(StoreError, FileNotFoundError):  # a later commit does it
                        self.forget()
                    return True
        raise restless(self._files)

    def mend(self, change: Change) -> None:
        """As `commit`, from the newest state that is readable, where newer ones are damaged."""
        numbers = self._numbers()
        state, readable = State(), 0
        for number in reversed(numbers):
            with suppress(FileNotFoundError, StoreError):
                state, readable = self._state(number), number
                break
        made = change(state)
        if made is not None or readable != max(numbers, default=0):
            name = self._name(max(numbers, default=0) + 1)
            self._files.create(name, self._text(made or state, b""))

    def _numbers(self) -> list[int]:
        """The numbers of all states that are there, in order."""
        names = (file.name for file in self._files.inside(self._folder).files)
        return sorted(number for name in names if (number := number_of(name, self._kind)))

    def _name(self, number: int) -> str:
        return f"{self._folder}/{self._kind}.{number:06}.jsonl"

    def _state(self, number: int) -> State:
        return self._parsed(number, self._files.read(self._name(number)))

    def _paths(self, number: int) -> set[str]:
        return {self._path_of(text) for text in self._state(number).lines.values()}

    def _parsed(self, number: int, data: bytes) -> State:
        head, lines = split(self._files, self._name(number), data)
        entries = {self._name_of(line): line for line in lines.splitlines(keepends=True)}
        return State(entries, head.dropped)

    def _text(self, state: State, before: bytes) -> bytes:
        lines = b"".join(state.lines.values())
        head = Head(
            _digest(lines),
            _digest(before) if before else "",
            secrets.token_hex(8),
            dict(state.dropped),
        )
        return msgspec.json.encode(head) + b"\n" + lines

    def forget(self, grace_s: float = GRACE_S) -> State:
        """Removes states that were replaced long ago, and what only they name.

        Returns:
            the oldest state that is left, if it is that old itself: what it says, all readers know.
        """
        numbers, last_use = self._numbers(), time.time() - grace_s

        def is_old(number: int) -> bool:
            return self._files.changed(self._name(number)) <= last_use

        following = numbers[1:]
        old = [*itertools.takewhile(lambda n: is_old(following[numbers.index(n)]), numbers[:-1])]
        left = numbers[len(old) :]
        if old:
            kept = set().union(*map(self._paths, left))
            for number in old:
                with suppress(StoreError):  # of a damaged one nobody knows what it named
                    remove(self._files, self._paths(number) - kept)
                self._files.delete([self._name(number)])
        return self._state(left[0]) if left and is_old(left[0]) else State()


def number_of(name: str, kind: str) -> int:
    """The number of a state by the name of its file; 0 if that is no state of the kind."""
    match = _NAME.fullmatch(name)
    return int(match["number"]) if match and match["kind"] == kind else 0


def newest(names: Iterable[str], kind: str) -> list[str]:
    """The file of the newest state of each folder, sorted."""
    by_folder: dict[str, tuple[int, str]] = {}
    for name in names:
        if number := number_of(name, kind):
            folder = name.rpartition("/")[0]
            by_folder[folder] = max((number, name), by_folder.get(folder, (0, "")))
    return sorted(name for _, name in by_folder.values())


def split(files: Files, name: str, data: bytes) -> tuple[Head, bytes]:
    """The head of a state, and its other lines.

    Raises:
        StoreError: they are not those that were written.
    """
    first, _, lines = data.partition(b"\n")
    try:
        head = msgspec.json.decode(first, type=Head)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise damaged(files, name, str(error)) from None
    if _digest(lines) != head.lines:
        raise damaged(files, name, "other lines than were written")
    return head, lines


def remove(files: Files, paths: Iterable[str]) -> None:
    """Removes files and folders of a store; missing ones are ignored."""
    going = sorted(paths)
    files.delete(path for path in going if path.endswith(".parquet"))
    files.delete_folders(path for path in going if not path.endswith(".parquet"))


def damaged(files: Files, name: str, found: str) -> StoreError:
    """The error for a damaged file of the manifest."""
    return StoreError(
        "a file of the manifest cannot be read",
        code="manifest-damaged",
        place=files.uri(name),
        expected="JSON lines, as cpmon wrote them",
        found=found,
        effect="nothing was read or changed",
        remedy="make the manifest again: cpmon store rebuild",
    )


def restless(files: Files) -> BusyError:
    """The error for a manifest that changes faster than it can be read."""
    return BusyError(
        "the manifest of the store changes all the time",
        code="manifest-busy",
        place=files.uri(MANIFEST),
        effect="nothing was changed",
        remedy="try again when fewer processes land dumps",
    )


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
