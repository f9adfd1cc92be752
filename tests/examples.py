"""Examples of a test: a few of them with every change, the others by `make test-long`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def some_of_all(argument: str, every: Iterable[str], some: Collection[str]) -> pytest.MarkDecorator:
    """A test's argument: all values, of which some are slow tests, and the others long ones."""
    marks = {True: pytest.mark.slow, False: pytest.mark.long}
    return pytest.mark.parametrize(
        argument, [pytest.param(each, marks=marks[each in some]) for each in every]
    )


def few_or_many(few: int, many: int = 15) -> pytest.MarkDecorator:
    """A test's argument `examples`: how many are tried."""
    much = pytest.param(many, id="many", marks=pytest.mark.long)
    return pytest.mark.parametrize("examples", [pytest.param(few, id="few"), much])


def tried(examples: int, test: Callable[..., None], **strategies: st.SearchStrategy[Any]) -> None:
    """Call a test with so many examples."""
    settings(max_examples=examples)(given(**strategies)(test))()
