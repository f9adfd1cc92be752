"""Locations that are URLs: of stores in object storage."""

from __future__ import annotations

import re

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")


def scheme_of(location: str) -> str:
    """The scheme of a URL; empty for a path."""
    match = _URL.match(location)
    return match[1] if match else ""


def url(location: str) -> str:
    """A URL with two slashes behind its scheme: one that was a `Path` has lost one of them."""
    scheme, _, rest = location.partition(":")
    return f"{scheme}://{rest.lstrip('/')}"
