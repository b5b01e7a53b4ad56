"""What a change to the consumer protocol asks of a group: one row a case."""

from dataclasses import replace

import pytest

from kgroup.history.advise.protocol_change import Standing, protocol_steps
from kgroup.history.timeline.model import Timeline, TimelineMember
from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata
from kgroup.protocol.subscription import Subscription, encode_subscription
from tests.history.advise.test_gate import CONSUMER, EMPTY, ONE, OWN, SHARE, timeline

PLAIN = replace(ONE, instance_id=None, session_timeout_ms=45_000)


def steps(
    group: Timeline, metadata: GroupMetadataValue | None = None, refusal: str | None = None
) -> dict[str, tuple[Standing, str]]:
    return {each.subject: (each.standing, each.evidence) for each in protocol_steps(group, metadata, refusal)}


@pytest.mark.parametrize(
    ("group", "refusal", "standing", "says"),
    [
        (timeline(members=(PLAIN,)), None, Standing.READY, "takes 1 classic member of generation 3 along"),
        (timeline(members=(PLAIN,)), "for a reason", Standing.BLOCKED, "GROUP_ID_NOT_FOUND: for a reason"),
        (EMPTY, None, Standing.READY, "it is Empty"),
        (CONSUMER, None, Standing.READY, "a consumer group already"),
        (SHARE, None, Standing.BLOCKED, "a share group"),
        (Timeline(group_id="g", generations=[]), None, Standing.READY, "offsets and no members"),
    ],
)
def test_whether_a_group_can_change_over(
    group: Timeline, refusal: str | None, standing: Standing, says: str
) -> None:
    found = steps(group, None, refusal)
    assert found["conversion"][0] is standing
    assert says in found["conversion"][1]
    if standing is Standing.BLOCKED:
        assert list(found) == ["conversion"], "nothing else matters then"


def test_a_session_of_its_own_has_to_go_and_the_default_need_not() -> None:
    short = (replace(PLAIN, session_timeout_ms=6_000), replace(PLAIN, session_timeout_ms=6_000), PLAIN)
    standing, says = steps(timeline(members=short))["session.timeout.ms"]
    assert (standing, says.startswith("2 with 6000: ")) == (Standing.CHANGE, True)
    assert "session.timeout.ms" not in steps(timeline(members=(PLAIN,)))


@pytest.mark.parametrize(
    ("group", "says"),
    [
        (timeline(members=(PLAIN,)), "group.remote.assignor=range does the same"),
        (timeline(members=(PLAIN,), protocol="sticky"), "group.remote.assignor=uniform is its default"),
        (OWN, "'mine', which is none of Kafka's and ends with it"),
    ],
)
def test_the_broker_assigns_from_then_on(group: Timeline, says: str) -> None:
    standing, evidence = steps(group)["partition.assignment.strategy"]
    assert standing is Standing.CHANGE
    assert says in evidence


def test_static_members_are_told_what_a_second_process_hears() -> None:
    standing, says = steps(timeline(members=(ONE, PLAIN)))["group.instance.id"]
    assert (standing, says.startswith("1 of 2 members are static")) == (Standing.NOTE, True)
    assert "group.instance.id" not in steps(timeline(members=(PLAIN,)))


def test_racks_of_subscriptions_count_no_more() -> None:
    assert steps(timeline(members=(PLAIN,)), metadata("r2", None, "r1"))["client.rack"] == (
        Standing.NOTE,
        "members are in r1, r2. The brokers' assignors of 4.3 do not look at racks; fetching from the nearest"
        " replica stays as it is",
    )
    assert "client.rack" not in steps(timeline(members=(PLAIN,)), metadata(None))


def test_the_history_is_played_both_ways() -> None:
    owner: TimelineMember = replace(PLAIN, subscribed=frozenset({"t"}))
    standing, says = steps(timeline(members=(owner,)))["cost"]
    assert standing is Standing.NOTE
    assert "rebalances 1 -> 1" in says


def metadata(*racks: str | None) -> GroupMetadataValue:
    members = tuple(
        MemberMetadata(
            member_id=f"m-{number}",
            group_instance_id=None,
            client_id="c",
            client_host="/h",
            rebalance_timeout=1,
            session_timeout=1,
            subscription=encode_subscription(Subscription(topics=("t",), generation_id=1, rack_id=rack)),
            assignment=b"",
        )
        for number, rack in enumerate(racks)
    )
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="m-0",
        current_state_timestamp=0,
        members=members,
    )
