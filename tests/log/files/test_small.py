"""Small logs read record by record give what the columnar path gives, and leave it what is odd."""

from pathlib import Path

import pytest

from kgroup.api.lag.inputs import gather
from kgroup.api.lag.plain_commits import PlainNewest
from kgroup.log.files import small
from kgroup.log.files.small import read_small, read_small_of, small_bytes
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from kgroup.scan.reductions.scan import newest, newest_time, split
from kgroup.scan.reductions.select import select

FIXTURES = Path(__file__).parents[3] / "fixtures"
FOLDERS = [
    *sorted(path.parent for path in FIXTURES.glob("[0-9]*/*/truth.jsonl")),
    *sorted(path for path in (FIXTURES / "damaged").iterdir() if path.is_dir()),
]


def slices(sources):
    return [part for segment in sources for part in split(segment.path, segment.partition, 1 << 40)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(FIXTURES)))
def test_both_ways_agree_wherever_the_plain_one_answers(folder):
    sources = open_sources([folder])
    log = read_small(sources)
    if log is None:
        assert folder.parent.name == "damaged" or small_bytes(sources) is None or "odd" in folder.name
        return
    plain, columnar = PlainNewest(log), newest(slices(sources))
    assert plain.newest_time() == newest_time(columnar)
    left, right = (gather(each, sources, None, lambda group: True) for each in (plain, columnar))
    assert list(left.rows()) == list(right.rows())
    assert list(left.remarks()) == list(right.remarks())
    assert (left.problems, set(left.pending)) == (right.problems, set(right.pending))
    assert left.groups == right.groups
    assert left.commits.named_topic_ids() == right.commits.named_topic_ids()
    assert list(left.commits.made_since(0)) == list(right.commits.made_since(0))
    for wanted in (lambda group: True, lambda group: group == "billing-txn"):
        assert read_small_of(sources, wanted) == list(select(slices(sources), wanted))


def test_a_log_that_is_larger_is_left_to_the_kernels(monkeypatch):
    sources = open_sources([FIXTURES / "4.3.1" / "lives"])
    size = sum(Path(segment.path).stat().st_size for segment in sources)
    monkeypatch.setattr(small, "SMALL_BYTES", size)
    assert small_bytes(sources) and read_small(sources)
    monkeypatch.setattr(small, "SMALL_BYTES", size - 1)
    assert small_bytes(sources) is None and read_small(sources) is None


@pytest.mark.parametrize("newest_is_odd", [False, True])
def test_a_value_that_was_replaced_is_not_looked_into_and_the_newest_is(tmp_path, newest_is_odd):
    key, value = encode_entry(
        OffsetsEntry(
            type=RecordType.GROUP_METADATA,
            key=GroupMetadataKey(group="orders"),
            value=GroupMetadataValue(
                protocol_type="consumer", generation=7, protocol=None, leader=None, members=()
            ),
            value_version=3,
        )
    )
    values = [b"\x00\x03odd", value, b"\x00\x03odd"]
    records = [LogRecord(offset, 1_000 + offset, key, values[offset]) for offset in range(2 + newest_is_odd)]
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(encode_batch(records))
    sources = open_sources([tmp_path])
    log = read_small(sources)
    if newest_is_odd:
        assert log is None
        return
    assert log is not None
    assert PlainNewest(log).others == newest(slices(sources)).others
    assert [logged.offset for logged in log.others] == [1]


def commit(key_type, value_version):
    entry = OffsetsEntry(
        type=key_type,
        key=OffsetCommitKey(group="orders", topic="orders", partition=0),
        value=OffsetCommitValue(offset=7, metadata="", commit_timestamp=1_000),
        value_version=value_version,
    )
    return encode_entry(entry)


LEGACY, COMMIT = RecordType.LEGACY_OFFSET_COMMIT, RecordType.OFFSET_COMMIT


@pytest.mark.parametrize(
    ("key_type", "value", "is_odd"),
    [
        (COMMIT, commit(COMMIT, 4)[1], False),
        (COMMIT, commit(COMMIT, 0)[1], False),
        (COMMIT, commit(COMMIT, 4)[1] + b"?", True),
        (COMMIT, b"\x00\x04", True),
        (COMMIT, b"", True),
        (LEGACY, commit(LEGACY, 0)[1], False),
        (LEGACY, commit(COMMIT, 4)[1], True),
        (COMMIT, None, False),
    ],
)
def test_a_commit_that_was_replaced_is_looked_into_all_the_same(tmp_path, key_type, value, is_odd):
    key, good = commit(key_type, 0)
    records = [LogRecord(0, 1_000, key, value), LogRecord(1, 1_001, key, good)]
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(encode_batch(records))
    sources = open_sources([tmp_path])
    log = read_small(sources)
    assert (log is None) == is_odd
    if log is not None:
        assert [logged.offset for logged in log.commits] == [1]
