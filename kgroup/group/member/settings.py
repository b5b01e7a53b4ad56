"""Settings of a member: Kafka's consumer settings, with Kafka's defaults."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgroup.errors import InputError

_HEARTBEATS_PER_SESSION: Final = 3


class OffsetReset(StrEnum):
    """`auto.offset.reset`: where to begin without a committed offset that can still be read."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


class GroupProtocol(StrEnum):
    """`group.protocol`: CLASSIC has rounds of JoinGroup and SyncGroup, CONSUMER is that of KIP-848."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSettings:
    """Names are those of Kafka's consumer configuration, in snake case; times in ms.

    `group_id` None: a consumer of partitions that it assigns to itself, without commits. `read_committed` is
    what `isolation.level` says. With CONSUMER the coordinator knows the session, the heartbeats' interval and
    the assignors; `group_remote_assignor` None leaves the choice to it.
    """

    group_id: str | None
    client_id: str = "kgroup"
    group_protocol: GroupProtocol = GroupProtocol.CLASSIC
    group_remote_assignor: str | None = None
    group_instance_id: str | None = None
    client_rack: str | None = None
    partition_assignment_strategy: tuple[str, ...] = ("range", "cooperative-sticky")
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    max_poll_records: int = 500
    auto_offset_reset: OffsetReset = OffsetReset.LATEST
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    metadata_max_age_ms: int = 300_000
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    fetch_max_wait_ms: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 1_048_576
    exclude_internal_topics: bool = True
    read_committed: bool = False

    def __post_init__(self) -> None:
        """Raises InputError for settings that cannot work together."""
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise InputError(
                f"heartbeat.interval.ms={self.heartbeat_interval_ms} is not below "
                f"session.timeout.ms={self.session_timeout_ms}"
            )
        if self.group_instance_id == "" or self.group_id == "":
            raise InputError("group.id and group.instance.id may not be empty")
        if self.group_instance_id is not None and self.group_id is None:
            raise InputError("group.instance.id needs a group.id")
        if not self.partition_assignment_strategy:
            raise InputError("partition.assignment.strategy names no assignor")

    @property
    def advice(self) -> str | None:
        """A warning on what Kafka's documentation advises against and its consumer accepts, or None."""
        return heartbeat_advice(self.heartbeat_interval_ms, self.session_timeout_ms)

    @property
    def join_timeout_ms(self) -> int:
        """JoinGroup waits for the slowest member, and 5 s for the way (Kafka: AbstractCoordinator)."""
        return max(self.request_timeout_ms, self.max_poll_interval_ms + 5_000)


def heartbeat_advice(heartbeat_interval_ms: int, session_timeout_ms: int) -> str | None:
    """A warning on an interval that leaves no room for two lost heartbeats; Kafka accepts it."""
    if heartbeat_interval_ms * _HEARTBEATS_PER_SESSION <= session_timeout_ms:
        return None
    return (
        f"heartbeat.interval.ms={heartbeat_interval_ms} is more than a third of "
        f"session.timeout.ms={session_timeout_ms}: one or two lost heartbeats end the session"
    )
