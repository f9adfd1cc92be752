"""Releases of CP as layouts name them, with the bits of MTRSYS_CALLEVEL that tell their service.

Bits are counted from 0, the leftmost, as IBM does. They stand behind a release:

- a dump is of "7.3.0+callevel.5.9" where these two are set, of "7.3.0+callevel" where none is, and
  of "7.3.0" where they are not known; of "?" where it does not name its release. A record of such a
  dump is of "?6.3.0" where none after 6.3.0 writes its kind;
- a field begins with bit 5 of 7.3.0 by `since` "7.3.0+callevel.5", and ends with it by `until`
  "7.3.0-callevel.5". Of several bits, a beginning wants all, and any of them is an end. A later
  release resets the bits, and has what began before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..core.errors import LayoutError

LATEST = "5.3.0"
"""The latest release whose layouts are shipped in full."""
UNNAMED = "?"
"""A dump that does not name its release: it may lack whatever some release no longer has."""

_FORM = re.compile(r"(\d+(?:\.\d+)*)(?:([+-])callevel((?:\.\d+)*))?")
_WORDS = {"since": "5.3.0, or 7.3.0+callevel.5", "until": "5.2.0, or 7.3.0-callevel.5"}


@dataclass(frozen=True, slots=True)
class Release:
    """A release as numbers, for comparison; `sign` and `bits` say what is known of CALLEVEL.

    `bits` is None where nothing is.
    """

    key: tuple[int, ...]
    sign: str = ""
    bits: frozenset[int] | None = None

    def is_before(self, since: Release) -> bool:
        """Whether what wrote a dump does not have yet what begins with `since`."""
        if self.sign == UNNAMED:
            return () != self.key < since.key
        if self.key != since.key or not since.bits or self.bits is None:
            return self.key < since.key
        return not since.bits <= self.bits

    def is_behind(self, until: Release) -> bool:
        """Whether what wrote a dump no longer has what ended with `until`, or may no longer."""
        if self.sign == UNNAMED:
            return self.key == () or self.key > until.key
        if self.key != until.key or not until.bits or self.bits is None:
            return self.key > until.key
        return not until.bits.isdisjoint(self.bits)


def parse_release(text: str) -> Release:
    """A release, with what it says of CALLEVEL.

    Raises:
        LayoutError: it is not written as the module says.
    """
    if text.startswith(UNNAMED):
        bound = text.removeprefix(UNNAMED)
        return Release(parse_release(bound).key if bound else (), UNNAMED)
    match = _FORM.fullmatch(text)
    if match is None:
        raise LayoutError(
            "a release is not written as numbers and points", expected="4.3.0", found=text
        )
    key = tuple(map(int, match[1].split(".")))
    bits = frozenset(int(bit) for bit in (match[3] or "").split(".") if bit)
    return Release(key, match[2] or "", bits if match[2] else None)


def release_key(release: str) -> tuple[int, ...]:
    """A release as numbers, for comparison: "4.3.0" is (4, 3, 0), whatever it says of CALLEVEL.

    Raises:
        LayoutError: it is not made of numbers and points.
    """
    return parse_release(release).key


def base_release(release: str) -> str:
    """The release alone: "7.3.0" of "7.3.0+callevel.5"."""
    return re.split("[+-]", release, maxsplit=1)[0]


def with_bits(release: str, callevel: bytes) -> str:
    """The level of a dump of a release, by the bytes of its CALLEVEL."""
    bits = "".join(f"{byte:08b}" for byte in callevel)
    return ".".join([f"{release}+callevel", *(str(n) for n, bit in enumerate(bits) if bit == "1")])


def is_within(release: str, since: str, until: str) -> bool:
    """Whether a release, whatever its CALLEVEL, lies from `since` to `until`; "" is no bound."""
    now = release_key(release)
    return (not since or release_key(since) <= now) and (not until or now <= release_key(until))


def ends_before(until: str, since: str) -> bool:
    """Whether no dump has both what ends with `until` and what begins with `since`; "" is never."""
    if not until or not since:
        return False
    last, first = parse_release(until), parse_release(since)
    if last.key == first.key:
        return bool(last.bits and first.bits and last.bits & first.bits)
    return last.key < first.key


def check_bounds(since: str, until: str, place: str) -> None:
    """Refuses bounds of a row of a layout file that are none; empty is always allowed.

    Raises:
        LayoutError: with the place of the row.
    """
    for column, text, sign in (("since", since, "+"), ("until", until, "-")):
        match = _FORM.fullmatch(text)
        if text and (not match or (match[2] and (match[2] != sign or not match[3]))):
            problem = f"{place}: `{column}` is no release"
            raise LayoutError(problem, expected=_WORDS[column], found=text)
