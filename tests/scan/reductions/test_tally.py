"""`tally`: every byte of an offsets partition is somebody's, and what the log cleaner would leave of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgroup.log.files.entries import read_decoded
from kgroup.log.files.segment import read_segment
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Batch, Damage, encode_batch
from kgroup.log.format.compression import Codec
from kgroup.log.format.record import LogRecord
from kgroup.log.store.cleaner import clean
from kgroup.log.store.segment_log import SegmentLog
from kgroup.protocol.records.codec import decode_entry, encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, TransactionMarker, Undecodable
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey, group_of
from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata
from kgroup.scan.reading.drive import Slice
from kgroup.scan.reductions.tally import tally
from kgroup.scan.reductions.tally_amounts import Amount, PartitionTally, What
from tests.log.offsets_log import batch, commit, group_metadata, marker, tombstone, write
from tests.scan.test_parity import CAPTURES, DAMAGED

pytestmark = pytest.mark.usefixtures("each_tier")

NOW_MS = 2_000_000_000_000
HEADER = 61
LATER = "00000000000000000100.log"


def tallied(paths: Sequence[Path], now_ms: int = NOW_MS) -> PartitionTally:
    parts = [Slice(path=path, offsets_partition=7, start=0, end=path.stat().st_size) for path in paths]
    return tally(parts, [int(path.stem) for path in paths], now_ms)


def amounts(made: PartitionTally) -> dict[tuple[str | None, str], Amount]:
    sums: dict[tuple[str | None, str], Amount] = {}
    for segment in made.segments:
        for (group, what), amount in segment.amounts.items():
            sums.setdefault((group, what.value), Amount()).add(amount)
    return sums


def sizes(made: PartitionTally) -> dict[tuple[str | None, str], int]:
    return {key: amount.bytes for key, amount in amounts(made).items()}


def two_segments(tmp_path: Path, closed: Sequence[bytes], active: Sequence[bytes]) -> PartitionTally:
    """The second begins at offset 100."""
    first = write(tmp_path, closed)
    second = first.with_name(LATER)
    second.write_bytes(b"".join(active))
    return tallied([first, second])


def partitions_of(folder: Path) -> Iterator[list[Path]]:
    for _, segments in groupby(open_sources([folder]), key=lambda each: each.folder):
        yield [Path(segment.path) for segment in segments]


def own_size(records: Sequence[tuple[bytes | None, bytes | None]]) -> int:
    return len(batch(0, records)) - HEADER


# ---- whose bytes they are -------------------------------------------------------------------------


def test_the_header_is_divided_evenly_and_records_have_their_own_bytes(tmp_path: Path) -> None:
    records = [commit("a", "t", 0, 5), commit("bb", "topic", 1, 6, "metadata"), tombstone("a", "t", 1)]
    made = tallied([write(tmp_path, [batch(0, records)])])
    # 61 = 21 + 20 + 20; varints of one byte each, so that a record has the same size alone.
    assert sizes(made) == {
        ("a", "commit"): 21 + own_size(records[:1]),
        ("bb", "commit"): 20 + own_size(records[1:2]),
        ("a", "tombstone"): 20 + own_size(records[2:]),
    }


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_compressed_bytes_are_divided_by_the_records_sizes(tmp_path: Path, codec: Codec) -> None:
    small, large = commit("a", "t", 0, 5), commit("b", "t", 0, 5, "x" * 1000)
    raw = batch(0, [small, large], codec=codec)
    made = sizes(tallied([write(tmp_path, [raw])]))
    whole = own_size([small, large])
    of_small = (len(raw) - HEADER) * own_size([small]) // whole
    assert made == {("a", "commit"): 31 + of_small, ("b", "commit"): len(raw) - 31 - of_small}


def test_markers_and_empty_batches_are_of_no_group(tmp_path: Path) -> None:
    empty = encode_batch([], base_offset=3, last_offset=4)
    end = marker(5, 9, committed=True)
    made = amounts(tallied([write(tmp_path, [empty, end])]))
    assert made[None, "empty-batch"] == Amount(bytes=len(empty), stays_bytes=len(empty))
    assert (made[None, "marker"].records, made[None, "marker"].bytes) == (1, len(end))


@pytest.mark.parametrize("capture", [*CAPTURES, *DAMAGED], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_rows_add_up_to_the_files_and_count_as_the_plain_path_does(capture: Path) -> None:
    for paths in partitions_of(capture):
        made = tallied(paths)
        for segment, path in zip(made.segments, paths, strict=True):
            assert segment.size == path.stat().st_size
            assert sum(amount.bytes for amount in segment.amounts.values()) == segment.size
            assert {key: n.records for key, n in segment.amounts.items() if n.records} == counted(path)
            damaged = segment.amounts.get((None, What.DAMAGE), Amount()).bytes
            assert damaged == sum(each.size for each in damage_of(path))


def damage_of(path: Path) -> list[Damage]:
    return [item for item in read_decoded(open_sources([path])) if isinstance(item, Damage)]


def counted(path: Path) -> Counter[tuple[str | None, What]]:
    counts: Counter[tuple[str | None, What]] = Counter()
    for item in read_decoded(open_sources([path])):
        if isinstance(item, Damage) or item.record is None:
            continue
        counts[whose(item.record.key, item.record.value, item.entry)] += 1
    return counts


def whose(key: bytes | None, value: bytes | None, entry: object) -> tuple[str | None, What]:
    match entry:
        case TransactionMarker():
            return None, What.MARKER
        case OffsetsEntry(key=known):
            kind = What.COMMIT if isinstance(known, OffsetCommitKey) else What.GROUP
            return group_of(known), What.TOMBSTONE if value is None else kind
        case Undecodable():
            # A good key with a value that nobody can read is its group's all the same.
            alone = decode_entry(key, None)
            if isinstance(alone, OffsetsEntry):
                return whose(key, value, alone)
            # What has a record type, if an unknown one, can be deleted, too.
            is_typed = key is not None and len(key) >= 2 and key[0] < 0x80
            return None, What.TOMBSTONE if value is None and is_typed else What.OTHER
        case _:
            raise AssertionError(entry)


# ---- who writes, and how fast ---------------------------------------------------------------------


def test_clients_are_those_of_the_largest_membership_record(tmp_path: Path) -> None:
    members = tuple(
        MemberMetadata(
            member_id=f"m{number}",
            group_instance_id=None,
            client_id=f"client-{number}",
            client_host="/h",
            rebalance_timeout=1,
            session_timeout=1,
            subscription=b"",
            assignment=b"",
        )
        for number in (1, 2)
    )
    value = GroupMetadataValue(
        protocol_type="consumer", generation=1, protocol="range", leader="m1", members=members
    )
    entry = OffsetsEntry(
        type=RecordType.GROUP_METADATA, key=GroupMetadataKey(group="g"), value=value, value_version=3
    )
    key, encoded = encode_entry(entry)
    made = tallied([write(tmp_path, [batch(0, [(key, encoded)]), batch(1, [group_metadata("g", 2)])])])
    assert made.clients == {"g": frozenset({"client-1", "client-2"})}


def timed(base_offset: int, timestamp_ms: int, *groups: str) -> bytes:
    keys = [commit(group, "t", 0, base_offset) for group in groups]
    records = [
        LogRecord(offset=base_offset + number, timestamp_ms=timestamp_ms, key=key, value=value)
        for number, (key, value) in enumerate(keys)
    ]
    return encode_batch(records, base_offset=base_offset)


def test_a_rate_is_of_the_stretch_without_gaps_at_the_end(tmp_path: Path) -> None:
    batches = [timed(0, 0, "old"), timed(5, 100_000, "a", "b"), timed(7, 120_000, "a")]
    made = tallied([write(tmp_path, batches)])
    assert made.run_ms == 20_000
    assert made.run_keys == {"a": 1, "b": 1}
    runs = {group: amount.run_records for (group, _), amount in amounts(made).items()}
    assert runs == {"old": 0, "a": 2, "b": 1}
    in_run = sum(amount.run_bytes for amount in amounts(made).values())
    assert in_run == len(batches[1]) + len(batches[2])


def test_ten_seconds_are_needed_for_a_rate(tmp_path: Path) -> None:
    short, enough = [timed(0, 0, "a"), timed(1, 9_999, "a")], [timed(0, 0, "a"), timed(1, 10_000, "a")]
    assert tallied([write(tmp_path / "short", short)]).run_ms is None
    assert tallied([write(tmp_path / "enough", enough)]).run_ms == 10_000


# ---- what stays -----------------------------------------------------------------------------------


def stays(made: PartitionTally) -> dict[tuple[str | None, str], int]:
    return {key: amount.stays_records for key, amount in amounts(made).items()}


def test_the_newest_record_of_closed_segments_stays_and_all_of_the_active_one(tmp_path: Path) -> None:
    closed = [batch(0, [commit("a", "t", 0, 1), commit("b", "t", 0, 1)]), batch(2, [commit("a", "t", 0, 2)])]
    active = [batch(100, [commit("a", "t", 0, 3)]), batch(101, [commit("a", "t", 0, 4)])]
    made = two_segments(tmp_path, closed, active)
    assert stays(made) == {("a", "commit"): 3, ("b", "commit"): 1}
    kept = [batch(0, [commit("b", "t", 0, 1)]), closed[1], *active]
    whole = sum(amount.stays_bytes for amount in amounts(made).values())
    assert whole == sum(map(len, kept))
    assert {key: amount.live_records for key, amount in amounts(made).items()} == {
        ("a", "commit"): 1,
        ("b", "commit"): 1,
    }


def test_an_aborted_record_goes_and_the_one_before_stays(tmp_path: Path) -> None:
    closed = [
        batch(0, [commit("a", "t", 0, 1)]),
        batch(1, [commit("a", "t", 0, 2)], producer_id=5),
        marker(2, 5, committed=False),
        batch(3, [commit("b", "t", 0, 2)], producer_id=5),
        marker(4, 5, committed=True),
    ]
    made = two_segments(tmp_path, closed, [])
    assert stays(made) == {("a", "commit"): 1, ("b", "commit"): 1, (None, "marker"): 2}
    live = {key: amount.live_bytes for key, amount in amounts(made).items()}
    assert live["a", "commit"] == len(closed[0])


def test_a_commit_counts_by_its_own_offset_not_by_its_markers(tmp_path: Path) -> None:
    closed = [
        batch(0, [commit("a", "t", 0, 1)], producer_id=5),
        batch(1, [commit("a", "t", 0, 2, "plain")]),
        marker(2, 5, committed=True),
    ]
    made = two_segments(tmp_path, closed, [])
    assert amounts(made)["a", "commit"].stays_bytes == len(closed[1])


def test_the_cleaner_stops_at_the_segment_with_an_open_transaction(tmp_path: Path) -> None:
    first = write(tmp_path, [batch(0, [commit("a", "t", 0, 1)]), batch(1, [commit("a", "t", 0, 2)])])
    second, third = first.with_name(LATER), first.with_name("00000000000000000200.log")
    second.write_bytes(
        batch(100, [commit("a", "t", 0, 3)])
        + batch(101, [commit("b", "t", 0, 3)], producer_id=5)
        + batch(102, [commit("a", "t", 0, 4)])
    )
    third.write_bytes(batch(200, [commit("a", "t", 0, 5)]))
    made = tallied([first, second, third])
    assert made.open_from == 101
    assert [segment.is_closed for segment in made.segments] == [True, False, False]
    # Offset 0 goes; 1 is the newest of what may be cleaned.
    assert stays(made) == {("a", "commit"): 4, ("b", "commit"): 1}


def test_a_deletion_and_a_marker_stay_until_their_delete_horizon(tmp_path: Path) -> None:
    key, _ = tombstone("a", "t", 0)
    gone = LogRecord(offset=0, timestamp_ms=1, key=key, value=None)
    end = LogRecord(offset=1, timestamp_ms=1, key=b"\0\0\0\1", value=b"\0" * 6)
    raw = [
        encode_batch([gone], base_offset=0, delete_horizon_ms=NOW_MS),
        encode_batch(
            [end],
            base_offset=1,
            transactional=True,
            control=True,
            producer_id=5,
            producer_epoch=0,
            delete_horizon_ms=NOW_MS,
        ),
    ]
    first = write(tmp_path, raw)
    second = first.with_name(LATER)
    second.write_bytes(b"")
    before, after = tallied([first, second], NOW_MS - 1), tallied([first, second], NOW_MS)
    assert stays(before) == {("a", "tombstone"): 1, (None, "marker"): 1}
    assert stays(after) == {("a", "tombstone"): 0, (None, "marker"): 0}
    assert amounts(after)[None, "marker"].stays_bytes == 0


def end_of(producer_id: int, committed: bool) -> bytes:
    key = bytes([0, 0, 0, 1 if committed else 0])
    record = LogRecord(offset=0, timestamp_ms=NOW_MS, key=key, value=bytes(6))
    return encode_batch([record], producer_id=producer_id, producer_epoch=0, transactional=True, control=True)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1, 5, 6]),
            st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), min_size=1, max_size=3),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_what_stays_is_what_a_cleaning_leaves(writes: list[tuple[int, list[tuple[str, bool]], bool]]) -> None:
    """kgroup's own log cleaner, which knows Kafka's rules by another way, is held against it."""
    with TemporaryDirectory() as folder:
        log = SegmentLog(Path(folder) / "__consumer_offsets-7", UUID(int=7), segment_bytes=400)
        for producer_id, records, committed in writes:
            entries = [
                commit(group, "t", 0, 5) if is_commit else tombstone(group, "t", 0)
                for group, is_commit in records
            ]
            # All at one time, as a coordinator writes them: no base time changes.
            made = [
                LogRecord(offset=number, timestamp_ms=NOW_MS, key=key, value=value)
                for number, (key, value) in enumerate(entries)
            ]
            is_open = producer_id >= 0
            log.append(
                encode_batch(
                    made,
                    transactional=is_open,
                    producer_id=producer_id,
                    producer_epoch=0 if is_open else -1,
                ),
                0,
            )
            if is_open:
                log.append(end_of(producer_id, committed), 0)
        paths = sorted((Path(folder) / "__consumer_offsets-7").glob("*.log"))
        # What ends in the active segment, Kafka knows by its index of aborted transactions; this cleaner not.
        first = next(iter(read_segment(paths[-1])), None)
        assume(not (isinstance(first, Batch) and first.control))
        stays_bytes = [
            sum(amount.stays_bytes for amount in segment.amounts.values())
            for segment in tallied(paths).segments
        ]
        for _ in clean(log, NOW_MS):
            pass
        assert stays_bytes == [path.stat().st_size for path in paths]
