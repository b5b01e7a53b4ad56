"""A member of a group of the consumer protocol: a `Machine` that reconciles."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence

from kgroup.group.member.consumer.identity import ConsumerIdentity, ConsumerState
from kgroup.group.member.consumer.membership import ConsumerMembership
from kgroup.group.member.machine import Machine
from kgroup.group.member.settings import MemberSettings
from kgroup.protocol.requests.client import Node

_ID_BYTES = 16


class ConsumerMember(Machine):
    """One consumer with `group.protocol=consumer`. Its member id comes from `random`, too."""

    def __init__(
        self, settings: MemberSettings, bootstrap: Sequence[Node], random: Callable[[], float]
    ) -> None:
        self._identity = ConsumerIdentity(_member_id(random))
        super().__init__(settings, bootstrap, random, self._identity)
        self._membership = ConsumerMembership(
            self._outbox,
            self._view,
            self._coordinator,
            self._subscriptions,
            self._identity,
            self._committer,
            self._fetcher,
        )

    @property
    def state(self) -> ConsumerState:
        """The member's state, from UNSUBSCRIBED to STABLE, FENCED or STALE."""
        return self._identity.state


def _member_id(random: Callable[[], float]) -> str:
    """22 letters, as Kafka's Uuid writes 16 random bytes; none begins with a dash."""
    drawn = bytes(int(random() * 256) for _ in range(_ID_BYTES))
    name = urlsafe_b64encode(drawn).decode().rstrip("=")
    return name if not name.startswith("-") else "A" + name[1:]
