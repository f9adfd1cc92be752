"""The remedy of every error code has a test that tries it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tools.error_codes import catalogue

SPARK = "tests/spark meets it, where there is a Spark"
NOT_TRIED = {"spark-job-failed": SPARK, "spark-start-failed": SPARK}
"""Codes whose remedy no test can try, each with its reason."""


def test_every_remedy_is_tried_by_a_test():
    assert with_remedies() - tried() == set(NOT_TRIED)


def test_every_mark_names_a_code_that_has_a_remedy():
    assert not tried() - with_remedies()


def test_there_are_about_as_many_codes_as_there_were():
    """That they are found in the sources at all."""
    assert len(with_remedies()) > 100


def with_remedies() -> set[str]:
    return {code for code, faults in catalogue().items() if any(f.remedy for f in faults)}


def tried() -> set[str]:
    """What the marks of the tests name; that they do it, the fixture of each checks."""
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    modules = [importlib.import_module(f"tests.remedies.{file.stem}") for file in files]
    return {mark.args[0] for module in modules for mark in _marks(module)}


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
