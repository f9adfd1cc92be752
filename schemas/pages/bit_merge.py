"""The named bits of one field, on a page and in a layout."""

from __future__ import annotations

from collections.abc import Iterable

from ..field import Provenance, Type
from ..loader import Row
from ..release import release_key
from .file_merge import FileMerge, marked
from .items import Item
from .page_rows import BitRow
from .rows import bit_row, insert


class BitMerge(FileMerge):
    """Bits of the fields of one file."""

    def match(self, rows: list[Row], field: Row, item: Item) -> None:
        """Named bits of a field, which is one of `rows`: the same, new ones, or others."""
        bits = [r for r in rows if r["type"] == Type.BIT and r["of"] == field["name"]]
        start = int(field["offset"])
        for bit in item.bits:
            new = bit_row(item, bit) | {"of": field["name"], "offset": str(start + bit.byte)}
            same = next((r for r in bits if _place(r) == _place(new)), None)
            if same is not None and same["name"] == bit.name:
                self._confirm(same, bit.row)
                continue
            shared = [r for r in bits if _share(r, new)]
            if shared:
                expected = f"{shared[0]['name']}, mask {shared[0]['code']}"
                self.contradict(
                    bit.row, f"bits of {item.name} are {bit.name}, mask {new['code']}", expected
                )
                continue
            new["since"] = self.context.now if bits and not self.context.is_older else ""
            insert(rows, marked(new))
            self.merged.added.append(f"{self.name}.{bit.name}")
        self._miss(item, [r for r in bits if not r["_seen"]])

    def _confirm(self, row: Row, page_row: BitRow) -> None:
        row["_seen"], row["provenance"] = "yes", str(Provenance.PUBLISHED)
        row["meaning"] = page_row.meaning or row["meaning"]
        self.widen(row)
        self.merged.confirmed += 1

    def _miss(self, item: Item, missing: Iterable[Row]) -> None:
        """Bits that the layout names and the page, which names others, does not."""
        for row in missing:
            if self.context.is_older and not row["since"]:
                self.narrow(row)
            elif not row["since"] or release_key(row["since"]) <= release_key(self.context.now):
                self.contradict(
                    item.row, f"bit {row['name']} of {item.name} is missing", f"mask {row['code']}"
                )


def _place(row: Row) -> tuple[str, str]:
    return row["offset"], row["code"].upper()


def _share(row: Row, other: Row) -> bool:
    """Whether two bit rows have a bit in common."""
    return row["offset"] == other["offset"] and bool(int(row["code"], 16) & int(other["code"], 16))
