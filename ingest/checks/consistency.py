"""Checks the consistency of figures of one sample: parts are at most their whole.

Only rules that hold by definition are here. Most sums of CP's figures are not exact, since a sample
takes time and its records are made one after the other; so parts may exceed a whole by a little.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..codec import I64
from ..findings import Code, Findings, Tally

F64 = npt.NDArray[np.float64]

SLACK = 0.01
"""Parts may be this much larger than their whole, and by `spare` units more."""
FRAME_BYTES = 4096


@dataclass(frozen=True)
class Bound:
    """`parts` sum up to `whole` at most, in every row of a table: a row of `bounds.csv`."""

    table: str
    parts: Sequence[str]
    whole: str
    spare: float = 0.0

    def __str__(self) -> str:
        """As a formula."""
        return f"{self.table}: {' + '.join(self.parts)} <= {self.whole}"


BOUNDS = tuple(
    Bound(r["table"], r["parts"].split(), r["whole"], float(r["spare"]))
    for r in csv.DictReader((files(__package__) / "bounds.csv").read_text("utf-8").splitlines())
)

USERS = "users in USEACT <= SYTUSR.sysusrs"
RESIDENT = "useact: sum of vmdctpvr <= storage of MTRMEM"


@dataclass
class ConsistencyChecks:
    """Checks tables as they come; figures of different tables wait for each other.

    What waits is a number for each interval: a few bytes.
    """

    _broken: Tally = field(default_factory=Tally)
    _users: Counter[int] = field(default_factory=Counter)
    _resident: Counter[int] = field(default_factory=Counter)
    _logged_on: dict[int, tuple[int, int]] = field(default_factory=dict)
    _storage: int = 0

    def take(self, table: str, rows: pa.Table) -> None:
        """Check the values of the rows of a table."""
        for bound in BOUNDS:
            if bound.table == table:
                parts = np.sum([_values(rows, name) for name in bound.parts], axis=0)
                offset = rows["record_offset"].to_numpy()
                self._compare(bound, parts, _values(rows, bound.whole), offset)
        if table == "useact":
            self._note_users(rows)
        elif table == "sytusr":
            self._note_logged_on(rows)
        elif table == "mtrmem":
            self._storage = max(self._storage, *rows["rsagstor"].fill_null(0).to_pylist())

    def finish(self, findings: Findings) -> None:
        """Compare figures of different tables, and report every rule that was broken."""
        for end, (logged_on, offset) in sorted(self._logged_on.items()):
            self._limit(USERS, self._users[end], logged_on, offset)
            if self._storage:
                frames = self._storage // FRAME_BYTES
                self._limit(RESIDENT, self._resident[end], frames, offset)
        self._broken.report(findings, Code.SUM_OPEN)

    def _compare(self, bound: Bound, parts: F64, whole: F64, offset: I64) -> None:
        """NaN stands for a field that the record does not have, and is never too much."""
        over = np.flatnonzero(parts > whole * (1 + SLACK) + bound.spare)
        if len(over):
            self._note(str(bound), parts[over[0]], whole[over[0]], offset[over])

    def _limit(self, rule: str, part: int, whole: int, offset: int) -> None:
        if part > whole * (1 + SLACK) + 1:
            self._note(rule, part, whole, [offset])

    def _note(self, rule: str, part: float, whole: float, offsets: Sequence[int] | I64) -> None:
        detail = f"{rule}: found {part:,.0f}, at most {whole:,.0f}"
        self._broken.note(Code.SUM_OPEN, rule, offsets, detail)

    def _note_users(self, rows: pa.Table) -> None:
        """Users and resident pages of every interval; a user may have several rows."""
        users = rows["vmduser"].cast(pa.string())
        columns = [rows["interval_end"].cast(pa.int64()), users, rows["vmdctpvr"]]
        sums = pa.table(columns, ["end", "user", "pages"]).group_by("end")
        for row in sums.aggregate([("user", "count_distinct"), ("pages", "sum")]).to_pylist():
            self._users[row["end"]] += row["user_count_distinct"]
            self._resident[row["end"]] += row["pages_sum"] or 0

    def _note_logged_on(self, rows: pa.Table) -> None:
        ends = rows["interval_end"].cast(pa.int64()).to_pylist()
        columns = (rows[name].to_pylist() for name in ("sysusrs", "record_offset"))
        for end, users, offset in zip(ends, *columns, strict=True):
            if end is not None and users is not None:
                self._logged_on[end] = users, offset


def _values(rows: pa.Table, name: str) -> F64:
    """A column as floating point numbers; NaN where the record does not have it."""
    column = rows[name].cast(pa.float64(), safe=False)
    return np.asarray(column.fill_null(float("nan")).to_numpy(), np.float64)
