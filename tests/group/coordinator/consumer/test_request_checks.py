"""What Kafka refuses of a heartbeat before it looks for the coordinator (GroupCoordinatorService)."""

import pytest

from kgroup.group.coordinator.consumer.request_checks import heartbeat_problem
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from tests.group.coordinator.consumer.world import ORDERS

JOINS = ConsumerGroupHeartbeat(
    group_id="g",
    member_id="m",
    member_epoch=0,
    rebalance_timeout_ms=1_000,
    subscribed_topic_names=("orders",),
    topic_partitions=(),
)
STAYS = ConsumerGroupHeartbeat(group_id="g", member_id="m", member_epoch=3)


def test_heartbeats_that_say_enough_pass() -> None:
    by_expression = JOINS._replace(subscribed_topic_names=None, subscribed_topic_regex="")
    back_soon = STAYS._replace(member_epoch=-2, instance_id="i")
    given_an_id = JOINS._replace(member_id="", makes_own_id=False)
    for heartbeat in (JOINS, STAYS, by_expression, back_soon, given_an_id, STAYS._replace(member_epoch=-1)):
        assert heartbeat_problem(heartbeat, GroupSettings()) is None


@pytest.mark.parametrize(
    ("heartbeat", "words"),
    [
        (JOINS._replace(member_id=""), "MemberId"),
        (STAYS._replace(member_id=" ", makes_own_id=False), "MemberId"),
        (STAYS._replace(member_id="", member_epoch=-1, makes_own_id=False), "MemberId"),
        (JOINS._replace(group_id="  "), "GroupId"),
        (JOINS._replace(instance_id=""), "InstanceId"),
        (JOINS._replace(rack_id=""), "RackId"),
        (JOINS._replace(rebalance_timeout_ms=-1), "RebalanceTimeoutMs"),
        (JOINS._replace(topic_partitions=None), "TopicPartitions"),
        (JOINS._replace(topic_partitions=((ORDERS, (0,)),)), "TopicPartitions"),
        (JOINS._replace(subscribed_topic_names=None), "SubscribedTopicNames"),
        (STAYS._replace(member_epoch=-2), "InstanceId"),
        (STAYS._replace(member_epoch=-3), "MemberEpoch"),
    ],
)
def test_others_are_invalid_requests_that_say_why(heartbeat: ConsumerGroupHeartbeat, words: str) -> None:
    problem = heartbeat_problem(heartbeat, GroupSettings())
    assert problem is not None
    assert problem.error_code is E.INVALID_REQUEST
    assert (problem.error_message or "").startswith(words)


def test_an_assignor_that_the_broker_does_not_have_is_named_with_those_it_has() -> None:
    problem = heartbeat_problem(JOINS._replace(server_assignor="mine"), GroupSettings())
    assert problem is not None
    assert problem.error_code is E.UNSUPPORTED_ASSIGNOR
    assert "mine" in (problem.error_message or "") and "uniform, range" in (problem.error_message or "")
