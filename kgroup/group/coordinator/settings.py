"""The broker settings that a group coordinator obeys, with Kafka 4's defaults."""

from dataclasses import dataclass

MAX_INT = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Named after Kafka's properties: `group.initial.rebalance.delay.ms` and so on; all times in ms."""

    initial_rebalance_delay_ms: int = 3_000
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = MAX_INT
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    offsets_retention_check_interval_ms: int = 600_000
    # Not a property in Kafka either: how long a member may wait in its first join before it is given up.
    new_member_join_timeout_ms: int = 300_000
