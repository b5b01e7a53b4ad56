"""Some drawn inputs of every target, and all that failed once."""

import random
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS, Target, corpus, play_corpus, shares

INPUTS = 60
COSTLY_INPUTS = 15


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_but_kgroups_errors_comes_of_a_damaged_input(name: str) -> None:
    target = TARGETS[name]
    costly = isinstance(target, Target) and target.costly
    for number in range(COSTLY_INPUTS if costly else INPUTS):
        target(random.Random(f"{name} 1 {number}"))


@pytest.mark.parametrize(("name", "path"), corpus(), ids=lambda part: getattr(part, "stem", part))
def test_what_failed_once_fails_no_more(name: str, path: Path) -> None:
    play_corpus(name, path)


def test_shares_make_what_was_asked_for() -> None:
    names = list(TARGETS)
    assert sum(shares(names, 1003).values()) == 1003
    assert shares(names, 100_000)["segment"] * 9 < shares(names, 100_000)["record"]
