"""Every remedy of the product has a test that tries it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.remedies.sites import Remedy, all_remedies
from tests.remedies.trying import meant

NOT_TRIED: dict[Remedy, str] = {
    remedy: "tests/spark meets it, where there is a Spark"
    for remedy in all_remedies()
    if remedy.file == "jobs/spark.py" or remedy.problem == "Spark cannot be started"
}
"""Remedies that no test can try, each with its reason."""


def test_every_remedy_is_tried_by_a_test():
    known = tried() | set(NOT_TRIED)
    assert not sorted(all_remedies() - known), "remedies without a test in tests/remedies"


def test_what_is_not_tried_is_a_remedy_without_a_test():
    assert set(NOT_TRIED) <= all_remedies() - tried()


def test_there_are_about_as_many_remedies_as_there_were():
    """That they are found in the sources at all."""
    assert len(all_remedies()) > 100


def tried() -> set[Remedy]:
    """What the marks of the tests name; that they do it, the fixture of each checks."""
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    modules = [importlib.import_module(f"tests.remedies.{file.stem}") for file in files]
    return {meant(mark) for module in modules for mark in _marks(module)}


def _marks(module: ModuleType) -> Iterator[pytest.Mark]:
    """The marks of all tests of a module, and of all their cases."""
    for name, test in vars(module).items():
        if not name.startswith("test_"):
            continue
        for mark in getattr(test, "pytestmark", []):
            if mark.name == "tries":
                yield mark
            elif mark.name == "parametrize":
                for case in mark.args[1]:
                    yield from (m for m in getattr(case, "marks", ()) if m.name == "tries")
