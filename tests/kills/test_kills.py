"""Deaths of a broker, few of those that `python -m tests.kills` plays; and that the harness notices."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.kills.book import Book, Ending, Readback, Transaction
from tests.kills.rounds import deaths

COUNT = 60
POWER_COUNT = 40


def test_what_was_acknowledged_outlives_the_process(tmp_path: Path) -> None:
    lives = list(deaths(tmp_path, seed=20261121, count=COUNT, power=False, fsync=False))
    assert [life.wrongs for life in lives] == [()] * COUNT
    assert lives[-1].acknowledged > 20 * COUNT


@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_acknowledged_with_fsync_outlives_a_loss_of_power(tmp_path: Path, seed: int) -> None:
    lives = list(deaths(tmp_path, seed=seed, count=POWER_COUNT, power=True, fsync=True))
    assert [life.wrongs for life in lives] == [()] * POWER_COUNT
    assert lives[-1].acknowledged > 20 * POWER_COUNT


def test_after_a_loss_of_power_without_fsync_the_broker_starts_and_invents_nothing(tmp_path: Path) -> None:
    lives = list(deaths(tmp_path, seed=3, count=POWER_COUNT, power=True, fsync=False))
    assert [life.wrongs for life in lives] == [()] * POWER_COUNT


def test_the_disk_does_lose_what_nobody_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.kills.rounds.Book.wrongs", _as_if_synced(Book.wrongs))
    lives = list(deaths(tmp_path, seed=4, count=POWER_COUNT, power=True, fsync=False))
    assert "held" in str(lives[-1].wrongs)


def _as_if_synced(wrongs):
    return lambda book, back, *, is_durable: wrongs(book, back, is_durable=True)


BACK = Readback(
    values={0: {0: "a", 1: "b", 3: "c"}},
    visible=frozenset({"a", "b", "c"}),
    offsets={0: 5},
    copied=0,
    topics=frozenset({"orders", "extra-0"}),
)


def book() -> Book:
    return Book(
        sent={"a": 0, "b": 0, "c": 0},
        stored={0: {0: "a", 1: "b"}},
        offset_sent={0: 6},
        offset_acknowledged={0: 5},
        transactions=[Transaction(0, {"b": 0, "c": 0}, 0, Ending.COMMITTED)],
        topics={"extra-0": True, "extra-1": False, "extra-2": None},
    )


def test_all_is_well_when_everything_is_there() -> None:
    assert book().wrongs(BACK, is_durable=True) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"values": {0: {0: "a", 3: "c"}}}, "offset 1 held 'b' and holds None"),
        ({"values": {0: {0: "b", 1: "a", 3: "c"}}}, "offset 0 held 'a' and holds 'b'"),
        ({"values": {0: {0: "a", 1: "b", 2: "a"}}}, "holds a value twice"),
        ({"values": {0: {0: "a", 1: "b", 2: "x"}}}, "which nobody wrote there"),
        ({"visible": frozenset({"b", "c"})}, "'a' belongs to no transaction and is hidden"),
        ({"visible": frozenset({"a"})}, "was committed, and"),
        ({"visible": frozenset({"a", "b"})}, "half visible"),
        ({"offsets": {0: 4}}, "went back to 4"),
        ({"offsets": {0: 7}}, "was never committed"),
        ({"copied": -1}, "copying group's offset is -1, and can be [0]"),
        ({"copied": 8}, "was never committed"),
        ({"topics": frozenset({"orders"})}, "extra-0 was created and is gone"),
        ({"topics": frozenset({"orders", "extra-0", "extra-1"})}, "extra-1 was deleted and is there"),
    ],
)
def test_each_loss_is_noticed(change: dict[str, object], sentence: str) -> None:
    assert sentence in " ".join(book().wrongs(replace(BACK, **change), is_durable=True))


@pytest.mark.parametrize("ending", [Ending.ABORTED, Ending.OPEN, Ending.ABORT_SENT])
def test_records_of_a_transaction_that_did_not_commit_may_not_be_seen(ending: Ending) -> None:
    kept = book()
    kept.transactions[0].ending = ending
    assert f"transaction 0 is {ending}, and" in " ".join(kept.wrongs(BACK, is_durable=True))


def test_what_was_in_doubt_and_has_been_seen_must_stay() -> None:
    kept = book()
    kept.transactions[0].ending = Ending.COMMIT_SENT
    kept.settle(BACK)
    assert "offset 3 held 'c' and holds None" in " ".join(
        kept.wrongs(replace(BACK, values={0: {0: "a", 1: "b"}}), is_durable=True)
    )
    assert kept.transactions[0].ending is Ending.COMMITTED
