"""Topics and their settings at the wire: what is made, grown, deleted, described, and what is refused."""

from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin.configs import DescribeConfigsRequest
from kafka.protocol.admin.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.broker.work import finished
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.protocol.error_codes import ErrorCode as E
from tests.broker.world import BrokerWorld, coordinator, join

TOPIC, BROKER = 2, 4
FROM_TOPIC, FROM_FILE, DEFAULT = 1, 4, 5


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld(nodes=2, properties={"offsets.retention.minutes": "10"})
    world.cluster.create_topic("orders", 3, 2, {"retention.ms": "5000"}, world.now_ms)
    return world


def create(
    world: BrokerWorld,
    *,
    version: int = 7,
    validate_only: bool = False,
    assignments: Any = (),
    name: str = "new",
) -> Any:
    topic = CreateTopicsRequest.CreatableTopic
    config = topic.CreatableTopicConfig(version=version, name="cleanup.policy", value="compact")
    creatable = topic(
        version=version,
        name=name,
        num_partitions=-1 if assignments else 2,
        replication_factor=-1 if assignments else 1,
        assignments=list(assignments),
        configs=[config],
    )
    request = CreateTopicsRequest(
        version=version, topics=[creatable], timeout_ms=1000, validate_only=validate_only
    )
    [result] = world.ask(request).topics
    return result


def grow(world: BrokerWorld, name: str, count: int, *, validate_only: bool = False) -> Any:
    topic = CreatePartitionsRequest.CreatePartitionsTopic(version=1, name=name, count=count, assignments=None)
    request = CreatePartitionsRequest(version=1, topics=[topic], timeout_ms=1000, validate_only=validate_only)
    [result] = world.ask(request).results
    return result


def delete(world: BrokerWorld, version: int, *, name: str | None = None, topic_id: UUID | None = None) -> Any:
    if version >= 6:
        state = DeleteTopicsRequest.DeleteTopicState(version=version, name=name, topic_id=topic_id)
        request = DeleteTopicsRequest(version=version, topics=[state], timeout_ms=1000)
    else:
        request = DeleteTopicsRequest(version=version, topic_names=[name], timeout_ms=1000)
    [result] = world.ask(request).responses
    return result


# ---- making and growing ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_made_with_its_settings(world: BrokerWorld, version: int) -> None:
    result = create(world, version=version)
    assert (result.error_code, result.error_message) == (E.NONE, None)
    spec = world.cluster.topics["new"].spec
    assert (spec.partitions, spec.replication_factor) == (2, 1)
    assert spec.configs == {"cleanup.policy": "compact"}
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (2, 1)
    if version >= 7:
        assert result.topic_id == spec.topic_id


def test_a_topic_can_be_checked_without_making_it(world: BrokerWorld) -> None:
    assert create(world, validate_only=True).error_code == E.NONE
    assert "new" not in world.cluster.topics
    refused = create(world, validate_only=True, name="orders")
    assert (refused.error_code, refused.error_message) == (
        E.TOPIC_ALREADY_EXISTS,
        "Topic 'orders' already exists.",
    )


def test_replicas_cannot_be_placed_by_hand(world: BrokerWorld) -> None:
    assignment = CreateTopicsRequest.CreatableTopic.CreatableReplicaAssignment(
        version=7, partition_index=0, broker_ids=[2]
    )
    refused = create(world, assignments=[assignment])
    assert refused.error_code == E.INVALID_REPLICATION_ASSIGNMENT
    assert refused.error_message == "kgroup places replicas by itself"
    assert "new" not in world.cluster.topics


NO_INCREASE = "The topic orders currently has 3 partition(s); 2 would not be an increase."  # of 4.3.1


@pytest.mark.parametrize(
    ("name", "count", "error", "message"),
    [
        ("orders", 4, E.NONE, None),
        ("orders", 3, E.INVALID_PARTITIONS, "Topic already has 3 partition(s)."),
        ("orders", 2, E.INVALID_PARTITIONS, NO_INCREASE),
        ("nowhere", 4, E.UNKNOWN_TOPIC_OR_PARTITION, None),
    ],
)
def test_a_topic_grows_or_stays_as_it_is(
    world: BrokerWorld, name: str, count: int, error: E, message: str | None
) -> None:
    checked = grow(world, name, count, validate_only=True)
    assert (checked.error_code, len(world.cluster.topics["orders"].partitions)) == (error, 3)
    result = grow(world, name, count)
    assert (result.name, result.error_code) == (name, error)
    assert result.error_message == message
    assert len(world.cluster.topics["orders"].partitions) == (4 if error is E.NONE else 3)


# ---- as many as Kafka makes at once ---------------------------------------------------------------


def creation(*topics: tuple[str, int], configs: dict[str, str | None] | None = None) -> CreateTopicsRequest:
    topic = CreateTopicsRequest.CreatableTopic
    return CreateTopicsRequest(
        version=7,
        topics=[
            topic(
                version=7,
                name=name,
                num_partitions=count,
                replication_factor=1,
                assignments=[],
                configs=[
                    topic.CreatableTopicConfig(version=7, name=key, value=value)
                    for key, value in (configs or {}).items()
                ],
            )
            for name, count in topics
        ],
        timeout_ms=1000,
        validate_only=False,
    )


EXCESSIVE = "Excessively large number of partitions per request."
BATCH = "Unable to perform excessively large batch operation."


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ([("a", 10_001)], EXCESSIVE),
        ([("a", 2**31 - 1), ("b", 2**31 - 1)], EXCESSIVE),
        ([("a", 5_000), ("b", 5_000), ("c", -1)], EXCESSIVE),
        ([("a", 10_000)], BATCH),  # with the topic's own, 10,001 records
    ],
)
def test_a_request_for_more_partitions_than_kafka_makes_at_once_makes_none(
    world: BrokerWorld, topics: list[tuple[str, int]], message: str
) -> None:
    for result in world.ask(creation(*topics)).topics:
        assert (result.error_code, result.error_message) == (E.POLICY_VIOLATION, message)
    assert sorted(world.cluster.topics) == ["orders"]
    assert sorted(world.cluster.spec.topics) == ["orders"]


def test_more_partitions_at_once_than_kafka_makes_are_not_added(world: BrokerWorld) -> None:
    refused = grow(world, "orders", 10_004)
    assert (refused.error_code, refused.error_message) == (E.POLICY_VIOLATION, BATCH)
    assert len(world.cluster.topics["orders"].partitions) == 3


def test_a_heartbeat_is_answered_while_a_large_topic_is_made(world: BrokerWorld) -> None:
    node = coordinator(world)
    creating = world.send(creation(("large", 500)))
    asking = world.send(join(), node)
    world.cluster.coordinators.flush()
    assert [answer.token for answer in world.nodes[node].take_answers()] == [asking]
    assert "large" not in world.cluster.topics
    assert world.cluster.next_deadline_ms() == 0
    again = world.send(creation(("large", 1)))
    answers = world.settle()
    assert answers[creating].topics[0].error_code == E.NONE
    assert answers[again].topics[0].error_code == E.TOPIC_ALREADY_EXISTS
    partitions = world.cluster.topics["large"].partitions
    assert [partition.index for partition in partitions] == list(range(500))
    assert all(partition.leader > 0 for partition in partitions)
    assert world.cluster.next_deadline_ms() != 0


def test_a_heartbeat_is_answered_while_a_large_topic_is_removed(world: BrokerWorld) -> None:
    node = coordinator(world)
    world.ask(creation(("large", 500)))
    logs = [partition.log for partition in world.cluster.topics["large"].partitions]
    for log in logs:
        log.append(encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v")]), 0)
    deleting = world.send(DeleteTopicsRequest(version=5, topic_names=["large"], timeout_ms=1000))
    assert "large" not in world.cluster.topics
    assert 0 < sum(not log.batch_count for log in logs) < 100  # type: ignore[attr-defined]
    asking = world.send(join(), node)
    world.cluster.coordinators.flush()
    assert [answer.token for answer in world.nodes[node].take_answers()] == [asking]
    again = world.send(creation(("large", 1)))
    answers = world.settle()
    assert answers[deleting].responses[0].error_code == E.NONE
    assert not any(log.batch_count for log in logs)  # type: ignore[attr-defined]
    assert answers[again].topics[0].error_code == E.NONE  # one after the other
    assert len(world.cluster.topics["large"].partitions) == 1


def test_while_a_topic_is_removed_there_is_no_other_by_its_name(world: BrokerWorld) -> None:
    assert world.cluster.create_topic("large", 60, 1, {}, world.now_ms) is E.NONE
    removing = world.cluster.deletion_in_slices("large", world.now_ms)
    next(removing)
    assert world.cluster.create_topic("large", 1, 1, {}, world.now_ms) is E.TOPIC_ALREADY_EXISTS
    assert world.cluster.delete_topic("large", world.now_ms) is E.UNKNOWN_TOPIC_OR_PARTITION
    assert finished(removing) is E.NONE
    assert world.cluster.create_topic("large", 1, 1, {}, world.now_ms) is E.NONE


def test_partitions_in_the_making_are_seen_when_all_are_there(world: BrokerWorld) -> None:
    partition = CreatePartitionsRequest.CreatePartitionsTopic(version=1, name="orders", count=400)
    partition.assignments = None
    growing = world.send(
        CreatePartitionsRequest(version=1, topics=[partition], timeout_ms=1000, validate_only=False)
    )
    assert len(world.cluster.topics["orders"].partitions) == 3
    assert world.settle()[growing].results[0].error_code == E.NONE
    assert [each.index for each in world.cluster.topics["orders"].partitions] == list(range(400))


@pytest.mark.parametrize("kind", ["topics", "partitions"])
def test_a_topic_named_twice_is_refused_once(world: BrokerWorld, kind: str) -> None:
    if kind == "topics":
        results = world.ask(creation(("a", 1), ("a", 1))).topics
    else:
        twice = [CreatePartitionsRequest.CreatePartitionsTopic(version=1, name="orders", count=9)] * 2
        twice[0].assignments = None
        results = world.ask(
            CreatePartitionsRequest(version=1, topics=twice, timeout_ms=1000, validate_only=False)
        ).results
    [result] = results
    assert (result.error_code, result.error_message) == (E.INVALID_REQUEST, "Duplicate topic name.")


ORDERS, NOBODYS = UUID(int=2), UUID(int=99)
SAME = "The provided topic name maps to an ID that was already supplied."


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ([("orders", None)] * 2, [("orders", None, "Duplicate topic name.")]),
        ([("orders", None)] * 3, [("orders", None, "Duplicate topic name.")]),
        ([(None, ORDERS)] * 2, [(None, ORDERS, "Duplicate topic id.")]),
        ([(None, NOBODYS)] * 2, [(None, NOBODYS, "Duplicate topic id.")]),
        ([("orders", None), (None, ORDERS)], [("orders", ORDERS, SAME)]),
        ([(None, ORDERS), ("orders", None)], [("orders", ORDERS, SAME)]),
        (
            [(None, ORDERS), ("orders", None), (None, ORDERS)],
            [(None, ORDERS, "Duplicate topic id."), ("orders", ORDERS, SAME)],
        ),
        ([("orders", ORDERS)], [("orders", ORDERS, "You may not specify both topic name and topic id.")]),
        ([(None, None)], [(None, None, "Neither topic name nor id were specified.")]),
    ],
)
def test_a_topic_that_a_deletion_gives_twice_is_kept(
    world: BrokerWorld,
    given: list[tuple[str | None, UUID | None]],
    refused: list[tuple[str | None, UUID | None, str]],
) -> None:
    """Kafka: ControllerApis.deleteTopics deletes nothing of which it is not sure what is meant."""
    assert world.cluster.topics["orders"].spec.topic_id == ORDERS
    world.cluster.create_topic("payments", 1, 1, {}, world.now_ms)
    state = DeleteTopicsRequest.DeleteTopicState
    topics = [state(version=6, name=name, topic_id=id_) for name, id_ in (*given, ("payments", None))]
    *results, deleted = world.ask(DeleteTopicsRequest(version=6, topics=topics, timeout_ms=1000)).responses
    assert [(each.name, each.topic_id, each.error_message) for each in results] == refused
    assert {each.error_code for each in results} == {E.INVALID_REQUEST}
    assert (deleted.name, deleted.error_code, list(world.cluster.topics)) == ("payments", E.NONE, ["orders"])


def test_a_topic_that_an_old_deletion_names_twice_is_kept(world: BrokerWorld) -> None:
    request = DeleteTopicsRequest(version=5, topic_names=["orders", "orders"], timeout_ms=1000)
    [result] = world.ask(request).responses
    assert (result.error_code, result.error_message) == (E.INVALID_REQUEST, "Duplicate topic name.")
    assert "orders" in world.cluster.topics


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("max.message.bytes", "²", "Not a number of type INT"),
        ("max.message.bytes", "1_000", "Not a number of type INT"),
        ("max.message.bytes", "99999999999", "Not a number of type INT"),
        ("max.message.bytes", "", "Not a number of type INT"),
        ("max.message.bytes", "-1", "Value must be at least 0"),
        ("segment.bytes", "100", "Value must be at least 1048576"),
        ("min.cleanable.dirty.ratio", "1.5", "Value must be no more than 1"),
        ("preallocate", "maybe", "Expected value to be either true or false"),
        ("message.timestamp.type", "Now", "String must be one of: CreateTime, LogAppendTime"),
        ("delete.retention.ms", "x", "Not a number of type LONG"),
    ],
)
def test_settings_that_a_topic_cannot_have_are_refused_in_the_words_of_a_broker(
    world: BrokerWorld, name: str, value: str, why: str
) -> None:
    [result] = world.ask(creation(("a", 1), configs={name: value})).topics
    message = f"Invalid value {value} for configuration {name}: {why}"
    assert (result.error_code, result.error_message) == (E.INVALID_CONFIG, message)
    assert "a" not in world.cluster.topics


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max.message.bytes", None, "Null value not supported for topic configs: max.message.bytes"),
        ("nonsense", "1", "Unknown topic config name: nonsense"),
    ],
)
def test_settings_without_a_value_and_unknown_ones_are_refused(
    world: BrokerWorld, name: str, value: str | None, message: str
) -> None:
    [result] = world.ask(creation(("a", 1), configs={name: value})).topics
    assert (result.error_code, result.error_message) == (E.INVALID_CONFIG, message)


@pytest.mark.parametrize("value", ["+1000", " 1000 ", "٣"])
def test_numbers_are_those_that_java_reads(world: BrokerWorld, value: str) -> None:
    [result] = world.ask(creation(("a", 1), configs={"max.message.bytes": value})).topics
    assert result.error_code == E.NONE


# ---- deleting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, 7))
def test_a_topic_is_deleted_by_name(world: BrokerWorld, version: int) -> None:
    topic_id = world.cluster.topics["orders"].spec.topic_id
    result = delete(world, version, name="orders")
    assert (result.name, result.error_code) == ("orders", E.NONE)
    assert "orders" not in world.cluster.topics
    assert version < 6 or result.topic_id == topic_id
    assert delete(world, version, name="orders").error_code == E.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_is_deleted_by_id(world: BrokerWorld) -> None:
    topic_id = world.cluster.topics["orders"].spec.topic_id
    result = delete(world, 6, topic_id=topic_id)
    assert (result.name, result.topic_id, result.error_code) == ("orders", topic_id, E.NONE)
    assert "orders" not in world.cluster.topics
    again = delete(world, 6, topic_id=topic_id)
    assert (again.name, again.topic_id, again.error_code) == (None, topic_id, E.UNKNOWN_TOPIC_ID)


def test_an_internal_topic_stays(world: BrokerWorld) -> None:
    world.cluster.internal_topic(OFFSETS_TOPIC, world.now_ms)
    assert delete(world, 6, name=OFFSETS_TOPIC).error_code == E.INVALID_REQUEST
    assert OFFSETS_TOPIC in world.cluster.topics


# ---- settings -------------------------------------------------------------------------------------


def describe(world: BrokerWorld, kind: int, name: str, keys: list[str] | None = None) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        version=4, resource_type=kind, resource_name=name, configuration_keys=keys
    )
    request = DescribeConfigsRequest(
        version=4, resources=[resource], include_synonyms=False, include_documentation=False
    )
    [result] = world.ask(request).results
    return result


def settings_of(result: Any) -> dict[str, tuple[str, int]]:
    return {each.name: (each.value, each.config_source) for each in result.configs}


def test_a_topics_settings_are_its_own_over_the_defaults(world: BrokerWorld) -> None:
    settings = settings_of(describe(world, TOPIC, "orders"))
    assert settings["retention.ms"] == ("5000", FROM_TOPIC)
    assert settings["cleanup.policy"] == ("delete", DEFAULT)
    some = describe(world, TOPIC, "orders", ["retention.ms", "no.such.setting"])
    assert settings_of(some) == {"retention.ms": ("5000", FROM_TOPIC)}


@pytest.mark.parametrize("name", ["", "1"])
def test_a_broker_shows_what_its_file_says_and_kafkas_defaults(world: BrokerWorld, name: str) -> None:
    result = describe(world, BROKER, name)
    settings = settings_of(result)
    assert settings["offsets.retention.minutes"] == ("10", FROM_FILE)
    assert settings["group.min.session.timeout.ms"] == ("6000", DEFAULT)
    assert all(each.read_only for each in result.configs)


@pytest.mark.parametrize(
    ("kind", "name", "error", "words"),
    [
        (TOPIC, "nowhere", E.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TOPIC, "", E.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"),
        (TOPIC, ".", E.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: '.' is not allowed"),
        # a node tells of itself only
        (BROKER, "2", E.INVALID_REQUEST, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", E.INVALID_REQUEST, "Broker id must be an integer, but it is: x"),
        (
            99,
            "what",
            E.INVALID_REQUEST,
            "This most likely occurs because of a request being malformed by the client library or the"
            " message was sent to an incompatible broker. See the broker logs for more details.",
        ),
    ],
)
def test_what_has_no_settings_here(world: BrokerWorld, kind: int, name: str, error: E, words: str) -> None:
    """In the words of a broker of 4.3.1."""
    result = describe(world, kind, name)
    assert (result.error_code, result.error_message, result.configs) == (error, words, [])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("retention.bytes", ("-1", DEFAULT, 5, [("log.retention.bytes", "-1", DEFAULT)])),
        ("retention.ms", ("5000", FROM_TOPIC, 5, [("retention.ms", "5000", FROM_TOPIC)])),
        ("flush.ms", ("9223372036854775807", DEFAULT, 5, [])),
        (
            "max.message.bytes",
            (
                "2000000",
                FROM_FILE,
                3,
                [("message.max.bytes", "2000000", FROM_FILE), ("message.max.bytes", "1048588", DEFAULT)],
            ),
        ),
    ],
)
def test_a_topics_setting_has_a_type_and_all_that_it_could_come_from(
    name: str, shown: tuple[str, int, int, list[tuple[str, str, int]]]
) -> None:
    """As a broker of 4.3.1 shows it; no keys ask for all, of which there are 33."""
    world = BrokerWorld(properties={"message.max.bytes": "2000000"})
    world.cluster.create_topic("orders", 1, 1, {"retention.ms": " 5000 "}, world.now_ms)
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        version=4, resource_type=TOPIC, resource_name="orders", configuration_keys=[]
    )
    request = DescribeConfigsRequest(
        version=4, resources=[resource], include_synonyms=True, include_documentation=False
    )
    [result] = world.ask(request).results
    assert (result.error_code, result.error_message, len(result.configs)) == (E.NONE, "", 33)
    [config] = [each for each in result.configs if each.name == name]
    synonyms = [(each.name, each.value, each.source) for each in config.synonyms]
    assert (config.value, config.config_source, config.config_type, synonyms) == shown


@pytest.mark.parametrize("name", ["x" * 32_767, "\u20ac" * 10_922])
@pytest.mark.parametrize("version", [2, 4])
def test_words_on_a_name_of_any_length_fit_into_an_answer(
    world: BrokerWorld, version: int, name: str
) -> None:
    words = [create(world, version=version, name=name).error_message]
    for kind in (TOPIC, BROKER):
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None
        )
        request = DescribeConfigsRequest(
            version=version, resources=[resource], include_synonyms=False, include_documentation=False
        )
        [result] = world.ask(request).results
        words.append(result.error_message)
    for of_name in words:
        assert name[:10_000] in of_name
        assert 32_764 < len(of_name.encode()) < 32_768
