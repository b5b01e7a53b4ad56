"""Members and states as the tool of 4.3.1 printed them, of the frames that a broker answered at that time."""

import json
import re
from pathlib import Path

import pytest
from kafka.protocol.admin import DescribeGroupsRequest, DescribeGroupsResponse

from kgroup.history.groups.model import Group, GroupKind, GroupState, Member, OwnedPartition
from kgroup.lag.measures.rows import Commit
from kgroup.net.admin.cluster import Coordinator
from kgroup.net.admin.group_asks import GroupAsks
from kgroup.net.admin.group_descriptions import describe_groups
from kgroup.report.compat.described import Described, member_lines, offset_lines, state_lines, state_warning
from kgroup.wire.consumer_group_messages import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse

COMPAT = Path(__file__).parents[3] / "fixtures/compat"
KINDS = {
    "a-group-with-a-rather-long-name": GroupKind.CONSUMER,
    "migrate-g": GroupKind.CONSUMER,
    "static-g": GroupKind.CLASSIC,
}


class Recorded:
    """Answers with the frames."""

    name, timeout_ms = "test:9092", 0
    frames = json.loads((COMPAT / "group-descriptions-4.3.1.json").read_text(encoding="utf-8"))["frames"]

    def find_coordinators(self, groups):
        return [Coordinator(group=group, node_id=1, host="h", port=1, error=None) for group in groups]

    def ask_many(self, requests, take):
        for index, (_, request) in enumerate(requests):
            if isinstance(request, ConsumerGroupDescribeRequest):
                response, version, name = ConsumerGroupDescribeResponse, 1, "ConsumerGroupDescribe v1"
            else:
                assert isinstance(request, DescribeGroupsRequest)
                response, version, name = DescribeGroupsResponse, 6, "DescribeGroups v6"
            take(index, response.decode(bytes.fromhex(self.frames[name]), version=version, header=True))


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    described = describe_groups(GroupAsks(Recorded()), KINDS, lambda done: None)
    return [described[name] for name in sorted(KINDS)]


def printed(*options: str) -> list[str]:
    """What the tool printed with these options."""
    parts = re.split(r"^=== ", (COMPAT / "members-4.3.1.txt").read_text(encoding="utf-8"), flags=re.M)
    (part,) = [part for part in parts if part.partition("\n")[0].endswith(f"name {' '.join(options)}")]
    return [line[2:].removesuffix("$") for line in part.splitlines() if line.startswith("O|")]


@pytest.mark.parametrize("options", [("--members",), ("--members", "--verbose")], ids=" ".join)
def test_members_of_mixed_protocols_and_static_ones(groups, options) -> None:
    lines = [line for group in groups for line in member_lines(group, verbose="--verbose" in options)]
    assert lines == printed(*options)


def test_states_with_epochs(groups) -> None:
    described = (
        Described(group=group, coordinator="127.0.0.1:19192  (1)", commits={}, ends={}) for group in groups
    )
    assert [line for each in described for line in state_lines(each, verbose=True)] == printed(
        "--state", "--verbose"
    )


def member(name: str, *owned: tuple[str, int]) -> Member:
    return Member(
        member_id=name,
        instance_id=None,
        client_id="c",
        client_host="/h",
        owned=tuple(OwnedPartition(*each) for each in owned),
    )


def group(state: GroupState, *members: Member) -> Group:
    return Group(group_id="g", kind=GroupKind.CLASSIC, state=state, members=members)


def commits(*places: tuple[str, int]) -> dict[tuple[str, int], Commit]:
    return {place: Commit(group="g", topic=place[0], partition=place[1], offset=4) for place in places}


def test_members_with_most_partitions_come_first_and_what_nobody_owns_last() -> None:
    """ConsumerGroupCommand.collectGroupsOffsets of 4.3: members by falling number, in the answer's order."""
    described = Described(
        group=group(
            GroupState.STABLE,
            member("one", ("b", 1)),
            member("none"),
            member("two", ("b", 0), ("a", 10)),
            member("also-one", ("a", 2)),
        ),
        coordinator="",
        commits=commits(("b", 1), ("z", 0), ("a", 3)),
        ends={("b", 1): 9, ("a", 3): 1},
    )
    _, _, *lines = offset_lines(described, verbose=False)
    assert [line.split()[1:7] for line in lines] == [
        ["a", "10", "-", "-", "-", "two"],
        ["b", "0", "-", "-", "-", "two"],
        ["b", "1", "4", "9", "5", "one"],
        ["a", "2", "-", "-", "-", "also-one"],
        ["a", "3", "4", "1", "-3", "-"],
        ["z", "0", "4", "-", "-", "-"],
    ]


def test_a_group_without_partitions_prints_nothing() -> None:
    described = Described(group=group(GroupState.EMPTY), coordinator="", commits={}, ends={})
    assert list(offset_lines(described, verbose=False)) == []


@pytest.mark.parametrize(
    ("state", "warning"),
    [
        (GroupState.STABLE, None),
        (GroupState.EMPTY, "Consumer group 'g' has no active members."),
        (GroupState.PREPARING_REBALANCE, "Warning: Consumer group 'g' is rebalancing."),
        (GroupState.COMPLETING_REBALANCE, "Warning: Consumer group 'g' is rebalancing."),
        (GroupState.ASSIGNING, "Warning: Consumer group 'g' is rebalancing."),
        (GroupState.RECONCILING, "Warning: Consumer group 'g' is rebalancing."),
    ],
)
def test_what_is_said_of_a_state(state: GroupState, warning: str | None) -> None:
    assert state_warning(group(state)) == warning
