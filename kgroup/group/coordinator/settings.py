"""The broker settings that a group coordinator obeys, with Kafka 4's defaults."""

from collections.abc import Callable
from dataclasses import dataclass

MAX_INT = 2**31 - 1
UPGRADES = ("bidirectional", "upgrade")
DOWNGRADES = ("bidirectional", "downgrade")
POLICIES = ("bidirectional", "upgrade", "downgrade", "disabled")
"""The values of group.consumer.migration.policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Named after Kafka's properties: `group.initial.rebalance.delay.ms` and so on; all times in ms.

    Those of consumer groups are `group.consumer.session.timeout.ms` and so on; the first assignor is for
    members that ask for none.
    """

    initial_rebalance_delay_ms: int = 3_000
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = MAX_INT
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    offsets_retention_check_interval_ms: int = 600_000
    # Not a property in Kafka either: how long a member may wait in its first join before it is given up.
    new_member_join_timeout_ms: int = 300_000
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_max_size: int = MAX_INT
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: str = "bidirectional"
    consumer_assignment_interval_ms: int = 1_000
    consumer_regex_refresh_interval_ms: int = 600_000


SettingsOf = Callable[[str], GroupSettings]
"""What holds for a group, by its id: the broker's settings, changed by those of the group (KIP-848).

Of those changes the sessions, the heartbeats and the assignment interval of a consumer group are obeyed.
"""
