"""The offset at which a share group begins to read a partition (KIP-932)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOffset:
    """The start offset of a share partition; None is what the broker, or the log, does not say.

    `lag` is the broker's own (KIP-1226, Kafka 4.2): records from there on that are not acknowledged.
    """

    topic: str
    partition: int
    start_offset: int | None
    leader_epoch: int | None
    lag: int | None
