"""The ledger of simulated worlds full of trouble, whose traces know each record that was processed."""

import pytest

from benchmarks.ledger_simulated import JudgedLedger, judge_seed, table
from kgroup.history.ledger.model import LedgerKind

SEEDS = range(24)


@pytest.fixture(scope="module")
def judged() -> list[JudgedLedger]:
    return [judge_seed(seed) for seed in SEEDS]


def test_what_is_certain_has_happened_to_each_record(judged):
    assert [(one.seed, one.wrong) for one in judged if one.wrong] == []


def test_what_has_happened_lies_in_a_range(judged):
    """But for what a member read on after its coordinator had given it up, which no log knows."""
    assert [(one.seed, one.missed) for one in judged if one.missed] == []


def test_these_worlds_skip_and_double(judged):
    for kind in LedgerKind:
        assert sum(one.happened[kind] for one in judged) > len(SEEDS)
        assert sum(one.certain[kind] for one in judged) > 0
    assert table(judged).splitlines()[0].split() == [
        "kind",
        "happened",
        "in",
        "a",
        "range",
        "certain",
        "of",
        "all",
    ]
