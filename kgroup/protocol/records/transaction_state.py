"""Records of `__transaction_state`: what a transaction coordinator must remember (KIP-98)."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeVar

from kgroup.errors import DecodeError
from kgroup.protocol.payload import PREFIX_BYTES, Payload

V = TypeVar("V")


class TransactionStatus(IntEnum):
    """A transaction's state, numbered as in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionEntry:
    """A transactional id and where its transaction stands; `partitions` are (topic, partition)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    status: TransactionStatus
    partitions: tuple[tuple[str, int], ...]
    last_update_ms: int
    start_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLogKey:
    """The key as it is in the log."""

    transactional_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionTopic:
    """A topic's partitions in a transaction."""

    topic: str
    partition_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLogValue:
    """The value as it is in the log."""

    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: tuple[TransactionTopic, ...] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int


_KEY: Final = Payload(TransactionLogKey)
_VALUE: Final = Payload(TransactionLogValue)
_KEY_VERSION = 0
_NEWEST_VALUE_VERSION = 1
_VALUE_VERSION = 0  # what a broker without flexible transaction records writes; all brokers read it


def encode_transaction(entry: TransactionEntry) -> tuple[bytes, bytes]:
    """The key and value of the record."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(entry.partitions):
        topics.setdefault(topic, []).append(partition)
    partitions = tuple(
        TransactionTopic(topic=topic, partition_ids=tuple(numbers)) for topic, numbers in topics.items()
    )
    value = TransactionLogValue(
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        transaction_timeout_ms=entry.timeout_ms,
        transaction_status=int(entry.status),
        # As Kafka's TransactionLog, which reads a list for every other state, if of nothing.
        transaction_partitions=None if entry.status is TransactionStatus.EMPTY else partitions,
        transaction_last_update_timestamp_ms=entry.last_update_ms,
        transaction_start_timestamp_ms=entry.start_ms,
    )
    key = TransactionLogKey(transactional_id=entry.transactional_id)
    return _written(_KEY, key, _KEY_VERSION), _written(_VALUE, value, _VALUE_VERSION)


def _written(payload: Payload[V], value: V, version: int) -> bytes:
    return version.to_bytes(PREFIX_BYTES) + payload.encode(value, version)


def decode_transaction(key: bytes, value: bytes | None) -> TransactionEntry | None:
    """The entry, None for a tombstone. Raises DecodeError for other bytes."""
    if value is None:
        return None
    name = _read(_KEY, key, _KEY_VERSION)
    body = _read(_VALUE, value, _NEWEST_VALUE_VERSION)
    try:
        status = TransactionStatus(body.transaction_status)
    except ValueError as error:
        raise DecodeError("TransactionLogValue.transaction_status", at=0, why=str(error)) from error
    return TransactionEntry(
        transactional_id=name.transactional_id,
        producer_id=body.producer_id,
        producer_epoch=body.producer_epoch,
        timeout_ms=body.transaction_timeout_ms,
        status=status,
        partitions=tuple(
            (topic.topic, index)
            for topic in body.transaction_partitions or ()
            for index in topic.partition_ids
        ),
        last_update_ms=body.transaction_last_update_timestamp_ms,
        start_ms=body.transaction_start_timestamp_ms,
    )


def _read(payload: Payload[V], data: bytes, newest_version: int) -> V:
    version = int.from_bytes(data[:PREFIX_BYTES], signed=True)
    if len(data) < PREFIX_BYTES or not 0 <= version <= newest_version:
        raise DecodeError(payload.name, at=0, why=f"version {version} in {len(data)} bytes")
    return payload.decode(data, version).value
