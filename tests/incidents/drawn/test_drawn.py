"""Drawn lives: those that rules once missed, and what a seed does not prove."""

import pytest

from tests.incidents.drawn.draws import NoEffectError
from tests.incidents.drawn.families import FAMILIES
from tests.incidents.drawn.play import judged, played
from tests.incidents.drawn.well import WELL
from tests.incidents.verdicts import Outcome

ONCE_MISSED = [
    ("open_transaction", 0),  # a client that commits the same offset every second
    ("recreated", 2),  # the group comes back, and commits offsets of the new topic
    ("forward_by_hand", 0),
    ("poison_crash", 0),  # a process that takes other partitions along
    ("slow_member", 0),
]


@pytest.mark.parametrize(("family", "seed"), ONCE_MISSED)
def test_what_was_once_missed_is_named(family: str, seed: int) -> None:
    came = list(judged(family, seed))
    assert [said for outcome, said in came if outcome in (Outcome.PART, Outcome.SILENT)] == []
    assert any(outcome is Outcome.FIRST for outcome, _ in came)


@pytest.mark.parametrize("family", ["catching_up", "scaled", "quiet"])
def test_groups_that_are_well_are_left_in_peace(family: str) -> None:
    assert {outcome for outcome, _ in judged(family, 0)} <= {"in peace", "right cause"}


def test_a_seed_is_the_same_every_time() -> None:
    one, two = (played("duel", 3) for _ in range(2))
    assert (one.events, one.truth, one.offsets) == (two.events, two.truth, two.offsets)
    assert played("duel", 4).events != one.events


def test_a_seed_without_its_effect_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object) -> None:
        raise NoEffectError("not so")

    monkeypatch.setitem(FAMILIES, "nothing", nothing)
    assert list(judged("nothing", 0)) == [("no effect", "not so")]


def test_every_family_says_what_it_is() -> None:
    assert all(family.__doc__ for family in (*FAMILIES.values(), *WELL.values()))
