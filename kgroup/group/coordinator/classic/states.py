"""The five states of a classic group and the transitions between them."""

from enum import StrEnum
from typing import Final


class GroupState(StrEnum):
    """A classic group's state, spelled as ListGroups and DescribeGroups spell it."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


S = GroupState

# Kafka: ClassicGroupState. Empty and Stable are what the log can hold; the two rebalance states are
# soft and are lost when a coordinator reloads.
TRANSITIONS: Final = {
    S.EMPTY: frozenset({S.PREPARING_REBALANCE, S.DEAD}),
    S.PREPARING_REBALANCE: frozenset({S.EMPTY, S.COMPLETING_REBALANCE, S.DEAD}),
    S.COMPLETING_REBALANCE: frozenset({S.PREPARING_REBALANCE, S.STABLE, S.DEAD}),
    S.STABLE: frozenset({S.PREPARING_REBALANCE, S.DEAD}),
    S.DEAD: frozenset({S.DEAD}),
}


def may_move(current: GroupState, target: GroupState) -> bool:
    """Whether a group in `current` may become `target`."""
    return target in TRANSITIONS[current]
