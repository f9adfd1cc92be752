"""Random examples: a few of them in `make test`, as many as are wanted in `make test-long`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def few_or_many(few: int, many: int = 15) -> pytest.MarkDecorator:
    """A test's argument `examples`: how many are tried."""
    much = pytest.param(many, id="many", marks=pytest.mark.long)
    return pytest.mark.parametrize("examples", [pytest.param(few, id="few"), much])


def tried(examples: int, test: Callable[..., None], **strategies: st.SearchStrategy[Any]) -> None:
    """Call a test with so many examples."""
    settings(max_examples=examples)(given(**strategies)(test))()
