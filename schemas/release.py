"""Releases of CP in layouts, with the bits of MTRSYS_CALLEVEL for their service level.

Bits are counted from 0, the leftmost, as IBM does. They follow a release:

- a dump is of "7.3.0+callevel.5.9" if these two are set, of "7.3.0+callevel" if none is, of "7.3.0"
  if they are unknown, and of "?" if it does not name its release. A record of such a dump is of
  "?6.3.0" if no release after 6.3.0 writes it;
- a field begins with bit 5 of 7.3.0 by `since` "7.3.0+callevel.5", and ends with it by `until`
  "7.3.0-callevel.5". Of several bits, `since` needs all and `until` any. A later release resets the
  bits and has the fields that began before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..core.errors import LayoutError

LATEST = "5.3.0"
"""The latest release whose layouts are shipped in full."""
UNNAMED = "?"
"""Release of a dump that names none; it may lack fields that some release no longer has."""

_FORM = re.compile(r"(\d+(?:\.\d+)*)(?:([+-])callevel((?:\.\d+)*))?")


@dataclass(frozen=True, slots=True)
class Release:
    """A release as numbers, for comparison; `sign` and `bits` describe CALLEVEL.

    `bits` is None if it is unknown.
    """

    key: tuple[int, ...]
    sign: str = ""
    bits: frozenset[int] | None = None

    def is_before(self, since: Release) -> bool:
        """Whether this release does not yet have fields that begin with `since`."""
        if self.sign == UNNAMED:
            return () != self.key < since.key
        if self.key != since.key or not since.bits or self.bits is None:
            return self.key < since.key
        return not since.bits <= self.bits

    def is_behind(self, until: Release) -> bool:
        """Whether this release lacks, or may lack, fields that end with `until`."""
        if self.sign == UNNAMED:
            return self.key == () or self.key > until.key
        if self.key != until.key or not until.bits or self.bits is None:
            return self.key > until.key
        return not until.bits.isdisjoint(self.bits)


def parse_release(text: str) -> Release:
    """Parse a release with its bits of CALLEVEL.

    Raises:
        LayoutError: the syntax is wrong.
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
    """A release as numbers, for comparison: "4.3.0" is (4, 3, 0), without CALLEVEL.

    Raises:
        LayoutError: it is not made of numbers and points.
    """
    return parse_release(release).key


def base_release(release: str) -> str:
    """The release without bits: "7.3.0" of "7.3.0+callevel.5"."""
    return re.split("[+-]", release, maxsplit=1)[0]


def with_bits(release: str, callevel: bytes) -> str:
    """A release with the bits that are set in CALLEVEL."""
    bits = "".join(f"{byte:08b}" for byte in callevel)
    return ".".join([f"{release}+callevel", *(str(n) for n, bit in enumerate(bits) if bit == "1")])


def is_within(release: str, since: str, until: str) -> bool:
    """Whether a release without CALLEVEL is from `since` to `until`; "" is no bound."""
    now = release_key(release)
    return (not since or release_key(since) <= now) and (not until or now <= release_key(until))


def ends_before(until: str, since: str) -> bool:
    """Whether no dump has both a field until `until` and one since `since`; False for ""."""
    if not until or not since:
        return False
    last, first = parse_release(until), parse_release(since)
    if last.key == first.key:
        return bool(last.bits and first.bits and last.bits & first.bits)
    return last.key < first.key


def check_bounds(since: str, until: str, place: str) -> None:
    """Check the bounds of a row of a layout file; empty ones are allowed.

    Raises:
        LayoutError: with the place of the row.
    """
    for column, text, sign, example in (
        ("since", since, "+", "5.3.0"),
        ("until", until, "-", "5.2.0"),
    ):
        match = _FORM.fullmatch(text)
        if text and (not match or (match[2] and (match[2] != sign or not match[3]))):
            problem = f"{place}: `{column}` is no release"
            expected = f"{example}, or 7.3.0{sign}callevel.5"
            raise LayoutError(problem, expected=expected, found=text)
