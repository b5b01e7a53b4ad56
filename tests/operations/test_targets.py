"""Each strategy of a reset, on partitions with and without a commit."""

import pytest

from kgroup.errors import RefusedError
from kgroup.operations.model import GroupOffsets, PartitionLimits, Position, Target
from kgroup.operations.targets import (
    NO_COMMIT,
    NO_RECORD_SINCE,
    ShiftBy,
    Strategy,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToPositions,
    ToTime,
    targets,
)

ORDERS, NEW = ("orders", 0), ("orders", 1)
LIMITS = {
    ORDERS: PartitionLimits(log_start=10, log_end=300),
    NEW: PartitionLimits(log_start=0, log_end=40),
}
GROUP = GroupOffsets(group="billing", commits={ORDERS: Position(50, 3, "m")})


@pytest.mark.parametrize(
    ("strategy", "of_orders", "of_new"),
    [
        (ToEarliest(), Target(position=Position(10)), Target(position=Position(0))),
        (ToLatest(), Target(position=Position(300)), Target(position=Position(40))),
        (
            ToCurrent(),
            Target(position=Position(50, 3, "m")),
            Target(position=Position(40), why=NO_COMMIT),
        ),
        (ToOffset(20), Target(position=Position(20)), Target(position=Position(20))),
        (ToOffset(9999), Target(position=Position(9999)), Target(position=Position(9999))),
        (
            ToTime(1_000),
            Target(position=Position(77)),
            Target(position=Position(40), why=NO_RECORD_SINCE),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_strategy(strategy: Strategy, of_orders: Target, of_new: Target) -> None:
    found = targets(strategy, GROUP, [ORDERS, NEW], LIMITS, {ORDERS: 77, NEW: None})
    assert found == {ORDERS: of_orders, NEW: of_new}


@pytest.mark.parametrize(("records", "offset"), [(-20, 30), (0, 50), (100, 150), (-1000, -950)])
def test_a_shift_is_from_what_is_committed(records: int, offset: int) -> None:
    [(place, target)] = targets(ShiftBy(records), GROUP, [ORDERS], LIMITS).items()
    assert (place, target.position and target.position.offset) == (ORDERS, offset)


def test_a_shift_of_a_partition_without_a_commit_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"group 'billing' has no offset to shift for orders-1$"):
        targets(ShiftBy(-1), GROUP, [ORDERS, NEW], LIMITS)
    with pytest.raises(RefusedError, match=r"orders-0 \(and 1 more\)$"):
        targets(ShiftBy(1), GroupOffsets(group="billing"), [ORDERS, NEW], LIMITS)


def test_an_offset_that_does_not_move_keeps_its_leader_epoch_and_metadata() -> None:
    assert targets(ToOffset(50), GROUP, [ORDERS], LIMITS)[ORDERS].position == Position(50, 3, "m")


def test_positions_are_taken_as_they_are() -> None:
    listed = ToPositions(positions={ORDERS: Position(12, 1, "x"), NEW: None}, source="a.csv")
    found = targets(listed, GROUP, [ORDERS, NEW], LIMITS)
    assert [found[ORDERS].position, found[NEW].position] == [Position(12, 1, "x"), None]


def test_only_the_partitions_asked_for_get_a_target() -> None:
    assert list(targets(ToEarliest(), GROUP, [NEW], LIMITS)) == [NEW]
