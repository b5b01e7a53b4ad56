"""The transaction topic's records: what was written comes back, and damage is named."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import DecodeError
from kgroup.protocol.records.transaction_state import (
    TransactionEntry,
    TransactionStatus,
    decode_transaction,
    encode_transaction,
)

ENTRY = TransactionEntry(
    transactional_id="copier",
    producer_id=7,
    producer_epoch=2,
    timeout_ms=30_000,
    status=TransactionStatus.ONGOING,
    partitions=(("orders", 0), ("orders", 2), ("payments", 1)),
    last_update_ms=20,
    start_ms=10,
)
KEY, VALUE = encode_transaction(ENTRY)


def test_an_open_transaction_comes_back_with_its_partitions() -> None:
    assert decode_transaction(KEY, VALUE) == ENTRY


@pytest.mark.parametrize("status", TransactionStatus)
def test_no_partitions_are_null_in_an_empty_transaction_only(status: TransactionStatus) -> None:
    """Kafka's TransactionLog goes through the list in every other state, so null would break its loading."""
    _, value = encode_transaction(replace(ENTRY, status=status, partitions=()))
    count = int.from_bytes(value[17:21], signed=True)
    assert (value[16], count) == (status, -1 if status is TransactionStatus.EMPTY else 0)


def test_a_tombstone_is_no_transaction() -> None:
    assert decode_transaction(KEY, None) is None


@pytest.mark.parametrize("size", range(len(VALUE)))
def test_a_value_that_is_cut_short_is_damage(size: int) -> None:
    with pytest.raises(DecodeError, match="TransactionLogValue"):
        decode_transaction(KEY, VALUE[:size])


@pytest.mark.parametrize("size", range(len(KEY)))
def test_a_key_that_is_cut_short_is_damage(size: int) -> None:
    with pytest.raises(DecodeError):
        decode_transaction(KEY[:size], VALUE)


@pytest.mark.parametrize(
    ("position", "byte"),
    [(1, 9), (0, 0xFF), (16, 77), (17, 77)],
    ids=["newer", "negative", "status", "partitions"],
)
def test_a_version_or_status_that_nobody_knows_is_damage(position: int, byte: int) -> None:
    damaged = VALUE[:position] + bytes([byte]) + VALUE[position + 1 :]
    assert damaged != VALUE
    with pytest.raises(DecodeError, match="TransactionLogValue"):
        decode_transaction(KEY, damaged)


def flipped(whole: bytes) -> st.SearchStrategy[bytes]:
    """With one byte changed."""
    positions, changes = st.integers(0, len(whole) - 1), st.integers(1, 255)
    return st.builds(
        lambda at, by: whole[:at] + bytes([whole[at] ^ by]) + whole[at + 1 :], positions, changes
    )


def test_noise_is_damage_or_an_entry_and_nothing_else() -> None:
    came_of_it: Counter[str] = Counter()

    @given(st.binary(max_size=60) | flipped(KEY) | st.just(KEY), st.binary(max_size=120) | flipped(VALUE))
    def decode(key: bytes, value: bytes) -> None:
        try:
            came_of_it[type(decode_transaction(key, value)).__name__] += 1
        except DecodeError:
            came_of_it["damage"] += 1

    decode()
    assert came_of_it.keys() == {"TransactionEntry", "damage"}
    assert min(came_of_it.values()) > 10, came_of_it
