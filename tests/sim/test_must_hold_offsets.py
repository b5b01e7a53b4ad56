"""What the literature says of offsets and of what is stored, seen in runs. See docs/must_hold.md."""

from collections import defaultdict

import pytest

from kgroup.broker.storage import FolderStorage
from kgroup.log.files.entries import read_entries
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Damage
from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.protocol.requests.client import (
    Fetch,
    FetchResponse,
    ListOffsets,
    OffsetFetch,
    OffsetFetchResponse,
)
from kgroup.protocol.requests.coordinator import OffsetCommit
from kgroup.protocol.subscription import decode_assignment, decode_subscription
from kgroup.sim.watch.trace import RecordsProcessed, ResponseReceived
from tests.sim.must_hold import played, requests, with_late
from tests.sim.worlds import Seen, play, world


@pytest.fixture(scope="module")
def troubled() -> Seen:
    """Two members, one of which dies; a third one takes its place."""
    return played(with_late(world(("20s", "kill c1"), ("30s", "join late"))))


def test_what_is_committed_is_never_ahead_of_what_is_processed(troubled):
    processed: dict[object, int] = defaultdict(int)
    committed = 0
    for event in troubled.events:
        if isinstance(event, RecordsProcessed):
            processed[event.partition] = max(processed[event.partition], event.last + 1)
    for event in requests(troubled, OffsetCommit):
        for topic in event.body.topics:
            for each in topic.partitions:
                assert each.committed_offset <= processed[topic.name, each.partition_index]
                committed += 1
    assert committed > 10


def test_members_read_below_the_high_watermark_and_never_ask_for_more(troubled):
    positions = {
        (each.member, each.request_id): dict(each.body.offsets) for each in requests(troubled, Fetch)
    }
    records = 0
    for event in troubled.of(ResponseReceived):
        if isinstance(event.body, FetchResponse):
            for each in event.body.partitions:
                position = positions[event.member, event.request_id][each.partition]
                assert position <= each.high_watermark
                assert all(record.offset < each.high_watermark for record in each.records)
                records += len(each.records)
    assert records > 100


def test_a_member_starts_at_what_the_group_committed_whoever_it_was(troubled):
    answers = [
        each.body
        for each in troubled.of(ResponseReceived, member="late")
        if isinstance(each.body, OffsetFetchResponse)
    ]
    starts = {offset.partition: offset.offset for answer in answers for offset in answer.offsets}
    assert starts and all(offset > 0 for offset in starts.values())
    first = {}
    for fetch in requests(troubled, Fetch, after_s=30):
        if fetch.member == "late":
            for partition, offset in fetch.body.offsets:
                first.setdefault(partition, offset)
    assert first == {partition: starts[partition] for partition in first}


def test_without_a_commit_it_asks_where_the_log_starts(troubled):
    sent = requests(troubled, (OffsetFetch, ListOffsets, Fetch))
    for member in ("c1", "c2"):
        kinds = [type(each.body) for each in sent if each.member == member]
        assert kinds[0] is OffsetFetch
        assert ListOffsets in kinds[: kinds.index(Fetch)]


def test_groups_are_stored_by_group_and_commits_by_group_topic_and_partition(tmp_path):
    play(world(), storage=FolderStorage(tmp_path / "logs", lambda text: None))
    logged = read_entries(open_sources([tmp_path / "logs"]))
    entries = [each.entry for each in logged if not isinstance(each, Damage)]
    assert all(isinstance(each, OffsetsEntry) for each in entries)
    groups = [each for each in entries if each.type is RecordType.GROUP_METADATA]
    commits = [each for each in entries if each.type is RecordType.OFFSET_COMMIT]
    assert {each.key for each in groups} == {GroupMetadataKey(group="g")}
    assert {each.key for each in commits} == {
        OffsetCommitKey(group="g", topic="orders", partition=number) for number in range(4)
    }
    value = groups[-1].value
    assert isinstance(value, GroupMetadataValue)
    ids = {member.member_id for member in value.members}
    assert (value.protocol_type, value.generation, value.protocol, len(ids)) == ("consumer", 1, "range", 2)
    assert value.leader in ids
    assert all(decode_subscription(member.subscription).topics == ("orders",) for member in value.members)
    owned = [
        number
        for member in value.members
        for topic in decode_assignment(member.assignment).assigned_partitions
        for number in topic.partitions
    ]
    assert sorted(owned) == [0, 1, 2, 3]
    folders = (tmp_path / "logs").glob("__consumer_offsets-*")
    (folder,) = [each.name for each in folders if holds_records(each)]
    assert folder == f"__consumer_offsets-{partition_for('g', 3)}"


def holds_records(folder):
    return any(path.stat().st_size for path in folder.glob("*.log"))
