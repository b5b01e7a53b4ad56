"""Epochs of consumer groups where a rule made for generations would go wrong, from a coordinator's own log.

A group of Kafka 4.3 is founded at epoch 1, which no record shows: its first member makes it 2, and that is no
second rebalance. A target may be of an older epoch than the group for as long as the assignment interval.
"""

from typing import Any

import pytest

from kgroup.history.timeline.model import NOTHING_MOVED, CauseKind, Grade, Timeline
from kgroup.history.timeline.replay import replay
from tests.group.coordinator.consumer.world import GROUP, NAMES, ConsumerWorld


def timeline(world: ConsumerWorld) -> Timeline:
    return replay(world.log, NAMES)[GROUP]


@pytest.mark.parametrize(
    "wish", [{"topics": ["orders"]}, {"subscribed_topic_regex": "ord.*"}], ids=["names", "an expression"]
)
def test_the_first_epoch_of_a_group_is_2_and_nothing_before_it_is_missing(wish: dict[str, Any]) -> None:
    world = ConsumerWorld()
    world.join("m1", *wish.pop("topics", ()), **wish)
    world.beat("m1")
    [first] = timeline(world).generations
    [cause] = first.causes
    assert (first.roster.generation, first.unfinished) == (2, 0)
    assert (cause.kind, cause.grade) == (CauseKind.FIRST_JOIN, Grade.RECORDED)
    assert [member.member_id for member in first.joined] == ["m1"]
    assert first.moved == NOTHING_MOVED
    assert (first.gaps, first.waits) == ([], [])


def test_an_epoch_without_a_target_moves_nothing_and_the_next_target_moves_once() -> None:
    world = ConsumerWorld(consumer_assignment_interval_ms=5_000)
    for member in ("m1", "m2", "m3"):
        world.join(member, "orders")
    assert (world.described().group_epoch, world.described().assignment_epoch) == (4, 2)
    assert [each.moved.moved for each in timeline(world).generations] == [0, 0, 0]
    world.advance(5_000)
    world.beat("m3")
    generations = timeline(world).generations
    assert [each.roster.generation for each in generations] == [2, 3, 4]
    assert [each.unfinished for each in generations] == [0, 0, 0]
    assert [[cause.kind for cause in each.causes] for each in generations] == [
        [CauseKind.FIRST_JOIN],
        [CauseKind.JOIN],
        [CauseKind.JOIN],
    ]
    gone = sum(len(each.target_assignment.topic_partitions) for each in world.described().members)
    assert gone == 3
    # All four partitions were m1's, and it keeps two of them.
    assert [each.moved.moved for each in generations] == [0, 0, 2]
