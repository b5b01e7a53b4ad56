"""The identity of a member in its group: the state, the generation, the id."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgroup.protocol.requests.coordinator import NO_GENERATION, UNKNOWN_MEMBER_ID


class MemberState(StrEnum):
    """Kafka's MemberState. PREPARING_REBALANCE: JoinGroup is sent; COMPLETING_REBALANCE: SyncGroup."""

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


M = MemberState
MEMBER_TRANSITIONS: Final = {
    M.UNJOINED: frozenset({M.PREPARING_REBALANCE}),
    M.PREPARING_REBALANCE: frozenset({M.UNJOINED, M.COMPLETING_REBALANCE}),
    M.COMPLETING_REBALANCE: frozenset({M.UNJOINED, M.STABLE}),
    M.STABLE: frozenset({M.UNJOINED, M.PREPARING_REBALANCE}),
}


@dataclass(slots=True)
class Identity:
    """`in_generation`: the member was told of a generation that it has not been thrown out of.

    `entries` counts the generations that it entered: a coordinator whose log has lost its end gives the same
    number to another generation, and then only this tells the two apart.
    """

    state: MemberState = MemberState.UNJOINED
    generation: int = NO_GENERATION
    member_id: str = UNKNOWN_MEMBER_ID
    entries: int = 0

    @property
    def in_generation(self) -> bool:
        """Whether the member has a place in a generation."""
        return self.generation != NO_GENERATION and self.member_id != UNKNOWN_MEMBER_ID

    def move(self, state: MemberState) -> None:
        """Change the state along MEMBER_TRANSITIONS."""
        assert state is self.state or state in MEMBER_TRANSITIONS[self.state], (self.state, state)
        self.state = state

    def enter(self, generation: int, member_id: str) -> None:
        """Into a generation, which the coordinator has named in its answer to JoinGroup."""
        self.generation, self.member_id = generation, member_id
        self.entries += 1
        self.move(MemberState.COMPLETING_REBALANCE)

    def reset(self, *, keep_id: bool) -> None:
        """Out of the generation."""
        self.generation = NO_GENERATION
        if not keep_id:
            self.member_id = UNKNOWN_MEMBER_ID
        self.state = MemberState.UNJOINED
