"""The transactions in a partition's log, in logs made by hand and of real brokers."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kgroup.log.files.log_dir import read_partition_folder
from kgroup.log.format.batch import Damage, encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.log.topics.logged_transactions import (
    GroupsTransaction,
    LoggedTransaction,
    TransactionReader,
    logged_transactions,
    offsets_transactions,
)
from kgroup.protocol.records.entries import TransactionOutcome
from tests.log.offsets_log import batch, commit, marker, write
from tests.log.truth import FIXTURES

PIPELINE = FIXTURES / "pipeline/4.3.1"
RECORD = (b"k", b"v")
COMMITTED, ABORTED, PENDING = (
    TransactionOutcome.COMMITTED,
    TransactionOutcome.ABORTED,
    TransactionOutcome.PENDING,
)


def read(path: Path, from_offset: int = 0) -> tuple[list[LoggedTransaction | Damage], TransactionReader]:
    folder = read_partition_folder(path)
    assert folder is not None
    reader = TransactionReader()
    return list(logged_transactions(folder.segments, reader, from_offset=from_offset)), reader


def transactions(tmp_path: Path, batches: Sequence[bytes]) -> Iterator[tuple[int, object, int, int, int]]:
    """Producer, outcome, first and last offset, records."""
    for item in read(write(tmp_path, batches).parent)[0]:
        assert isinstance(item, LoggedTransaction)
        yield item.producer_id, item.outcome, item.first_offset, item.last_offset, item.records


def test_a_transaction_is_what_a_producer_wrote_up_to_its_marker(tmp_path: Path) -> None:
    batches = [
        batch(0, [RECORD], producer_id=5),
        batch(1, [RECORD], producer_id=6),
        batch(2, [RECORD] * 3, producer_id=5),
        marker(5, 5, committed=True),
        batch(6, [RECORD], producer_id=5),
        marker(7, 6, committed=False),
    ]
    assert list(transactions(tmp_path, batches)) == [
        (5, COMMITTED, 0, 4, 4),
        (6, ABORTED, 1, 1, 1),
        (5, PENDING, 6, 6, 1),
    ]


def test_a_marker_without_records_before_it_ends_nothing(tmp_path: Path) -> None:
    batches = [marker(0, 5, committed=True), batch(1, [RECORD], producer_id=5), marker(2, 5, committed=True)]
    assert list(transactions(tmp_path, batches)) == [(5, COMMITTED, 1, 1, 1)]


def test_records_outside_transactions_are_counted_and_their_times_noted(tmp_path: Path) -> None:
    batches = [batch(0, [RECORD] * 2), batch(2, [RECORD], producer_id=5), batch(40, [RECORD])]
    _, reader = read(write(tmp_path, batches).parent)
    assert reader.outside == 3
    assert (reader.newest_ms, reader.longest_gap_ms) == (1040, 38)


def test_what_lies_before_the_logs_start_is_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path, [batch(0, [RECORD], producer_id=5), marker(1, 5, committed=True)]).parent
    assert read(folder, from_offset=2)[0] == []


def test_a_damaged_marker_ends_nothing_and_the_rest_goes_on(tmp_path: Path) -> None:
    broken = bytearray(marker(1, 5, committed=True))
    broken[-1] ^= 0xFF
    batches = [batch(0, [RECORD], producer_id=5), bytes(broken), batch(2, [RECORD], producer_id=5)]
    assert list(transactions(tmp_path, batches)) == [(5, PENDING, 0, 2, 2)]


def test_since_kip_890_the_end_of_a_transaction_raises_the_epoch(tmp_path: Path) -> None:
    def epochs(path: Path) -> set[bool]:
        return {item.ends_epoch for item in read(path)[0] if isinstance(item, LoggedTransaction)}

    assert epochs(PIPELINE / "orders-enriched-0") == {True}  # a Java client of 4.3.1
    assert epochs(PIPELINE / "invoices-0") == {False}  # librdkafka 2.16
    assert epochs(FIXTURES / "3.9.1/lives/__consumer_offsets-48") == {False}


def test_the_groups_of_a_transaction_are_those_whose_offsets_it_holds(tmp_path: Path) -> None:
    batches = [
        batch(0, [commit("a", "t", 0, 1), commit("a", "u", 0, 1)], producer_id=5),
        batch(2, [commit("b", "t", 0, 9)], producer_id=6),
        batch(3, [commit("c", "t", 0, 1)], producer_id=5),
        marker(4, 5, committed=True),
        batch(5, [commit("d", "t", 0, 1)]),
    ]
    folder = read_partition_folder(write(tmp_path, batches).parent)
    assert folder is not None
    found = list(offsets_transactions(folder.segments))
    of_producers = [(item.transaction.producer_id, item.groups) for item in found if isinstance(item, tuple)]
    assert of_producers == [(5, {"a", "c"}), (6, {"b"})]


def test_a_transaction_holds_no_offsets_of_its_producers_transaction_before(tmp_path: Path) -> None:
    batches = [
        batch(0, [commit("a", "t", 0, 1)], producer_id=5),
        marker(1, 5, committed=True),
        batch(2, [commit("b", "t", 0, 1)], producer_id=5),
        marker(3, 5, committed=False),
        batch(4, [commit("c", "t", 0, 1)], producer_id=5),
    ]
    folder = read_partition_folder(write(tmp_path, batches).parent)
    assert folder is not None
    found = list(offsets_transactions(folder.segments))
    outcomes = [(item.transaction.outcome, item.groups) for item in found if isinstance(item, tuple)]
    assert outcomes == [(COMMITTED, {"a"}), (ABORTED, {"b"}), (PENDING, {"c"})]


def test_damaged_commits_are_named_and_the_transaction_stays(tmp_path: Path) -> None:
    broken = bytearray(batch(0, [commit("a", "t", 0, 1)], producer_id=5))
    broken[-1] ^= 0xFF
    folder = read_partition_folder(write(tmp_path, [bytes(broken), marker(1, 5, committed=True)]).parent)
    assert folder is not None
    damage, transaction = offsets_transactions(folder.segments)
    assert isinstance(damage, Damage) and (damage.position, damage.size) == (0, len(broken))
    assert isinstance(transaction, GroupsTransaction) and not transaction.groups


def test_a_delete_horizon_in_the_base_timestamp_is_no_beginning(tmp_path: Path) -> None:
    records = [LogRecord(offset=0, timestamp_ms=5_000, key=b"k", value=b"v")]
    raw = encode_batch(records, producer_id=5, producer_epoch=0, transactional=True, delete_horizon_ms=90_000)
    ((transaction),) = read(write(tmp_path, [raw]).parent)[0]
    assert isinstance(transaction, LoggedTransaction)
    assert transaction.begun_ms == 5_000


def test_the_clients_diary_has_the_same_transactions() -> None:
    """What the two clients noted of each transaction, against the logs that they left."""
    diary = [json.loads(line) for line in (PIPELINE / "diary.jsonl").read_text().splitlines()]
    committed = Counter(entry["group"] for entry in diary if entry["group"] and entry["committed"])
    found: Counter[str] = Counter()
    for folder in sorted(PIPELINE.glob("__consumer_offsets-*")):
        read_folder = read_partition_folder(folder)
        assert read_folder is not None
        for item in offsets_transactions(read_folder.segments):
            assert isinstance(item, GroupsTransaction)
            if item.transaction.outcome is COMMITTED:
                found.update(item.groups)
    assert found == committed
