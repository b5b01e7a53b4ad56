"""What sticky assignors keep in a subscription's user data: the last assignment and its generation.

All integers are big-endian. `sticky` version 1 is an array of {string topic, array of int32 partitions}
and an int32 generation; version 0 ends before the generation. The bytes hold no version number: a
reader tries 1, then 0, and else takes nothing. `cooperative-sticky` writes an int32 generation only.
Source: StickyAssignor and CooperativeStickyAssignor of Kafka 4.3.1.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgroup.errors import DecodeError, KgroupError

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_MAX_STRING = 32767


@dataclass(frozen=True, slots=True, kw_only=True)
class StickyUserData:
    """A sticky member's memory. `generation` is None in version 0, which has none."""

    partitions: tuple[tuple[str, int], ...]
    generation: int | None


class _Reader:
    """Reads Kafka's old schema types; bytes behind the last field are ignored, as Kafka does."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def _take(self, size: int, field: str) -> int:
        position = self.position
        if size > len(self._data) - position:
            raise DecodeError(
                field, at=position, why=f"{size} bytes needed, {len(self._data) - position} left"
            )
        self.position = position + size
        return position

    def int32(self, field: str) -> int:
        value: int = _INT32.unpack_from(self._data, self._take(4, field))[0]
        return value

    def count(self, field: str) -> int:
        count = self.int32(field)
        if count < 0:
            raise DecodeError(field, at=self.position - 4, why=f"array of {count}")
        # Kafka refuses counts above the bytes left, whatever the size of an element.
        if count > len(self._data) - self.position:
            raise DecodeError(field, at=self.position - 4, why=f"array of {count} ends early")
        return count

    def string(self, field: str) -> str:
        length: int = _INT16.unpack_from(self._data, self._take(2, field))[0]
        if length < 0:
            raise DecodeError(field, at=self.position - 2, why=f"string of length {length}")
        start = self._take(length, field)
        return self._data[start : start + length].decode("utf-8", "replace")

    def int32s(self, field: str) -> tuple[int, ...]:
        count = self.count(field)
        return struct.unpack_from(f">{count}i", self._data, self._take(4 * count, field))


def decode_sticky(user_data: bytes) -> StickyUserData:
    """Decode `sticky` user data of version 1 or 0.

    Raises DecodeError if it is neither. Kafka's assignor then goes on as if the member had claimed
    nothing, in generation -1.
    """
    reader = _Reader(user_data)
    partitions: list[tuple[str, int]] = []
    for _ in range(reader.count("previous_assignment")):
        topic = reader.string("previous_assignment.topic")
        partitions.extend((topic, number) for number in reader.int32s("previous_assignment.partitions"))
    try:
        generation: int | None = reader.int32("generation")
    except DecodeError:
        generation = None
    return StickyUserData(partitions=tuple(partitions), generation=generation)


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
    return _Reader(user_data).int32("generation")


def encode_cooperative(generation: int) -> bytes:
    """`cooperative-sticky` user data of a member that was assigned in `generation` (-1: not yet)."""
    return _INT32.pack(generation)
