"""The first unread record: of brokers' logs against Kafka's reading of them, and of logs made by hand."""

import json
import shutil
from bisect import bisect_left
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import PartitionFolder, read_partition_folder
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.log.topics.unread import first_unread
from kgroup.protocol.log_listing import FirstUnread
from kgroup.protocol.records.entries import TransactionOutcome
from tests.log.offsets_log import batch, marker, write
from tests.log.truth import CAPTURES, FIXTURES, name_of

COMPACTED = FIXTURES / "3.9.1/compacted"
RECORD = (b"k", b"v")


def read(path: Path) -> PartitionFolder:
    folder = read_partition_folder(path)
    assert folder is not None
    return folder


def true_records(capture: Path) -> dict[int, list[FirstUnread]]:
    """The data records of each offsets partition in log order, as Kafka's classes read them.

    Read backwards, so that a transaction's marker comes before its records.
    """
    records: dict[int, list[FirstUnread]] = {}
    fates: dict[tuple[int, int], str] = {}
    for line in reversed((capture / "truth.jsonl").read_text().splitlines()):
        truth = json.loads(line)
        if "offset" not in truth:
            continue
        producer = truth["partition"], truth["batch"].get("producerId", -1)
        if truth["kind"] == "control":
            fates[producer] = {"COMMIT": "committed", "ABORT": "aborted"}[truth["control"]]
            continue
        transactional = truth["batch"].get("transactional", False)
        record = FirstUnread(
            offset=truth["offset"],
            timestamp_ms=truth["timestamp"],
            outcome=TransactionOutcome(fates.get(producer, "pending")) if transactional else None,
        )
        records.setdefault(truth["partition"], []).append(record)
    return {partition: of_partition[::-1] for partition, of_partition in records.items()}


@pytest.mark.parametrize("capture", CAPTURES, ids=name_of)
def test_every_offset_of_a_brokers_logs(capture: Path) -> None:
    """At, between, before and behind the records; in 3.9.1/compacted offsets have gaps."""
    for partition, records in true_records(capture).items():
        folder = read(capture / f"__consumer_offsets-{partition}")
        offsets = [record.offset for record in records]
        for offset in range(0, offsets[-1] + 2, max(1, offsets[-1] // 40)):
            index = bisect_left(offsets, offset)
            expected = records[index] if index < len(records) else None
            assert first_unread(folder, offset) == expected, (partition, offset)


@pytest.mark.parametrize("index", [None, b"\xff" * 16, b"\0\0\0\x05\0\0\0\x07"])
def test_an_index_is_a_hint(tmp_path: Path, index: bytes | None) -> None:
    truth = true_records(COMPACTED)[11]
    folder = Path(shutil.copytree(COMPACTED / "__consumer_offsets-11", tmp_path / "__consumer_offsets-11"))
    for path in folder.glob("*.index"):
        path.unlink()
        if index is not None:
            path.write_bytes(index)
    for expected in truth[:: len(truth) // 10]:
        assert first_unread(read(folder), expected.offset) == expected


def test_only_the_end_of_a_long_segment_is_read(tmp_path: Path) -> None:
    """The batches before the index entry are noise here, and nobody sees it."""
    path = FIXTURES / "4.3.1/lives/__consumer_offsets-5"
    expected = true_records(path.parent)[5][-1]
    folder = Path(shutil.copytree(path, tmp_path / path.name))
    (segment,) = folder.glob("*.log")
    raw = segment.read_bytes()
    segment.write_bytes(b"\xee" * 4096 + raw[4096:])
    assert first_unread(read(folder), expected.offset) == expected


def test_a_record_that_was_deleted_is_not_unread(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(0, [RECORD]), batch(1, [RECORD]), batch(2, [RECORD])])
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\n__consumer_offsets 7 2\n")
    assert first_unread(read(path.parent), 0) == FirstUnread(offset=2, timestamp_ms=1002)


def test_a_log_may_start_within_a_batch(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(0, [RECORD, RECORD, RECORD])])
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\n__consumer_offsets 7 1\n")
    assert first_unread(read(path.parent), 0) == FirstUnread(offset=1, timestamp_ms=1001)


def test_an_index_that_points_behind_the_record_is_not_believed(tmp_path: Path) -> None:
    one = batch(0, [RECORD])
    path = write(tmp_path, [one, *(batch(offset, [RECORD]) for offset in (1, 2, 3))])
    path.with_suffix(".index").write_bytes((1).to_bytes(4, "big") + (3 * len(one)).to_bytes(4, "big"))
    assert first_unread(read(path.parent), 2) == FirstUnread(offset=2, timestamp_ms=1002)


def test_an_open_transaction_is_pending_whatever_other_producers_did(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [batch(0, [RECORD], producer_id=5), batch(1, [RECORD], producer_id=6), marker(2, 6, committed=True)],
    )
    pending = FirstUnread(offset=0, timestamp_ms=1000, outcome=TransactionOutcome.PENDING)
    committed = FirstUnread(offset=1, timestamp_ms=1001, outcome=TransactionOutcome.COMMITTED)
    assert first_unread(read(path.parent), 0) == pending
    assert first_unread(read(path.parent), 1) == committed


def test_a_transactions_marker_may_stand_in_the_next_segment(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(0, [RECORD], producer_id=5)])
    path.with_name("00000000000000000001.log").write_bytes(marker(1, 5, committed=False))
    aborted = FirstUnread(offset=0, timestamp_ms=1000, outcome=TransactionOutcome.ABORTED)
    assert first_unread(read(path.parent), 0) == aborted
    assert first_unread(read(path.parent), 1) is None


def test_a_batch_may_have_lost_its_last_records_to_the_cleaner(tmp_path: Path) -> None:
    record = LogRecord(offset=0, timestamp_ms=70, key=b"k", value=b"v")
    path = write(tmp_path, [encode_batch([record], last_offset=9), batch(10, [RECORD])])
    assert first_unread(read(path.parent), 1) == FirstUnread(offset=10, timestamp_ms=1010)


def test_no_segments_hold_nothing_unread(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: UOuCcB7tQfKtQTJ061owOQ\n")
    assert first_unread(read(folder), 0) is None


def damaged(raw: bytes) -> bytes:
    return raw[:-1] + bytes([raw[-1] ^ 1])


def test_damage_that_may_hide_the_record_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(0, [RECORD]), damaged(batch(1, [RECORD])), batch(2, [RECORD])])
    position = len(batch(0, [RECORD]))
    with pytest.raises(SourceError, match=rf"0\.log: byte {position}: batch CRC-32C"):
        first_unread(read(path.parent), 1)


def test_damage_before_or_behind_the_record_hides_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, [damaged(batch(0, [RECORD])), batch(1, [RECORD]), damaged(batch(2, [RECORD]))])
    assert first_unread(read(path.parent), 1) == FirstUnread(offset=1, timestamp_ms=1001)


def test_damage_long_before_a_gap_hides_nothing(tmp_path: Path) -> None:
    first = batch(0, [RECORD])
    of_no_format = first[:16] + b"\x63" + first[17:]  # from here on headers alone lead nowhere
    path = write(tmp_path, [of_no_format, batch(1, [RECORD]), batch(5, [RECORD])])
    assert first_unread(read(path.parent), 3) == FirstUnread(offset=5, timestamp_ms=1005)


def test_damage_that_may_hide_the_end_of_the_transaction_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(0, [RECORD], producer_id=5), marker(1, 5, committed=True)[:-1]])
    with pytest.raises(SourceError, match="cut short"):
        first_unread(read(path.parent), 0)
