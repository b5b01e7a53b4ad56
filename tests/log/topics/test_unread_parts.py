"""What unread offsets are made of: brokers' logs held to Kafka's reading of them, and logs made by hand."""

import json
from collections import Counter
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import PartitionFolder, read_partition_folder
from kgroup.log.topics.unread_parts import UnreadParts, unread_parts
from tests.log.offsets_log import batch, marker, write
from tests.log.truth import CAPTURES, FIXTURES, name_of

RECORD = (b"k", b"v")


def read(path: Path) -> PartitionFolder:
    folder = read_partition_folder(path)
    assert folder is not None
    return folder


def parts(tmp_path, batches, offset):
    return unread_parts(read(write(tmp_path, batches).parent), offset)


def true_kinds(capture: Path) -> dict[int, list[tuple[int, str]]]:
    """The offset and kind of every record of each partition, as Kafka's classes read them.

    Read backwards, so that a transaction's marker comes before its records.
    """
    kinds: dict[int, list[tuple[int, str]]] = {}
    fates: dict[tuple[int, int], str] = {}
    for line in reversed((capture / "truth.jsonl").read_text().splitlines()):
        truth = json.loads(line)
        if "offset" not in truth:
            continue
        producer = truth["partition"], truth["batch"].get("producerId", -1)
        kind = "records"
        if truth["kind"] == "control":
            fates[producer] = {"COMMIT": "records", "ABORT": "aborted"}[truth["control"]]
            kind = "markers"
        elif truth["batch"].get("transactional", False):
            kind = fates.get(producer, "undecided")
        kinds.setdefault(truth["partition"], []).append((truth["offset"], kind))
    return kinds


@pytest.mark.parametrize("capture", CAPTURES, ids=name_of)
def test_the_logs_of_brokers(capture: Path) -> None:
    seen: Counter[str] = Counter()
    for partition, kinds in true_kinds(capture).items():
        folder = read(capture / f"__consumer_offsets-{partition}")
        start, end = folder.log_start_offset(), folder.log_end_offset()
        assert start is not None and end is not None
        offsets = sorted({start, end, end + 5, *(offset + 1 for offset, _ in kinds[:: len(kinds) // 8 + 1])})
        for offset in offsets:
            expected = Counter(kind for at, kind in kinds if at >= offset)
            parts = unread_parts(folder, offset)
            assert parts is not None
            assert {
                "records": parts.records,
                "aborted": parts.aborted,
                "undecided": parts.undecided,
                "markers": parts.markers,
            } == {kind: expected[kind] for kind in ("records", "aborted", "undecided", "markers")}
            assert parts.gaps == max(end - offset, 0) - expected.total()
            seen += expected
    assert seen["records"] > 0


def test_the_captures_have_all_of_it():
    kinds = Counter(kind for capture in CAPTURES for of in true_kinds(capture).values() for _, kind in of)
    assert kinds["aborted"] > 0
    assert kinds["markers"] > 0


def test_an_open_transaction_ends_what_readers_of_committed_data_see(tmp_path):
    batches = [
        batch(0, [RECORD]),
        batch(1, [RECORD, RECORD], producer_id=5),
        batch(3, [RECORD], producer_id=6),
        batch(4, [RECORD]),
        marker(5, 6, committed=False),
        marker(6, 7, committed=True),  # of a transaction that wrote before the offset
    ]
    assert parts(tmp_path, batches, 0) == UnreadParts(
        records=2, undecided=2, aborted=1, markers=2, last_stable_offset=1
    )
    assert parts(tmp_path, batches, 2) == UnreadParts(
        records=1, undecided=1, aborted=1, markers=2, last_stable_offset=2
    )


def test_offsets_without_records_are_gaps(tmp_path):
    assert parts(tmp_path, [batch(0, [RECORD]), batch(7, [RECORD])], 0) == UnreadParts(
        records=2, gaps=6, last_stable_offset=8
    )


def test_nothing_unread(tmp_path):
    assert parts(tmp_path, [batch(0, [RECORD])], 1) == UnreadParts(last_stable_offset=1)


def test_damage_is_named_and_nothing_counted(tmp_path):
    torn = batch(1, [RECORD])[:-1]
    with pytest.raises(SourceError, match=r"byte \d+: "):
        parts(tmp_path, [batch(0, [RECORD]), torn + b"\x01", batch(2, [RECORD])], 0)


def test_a_log_that_is_not_here():
    empty = read(FIXTURES / "4.3.1/lives/orders-0")
    assert unread_parts(empty, 0) is None
