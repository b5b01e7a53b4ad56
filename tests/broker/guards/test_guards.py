"""Every API with and without the rights it takes: the errors of Kafka's `KafkaApis`, and what is hidden."""

from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin.cluster import DescribeClusterRequest
from kafka.protocol.admin.groups import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from kgroup.broker.security.acls import SUPPORTED, ResourceType, parse_acls
from kgroup.broker.security.authorizer import Authorizer
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.wire.apis import APIS
from tests.broker.apis.record_requests import batch
from tests.broker.guards.guard_table import (
    AUTHORIZATION_ERRORS,
    GROUP_REFUSED,
    ROWS,
    TOPIC_REFUSED,
    add_partitions,
    create_topics,
    delete_topics,
    errors_in,
    fetch,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
)
from tests.broker.world import BrokerWorld, commit, join

READ, WRITE, CREATE, DESCRIBE = 3, 4, 5, 8


def world_with(*rules: str, **options: Any) -> BrokerWorld:
    """Topics orders and payments, groups g and h; who asks is nobody special."""
    world = BrokerWorld()
    for topic in ("orders", "payments"):
        world.cluster.create_topic(topic, 1, 1, {}, world.now_ms)
    for group in ("g", "h"):
        world.ask(join(group=group))
    let(world, *rules, **options)
    return world


def let(world: BrokerWorld, *rules: str, **options: Any) -> None:
    """From now on these are the rights."""
    acls = parse_acls("\n".join(f"allow User:ANONYMOUS {rule}" for rule in rules), "acls")
    world.cluster.authorizer = Authorizer(acls, **options)


def test_no_served_api_lacks_a_row() -> None:
    assert {row.api_key for row in ROWS.values()} == set(APIS)


@pytest.mark.parametrize("name", ROWS)
def test_with_its_rights_a_request_is_not_refused(name: str) -> None:
    row = ROWS[name]
    world = world_with(*row.rights)
    assert not AUTHORIZATION_ERRORS.intersection(errors_in(world.ask(row.request())))


@pytest.mark.parametrize(
    ("name", "missing"), [(name, right) for name, row in ROWS.items() for right in row.rights]
)
def test_without_one_of_its_rights_it_is(name: str, missing: str) -> None:
    row = ROWS[name]
    world = world_with(*(right for right in row.rights if right != missing))
    refused = AUTHORIZATION_ERRORS.intersection(errors_in(world.ask(row.request())))
    assert refused == {row.rights[missing]}


def lesser_rights(right: str) -> list[tuple[str, str]]:
    """For each operation of a right: it, and the right to do anything else that does not include it."""
    operations, kind, name = right.split(" ", 2)
    resource_type = ResourceType[kind.upper().replace("-", "_")]
    includes = {"DESCRIBE": {"READ", "WRITE", "DELETE", "ALTER"}, "DESCRIBE_CONFIGS": {"ALTER_CONFIGS"}}
    lesser = []
    for operation in operations.split(",") if operations != "ALL" else ():
        others = {each.name for each in SUPPORTED[resource_type]} - {operation}
        others -= includes.get(operation, set())
        if others:
            lesser.append((operation, f"{','.join(sorted(others))} {kind} {name}"))
    return lesser


@pytest.mark.parametrize(
    ("name", "right", "lesser"),
    [
        pytest.param(name, right, lesser, id=f"{name}: no {operation}")
        for name, row in ROWS.items()
        for right in row.rights
        for operation, lesser in lesser_rights(right)
    ],
)
def test_another_right_does_not_do(name: str, right: str, lesser: str) -> None:
    row = ROWS[name]
    world = world_with(*(each if each != right else lesser for each in row.rights))
    refused = AUTHORIZATION_ERRORS.intersection(errors_in(world.ask(row.request())))
    assert refused == {row.rights[right]}


@pytest.mark.parametrize("name", ROWS)
def test_what_is_refused_changes_nothing(name: str) -> None:
    """Not even a topic is made, nor a group, nor a record written."""
    world = world_with()
    before = snapshot(world)
    world.ask(ROWS[name].request())
    internal = {"__consumer_offsets", "__transaction_state"}
    assert {k: v for k, v in snapshot(world).items() if k[0] not in internal} == {
        k: v for k, v in before.items() if k[0] not in internal
    }


def snapshot(world: BrokerWorld) -> dict[tuple[str, int], object]:
    logs: dict[tuple[str, int], object] = {
        (topic.spec.name, part.index): (part.log.start_offset, part.log.end_offset)
        for topic in world.cluster.topics.values()
        for part in topic.partitions
    }
    for hosted in world.cluster.coordinators.hosted.values():
        for group in hosted.coordinator.listing():
            logs[(f"group {group.group_id}", 0)] = group
    return logs


@pytest.mark.parametrize("name", ROWS)
def test_without_an_authorizer_everybody_may_do_everything(name: str) -> None:
    world = world_with()
    world.cluster.authorizer = None
    assert not AUTHORIZATION_ERRORS.intersection(errors_in(world.ask(ROWS[name].request())))


# ---- what is kept from view ------------------------------------------------------------------------


def test_metadata_of_all_lists_what_may_be_described() -> None:
    world = world_with("READ topic pay prefixed")
    assert [topic.name for topic in world.ask(metadata(None)).topics] == ["payments"]
    everything_v0 = world.ask(MetadataRequest(version=0, topics=[]))
    assert [topic.name for topic in everything_v0.topics] == ["payments"]


def test_in_version_0_a_hidden_topic_is_not_taken_for_all() -> None:
    world = world_with("READ topic payments")
    [hidden] = world.ask(metadata("orders", version=0)).topics
    assert (hidden.name, hidden.error_code, hidden.partitions) == ("orders", TOPIC_REFUSED, [])


@pytest.mark.parametrize("version", [1, 9, 12])
@pytest.mark.parametrize("name", ["orders", "nowhere"])
def test_metadata_does_not_tell_whether_a_hidden_topic_exists(name: str, version: int) -> None:
    world = world_with("READ topic payments")
    [topic] = world.ask(metadata(name, version=version, auto_create=True)).topics
    assert (topic.name, topic.error_code, topic.is_internal) == (name, TOPIC_REFUSED, False)
    assert topic.partitions == [] and getattr(topic, "topic_id", None) in (None, UUID(int=0))
    assert "nowhere" not in world.cluster.topics


def test_metadata_by_id_hides_the_name() -> None:
    world = world_with()
    topic_id = world.cluster.topics["orders"].spec.topic_id
    each = MetadataRequest.MetadataRequestTopic(version=12, name=None, topic_id=topic_id)
    [topic] = world.ask(MetadataRequest(version=12, topics=[each])).topics
    assert (topic.name, topic.topic_id, topic.error_code) == (None, topic_id, TOPIC_REFUSED)


def test_what_may_be_done_is_told_of_topics_and_cluster() -> None:
    world = world_with("READ topic orders", "CREATE cluster kafka-cluster")
    request = metadata(
        "orders",
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    answer = world.ask(request)
    assert set(answer.topics[0].authorized_operations) == {READ, DESCRIBE}
    assert not answer.authorized_operations, "of a cluster that may not be described"
    let(world, "READ topic orders", "CREATE,DESCRIBE cluster kafka-cluster")
    assert set(world.ask(request).authorized_operations) == {CREATE, DESCRIBE}


def test_the_cluster_tells_what_may_be_done_to_who_may_describe_it() -> None:
    world = world_with("CREATE cluster kafka-cluster")
    request = DescribeClusterRequest(version=1, include_cluster_authorized_operations=True, endpoint_type=1)
    assert not world.ask(request).authorized_operations
    let(world, "CREATE,DESCRIBE cluster kafka-cluster")
    assert set(world.ask(request).authorized_operations) == {CREATE, DESCRIBE}


def test_a_group_tells_what_may_be_done_with_it() -> None:
    world = world_with("READ group g")
    request = DescribeGroupsRequest(version=5, groups=["h", "g"], include_authorized_operations=True)
    hidden, shown = world.ask(request).groups
    assert (hidden.group_id, hidden.error_code, hidden.members) == ("h", GROUP_REFUSED, [])
    assert (shown.group_id, shown.error_code, set(shown.authorized_operations)) == ("g", 0, {READ, DESCRIBE})


def test_list_groups_shows_those_that_may_be_described() -> None:
    world = world_with("DESCRIBE group h")
    assert [group.group_id for group in world.ask(ListGroupsRequest(version=3)).groups] == ["h"]
    let(world, "DESCRIBE cluster kafka-cluster")
    groups = world.ask(ListGroupsRequest(version=3)).groups
    assert sorted(group.group_id for group in groups) == ["g", "h"]


@pytest.mark.parametrize("version", [7, 8])
def test_offset_fetch_of_all_hides_topics(version: int) -> None:
    world = BrokerWorld()
    for topic in ("orders", "payments"):
        world.cluster.create_topic(topic, 1, 1, {}, world.now_ms)
        world.ask(commit(5, topic))
    let(world, "DESCRIBE group g", "DESCRIBE topic payments")
    answer = world.ask(offset_fetch(version, all_topics=True))
    topics = answer.topics if version < 8 else answer.groups[0].topics
    assert [topic.name for topic in topics] == ["payments"]


def test_some_topics_of_a_commit_may_be_refused_and_the_others_committed() -> None:
    request = offset_commit()
    request.topics += commit_topics_of("payments")
    world = BrokerWorld()
    for topic in ("orders", "payments"):
        world.cluster.create_topic(topic, 1, 1, {}, world.now_ms)
    let(world, "READ group g", "READ topic payments")
    results = {topic.name: topic.partitions[0].error_code for topic in world.ask(request).topics}
    assert results == {"payments": E.NONE, "orders": TOPIC_REFUSED}


def commit_topics_of(topic: str) -> list[Any]:
    request = offset_commit()
    request.topics[0].name = topic
    return list(request.topics)


def test_of_several_groups_each_is_answered_for_itself() -> None:
    world = world_with("DELETE group g", "DESCRIBE group h")
    deleted = world.ask(DeleteGroupsRequest(version=2, groups_names=["h", "g"])).results
    assert {result.group_id: result.error_code for result in deleted} == {
        "g": E.NON_EMPTY_GROUP,
        "h": GROUP_REFUSED,
    }
    request = FindCoordinatorRequest(version=4, key_type=0, coordinator_keys=["x", "h"])
    coordinators = world.ask(request).coordinators
    assert {each.key: (each.error_code, each.node_id) for each in coordinators} == {
        "h": (E.NONE, 1),
        "x": (GROUP_REFUSED, -1),
    }


def test_a_fetch_waits_for_what_may_be_read_and_tells_of_the_rest() -> None:
    world = world_with("READ topic payments")
    request = fetch()
    other = fetch().topics[0]
    other.topic = "payments"
    request.topics.append(other)
    request.max_wait_ms = 500
    token = world.send(request)
    assert not world.settle()
    world.cluster.topics["payments"].partitions[0].append(batch(1))
    topics = {topic.topic: topic.partitions[0] for topic in world.settle()[token].responses}
    assert (topics["orders"].error_code, len(topics["orders"].records or b"")) == (TOPIC_REFUSED, 0)
    assert topics["payments"].error_code == E.NONE and topics["payments"].records


def test_by_id_an_unknown_topic_is_unknown_and_a_hidden_one_refused() -> None:
    world = world_with()
    each = FetchRequest.FetchTopic

    def fetched(topic_id: UUID) -> int:
        partition = each.FetchPartition(
            version=13, partition=0, current_leader_epoch=-1, fetch_offset=0, partition_max_bytes=1
        )
        request = fetch(13)
        request.topics = [each(version=13, topic_id=topic_id, partitions=[partition])]
        return int(world.ask(request).responses[0].partitions[0].error_code)

    assert fetched(UUID(int=99)) == E.UNKNOWN_TOPIC_ID
    assert fetched(world.cluster.topics["orders"].spec.topic_id) == TOPIC_REFUSED


def test_a_transaction_takes_all_partitions_or_none() -> None:
    world = world_with("WRITE transactional-id tx", "WRITE topic payments")
    request = add_partitions("orders")
    request.v3_and_below_topics += add_partitions("payments").v3_and_below_topics
    request.v3_and_below_topics += add_partitions("__consumer_offsets").v3_and_below_topics
    results = {
        topic.name: topic.results_by_partition[0].partition_error_code
        for topic in world.ask(request).results_by_topic_v3_and_below
    }
    assert results == {
        "orders": TOPIC_REFUSED,
        "payments": E.OPERATION_NOT_ATTEMPTED,
        "__consumer_offsets": TOPIC_REFUSED,
    }


def test_beside_a_refused_topic_a_partition_that_is_not_there_is_unknown() -> None:
    """Kafka: those that failed hear why, and the others that nothing was attempted."""
    world = world_with("WRITE transactional-id tx", "WRITE topic payments")
    request = add_partitions("orders")
    request.v3_and_below_topics += add_partitions("payments").v3_and_below_topics
    request.v3_and_below_topics[1].partitions = [0, 1]
    _, payments = world.ask(request).results_by_topic_v3_and_below
    assert {part.partition_index: part.partition_error_code for part in payments.results_by_partition} == {
        0: E.OPERATION_NOT_ATTEMPTED,
        1: E.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_internal_topics_are_in_no_transaction_whatever_the_rights() -> None:
    world = world_with("WRITE transactional-id tx", "ALL topic *")
    world.cluster.internal_topic("__consumer_offsets", world.now_ms)
    [topic] = world.ask(add_partitions("__consumer_offsets")).results_by_topic_v3_and_below
    assert topic.results_by_partition[0].partition_error_code == TOPIC_REFUSED


def test_records_of_a_transaction_without_its_id_are_refused() -> None:
    world = world_with("ALL topic *", "ALL transactional-id *")
    request = produce(transactional_id="tx")
    request.transactional_id = None
    [topic] = world.ask(request).responses
    assert topic.partition_responses[0].error_code == E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_a_topic_may_be_made_by_who_may_not_learn_what_it_is_like() -> None:
    world = world_with("CREATE topic new prefixed", "DESCRIBE_CONFIGS topic new2")
    [silent] = world.ask(create_topics("new")).topics
    assert (silent.error_code, silent.num_partitions, silent.topic_config_error_code) == (
        0,
        -1,
        TOPIC_REFUSED,
    )
    [told] = world.ask(create_topics("new2")).topics
    assert (told.error_code, told.num_partitions, told.topic_config_error_code) == (0, 1, 0)


def test_deletion_tells_nothing_of_hidden_topics() -> None:
    world = world_with("DESCRIBE topic payments", "DESCRIBE topic nowhere")

    def error(name: str) -> int:
        return int(world.ask(delete_topics(5, name)).responses[0].error_code)

    assert (error("orders"), error("absent")) == (TOPIC_REFUSED, TOPIC_REFUSED)
    assert (error("payments"), error("nowhere")) == (TOPIC_REFUSED, E.UNKNOWN_TOPIC_OR_PARTITION)
    orders, payments = (world.cluster.topics[name].spec.topic_id for name in ("orders", "payments"))
    [hidden] = world.ask(delete_topics(6, None, orders)).responses
    assert (hidden.name, hidden.error_code) == (None, TOPIC_REFUSED)
    [seen] = world.ask(delete_topics(6, None, payments)).responses
    assert (seen.name, seen.error_code) == ("payments", TOPIC_REFUSED)
    [unknown] = world.ask(delete_topics(6, None, UUID(int=99))).responses
    assert unknown.error_code == E.UNKNOWN_TOPIC_ID


def test_a_producer_is_refused_topic_by_topic() -> None:
    world = world_with("WRITE topic payments")
    request = produce()
    other = produce().topic_data[0]
    other.name = "payments"
    request.topic_data.append(other)
    results = {topic.name: topic.partition_responses[0].error_code for topic in world.ask(request).responses}
    assert results == {"payments": E.NONE, "orders": TOPIC_REFUSED}
    assert world.cluster.topics["orders"].partitions[0].log.end_offset == 0
