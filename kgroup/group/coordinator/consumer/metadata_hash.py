"""The hash of a group's topics, by which the coordinator notices a change in any of them.

Kafka 4.1 and later (KIP-1101): `Utils.computeTopicHash` and `computeGroupHash`, streamed XXH3 with 64 bits.
Held against hashes in the logs of a broker of 4.3.1.
"""

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import xxhash

from kgroup.group.coordinator.metadata_image import TopicImage

_MAGIC: Final = b"\x00"
_KEPT: Final = 1024


@lru_cache(_KEPT)
def topic_hash(topic: TopicImage) -> int:
    """The hash of one topic, unsigned: its id, name, partitions and their racks.

    It is kept, as every member that joins asks for it, and a topic of 1,000 partitions takes a millisecond.
    """
    high, low = struct.unpack(">qq", topic.topic_id.bytes)
    parts = [_MAGIC, struct.pack("<qq", high, low), _string(topic.name), _int(topic.partitions)]
    for partition in range(topic.partitions):
        parts.append(_int(partition))
        racks = topic.racks[partition] if partition < len(topic.racks) else ()
        for rack in sorted(racks):
            parts += (_int(len(rack)), _string(rack))
    return xxhash.xxh3_64_intdigest(b"".join(parts))


def group_hash(topics: Iterable[TopicImage]) -> int:
    """The hash of a group's topics that exist, signed; 0 without any."""
    in_order = sorted(topics, key=lambda topic: topic.name)
    if not in_order:
        return 0
    whole = xxhash.xxh3_64_intdigest(b"".join(struct.pack("<Q", topic_hash(each)) for each in in_order))
    return whole - (1 << 64) if whole >> 63 else whole


def _int(number: int) -> bytes:
    return struct.pack("<i", number)


def _string(text: str) -> bytes:
    """UTF-16 code units, then how many there are."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units + _int(len(units) // 2)
