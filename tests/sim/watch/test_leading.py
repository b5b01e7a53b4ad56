"""What Kafka's own cooperative-sticky hands out twice is told from every other partition with two owners."""

from dataclasses import replace

import pytest

from kgroup.assignors.model import Topic
from kgroup.group.coordinator.events import GroupDeleted
from kgroup.group.member.classic.leading import group_members, make_assignment, subscription_of
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import MetadataResponse, PartitionMetadata, TopicMetadata
from kgroup.protocol.requests.coordinator import JoinGroupResponse, JoinGroupResponseMember, SyncGroup
from kgroup.protocol.sticky_user_data import encode_sticky
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.leading import Leading
from kgroup.sim.watch.result import ONE_OWNER
from kgroup.sim.watch.tallies import Measures

# The group of docs/stale_metadata.yaml, which Kafka 4.3.1's own class answers the same.
CLAIMS: dict[str, tuple[tuple[str, ...], list[TopicPartition]]] = {
    "c1": (("orders", "payments"), [("payments", 0), ("payments", 6), ("payments", 9)]),
    "c2": (("orders", "payments"), [("orders", 1), ("payments", 2), ("payments", 7)]),
    "c3": (("orders",), [("orders", 2)]),
    "c4": (("orders", "payments"), []),
}


def joined(protocol: str = "cooperative-sticky") -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=5,
        protocol_type="consumer",
        protocol_name=protocol,
        leader="c1",
        member_id="c1",
        members=tuple(
            JoinGroupResponseMember(
                member_id=name, group_instance_id=None, metadata=subscription_of(topics, owned, 4, None, None)
            )
            for name, (topics, owned) in CLAIMS.items()
        ),
    )


def metadata(payments: int, orders: int = 4) -> MetadataResponse:
    counts = {"orders": orders, "payments": payments}
    return MetadataResponse(
        topics=tuple(
            TopicMetadata(
                name=name,
                partitions=tuple(PartitionMetadata(partition=number, leader=0) for number in range(count)),
            )
            for name, count in counts.items()
        )
    )


def sync(answer: JoinGroupResponse, payments: int) -> SyncGroup:
    topics = [Topic(name="orders", partitions=4), Topic(name="payments", partitions=payments)]
    return SyncGroup(
        group_id="g",
        generation_id=5,
        member_id="c1",
        group_instance_id=None,
        protocol_type="consumer",
        protocol_name=answer.protocol_name,
        assignments=make_assignment(answer.protocol_name or "", group_members(answer), topics),
    )


def leading(answer: JoinGroupResponse, payments: int) -> Leading:
    process = Leading()
    process.heard(metadata(payments))
    process.heard(answer)
    return process


def test_a_leader_with_old_metadata_hands_out_twice() -> None:
    answer = joined()
    assert leading(answer, 9).hands_out_twice(sync(answer, 9)) == {("orders", 1), ("orders", 2)}


def test_so_does_one_whose_assignor_is_sticky() -> None:
    """As two members claimed it in seed 116337 (migration); Kafka 4.3.1's own class answers the same."""
    has = {
        "c4": encode_sticky([("payments", range(4)), ("orders", [0, 3, 4, 1, 2, 5])], 6),
        "c2": encode_sticky([("orders", [1, 2, 5, 6])], 5),
    }
    topics = {"c4": ("orders", "payments", "returns"), "c2": ("orders", "payments")}
    members = tuple(
        JoinGroupResponseMember(
            member_id=name,
            group_instance_id=None,
            metadata=subscription_of(topics[name], [], -1, None, user_data),
        )
        for name, user_data in has.items()
    )
    answer = replace(joined("sticky"), leader="c4", member_id="c4", members=members)
    known = [Topic(name="orders", partitions=6), Topic(name="payments", partitions=4)]
    body = replace(sync(joined(), 9), protocol_name="sticky", member_id="c4")
    body = replace(body, assignments=make_assignment("sticky", group_members(answer), known))
    process = Leading()
    process.heard(metadata(4, orders=6))
    process.heard(answer)
    assert process.hands_out_twice(body) == {("payments", number) for number in range(4)}
    process.heard(metadata(4, orders=7))
    assert process.hands_out_twice(body) == frozenset()


def test_a_leader_that_knows_every_claim_has_no_excuse() -> None:
    """The same answer, of an assignor that has gone wrong by itself."""
    answer = joined()
    assert leading(answer, 10).hands_out_twice(sync(answer, 9)) == frozenset()


def test_another_assignor_has_no_excuse() -> None:
    answer = joined("range")
    twice = replace(sync(joined(), 9), protocol_name="range")
    assert leading(answer, 9).hands_out_twice(twice) == frozenset()


@pytest.mark.parametrize(
    ("twice", "generation"), [(("orders", 2), 5), (("orders", 1), 5), (("orders", 2), 6)], ids=str
)
def test_only_what_that_leader_gave_to_both_is_known(twice: TopicPartition, generation: int) -> None:
    checkers = Checkers(Measures(), lambda: 10**12)
    checkers.assigned_twice("g", generation, frozenset({twice}))
    checkers.took_over("g", 5, "c1#1", [("orders", 2)])
    checkers.took_over("g", 5, "c2#1", [("orders", 2)])
    found = [(each.checker, each.what) for each in checkers.violations]
    known = [(each.checker, each.what) for each in checkers.known]
    both = [(ONE_OWNER, "g: orders-2: c1#1 and c2#1 in generation 5")]
    assert (found, known) == (([], both) if (twice, generation) == (("orders", 2), 5) else (both, []))


def test_a_group_that_begins_anew_has_no_excuse_from_before() -> None:
    now_ms = [10**12]
    checkers = Checkers(Measures(), lambda: now_ms[0])
    checkers.assigned_twice("g", 5, frozenset({("orders", 2)}))
    checkers.group_event(GroupDeleted(group_id="g"))
    now_ms[0] += 10**6  # members may act on what is lost for a while
    for member in ("c1#1", "c2#1"):
        checkers.took_over("g", 5, member, [("orders", 2)])
    assert (len(checkers.violations), checkers.known) == (1, [])
