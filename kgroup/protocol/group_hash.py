"""The partition of the offsets topic that a group hashes to.

Kafka, in every version: `Utils.abs(groupId.hashCode()) % partitions` (`GroupCoordinator.partitionFor`).
Redpanda: a jump consistent hash of the xxHash64 of the id's UTF-8 (`coordinator_ntp_mapper`).
"""

import struct
from enum import Enum

from kgroup.protocol.redpanda_hash import jump_hash, xxhash64

OFFSETS_TOPIC = "__consumer_offsets"

_INT_MIN = -(2**31)


class HashRule(Enum):
    """The system whose rule places groups on partitions."""

    KAFKA = "kafka"
    REDPANDA = "redpanda"

    @property
    def default_partitions(self) -> int:
        """Partitions of the offsets topic where nobody configured them; they cannot change later.

        Kafka's `offsets.topic.num.partitions`, Redpanda's `group_topic_partitions`.
        """
        return 50 if self is HashRule.KAFKA else 16


def partition_for(group: str, partitions: int = 50, rule: HashRule = HashRule.KAFKA) -> int:
    """The offsets partition that keeps `group`; `partitions` must be positive."""
    if rule is HashRule.REDPANDA:
        # Surrogates cannot stand in UTF-8, and so in no request; Java sends '?' for them.
        return jump_hash(xxhash64(group.encode("utf-8", "replace")), partitions)
    hash_code = java_hash_code(group)
    # Utils.abs: the one integer without a positive counterpart counts as 0.
    return (0 if hash_code == _INT_MIN else abs(hash_code)) % partitions


def java_hash_code(text: str) -> int:
    """`String.hashCode()`: 31-polynomial over UTF-16 code units, as a signed 32-bit integer.

    Characters beyond U+FFFF count as their two surrogates; a lone surrogate counts as itself.
    """
    encoded = text.encode("utf-16-be", "surrogatepass")
    total = 0
    for unit in struct.unpack(f">{len(encoded) // 2}H", encoded):
        total = (31 * total + unit) & 0xFFFFFFFF
    return total - 2**32 if total >= 2**31 else total
