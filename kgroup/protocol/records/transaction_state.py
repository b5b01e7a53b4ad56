"""Records of `__transaction_state`: what a transaction coordinator must remember (KIP-98)."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from kafka.protocol.api_data import ApiData

from kgroup.errors import DecodeError
from kgroup.protocol import schemas
from kgroup.protocol.payload import PREFIX_BYTES
from kgroup.protocol.strict import StrictReader


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


class TransactionLogKey(ApiData, load_json=schemas):  # type: ignore[misc,call-arg]  # untyped
    """Kafka's schema of the key."""


class TransactionLogValue(ApiData, load_json=schemas):  # type: ignore[misc,call-arg]
    """Kafka's schema of the value."""


_KEY_VERSION = 0
_NEWEST_VALUE_VERSION = 1
_VALUE_VERSION = 0  # what a broker without flexible transaction records writes; all brokers read it


def encode_transaction(entry: TransactionEntry) -> tuple[bytes, bytes]:
    """The key and value of the record."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(entry.partitions):
        topics.setdefault(topic, []).append(partition)
    value = TransactionLogValue(
        version=_VALUE_VERSION,
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        transaction_timeout_ms=entry.timeout_ms,
        transaction_status=int(entry.status),
        # As Kafka's TransactionLog, which reads a list for every other state, if of nothing.
        transaction_partitions=None if entry.status is TransactionStatus.EMPTY else list(topics.items()),
        transaction_last_update_timestamp_ms=entry.last_update_ms,
        transaction_start_timestamp_ms=entry.start_ms,
    )
    key = TransactionLogKey(version=_KEY_VERSION, transactional_id=entry.transactional_id)
    return bytes(key.encode()), bytes(value.encode())


def decode_transaction(key: bytes, value: bytes | None) -> TransactionEntry | None:
    """The entry, None for a tombstone. Raises DecodeError for other bytes."""
    if value is None:
        return None
    name = _read(TransactionLogKey, key, _KEY_VERSION)
    body = _read(TransactionLogValue, value, _NEWEST_VALUE_VERSION)
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


def _read(message: Any, data: bytes, newest_version: int) -> Any:
    version = int.from_bytes(data[:PREFIX_BYTES], signed=True)
    if len(data) < PREFIX_BYTES or not 0 <= version <= newest_version:
        raise DecodeError(message.__name__, at=0, why=f"version {version} in {len(data)} bytes")
    flexible = message.flexible_version_q(version)
    return StrictReader(data, position=PREFIX_BYTES, version=version, flexible=flexible).read(
        message, message.__name__
    )
