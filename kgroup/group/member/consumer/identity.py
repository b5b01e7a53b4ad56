"""The identity of a consumer-protocol member: its state, its epoch, and the id it generated."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgroup.protocol.error_codes import ErrorCode

JOINING_EPOCH: Final = 0
LEAVING_EPOCH: Final = -1
AWAY_EPOCH: Final = -2
"""A static member leaves with it, and keeps its place for a session."""


class ConsumerState(StrEnum):
    """Kafka's MemberState, without those that nobody outside ever sees.

    RECONCILING: partitions are to be given up or taken. ACKNOWLEDGING: that is done, and the next heartbeat
    says so. FENCED: the coordinator has put it out. STALE: it has left because its user stopped polling.
    """

    UNSUBSCRIBED = "UNSUBSCRIBED"
    JOINING = "JOINING"
    RECONCILING = "RECONCILING"
    ACKNOWLEDGING = "ACKNOWLEDGING"
    STABLE = "STABLE"
    FENCED = "FENCED"
    STALE = "STALE"


S = ConsumerState
CONSUMER_TRANSITIONS: Final = {
    S.UNSUBSCRIBED: frozenset({S.JOINING}),
    S.JOINING: frozenset({S.RECONCILING, S.STABLE, S.FENCED, S.STALE, S.UNSUBSCRIBED}),
    S.RECONCILING: frozenset({S.ACKNOWLEDGING, S.STABLE, S.FENCED, S.STALE, S.UNSUBSCRIBED}),
    S.ACKNOWLEDGING: frozenset({S.RECONCILING, S.STABLE, S.FENCED, S.STALE, S.UNSUBSCRIBED}),
    S.STABLE: frozenset({S.RECONCILING, S.FENCED, S.STALE, S.UNSUBSCRIBED}),
    S.FENCED: frozenset({S.JOINING, S.UNSUBSCRIBED}),
    S.STALE: frozenset({S.JOINING, S.UNSUBSCRIBED}),
}
IN_GROUP: Final = frozenset({S.JOINING, S.RECONCILING, S.ACKNOWLEDGING, S.STABLE})
"""The states of a member that heartbeats."""


@dataclass(slots=True)
class ConsumerIdentity:
    """A `Place`. The id stays the same for the life of the process (KIP-1082)."""

    member_id: str
    state: ConsumerState = ConsumerState.UNSUBSCRIBED
    generation: int = JOINING_EPOCH
    entries: int = 0

    @property
    def in_generation(self) -> bool:
        """Whether the coordinator has given it an epoch that it has not been thrown out of."""
        return self.generation > JOINING_EPOCH

    @property
    def is_settled(self) -> bool:
        """Whether it has taken all that it was given, and the coordinator knows."""
        return self.state is ConsumerState.STABLE

    @property
    def beats(self) -> bool:
        """Whether it is in the group, or joins."""
        return self.state in IN_GROUP

    def commit_refusal(self) -> ErrorCode | None:
        """A commit needs an epoch; it may be made while partitions come and go."""
        return None if self.in_generation else ErrorCode.UNKNOWN_MEMBER_ID

    def move(self, state: ConsumerState) -> None:
        """Change the state along CONSUMER_TRANSITIONS."""
        assert state is self.state or state in CONSUMER_TRANSITIONS[self.state], (self.state, state)
        self.state = state

    def take_epoch(self, epoch: int) -> None:
        """The coordinator has answered with the member's epoch."""
        if not self.in_generation:
            self.entries += 1
        self.generation = epoch

    def drop(self, state: ConsumerState) -> None:
        """Drop out of the group."""
        self.move(state)
        self.generation = JOINING_EPOCH
