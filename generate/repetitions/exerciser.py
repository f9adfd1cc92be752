"""Output of the DASD exerciser: a line for each operation, its rate in whole KB/s.

The tool's own form was never published; this one is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .spec import Samples


def exerciser(run: Samples, series: Mapping[str, tuple[int, ...]]) -> str:
    """The text of the output: in each sample the file is written once, then read.

    Args:
        series: measure -> whole KB/s of each sample; a measure that is not there was not done.
    """
    return "\n".join(_lines(run, series)) + "\n"


def _lines(run: Samples, series: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    operations = (("write", "write_kb_per_s", 1), ("read", "read_kb_per_s", run.read_passes))
    for sample in range(run.count):
        for operation, measure, passes in operations:
            if measure in series:
                done = f"{operation} {passes} {'pass' if passes == 1 else 'passes'}"
                moved = _moved(run.kb(measure), series[measure][sample])
                yield f"sample {sample + 1} {done} {moved}"


def _moved(kb: int, kb_per_s: int) -> str:
    # Hundredths of a second, rounded half up in whole numbers.
    hundredths = (200 * kb + kb_per_s) // (2 * kb_per_s)
    return f"{kb} KB {hundredths // 100}.{hundredths % 100:02} s {kb_per_s} KB/s"
