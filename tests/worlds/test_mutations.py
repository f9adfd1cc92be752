"""Random worlds notice when a rule about events is missing."""

from __future__ import annotations

import pytest

from tools.mutate_rules import ROOT, Mutation, mutations, survivors


@pytest.mark.parametrize("mutation", mutations(), ids=lambda mutation: mutation.rule)
def test_a_rule_that_is_switched_off_stands_in_the_code_once(mutation: Mutation):
    text = (ROOT / mutation.file).read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1


@pytest.mark.long
@pytest.mark.parametrize(
    "mutation", [m for m in mutations() if not m.instead], ids=lambda mutation: mutation.rule
)
def test_a_rule_that_is_switched_off_is_noticed(mutation: Mutation):
    assert not list(survivors([mutation]))
