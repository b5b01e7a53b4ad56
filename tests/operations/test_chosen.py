"""Topics and partitions as a command line names them."""

import pytest

from kgroup.errors import InputError, RefusedError
from kgroup.operations.chosen import chosen_partitions, parse_topic, require_partitions

TOPICS = {"orders": [0, 1, 2], "audit": [0]}


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("orders", ("orders", None)),
        ("orders:0", ("orders", (0,))),
        ("orders:2,0,2", ("orders", (2, 0))),
        ("a.b-c_d:10, 11", ("a.b-c_d", (10, 11))),
    ],
)
def test_a_topic_with_or_without_partitions(text: str, parsed: tuple[str, tuple[int, ...] | None]) -> None:
    assert parse_topic(text) == parsed


@pytest.mark.parametrize("text", ["", ":0", "orders:", "orders:x", "orders:0,", "orders:-1", "orders:0:1"])
def test_what_is_no_topic_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--topic"):
        parse_topic(text)


def test_partitions_are_sorted_and_there_once() -> None:
    asked = [("orders", (2, 0)), ("audit", None), ("orders", (0,))]
    assert chosen_partitions(asked, TOPICS) == [("audit", 0), ("orders", 0), ("orders", 2)]
    assert len(chosen_partitions([("orders", None)], TOPICS)) == 3


@pytest.mark.parametrize(
    ("topic", "partitions", "why"),
    [
        ("order", None, "no topic 'order' in this cluster; did you mean orders[?]"),
        ("orders", (1, 3), "orders has no partition 3, but 0 to 2"),
        ("audit", (7,), "audit has no partition 7, but 0$"),
    ],
)
def test_what_does_not_exist_is_refused(topic: str, partitions: tuple[int, ...] | None, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        chosen_partitions([(topic, partitions)], TOPICS)
    places = [(topic, number) for number in partitions or (0,)]
    with pytest.raises(RefusedError, match=f"^plan.csv: {why}"):
        require_partitions(places, TOPICS, "plan.csv")


def test_what_exists_is_fine() -> None:
    require_partitions([("orders", 2), ("audit", 0)], TOPICS, "plan.csv")
