"""Generates the view of system settings from the rows of `system_settings.csv`.

A row defines a setting, its position in a listing, and how its value is computed:

    position,label,relation,form,value,unit,optional
    240,Time zone offset,monitor.mtrsys,number,syszone,s,

`relation` is a table of records or a private reduction with the column `valid_from`. `form` states
how `value` is converted to text: `text` is a text field, `number` one or more fields, `bytes` an
expression in bytes shown in MB, `flags` pairs of a field and its word, `sql` an expression. An
`optional` setting has no row if its value is NULL.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from ...core.errors import CpmonError
from ..metrics.views import ParsedView, folded

FILE = "system_settings.csv"
HEADER = ["position", "label", "relation", "form", "value", "unit", "optional"]
VIEW = "_setting_value"
DOC = (
    "Settings of a system as records tell them, one row per system, record and setting. A setting "
    "that stays the same has a row for every record."
)
RECORDS = "monitor."
COLUMNS = (files(__package__) / "setting_values.sql").read_text(encoding="utf-8").rstrip()


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the file."""

    position: int
    label: str
    relation: str
    form: str
    value: str
    unit: str
    optional: bool

    @property
    def sql(self) -> str:
        """The SQL expression of its text."""
        match self.form:
            case "number":
                text = " || ' ' || ".join(self.value.split())
            case "bytes":
                text = f"CAST(ROUND({self.value} / 1048576e0) AS BIGINT)"
            case "flags":
                pairs = (pair.split("=") for pair in self.value.split())
                words = (f"CASE WHEN {field} THEN '{word}' END" for field, word in pairs)
                text = f"concat_ws(', ', {', '.join(words)})"
            case _:
                text = self.value
        if self.unit:
            return f"{text} || ' {self.unit}'"
        is_number = self.form in ("number", "bytes") and "||" not in text
        return f"CAST({text} AS VARCHAR)" if is_number else text


def settings_view() -> ParsedView:
    """The view of all settings.

    Raises:
        CpmonError: a row is invalid.
    """
    by_relation: dict[str, list[Setting]] = {}
    for setting in read_settings(_text()):
        by_relation.setdefault(setting.relation, []).append(setting)
    names = [f"source_{number}" for number in range(len(by_relation))]
    sources = [_source(n, r, of) for n, (r, of) in zip(names, by_relation.items(), strict=True)]
    selects = [_select(n, of) for n, of in zip(names, by_relation.values(), strict=True)]
    every = "\n  UNION ALL\n".join(selects)
    parts = ",\n".join([*sources, f"every AS (\n{every}\n)"])
    return ParsedView.from_select(VIEW, DOC, f"WITH {parts}\n{COLUMNS}")


def read_settings(text: str) -> Iterator[Setting]:
    """Read the rows of a file.

    Raises:
        CpmonError: a row is invalid: file and line, expected, found.
    """
    reader = csv.reader(io.StringIO(text))
    positions: set[str] = set()
    for cells in reader:
        place = f"{FILE}:{reader.line_num}"
        if reader.line_num == 1 or len(cells) != len(HEADER):
            if cells != HEADER:
                raise _wrong(place, ",".join(HEADER), ",".join(cells))
            continue
        position, label, relation, form, value, unit, optional = cells
        if not position.isdigit() or position in positions:
            raise _wrong(place, "a position that no other setting has", position)
        if form not in ("text", "number", "bytes", "flags", "sql"):
            raise _wrong(place, "text, number, bytes, flags or sql", form)
        if not (label and relation and value) or optional not in ("", "yes"):
            raise _wrong(place, "a label, a relation, a value, and yes or nothing", ",".join(cells))
        positions.add(position)
        yield Setting(int(position), label, relation, form, value, unit, bool(optional))


def _text() -> str:
    return (files(__package__) / FILE).read_text(encoding="utf-8")


def _source(name: str, relation: str, settings: Sequence[Setting]) -> str:
    """The values of the settings of a relation, side by side."""
    time = "tod AS valid_from" if relation.startswith(RECORDS) else "valid_from"
    values = [folded(f"{s.sql} AS value_{s.position}", 11) for s in settings]
    columns = ",\n         ".join(["system", time, *values])
    return f"{name} AS (\n  SELECT DISTINCT\n         {columns}\n  FROM {relation}\n)"


def _select(name: str, settings: Sequence[Setting]) -> str:
    """The values unpivoted to one row for each setting."""
    cases = "\n           ".join(f"WHEN {s.position} THEN r.value_{s.position}" for s in settings)
    labels = ",\n    ".join(f"({s.position}, '{s.label}')" for s in settings)
    value = f"CASE p.position\n           {cases}\n         END"
    optional = ", ".join(str(s.position) for s in settings if s.optional)
    where = f"  WHERE {value} IS NOT NULL\n    OR p.position NOT IN ({optional})"
    lines = (
        "  SELECT r.system,",
        "         r.valid_from,",
        "         p.position,",
        "         p.label,",
        f"         {value} AS setting_value",
        f"  FROM {name} AS r",
        f"  CROSS JOIN (VALUES\n    {labels}\n  ) AS p (position, label)",
        *([where] if optional else []),
    )
    return "\n".join(lines)


def _wrong(place: str, expected: str, found: str) -> CpmonError:
    return CpmonError(
        "a row of settings means nothing", place=place, expected=expected, found=found or "nothing"
    )
