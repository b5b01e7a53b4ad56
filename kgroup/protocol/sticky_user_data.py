"""The user data sticky assignors keep in a subscription: the last assignment and its generation.

All integers are big-endian. `sticky` version 1 is an array of {string topic, array of int32 partitions}
and an int32 generation; version 0 ends before the generation. The bytes hold no version number: a
reader tries 1, then 0, and else takes nothing. `cooperative-sticky` writes an int32 generation only.
Source: StickyAssignor and CooperativeStickyAssignor of Kafka 4.3.1.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

from kgroup.errors import DecodeError, KgroupError

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_MAX_STRING = 32767


@dataclass(frozen=True, slots=True, kw_only=True)
class StickyUserData:
    """A sticky member's memory. `generation` is None in version 0, which has none."""

    partitions: tuple[tuple[str, int], ...]
    generation: int | None


def decode_sticky(user_data: bytes) -> StickyUserData:
    """Decode `sticky` user data of version 1 or 0; bytes behind the last field are ignored.

    Raises DecodeError if it is neither. Kafka's assignor then continues as if the member had claimed
    nothing, in generation -1.
    """
    size = len(user_data)
    partitions: list[tuple[str, int]] = []
    topics, position = _count(user_data, 0, "previous_assignment")
    for _ in range(topics):
        start = position + 2
        stop = start + (_INT16.unpack_from(user_data, position)[0] if start <= size else 0)
        if not start <= stop <= size:
            raise DecodeError("previous_assignment.topic", at=position, why=f"ends behind byte {size}")
        topic = user_data[start:stop].decode("utf-8", "replace")
        count, position = _count(user_data, stop, "previous_assignment.partitions")
        end = position + 4 * count
        if end > size:
            raise DecodeError(
                "previous_assignment.partitions", at=position, why=f"array of {count} ends early"
            )
        partitions += zip(repeat(topic), struct.unpack_from(f">{count}i", user_data, position))
        position = end
    generation = None if size < position + 4 else _INT32.unpack_from(user_data, position)[0]
    return StickyUserData(partitions=tuple(partitions), generation=generation)


def _count(data: bytes, position: int, field: str) -> tuple[int, int]:
    if len(data) < position + 4:
        raise DecodeError(field, at=position, why=f"4 bytes needed, {len(data) - position} left")
    count: int = _INT32.unpack_from(data, position)[0]
    position += 4
    # Kafka refuses counts above the bytes left, whatever the size of an element.
    if not 0 <= count <= len(data) - position:
        raise DecodeError(
            field, at=position - 4, why=f"array of {count} with {len(data) - position} bytes left"
        )
    return count, position


def encode_sticky(partitions_by_topic: Iterable[tuple[str, Sequence[int]]], generation: int | None) -> bytes:
    """Encode `sticky` user data: version 1, or version 0 if `generation` is None.

    Topics come in the order given. In Kafka that is the order of a HashMap by topic.
    """
    body = bytearray()
    topics = 0
    for topic, numbers in partitions_by_topic:
        encoded = topic.encode("utf-8", "replace")
        if len(encoded) > _MAX_STRING:
            raise KgroupError(f"topic name of {len(encoded)} bytes does not fit into user data")
        body += _INT16.pack(len(encoded)) + encoded
        body += struct.pack(f">{1 + len(numbers)}i", len(numbers), *numbers)
        topics += 1
    tail = b"" if generation is None else _INT32.pack(generation)
    return _INT32.pack(topics) + bytes(body) + tail


def decode_cooperative(user_data: bytes) -> int:
    """Generation in `cooperative-sticky` user data; raises DecodeError if there are not four bytes."""
    if len(user_data) < 4:
        raise DecodeError("generation", at=0, why=f"4 bytes needed, {len(user_data)} left")
    generation: int = _INT32.unpack_from(user_data)[0]
    return generation


def encode_cooperative(generation: int) -> bytes:
    """`cooperative-sticky` user data of a member that was assigned in `generation` (-1: not yet)."""
    return _INT32.pack(generation)
