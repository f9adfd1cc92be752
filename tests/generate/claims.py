"""Claims about a dump, the checks that make them, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.generate.columns import Columns, Interval, Rows

Figure = Any
"""A number, an array of one for each object, or None where a record or field is missing."""


@dataclass(frozen=True)
class Claim:
    """Two figures and how they must relate: equal, or the first at most the second.

    Attributes:
        slack: how far they may miss it.
        objects: name of each object, where the figures are arrays.
    """

    what: str
    left: Figure
    right: Figure
    at_most: bool = False
    slack: Figure = 0
    objects: Callable[[], list[str]] | None = None

    @property
    def applies(self) -> bool:
        """Whether both figures are there."""
        return self.left is not None and self.right is not None

    @property
    def told(self) -> int:
        """Objects whose figures are not both zero: two zeros agree about nothing."""
        left, right = np.atleast_1d(self.left), np.atleast_1d(self.right)
        return int(np.count_nonzero((left != 0) | (right != 0)))

    def broken(self) -> Iterator[str]:
        """A sentence for every object that breaks the claim."""
        left, right = np.broadcast_arrays(np.atleast_1d(self.left), np.atleast_1d(self.right))
        miss = left - right if self.at_most else np.abs(left - right)
        wrong = np.flatnonzero(miss > self.slack)
        labels = self.objects() if self.objects is not None and wrong.size else []
        sign = "<=" if self.at_most else "=="
        for place in wrong.tolist():
            who = f", {labels[place]}" if labels else ""
            yield f"{self.what}{who}: not {left[place]} {sign} {right[place]}"


Claims = Iterator[Claim]


@dataclass
class Verdict:
    """What came of a check: how many figures it compared, and what did not agree."""

    compared: int = 0
    violations: list[str] = field(default_factory=list)

    def take(self, claims: Claims, where: str) -> None:
        """Add the outcome of some claims."""
        for claim in claims:
            if claim.applies:
                self.compared += claim.told
                self.violations += [f"{where}: {text}" for text in claim.broken()]


@dataclass(frozen=True)
class Evidence:
    """A dump and the log of a load generator beside it, if there is one.

    Attributes:
        transactions: for each of its intervals, TOD clock at the end, and how many.
    """

    dump: Columns
    transactions: tuple[tuple[int, int], ...] = ()


IN_SAMPLES: dict[str, Callable[[Sample], Claims]] = {}
IN_INTERVALS: dict[str, Callable[[Interval], Claims]] = {}
IN_RUNS: dict[str, Callable[[Evidence], Claims]] = {}


def _into(table: dict[str, Any]) -> Callable[[Any], Any]:
    def entered(check: Any) -> Any:
        table[check.__name__] = check
        return check

    return entered


in_samples, in_intervals, in_runs = _into(IN_SAMPLES), _into(IN_INTERVALS), _into(IN_RUNS)


CATALOGUE = (IN_SAMPLES, IN_INTERVALS, IN_RUNS)


def check_names() -> list[str]:
    """All checks."""
    return [name for table in CATALOGUE for name in table]


def cross_checked(evidence: Evidence, only: Iterable[str] | None = None) -> dict[str, Verdict]:
    """The checks of the catalogue by name, done to a dump: all of them, or some."""
    verdicts = {name: Verdict() for name in (check_names() if only is None else only)}
    samples = [Sample(evidence.dump, number) for number in evidence.dump.samples]
    intervals = list(evidence.dump.intervals())
    for name, verdict in verdicts.items():
        if name in IN_SAMPLES:
            for sample in samples:
                verdict.take(IN_SAMPLES[name](sample), f"sample {sample.number}")
        elif name in IN_INTERVALS:
            for interval in intervals:
                verdict.take(IN_INTERVALS[name](interval), f"interval {interval.number}")
        else:
            verdict.take(IN_RUNS[name](evidence), "run")
    return verdicts


class Sample:
    """One sample of a dump."""

    def __init__(self, dump: Columns, number: int) -> None:
        self.dump = dump
        self.number = number

    def rows(self, kind: str) -> Rows:
        """The records of a type."""
        return self.dump.rows(kind, self.number)

    def total(self, kind: str, *fields: str) -> int | None:
        """Sum of fields over all records; None without records, or where they are too short."""
        rows = self.rows(kind)
        if not all(rows.has(name) for name in fields):
            return None
        return sum(int(rows[name].sum()) for name in fields)

    def level(self, kind: str, name: str) -> int:
        """As `total`; zero where the record does not tell."""
        return self.total(kind, name) or 0
