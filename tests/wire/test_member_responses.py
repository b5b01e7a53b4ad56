"""What a broker may send that is odd, as a member reads it."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from kgroup.errors import DecodeError
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import Fetch, FetchResponse
from kgroup.protocol.requests.coordinator import Heartbeat, HeartbeatResponse
from kgroup.wire.member_responses import read_response
from tests.log.offsets_log import batch, marker

FETCH = Fetch(
    offsets=((("orders", 0), 0),),
    max_wait_ms=0,
    min_bytes=0,
    max_bytes=1 << 20,
    partition_max_bytes=1 << 20,
)


def one_record(value: bytes) -> bytes:
    return encode_batch([LogRecord(offset=0, timestamp_ms=7, key=None, value=value)])


def fetched_bytes(records: bytes | None, aborted: Sequence[tuple[int, int]] = ()) -> Any:
    part = SimpleNamespace(
        partition_index=0,
        error_code=0,
        high_watermark=9,
        log_start_offset=None,
        aborted_transactions=[
            SimpleNamespace(producer_id=producer_id, first_offset=first) for producer_id, first in aborted
        ]
        or None,
        records=records,
    )
    topic = SimpleNamespace(topic="orders", partitions=[part])
    return SimpleNamespace(error_code=0, session_id=None, responses=[topic])


def read_fetched(records: bytes | None, aborted: Sequence[tuple[int, int]] = ()) -> Any:
    answer = read_response(FETCH, 4, fetched_bytes(records, aborted))
    assert isinstance(answer, FetchResponse)
    return answer.partitions[0]


def test_a_last_batch_that_the_size_limit_cut_is_left_for_the_next_fetch() -> None:
    whole, second = one_record(b"a"), one_record(b"b")
    for cut in (1, 20, len(second) - 1):
        fetched = read_fetched(whole + second[:cut])
        assert [each.value for each in fetched.records] == [b"a"]
        assert fetched.next_offset == 1


def test_a_first_batch_that_is_damaged_is_an_error_with_its_place() -> None:
    damaged = bytearray(one_record(b"a"))
    damaged[-1] ^= 1
    with pytest.raises(DecodeError, match="records of orders-0 from offset 0"):
        read_fetched(bytes(damaged))
    with pytest.raises(DecodeError):
        read_fetched(bytes(damaged) + one_record(b"b"))


def test_damage_between_batches_is_no_cut() -> None:
    damaged = bytearray(one_record(b"b"))
    damaged[-1] ^= 1
    with pytest.raises(DecodeError):
        read_fetched(one_record(b"a") + bytes(damaged) + one_record(b"c"))


def test_no_records_are_none() -> None:
    for nothing in (None, b""):
        fetched = read_fetched(nothing)
        assert (fetched.records, fetched.next_offset, fetched.log_start_offset) == ((), None, -1)


def test_an_aborted_transaction_lasts_until_the_marker_of_its_own_producer() -> None:
    """KIP-98: producer 6 ends in between, which says nothing of what producer 5 has aborted."""
    batches = [
        batch(0, [(None, b"aborted")], producer_id=5),
        batch(1, [(None, b"committed")], producer_id=6),
        marker(2, 6, committed=True),
        batch(3, [(None, b"aborted, too")], producer_id=5),
        marker(4, 5, committed=False),
        batch(5, [(None, b"of the next")], producer_id=5),
        marker(6, 5, committed=True),
    ]
    fetched = read_fetched(b"".join(batches), aborted=[(5, 0)])
    assert [each.value for each in fetched.records] == [b"committed", b"of the next"]
    assert fetched.next_offset == 7


def test_an_error_that_nobody_here_knows_is_the_servers_own() -> None:
    answer = read_response(
        Heartbeat(group_id="g", generation_id=1, member_id="m", group_instance_id=None),
        4,
        SimpleNamespace(error_code=31_999),
    )
    assert answer == HeartbeatResponse(error_code=E.UNKNOWN_SERVER_ERROR)
