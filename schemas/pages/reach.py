"""Releases that matter for since and until when a page meets a layout."""

from __future__ import annotations

from dataclasses import dataclass

from ..layout import release_key

BASE = "5.3.0"
"""The release whose layouts are shipped whole: what an older page lacks came in between."""


@dataclass(frozen=True)
class Reach:
    """Releases that matter for since and until.

    `now`: the page's; `base`: the one that the layout known before describes; `older` and `newer`
    the releases on either side of a release; `lengths`: (release, bytes) published.
    """

    now: str
    base: str
    releases: tuple[str, ...]
    lengths: tuple[tuple[str, int], ...]

    @property
    def is_older(self) -> bool:
        """Whether the page is of a release before the layout's."""
        return release_key(self.now) < release_key(self.base)

    def before(self, release: str) -> str:
        """The release before one."""
        return max(
            (r for r in self.releases if release_key(r) < release_key(release)), key=release_key
        )

    def after(self, release: str) -> str:
        """The release after one."""
        return min(
            (r for r in self.releases if release_key(r) > release_key(release)), key=release_key
        )

    def since(self, end: int) -> str:
        """The first release seen to have a field that ends there."""
        having = [r for r, length in self.lengths if length >= end]
        return min([*having, self.now], key=release_key)
