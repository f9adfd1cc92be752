"""Tells when dumps have landed in a store."""

from __future__ import annotations

import time
from collections.abc import Iterator

from .dumps.store import Store

POLL_S = 0.5
"""Seconds between looks at the names of the manifest's files."""


def changes(store: Store, poll_s: float = POLL_S) -> Iterator[None]:
    """Yields at once, and whenever dumps have landed, been merged or dropped; it never ends."""
    known = None
    while True:
        version = store.manifest.version
        if version != known:
            known = version
            yield
        time.sleep(poll_s)
