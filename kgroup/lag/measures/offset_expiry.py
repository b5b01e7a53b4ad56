"""Expiry of a committed offset: the rules of Kafka since 2.1 (KIP-211) for one commit.

Offsets of a group with members never expire, except those of topics that no member subscribes to (KIP-211,
"topics no longer subscribed"). Brokers before 2.1 counted from each commit, whoever was in the group; they
log when each one expires.
"""

from typing import Final, NamedTuple

from kgroup.history.groups.model import Group, GroupKind, GroupState
from kgroup.lag.measures.rows import LagRow

RETENTION_MS: Final = 7 * 86_400_000
"""`offsets.retention.minutes`: 7 days since Kafka 2.0, one day before."""


class Expiry(NamedTuple):
    """The start of a commit's retention, and the earliest time it may be deleted; both epoch ms."""

    counts_from_ms: int
    at_ms: int


def expiry(group: Group, row: LagRow, retention_ms: int) -> Expiry | None:
    """The expiry time of a row's commit; None if it does not expire as things are, or if that is unknown."""
    if row.current_offset is None or row.commit_timestamp is None:
        return None
    counts_from_ms = _counts_from_ms(group, row)
    if counts_from_ms is None:
        return None
    if row.expire_timestamp is not None:
        return Expiry(row.commit_timestamp, row.expire_timestamp)
    return Expiry(counts_from_ms, counts_from_ms + retention_ms)


def _counts_from_ms(group: Group, row: LagRow) -> int | None:
    if group.kind is GroupKind.SIMPLE:
        return row.commit_timestamp
    if group.state is GroupState.EMPTY:
        return group.since_ms
    if group.kind is GroupKind.STREAMS or group.state is not GroupState.STABLE:
        return None
    is_read = any(
        member.subscribed is None or member.subscribed_regex or row.topic in member.subscribed
        for member in group.members
    )
    return None if is_read or group.protocol_type not in ("", "consumer") else row.commit_timestamp
