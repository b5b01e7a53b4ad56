"""Share and streams groups, as a broker of 4.3.1 described them; the truth is what its tools printed."""

import json
from pathlib import Path

import pytest

from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.net.admin.cluster import Coordinator
from kgroup.net.admin.group_asks import GroupAsks, Refused
from kgroup.net.admin.group_descriptions import describe_groups
from kgroup.net.admin.group_offsets import share_offsets
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire.other_group_messages import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

FRAMES = json.loads(
    (Path(__file__).parents[3] / "fixtures/compat/group-descriptions-4.3.1.json").read_text(encoding="utf-8")
)["frames"]
_ANSWERS = {
    ShareGroupDescribeRequest: (ShareGroupDescribeResponse, 1, "ShareGroupDescribe v1"),
    StreamsGroupDescribeRequest: (StreamsGroupDescribeResponse, 0, "StreamsGroupDescribe v0"),
    DescribeShareGroupOffsetsRequest: (DescribeShareGroupOffsetsResponse, 1, "DescribeShareGroupOffsets v1"),
}


class Recorded:
    """Answers with the frames."""

    name, timeout_ms = "test:9092", 0

    def find_coordinators(self, groups):
        return [Coordinator(group=group, node_id=1, host="h", port=1, error=None) for group in groups]

    def ask_many(self, requests, take):
        for index, (_, request) in enumerate(requests):
            response, version, name = _ANSWERS[type(request)]
            frame = bytes.fromhex(FRAMES[name])
            take(index, response.decode(frame, version=version, header=True))


@pytest.fixture
def asks():
    return GroupAsks(Recorded())


def test_a_share_group_is_one_and_what_is_not_there_is_refused(asks):
    described = describe_groups(
        asks, {"sharers": GroupKind.SHARE, "nosuch": GroupKind.SHARE}, lambda done: None
    )
    group = described["sharers"]
    assert (group.kind, group.state, group.protocol, group.epoch) == (
        GroupKind.SHARE,
        GroupState.STABLE,
        "simple",
        3,
    )
    (member,) = group.members
    assert (member.member_id, member.client_id, member.client_host) == (
        "_p1LRxD4Q3yDITi4JixmEw",
        "console-share-consumer",
        "/127.0.0.1",
    )
    assert [(each.topic, each.partition) for each in member.owned] == [
        ("orders", 0),
        ("orders", 1),
        ("orders", 2),
    ]
    refused = described["nosuch"]
    assert isinstance(refused, Refused)
    assert (refused.error_code, refused.message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group nosuch not found.")


def test_the_offsets_of_a_share_group(asks):
    offsets = share_offsets(asks, ["sharers"], lambda done: None)["sharers"]
    assert [(each.topic, each.partition, each.start_offset, each.lag) for each in offsets] == [
        ("orders", 0, None, None),
        ("orders", 1, None, None),
        ("orders", 2, 300, 0),
    ]


def test_a_streams_group_owns_the_partitions_of_its_tasks(asks):
    group = describe_groups(asks, {"tally": GroupKind.STREAMS}, lambda done: None)["tally"]
    assert (group.kind, group.state, group.epoch, group.target_epoch) == (
        GroupKind.STREAMS,
        GroupState.STABLE,
        4,
        4,
    )
    owned = {
        member.member_id: [(each.topic, each.partition) for each in member.owned] for member in group.members
    }
    assert owned == {
        "X-I3UhyATfmooLKtpGZhgg": [("orders", 0), ("orders", 2)],
        "jggJQq2XTf-Ry-PFIzOjGg": [("orders", 1)],
    }
    assert {member.member_id: member.tasks.active for member in group.members if member.tasks} == {
        "X-I3UhyATfmooLKtpGZhgg": ("0_0", "0_2"),
        "jggJQq2XTf-Ry-PFIzOjGg": ("0_1",),
    }
    assert group.topology is not None
    assert group.topology.topics["orders"] == "source"
    assert group.topology.validated_epoch is None  # the answer does not say
    assert all(member.target == member.owned for member in group.members)
    assert {member.epoch for member in group.members} == {4}
