"""Which partition of the offsets topic keeps a group: Kafka's rule.

`Utils.abs(groupId.hashCode()) % partitions` (`GroupCoordinator.partitionFor`), the same from 0.9 to 4.x.
"""

import struct

OFFSETS_TOPIC = "__consumer_offsets"
DEFAULT_PARTITIONS = 50
"""Kafka's default of `offsets.topic.num.partitions`, which cannot change once the topic exists."""

_INT_MIN = -(2**31)


def java_hash_code(text: str) -> int:
    """`String.hashCode()`: 31-polynomial over UTF-16 code units, as a signed 32-bit integer.

    Characters beyond U+FFFF count as their two surrogates; a lone surrogate counts as itself.
    """
    encoded = text.encode("utf-16-be", "surrogatepass")
    total = 0
    for unit in struct.unpack(f">{len(encoded) // 2}H", encoded):
        total = (31 * total + unit) & 0xFFFFFFFF
    return total - 2**32 if total >= 2**31 else total


def partition_for(group: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """The offsets partition that keeps `group`, by Kafka's rule. `partitions` must be positive."""
    hash_code = java_hash_code(group)
    # Utils.abs: the one integer without a positive counterpart counts as 0.
    return (0 if hash_code == _INT_MIN else abs(hash_code)) % partitions
