"""What the store has to know of a reduction: its SQL, and what it says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class View(Protocol):
    """A reduction that the catalogue shows in schema `main`; one that starts with _ is private.

    `sql` creates the view, `select` is its query; `doc` and `columns` become comments.
    """

    @property
    def name(self) -> str:
        """Name of the view."""

    @property
    def sql(self) -> str:
        """Statement that creates it."""

    @property
    def select(self) -> str:
        """Its query, whose columns are called as those of the view."""

    @property
    def reads(self) -> Sequence[str]:
        """The relations that its query names, those of other schemas with theirs."""

    @property
    def doc(self) -> str:
        """What it shows."""

    @property
    def columns(self) -> Sequence[Any]:
        """Its columns, each with `name` and `doc`."""

    @property
    def rollup(self) -> str:
        """The SQL of its roll-ups; empty if it has none."""
