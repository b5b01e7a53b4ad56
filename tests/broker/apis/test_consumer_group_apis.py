"""Heartbeats and descriptions of consumer groups through a node, as bytes, and what topics do to groups."""

from typing import Any

from kgroup.broker.security.acls import parse_acls
from kgroup.broker.security.authorizer import Authorizer
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.wire.consumer_group_messages import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from tests.broker.world import BrokerWorld

AT_ONCE = {"group.consumer.assignment.interval.ms": "0"}


def world_of_orders(**options: Any) -> BrokerWorld:
    world = BrokerWorld(properties=AT_ONCE, **options)
    world.cluster.create_topic("orders", 2, 1, {}, world.now_ms)
    return world


def heartbeat(epoch: int = 0, version: int = 1, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    joins = {"rebalance_timeout_ms": 1000, "subscribed_topic_names": ["orders"], "topic_partitions": []}
    values = {"group_id": "g", "member_id": "m"} | (joins if epoch == 0 else {}) | fields
    return ConsumerGroupHeartbeatRequest(version=version, member_epoch=epoch, **values)


def describe(*groups: str, operations: bool = False) -> ConsumerGroupDescribeRequest:
    return ConsumerGroupDescribeRequest(
        version=1, group_ids=list(groups), include_authorized_operations=operations
    )


def partitions(answer: Any) -> list[list[int]]:
    return [list(topic.partitions) for topic in answer.assignment.topic_partitions]


def test_a_member_joins_and_is_described() -> None:
    world = world_of_orders()
    answer = world.ask(heartbeat())
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "m", 2)
    assert (answer.heartbeat_interval_ms, partitions(answer)) == (5000, [[0, 1]])
    [group] = world.ask(describe("g", operations=True)).groups
    assert (group.group_state, group.group_epoch, group.assignor_name) == ("Stable", 2, "uniform")
    assert group.authorized_operations == {3, 6, 8, 10, 11}
    [member] = group.members
    assert (member.client_id, member.client_host, member.member_type) == ("tester", "/127.0.0.1", 1)
    assert [topic.topic_name for topic in member.assignment.topic_partitions] == ["orders"]


def test_version_0_is_given_an_id_and_has_no_expressions() -> None:
    answer = world_of_orders().ask(heartbeat(version=0, member_id=""))
    assert (answer.error_code, len(answer.member_id)) == (0, 22)


def test_what_says_too_little_is_refused_with_words() -> None:
    answer = world_of_orders().ask(heartbeat(rebalance_timeout_ms=-1))
    assert answer.error_code == E.INVALID_REQUEST
    assert "RebalanceTimeoutMs" in answer.error_message


def test_groups_that_are_none_say_so_one_by_one() -> None:
    world = world_of_orders()
    world.ask(heartbeat())
    groups = world.ask(describe("nobody", "", "g")).groups
    assert [group.error_code for group in groups] == [E.GROUP_ID_NOT_FOUND, E.INVALID_GROUP_ID, E.NONE]


def test_topics_that_grow_come_and_go_reach_the_group_with_its_next_heartbeat() -> None:
    world = world_of_orders()
    world.ask(heartbeat())
    world.cluster.create_partitions("orders", 3, world.now_ms)
    assert partitions(world.ask(heartbeat(2))) == [[0, 1, 2]]
    world.cluster.delete_topic("orders", world.now_ms)
    assert partitions(world.ask(heartbeat(3))) == []
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    given_up = world.ask(heartbeat(3, topic_partitions=[]))
    assert (given_up.error_code, partitions(given_up)) == (0, [[0]])


def test_an_expression_finds_a_topic_that_is_made_later() -> None:
    world = world_of_orders()
    world.ask(heartbeat(subscribed_topic_names=None, subscribed_topic_regex="pay.*"))
    world.cluster.create_topic("payments", 1, 1, {}, world.now_ms)
    world.advance(10_001)
    world.ask(heartbeat(1))
    answer = world.ask(heartbeat(1))
    assert (answer.member_epoch, partitions(answer)) == (2, [[0]])


def test_an_expression_matches_no_topic_that_the_member_may_not_see() -> None:
    """Kafka: GroupMetadataManager.filterTopicDescribeAuthorizedTopics, also when it looks again."""
    world = world_of_orders()
    world.cluster.create_topic("orders-secret", 1, 1, {}, world.now_ms)
    world.cluster.authorizer = Authorizer(
        parse_acls("allow User:ANONYMOUS READ group g\nallow User:ANONYMOUS DESCRIBE topic orders", "acls")
    )
    world.ask(heartbeat(subscribed_topic_names=None, subscribed_topic_regex="ord.*"))
    answer = world.ask(heartbeat(1))
    assert (answer.error_code, partitions(answer)) == (0, [[0, 1]])
    world.cluster.create_topic("orders-hidden", 1, 1, {}, world.now_ms)
    world.advance(10_001)
    world.ask(heartbeat(2))
    assert world.ask(heartbeat(2)).assignment is None
    world.cluster.authorizer.set_acls(
        parse_acls("allow User:ANONYMOUS READ group g\nallow User:ANONYMOUS DESCRIBE topic *", "acls")
    )
    world.cluster.create_topic("orders-new", 1, 1, {}, world.now_ms)
    world.advance(10_001)
    world.ask(heartbeat(2))
    assert len(partitions(world.ask(heartbeat(2)))) == 4


def test_a_group_whose_topics_a_client_may_not_see_is_hidden_from_it() -> None:
    world = world_of_orders()
    world.ask(heartbeat())
    acls = parse_acls("allow User:ANONYMOUS DESCRIBE group *", "acls")
    world.cluster.authorizer = Authorizer(acls)
    groups = world.ask(describe("g", "nobody")).groups
    assert {group.group_id: group.error_code for group in groups} == {
        "g": E.TOPIC_AUTHORIZATION_FAILED,
        "nobody": E.GROUP_ID_NOT_FOUND,
    }
    assert not next(group for group in groups if group.group_id == "g").members


def test_a_group_about_to_read_a_hidden_topic_is_hidden_too() -> None:
    """Kafka looks at target assignments as well: here of a member that has not heard of its topic yet."""
    world = world_of_orders()
    world.ask(heartbeat(subscribed_topic_names=None, subscribed_topic_regex="pay.*"))
    world.cluster.create_topic("payments", 1, 1, {}, world.now_ms)
    world.advance(10_001)
    world.ask(heartbeat(1))
    world.ask(heartbeat(member_id="n"))
    [group] = world.ask(describe("g")).groups
    member = next(each for each in group.members if each.member_id == "m")
    assert not member.assignment.topic_partitions
    assert [topic.topic_name for topic in member.target_assignment.topic_partitions] == ["payments"]
    rules = "allow User:ANONYMOUS DESCRIBE group *\nallow User:ANONYMOUS DESCRIBE topic orders"
    world.cluster.authorizer = Authorizer(parse_acls(rules, "acls"))
    [group] = world.ask(describe("g")).groups
    assert (group.error_code, group.members) == (E.TOPIC_AUTHORIZATION_FAILED, [])


def test_a_heartbeat_without_its_partitions_gives_none_up() -> None:
    """KIP-848: null if they have not changed since the last heartbeat; a list says what is owned now."""
    world = world_of_orders()
    epoch = world.ask(heartbeat()).member_epoch
    world.ask(heartbeat(member_id="n"))
    [[kept]] = partitions(world.ask(heartbeat(epoch)))
    world.ask(heartbeat(epoch))
    answer = world.ask(heartbeat(epoch + 1, member_id="n"))
    assert answer.error_code == 0 and not (answer.assignment and partitions(answer))
    topic_id = world.cluster.topics["orders"].spec.topic_id
    owned = ConsumerGroupHeartbeatRequest.TopicPartitions(version=1, topic_id=topic_id, partitions=[kept])
    world.ask(heartbeat(epoch, topic_partitions=[owned]))
    assert partitions(world.ask(heartbeat(epoch + 1, member_id="n"))) == [[1 - kept]]


def test_while_it_loads_or_elsewhere_the_coordinators_error_is_the_groups() -> None:
    world = world_of_orders(nodes=2)
    answers = [world.ask(describe("g"), node=node).groups[0].error_code for node in (1, 2)]
    assert sorted(answers) == sorted([E.NOT_COORDINATOR, E.GROUP_ID_NOT_FOUND])
