"""Who commits to a consumer group and reads its offsets: by epoch (KIP-848), and by partition (KIP-1251)."""

import pytest

from kgroup.protocol.error_codes import ErrorCode as E
from tests.group.coordinator.consumer.world import GROUP, ConsumerWorld


@pytest.fixture
def world() -> ConsumerWorld:
    """`a` has 0 and 1 since epoch 2 and is at 3; `b` has 2 and 3 since epoch 3."""
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders")
    assert world.settle("a", "b") == {"a": {"orders": [0, 1]}, "b": {"orders": [2, 3]}}
    return world


@pytest.mark.parametrize(
    ("member", "epoch", "partition", "error"),
    [
        ("a", 3, 0, E.NONE),
        ("a", 3, 2, E.NONE),  # at its own epoch a member may commit anything
        ("a", 4, 0, E.STALE_MEMBER_EPOCH),
        ("a", 2, 0, E.NONE),  # it had the partition then and has it still
        ("a", 1, 0, E.STALE_MEMBER_EPOCH),  # before it was given it
        ("a", 2, 2, E.STALE_MEMBER_EPOCH),  # somebody else's now
        ("b", 2, 2, E.STALE_MEMBER_EPOCH),
        ("b", 3, 2, E.NONE),
        ("stranger", 3, 0, E.UNKNOWN_MEMBER_ID),
        ("", -1, 0, E.UNKNOWN_MEMBER_ID),  # no administrator while there are members
    ],
)
def test_a_commit_counts_by_its_epoch(
    world: ConsumerWorld, member: str, epoch: int, partition: int, error: E
) -> None:
    assert world.commit(member, epoch, partition) is error


def test_what_a_member_still_has_to_give_up_it_may_commit(world: ConsumerWorld) -> None:
    world.join("c", "orders")
    world.beat("a")
    world.beat("b")
    left = {member: set(world.owned[member]["orders"]) for member in ("a", "b")}
    [(member, gone)] = [
        (member, number) for member, had in (("a", {0, 1}), ("b", {2, 3})) for number in had - left[member]
    ]
    assert world.commit(member, 3, gone) is E.NONE


def test_an_api_without_epochs_is_not_for_members(world: ConsumerWorld) -> None:
    assert world.commit("a", 3, is_old=True) is E.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("member", "instance_id", "epoch", "error"),
    [
        ("", None, -1, E.NONE),  # a producer that names no member, as before KIP-447
        ("", "i", -1, E.UNKNOWN_MEMBER_ID),
        ("stranger", None, -1, E.UNKNOWN_MEMBER_ID),
        ("", None, 3, E.UNKNOWN_MEMBER_ID),
        ("a", None, 3, E.NONE),
        ("a", None, 2, E.NONE),
        ("a", None, 1, E.ILLEGAL_GENERATION),
        ("a", None, 4, E.ILLEGAL_GENERATION),
    ],
)
def test_a_commit_in_a_transaction_counts_without_a_member_or_by_its_epoch(
    world: ConsumerWorld, member: str, instance_id: str | None, epoch: int, error: E
) -> None:
    """As ConsumerGroup.validateOffsetCommit of 4.3.1; its errors are those of TxnOffsetCommit."""
    assert world.commit_in_transaction(member, epoch, instance_id=instance_id) is error


def test_anybody_commits_to_an_empty_group(world: ConsumerWorld) -> None:
    world.beat("a", -1)
    world.beat("b", -1)
    assert world.commit("", -1) is E.NONE


@pytest.mark.parametrize(
    ("member", "epoch", "error"),
    [
        (None, -1, E.NONE),
        ("a", 3, E.NONE),
        ("a", 2, E.STALE_MEMBER_EPOCH),
        ("a", 4, E.STALE_MEMBER_EPOCH),
        ("stranger", 3, E.UNKNOWN_MEMBER_ID),
        (None, 3, E.UNKNOWN_SERVER_ERROR),  # as a broker does
        (None, 0, E.UNKNOWN_SERVER_ERROR),
    ],
)
def test_who_reads_offsets_as_a_member_has_to_be_one(
    world: ConsumerWorld, member: str | None, epoch: int, error: E
) -> None:
    assert world.coordinator.check_fetch(GROUP, member, epoch) is error
