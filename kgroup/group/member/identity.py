"""The identity of a member in its group: the state, the generation, the id."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import NO_GENERATION, UNKNOWN_MEMBER_ID


class Place(Protocol):
    """A member's place in its group, whichever protocol that speaks.

    `generation` is its epoch in the consumer protocol. `entries` counts the times that it came into the
    group: a coordinator whose log has lost its end gives the same number to another generation, and then only
    this tells the two apart.
    """

    generation: int
    member_id: str
    entries: int

    @property
    def in_generation(self) -> bool:
        """Whether the member has a place."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether it has all that it shall have."""
        ...

    @property
    def beats(self) -> bool:
        """Whether it is to heartbeat."""
        ...

    def commit_refusal(self) -> ErrorCode | None:
        """The reason a commit in the group's name cannot be sent now, if it cannot."""
        ...


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
    """`in_generation`: the member was told of a generation that it has not been thrown out of."""

    state: MemberState = MemberState.UNJOINED
    generation: int = NO_GENERATION
    member_id: str = UNKNOWN_MEMBER_ID
    entries: int = 0

    @property
    def in_generation(self) -> bool:
        """Whether the member has a place in a generation."""
        return self.generation != NO_GENERATION and self.member_id != UNKNOWN_MEMBER_ID

    @property
    def is_settled(self) -> bool:
        """Whether the last round has ended for it."""
        return self.state is MemberState.STABLE

    @property
    def beats(self) -> bool:
        """Whether it waits for its share of a generation, or has it."""
        return self.state in (MemberState.STABLE, MemberState.COMPLETING_REBALANCE)

    def commit_refusal(self) -> ErrorCode | None:
        """Kafka: ConsumerCoordinator.sendOffsetCommitRequest with no stable generation.

        A commit that is sent all the same waits at the broker behind the connection's JoinGroup, for as long
        as the slowest member takes; and without a generation it would pass for one from outside of the group.
        """
        if self.state is MemberState.STABLE:
            return None
        if self.state is MemberState.UNJOINED:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.REBALANCE_IN_PROGRESS

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
        """Drop out of the generation."""
        self.generation = NO_GENERATION
        if not keep_id:
            self.member_id = UNKNOWN_MEMBER_ID
        self.state = MemberState.UNJOINED
