"""Layout files as text: their columns, and rows to CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from .loader import Row

COLUMNS = (
    *("offset", "length", "count", "type", "name", "of", "code", "role", "unit"),
    *("since", "until", "provenance", "meaning"),
)
RECORD_COLUMNS = (
    *("domain", "record", "dsect", "kind", "grain", "keys", "until", "title", "provenance"),
)
LENGTH_COLUMNS = ("dsect", "release", "length")


def to_csv(rows: Iterable[Row], columns: Sequence[str]) -> str:
    """A layout file's text."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
