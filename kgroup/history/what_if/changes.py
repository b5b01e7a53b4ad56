"""The changes that a what-if makes, and their effect on the assignor and the length of a pause."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.history.what_if.circumstances import Circumstances

# Kafka's default, of consumers (session.timeout.ms) and of brokers (group.consumer.session.timeout.ms).
DEFAULT_SESSION_MS: Final = 45_000

DEFAULT_ASSIGNORS: Final = {
    Protocol.EAGER: "range",
    Protocol.COOPERATIVE: "cooperative-sticky",
    Protocol.SERVER: "uniform",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes to suppose. None or empty: as it was recorded.

    `assignor` is a name in `ASSIGNORS`, of `protocol` where both are given. `classic` is the classic
    protocol, eager or cooperative: with the assignor of each time, or Kafka's default where that was none
    of a client's. `static` gives every member a group.instance.id; `more_members` are there whenever the
    group has members; `partitions` are counts by topic, from the first generation on. `pause_ms` is how long
    each rebalance stops what it stops, on both sides.
    """

    assignor: str | None = None
    protocol: Protocol | None = None
    classic: bool = False
    static: bool = False
    session_timeout_ms: int | None = None
    more_members: int = 0
    partitions: Mapping[str, int] = field(default_factory=dict)
    pause_ms: int | None = None

    @property
    def names_assignor(self) -> bool:
        """Whether no assignor of the log's has to be known."""
        return self.assignor is not None or self.protocol is not None or self.classic

    @property
    def leaves_epochs(self) -> bool:
        """Whether the group is classic all the time, and has rounds instead of epochs."""
        return self.classic or self.named_protocol not in (None, Protocol.SERVER)

    @property
    def named_protocol(self) -> Protocol | None:
        """The protocol that is supposed for all of the history, None for that of each time."""
        return self.protocol if self.assignor is None else ASSIGNORS[self.assignor].protocol

    def assignor_at(self, circumstances: Circumstances) -> str | None:
        """The assignor in these circumstances; None for one that is not Kafka's."""
        if self.assignor is not None:
            return self.assignor
        if self.protocol is not None and (
            circumstances.assignor is None or circumstances.protocol is not self.protocol
        ):
            return DEFAULT_ASSIGNORS[self.protocol]
        if self.classic and (circumstances.assignor is None or circumstances.protocol is Protocol.SERVER):
            return DEFAULT_ASSIGNORS[Protocol.EAGER]
        return circumstances.assignor
