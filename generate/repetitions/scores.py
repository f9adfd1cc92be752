"""Output of thrasher and burner: a line for each period, and what was counted in it.

The tools' own forms were never published; this one is ours.
"""

from __future__ import annotations

from collections.abc import Iterable


def scores(counted: Iterable[int], period_s: int) -> str:
    """The text of the output of one tool.

    Args:
        counted: of each period.
        period_s: length of a period, s.
    """
    lines = (
        f"period {period} {period_s} s score {score}"
        for period, score in enumerate(counted, start=1)
    )
    return "\n".join(lines) + "\n"
