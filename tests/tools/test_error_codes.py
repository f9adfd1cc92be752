"""The catalogue of error codes: what it reads from sources, and what it refuses."""

from __future__ import annotations

import pytest

from tools.error_codes import CatalogueError, Fault, faults_in

SOURCE = """
AGAIN = "do it again"

def helper(problem, code, remedy):
    return StoreError(problem, code=code, remedy=remedy)

def check(name, day):
    code, remedy = "disk-full", f"make room, then {AGAIN}"
    if day:
        code, remedy = "disk-read-only", "mount it"
    raise StoreError(f"{name} is on a disk of {day.month} and {sum(day)}", code=code, remedy=remedy)

def ask(systems):
    raise CpmonError(
        "several systems" if systems else "no system",
        code="system-ambiguous" if systems else "store-empty",
        remedy="name one" if systems else None,
    )
"""


def test_alternatives_of_code_and_remedy_are_paired_in_their_order():
    problem = "{name} is on a disk of {month} and {}"
    assert list(faults_in(SOURCE, "check.py")) == [
        Fault("disk-full", problem, "make room, then do it again"),
        Fault("disk-read-only", problem, "mount it"),
        Fault("system-ambiguous", "several systems", "name one"),
        Fault("store-empty", "no system", None),
    ]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ('CpmonError("wrong", remedy="mend it")', "check.py:1: an error with a remedy has no code"),
        (
            'CpmonError("wrong", code="Wrong_1", remedy="mend it")',
            "check.py:1: 'Wrong_1' is no code in kebab-case",
        ),
    ],
)
def test_a_remedy_without_a_code_and_a_code_of_another_form_are_refused(
    source: str, complaint: str
):
    with pytest.raises(CatalogueError, match=complaint):
        list(faults_in(source, "check.py"))
