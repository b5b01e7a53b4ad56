"""`newest`: what a coordinator would hold, by the rule of Kafka 4.x, in one piece or in parts."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.history.groups.newest import NewestEntries
from kgroup.log.files.entries import read_entries
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Damage
from kgroup.log.format.compression import Codec
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, RecordType, Undecodable
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from kgroup.scan.reductions.scan import COMMIT_SCHEMA, Newest, Slice, merge, newest, newest_time, split
from tests.log.offsets_log import batch, commit, group_metadata, marker, tombstone, write
from tests.scan.test_parity import CAPTURES, commit_row

pytestmark = pytest.mark.usefixtures("each_tier")

PARTITION = 7


def slices_of(path: Path, boundaries: Iterable[int] = ()) -> list[Slice]:
    ends = [0, *boundaries, path.stat().st_size]
    return [Slice(path=path, offsets_partition=PARTITION, start=a, end=b) for a, b in pairwise(ends)]


def held(result: Newest) -> dict[tuple[str, str, int], int]:
    """The committed offsets, without tombstones."""
    rows = result.commits.to_pylist()
    return {(r["group"], r["topic"], r["partition"]): r["offset"] for r in rows if not r["tombstone"]}


def of(tmp_path: Path, batches: Sequence[bytes]) -> Newest:
    return newest(slices_of(write(tmp_path, batches, PARTITION)))


def comparable(result: Newest) -> tuple[object, ...]:
    return (
        result.commits.to_pylist(),
        result.pending.to_pylist(),
        dict(result.first_markers),
        result.others,
        result.damage,
        result.records,
        result.batches,
        result.bytes,
    )


def test_the_newest_time_is_that_of_a_commit_or_of_another_record_of_a_group(tmp_path: Path) -> None:
    """`offsets_log` gives a commit the time of its offset and 1 ms, a record its log offset and a second."""
    commits = [commit("g", "t", 0, 7000), commit("g", "t", 1, 5)]
    assert newest_time(of(tmp_path, [])) is None
    assert newest_time(of(tmp_path, [batch(0, commits)])) == 7001
    assert newest_time(of(tmp_path, [batch(0, commits), batch(9000, [tombstone("g", "t", 1)])])) == 7001
    assert newest_time(of(tmp_path, [batch(0, commits), batch(9000, [group_metadata("g", 1)])])) == 10_000
    still_open = batch(9000, [commit("g", "t", 0, 8000)], producer_id=9)
    assert newest_time(of(tmp_path, [batch(0, commits), still_open])) == 8001


def test_the_last_commit_of_a_key_counts(tmp_path: Path) -> None:
    result = of(tmp_path, [batch(0, [commit("g", "t", 0, 5)]), batch(1, [commit("g", "t", 0, 3)])])
    assert held(result) == {("g", "t", 0): 3}
    assert (result.records, result.batches) == (2, 2)


def test_a_tombstone_is_a_row_and_takes_the_commit_away(tmp_path: Path) -> None:
    result = of(tmp_path, [batch(0, [commit("g", "t", 0, 5)]), batch(1, [tombstone("g", "t", 0)])])
    assert [(r["tombstone"], r["log_offset"], r["offset"]) for r in result.commits.to_pylist()] == [
        (True, 1, -1)
    ]


def test_a_committed_transaction_counts_and_an_aborted_one_does_not(tmp_path: Path) -> None:
    result = of(
        tmp_path,
        [
            batch(0, [commit("g", "t", 0, 5)], producer_id=1),
            batch(1, [commit("g", "t", 1, 6)], producer_id=2),
            marker(2, 1, committed=True),
            marker(3, 2, committed=False),
        ],
    )
    assert held(result) == {("g", "t", 0): 5}
    assert result.pending.num_rows == 0
    assert {producer: first.committed for (_, producer), first in result.first_markers.items()} == {
        1: True,
        2: False,
    }


def test_a_plain_commit_inside_an_open_transaction_wins_by_its_own_offset(tmp_path: Path) -> None:
    # The transaction's marker comes last, its commit before the plain one (KAFKA-5279's rule, kept in 4.x).
    result = of(
        tmp_path,
        [
            batch(0, [commit("g", "t", 0, 5)], producer_id=1),
            batch(1, [commit("g", "t", 0, 9)]),
            marker(2, 1, committed=True),
        ],
    )
    assert held(result) == {("g", "t", 0): 9}


def test_a_tombstone_takes_pending_commits_with_it(tmp_path: Path) -> None:
    result = of(
        tmp_path,
        [
            batch(0, [commit("g", "t", 0, 5)], producer_id=1),
            batch(1, [tombstone("g", "t", 0)]),
            marker(2, 1, committed=True),
        ],
    )
    assert held(result) == {}


def test_an_open_transaction_is_pending_with_its_last_commit_per_key(tmp_path: Path) -> None:
    result = of(
        tmp_path,
        [batch(n, [commit("g", "t", 0, n), commit("g", "t", 1, n)], producer_id=1) for n in range(0, 6, 2)],
    )
    assert held(result) == {}
    assert [(r["partition"], r["offset"]) for r in result.pending.to_pylist()] == [(0, 4), (1, 4)]


def test_a_producer_that_never_ends_its_transaction_does_not_fill_memory(tmp_path: Path) -> None:
    batches = [batch(n * 50, [commit("g", "t", p, n) for p in range(50)], producer_id=1) for n in range(400)]
    path = write(tmp_path, batches, PARTITION)
    assert [r["offset"] for r in newest(slices_of(path)).pending.to_pylist()] == [399] * 50


def test_metadata_that_grows_and_shrinks_stays_with_its_commit(tmp_path: Path) -> None:
    texts = ["", "ä" * 40, "x", "y" * 3000, "z" * 7]
    batches = [
        batch(n * 20, [commit("g", "t", p, n, texts[(n + p) % 5]) for p in range(20)]) for n in range(200)
    ]
    rows = of(tmp_path, batches).commits.to_pylist()
    assert [row["metadata"] for row in rows] == [texts[(199 + p) % 5] for p in range(20)]


def with_topic_id(partition: int, offset: int, metadata: str) -> tuple[bytes, bytes | None]:
    """A commit of value version 4, whose topic id says which partition it is of."""
    entry = OffsetsEntry(
        type=RecordType.OFFSET_COMMIT,
        key=OffsetCommitKey(group="g", topic="t", partition=partition),
        value=OffsetCommitValue(
            offset=offset, metadata=metadata, commit_timestamp=1, topic_id=UUID(int=partition + 1)
        ),
        value_version=4,
    )
    key, value = encode_entry(entry)
    return bytes(key or b""), value


def metadata_of(partition: int, offset: int) -> str:
    return f"{partition}:" + "m" * ((partition * 7 + offset) % 90)


@pytest.mark.parametrize("producer", [-1, 5], ids=["plain", "in an open transaction"])
def test_more_keys_and_text_than_there_is_room_for_at_first(tmp_path: Path, producer: int) -> None:
    numbers = range(1500)
    batches = [
        batch(
            offset * 10_000 + first,
            [with_topic_id(n, offset, metadata_of(n, offset)) for n in numbers[first : first + 500]],
            producer_id=producer,
        )
        for offset in range(3)
        for first in (0, 500, 1000)
    ]
    path = write(tmp_path, batches, PARTITION)
    boundaries = [sum(map(len, batches[:count])) for count in range(1, len(batches))]
    for slices in (slices_of(path), slices_of(path, boundaries)):
        result = newest(slices)
        table, other = (result.commits, result.pending) if producer < 0 else (result.pending, result.commits)
        assert other.num_rows == 0
        commits = {
            row["partition"]: (row["offset"], row["metadata"], row["topic_id"]) for row in table.to_pylist()
        }
        assert commits == {n: (2, metadata_of(n, 2), UUID(int=n + 1).bytes) for n in numbers}


def test_more_producers_than_there_is_room_for_at_first(tmp_path: Path) -> None:
    producers = range(900)
    batches = [
        batch(number, [commit("g", "t", number, number, "x" * 60)], producer_id=1000 + number)
        for number in producers
    ]
    batches += [marker(900 + number, 1000 + number, committed=number % 3 == 0) for number in producers[:600]]
    result = of(tmp_path, batches)
    assert held(result) == {("g", "t", n): n for n in producers[:600] if n % 3 == 0}
    assert [row["partition"] for row in result.pending.to_pylist()] == list(producers[600:])
    assert len(result.first_markers) == 600


def test_the_newest_of_other_types_is_kept_with_tombstones(tmp_path: Path) -> None:
    gone, _ = group_metadata("gone", 0)
    result = of(
        tmp_path,
        [
            batch(0, [group_metadata("g", 1), group_metadata("gone", 1)]),
            batch(2, [group_metadata("g", 2), (gone, None)]),
        ],
    )
    held_groups = {}
    for logged in result.others:
        entry = logged.entry
        assert isinstance(entry, OffsetsEntry) and isinstance(entry.key, GroupMetadataKey)
        value = entry.value
        held_groups[entry.key.group] = value.generation if isinstance(value, GroupMetadataValue) else None
    assert held_groups == {"g": 2, "gone": None}


def test_a_value_that_cannot_be_decoded_hides_no_older_one(tmp_path: Path) -> None:
    key, value = group_metadata("g", 1)
    commit_key, _ = commit("g", "t", 0, 5)
    result = of(
        tmp_path,
        [
            batch(0, [(key, value), commit("g", "t", 0, 5)]),
            batch(2, [(key, b"\x00\x63"), (commit_key, b"\x00\x63")]),
        ],
    )
    assert held(result) == {("g", "t", 0): 5}
    kinds = [(logged.offset, type(logged.entry)) for logged in result.others]
    assert kinds == [(0, OffsetsEntry), (2, Undecodable), (3, Undecodable)]
    assert result.records == 4


def test_commit_keys_of_both_types_are_one_key(tmp_path: Path) -> None:
    key, _ = commit("g", "t", 0, 0)
    legacy = b"\x00\x00" + key[2:], b"\x00\x00" + (77).to_bytes(8, "big") + b"\x00\x00" + bytes(8)
    assert held(of(tmp_path, [batch(0, [commit("g", "t", 0, 5)]), batch(1, [legacy])])) == {("g", "t", 0): 77}


def test_offsets_partitions_are_apart(tmp_path: Path) -> None:
    parts = []
    for partition in (3, 1):
        path = write(tmp_path, [batch(0, [commit("g", "t", 0, partition)])], partition)
        parts.append(Slice(path=path, offsets_partition=partition, start=0, end=path.stat().st_size))
    rows = newest(parts).commits.to_pylist()
    assert [(row["offsets_partition"], row["offset"]) for row in rows] == [(1, 1), (3, 3)]


def test_nothing_gives_empty_tables() -> None:
    result = newest([])
    assert result.commits.schema == result.pending.schema == COMMIT_SCHEMA
    assert result.commits.num_rows == result.pending.num_rows == 0


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_newest_equals_the_plain_reduction_on_every_capture(capture: Path) -> None:
    sources = open_sources([capture])
    result = newest([part for s in sources for part in split(s.path, s.partition, 4000)])
    plain = NewestEntries()
    for item in read_entries(sources):
        if not isinstance(item, Damage):
            plain.add(item)
    order = ("offsets_partition", "group", "topic", "partition")
    expected = sorted(
        (row for logged in plain.commits() if (row := commit_row(logged))),
        key=lambda row: tuple(row[name] for name in order),  # type: ignore[arg-type]  # all four sort
    )
    assert [row for row in result.commits.to_pylist() if not row["tombstone"]] == expected
    living = [o for o in result.others if isinstance(o.entry, OffsetsEntry) and o.entry.value is not None]
    assert living == sorted(plain.others(), key=lambda logged: (logged.partition, logged.offset))


class Step(NamedTuple):
    """What happens next in a log: a commit (perhaps in a transaction), a tombstone, a marker, a group."""

    kind: str
    key: int
    producer: int
    codec: Codec


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(
            [
                "commit",
                "commit",
                "transactional",
                "transactional",
                "tombstone",
                "committed",
                "aborted",
                "group",
            ]
        ),
        st.integers(0, 3),
        st.integers(1, 3),
        st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP, Codec.ZSTD]),
    ),
    max_size=40,
)


def batches_of(history: Sequence[Step]) -> list[bytes]:
    batches, offset = [], 0
    for step in history:
        match step.kind:
            case "commit":
                records = [
                    commit("g", "t", step.key, offset, "m" * step.key),
                    commit("g", "u", step.key, offset),
                ]
                batches.append(batch(offset, records, codec=step.codec))
                offset += 2
                continue
            case "transactional":
                records = [commit("g", "t", step.key, offset)]
                batches.append(batch(offset, records, producer_id=step.producer, codec=step.codec))
            case "tombstone":
                batches.append(batch(offset, [tombstone("g", "t", step.key)]))
            case "group":
                batches.append(batch(offset, [group_metadata(f"g{step.key}", offset)], codec=step.codec))
            case _:
                batches.append(marker(offset, step.producer, committed=step.kind == "committed"))
        offset += 1
    return batches


def entries_of(path: Path) -> list[LoggedEntry]:
    return [item for item in read_entries(open_sources([path])) if not isinstance(item, Damage)]


@given(steps, st.data())
@settings(max_examples=150)
def test_any_history_reduces_as_the_plain_path_reduces_it_in_any_parts(
    history: list[Step], data: st.DataObject
) -> None:
    batches = batches_of(history)
    if not batches:
        return
    with TemporaryDirectory() as folder:
        path = write(Path(folder), batches, PARTITION)
        whole = newest(slices_of(path))
        plain = NewestEntries()
        for logged in entries_of(path):
            plain.add(logged)
        ends = [sum(map(len, batches[:n])) for n in range(1, len(batches))]
        cuts = sorted(data.draw(st.sets(st.sampled_from(ends)))) if ends else []
        parts = merge([newest([part]) for part in slices_of(path, cuts)])
    living = [row for row in whole.commits.to_pylist() if not row["tombstone"]]
    expected = [row for logged in plain.commits() if (row := commit_row(logged))]
    assert living == sorted(
        expected, key=lambda row: [str(row[name]) for name in ("group", "topic", "partition")]
    )
    would_count = {logged.offset for logged in plain.pending()}
    assert would_count <= {row["log_offset"] for row in whole.pending.to_pylist()}
    assert would_count.isdisjoint(row["log_offset"] for row in whole.commits.to_pylist())
    assert comparable(parts) == comparable(whole)


@pytest.mark.parametrize("size", [10_923, 30_000], ids=["beyond-a-string", "beyond-its-length-field"])
def test_a_name_that_grows_by_what_stands_in_for_its_bytes_is_no_commit_of_a_group(
    tmp_path: Path, size: int
) -> None:
    """Each byte that is no UTF-8 becomes a character of three: no string of a key can be so long."""
    name = b"\xff" * size
    key = b"\0\1" + size.to_bytes(2, "big") + name + b"\0\1t" + bytes(4)
    value = commit("g", "t", 0, 5)[1]
    path = write(tmp_path, [batch(0, [(key, value), commit("g", "t", 0, 7)])])
    found = newest(slices_of(path))
    assert held(found) == {("g", "t", 0): 7}
    assert len(found.others) == 1
