"""The topics of a consumer's subscription, parsed as the coordinator does: the v0 part only."""

import struct
from functools import lru_cache

from kgroup.errors import DecodeError

# Members of a group mostly say the same, and say it again in every round.
_KEPT = 512
_FIELD = "ConsumerProtocolSubscription"


@lru_cache(maxsize=_KEPT)
def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics in a subscription; None when it ends before a number that it has to have.

    Like Kafka's coordinator, reads topics and user data, which lead every version, and ignores the
    rest. Raises DecodeError where Kafka fails in the middle of a rebalance: at an array, a string or user
    data longer than what is left, and at a null that cannot be. (Asked of a broker of 4.3.1.)
    """
    if len(metadata) < 2:
        return None
    (version,) = struct.unpack_from(">h", metadata)
    if version < 0:
        return None
    topics = []
    position = 2
    try:
        (count,) = struct.unpack_from(">i", metadata, position)
        position += 4
        if not 0 <= count <= len(metadata) - position:
            raise DecodeError(f"{_FIELD}.topics", at=2, why=f"an array of {count}")
        for _ in range(count):
            (length,) = struct.unpack_from(">h", metadata, position)
            start, position = position + 2, position + 2 + length
            if length < 0 or position > len(metadata):
                raise DecodeError(f"{_FIELD}.topics", at=start - 2, why=f"a string of {length} bytes")
            topics.append(str(metadata[start:position], "utf-8", "replace"))
        (length,) = struct.unpack_from(">i", metadata, position)
        if length > len(metadata) - position - 4:
            raise DecodeError(f"{_FIELD}.userData", at=position, why=f"{length} bytes")
    except struct.error:
        return None
    return frozenset(topics)


def is_readable(metadata: bytes) -> bool:
    """Whether `subscribed_topics` gets through these bytes."""
    try:
        subscribed_topics(metadata)
    except DecodeError:
        return False
    return True
