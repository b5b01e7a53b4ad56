"""A member of a classic consumer group: a `Machine` with rounds.

It behaves as the classic consumer of Kafka 4.3.1 (ConsumerCoordinator, SubscriptionState, Fetcher).
"""

from collections.abc import Callable, Sequence

from kgroup.group.member.classic.rounds import Rounds
from kgroup.group.member.identity import Identity, MemberState
from kgroup.group.member.machine import Machine
from kgroup.group.member.settings import MemberSettings
from kgroup.protocol.requests.client import Node


class ClassicMember(Machine):
    """One consumer with `group.protocol=classic`."""

    def __init__(
        self, settings: MemberSettings, bootstrap: Sequence[Node], random: Callable[[], float]
    ) -> None:
        self._identity = Identity()
        super().__init__(settings, bootstrap, random, self._identity)
        self._rounds = self._membership = Rounds(
            self._outbox,
            self._view,
            self._coordinator,
            self._subscriptions,
            self._identity,
            self._committer,
            self._fetcher,
        )

    @property
    def state(self) -> MemberState:
        """UNJOINED, PREPARING_REBALANCE, COMPLETING_REBALANCE or STABLE."""
        return self._identity.state

    @property
    def is_leader(self) -> bool:
        """Whether the member leads its generation."""
        return self._rounds.is_leader

    def enforce_rebalance(self) -> None:
        """The next turn joins again, as `Consumer.enforceRebalance` has it (KIP-568).

        A coordinator takes that for a round if it comes from the leader.
        """
        self._rounds.request_rejoin("rebalance enforced by user")
