"""Settings of groups at the wire: changed, refused, shown, obeyed by members, and there after a restart."""

from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin.configs import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from kgroup.broker.storage import FolderStorage, MemoryStorage
from kgroup.errors import SourceError
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.wire.consumer_group_messages import ConsumerGroupHeartbeatRequest
from tests.broker.world import BrokerWorld, coordinator

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
FROM_FILE, DEFAULT, FROM_GROUP = 4, 5, 8
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
SHORT = {"group.consumer.min.session.timeout.ms": "10000"}
Change = tuple[str, int, str | None]


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld(properties=SHORT | {"group.consumer.heartbeat.interval.ms": "6000"})
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    return world


def changes(
    *resources: tuple[int, str, list[Change]], version: int = 1, validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    return IncrementalAlterConfigsRequest(
        version=version,
        resources=[
            resource(
                version=version,
                resource_type=kind,
                resource_name=name,
                configs=[
                    resource.AlterableConfig(version=version, name=key, config_operation=how, value=value)
                    for key, how, value in configs
                ],
            )
            for kind, name, configs in resources
        ],
        validate_only=validate_only,
    )


def alter(world: BrokerWorld, *configs: Change, group: str = "g", **more: Any) -> tuple[int, str | None]:
    [answer] = world.ask(changes((GROUP, group, list(configs)), **more)).responses
    assert (answer.resource_type, answer.resource_name) == (GROUP, group)
    return answer.error_code, answer.error_message


def describe(world: BrokerWorld, group: str = "g", *, synonyms: bool = False) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        version=4, resource_type=GROUP, resource_name=group, configuration_keys=None
    )
    request = DescribeConfigsRequest(
        version=4, resources=[resource], include_synonyms=synonyms, include_documentation=False
    )
    [result] = world.ask(request).results
    return result


def shown(world: BrokerWorld, group: str = "g") -> dict[str, tuple[str, int]]:
    return {each.name: (each.value, each.config_source) for each in describe(world, group).configs}


def beat(world: BrokerWorld, epoch: int, group: str = "g") -> Any:
    request = ConsumerGroupHeartbeatRequest(
        version=1,
        group_id=group,
        member_id="m",
        member_epoch=epoch,
        rebalance_timeout_ms=1000 if epoch == 0 else -1,
        subscribed_topic_names=["orders"] if epoch == 0 else None,
        topic_partitions=[] if epoch == 0 else None,
    )
    return world.ask(request, coordinator(world))


# ---- changing and showing -------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1])
def test_a_group_that_need_not_exist_gets_settings_and_loses_them(world: BrokerWorld, version: int) -> None:
    assert shown(world)[HEARTBEAT] == ("6000", FROM_FILE)
    assert alter(world, (SESSION, SET, " 20000"), (HEARTBEAT, SET, "8000"), version=version) == (0, None)
    assert shown(world)[SESSION] == ("20000", FROM_GROUP)
    assert shown(world)[HEARTBEAT] == ("8000", FROM_GROUP)
    assert shown(world, "other")[SESSION] == ("45000", DEFAULT)
    assert alter(world, (HEARTBEAT, DELETE, None), (SESSION, SET, "30000"), version=version) == (0, None)
    assert shown(world)[SESSION] == ("30000", FROM_GROUP)
    assert shown(world)[HEARTBEAT] == ("6000", FROM_FILE)
    assert alter(world, (SESSION, DELETE, None), version=version) == (0, None)
    assert world.cluster.spec.group_configs == {}
    assert world.cluster.group_settings("g") == world.cluster.settings.group


def test_every_setting_of_a_group_is_shown_with_its_type_and_where_it_comes_from(world: BrokerWorld) -> None:
    alter(world, (HEARTBEAT, SET, "8000"))
    configs = {each.name: each for each in describe(world, synonyms=True).configs}
    assert len(configs) == 17
    assert configs[HEARTBEAT].config_type == 3
    assert configs["share.renew.acknowledge.enable"].config_type == 1
    assert not configs[HEARTBEAT].read_only
    assert [(each.name, each.value, each.source) for each in configs[HEARTBEAT].synonyms] == [
        (HEARTBEAT, "8000", FROM_GROUP),
        (f"group.{HEARTBEAT}", "6000", FROM_FILE),
        (f"group.{HEARTBEAT}", "5000", DEFAULT),
    ]
    assert not describe(world).configs[0].synonyms


def test_what_is_only_validated_changes_nothing(world: BrokerWorld) -> None:
    assert alter(world, (SESSION, SET, "20000"), validate_only=True) == (0, None)
    assert world.cluster.spec.group_configs == {}
    assert alter(world, (SESSION, SET, "1"), validate_only=True)[0] == E.INVALID_CONFIG


@pytest.mark.parametrize(
    ("configs", "error", "message"),
    [
        ([("nonsense", SET, "1")], E.INVALID_CONFIG, "Unknown group config name: nonsense"),
        (
            [(SESSION, SET, "9999")],
            E.INVALID_CONFIG,
            f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            [(HEARTBEAT, SET, "12000")],  # longer than the session that the group has
            E.INVALID_CONFIG,
            "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms",
        ),
        (
            [(SESSION, APPEND, "1")],
            E.INVALID_CONFIG,
            f"Can't APPEND to key {SESSION} because its type is not LIST.",
        ),
        (
            [(SESSION, SUBTRACT, "1")],
            E.INVALID_CONFIG,
            f"Can't SUBTRACT to key {SESSION} because its type is not LIST.",
        ),
        ([(SESSION, 9, "1")], E.INVALID_REQUEST, "Unknown operation 9"),
        ([(SESSION, SET, None)], E.INVALID_REQUEST, f"Null value not supported for : {SESSION}"),
        (
            [(SESSION, SET, "20000"), (SESSION, DELETE, None)],
            E.INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
    ],
)
def test_a_change_that_cannot_be_is_refused_as_a_whole(
    world: BrokerWorld, configs: list[Change], error: E, message: str
) -> None:
    alter(world, (SESSION, SET, "12000"))
    assert alter(world, ("streams.num.standby.replicas", SET, "1"), *configs) == (error, message)
    assert world.cluster.spec.group_configs == {"g": {SESSION: "12000"}}


def test_each_group_of_a_request_is_changed_or_refused_by_itself(world: BrokerWorld) -> None:
    good: list[Change] = [(SESSION, SET, "20000")]
    request = changes((GROUP, "a", good), (GROUP, "b", [(SESSION, SET, "1")]), (GROUP, "c", good))
    answers = {each.resource_name: each.error_code for each in world.ask(request).responses}
    assert answers == {"a": E.NONE, "b": E.INVALID_CONFIG, "c": E.NONE}
    assert sorted(world.cluster.spec.group_configs) == ["a", "c"]


def test_a_group_named_twice_is_not_changed(world: BrokerWorld) -> None:
    good: list[Change] = [(SESSION, SET, "20000")]
    for answer in world.ask(changes((GROUP, "g", good), (GROUP, "g", good))).responses:
        words = (answer.error_code, answer.error_message)
        assert words == (E.INVALID_REQUEST, "Each resource must appear at most once.")
    assert world.cluster.spec.group_configs == {}


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (TOPIC, "orders", "kgroup serve changes settings of groups only"),
        (BROKER, "1", "kgroup serve changes settings of groups only"),
        (GROUP, "", "Default group resources are not allowed."),
    ],
)
def test_what_cannot_be_changed_is_told(world: BrokerWorld, kind: int, name: str, message: str) -> None:
    [answer] = world.ask(changes((kind, name, [(SESSION, SET, "20000")]))).responses
    assert (answer.error_code, answer.error_message) == (E.INVALID_REQUEST, message)


def test_a_group_without_a_name_has_no_settings(world: BrokerWorld) -> None:
    result = describe(world, "")
    assert (result.error_code, result.error_message) == (E.INVALID_REQUEST, "Group name must not be empty")
    assert result.configs == []


# ---- obeyed and kept ------------------------------------------------------------------------------


def test_a_running_group_goes_by_them_from_the_next_heartbeat_on(world: BrokerWorld) -> None:
    joined = beat(world, 0)
    assert joined.heartbeat_interval_ms == 6000
    alter(world, (HEARTBEAT, SET, "7000"), (SESSION, SET, "10000"))
    world.advance(20_000)  # the session that runs is still the broker's
    answer = beat(world, joined.member_epoch)
    assert (answer.error_code, answer.heartbeat_interval_ms) == (E.NONE, 7000)
    world.advance(10_001)
    assert beat(world, joined.member_epoch).error_code == E.UNKNOWN_MEMBER_ID
    other = beat(world, 0, "other")
    assert other.heartbeat_interval_ms == 6000


def test_a_restart_keeps_them(tmp_path: Path) -> None:
    def started() -> BrokerWorld:
        return BrokerWorld(properties=SHORT, storage=FolderStorage(tmp_path / "data", print))

    world = started()
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    alter(world, (SESSION, SET, "10000"))
    alter(world, (HEARTBEAT, SET, "7000"))
    alter(world, (SESSION, SET, "20000"), group="gone")
    alter(world, (SESSION, DELETE, None), group="gone")
    world.cluster.create_topic("payments", 1, 1, {}, world.now_ms)  # a journal over the whole
    world.cluster.close()
    again = started()
    assert again.cluster.spec.group_configs == {"g": {SESSION: "10000", HEARTBEAT: "7000"}}
    assert sorted(again.cluster.topics) == ["orders", "payments"]
    joined = beat(again, 0)
    assert joined.heartbeat_interval_ms == 7000
    again.advance(10_001)
    assert beat(again, joined.member_epoch).error_code == E.UNKNOWN_MEMBER_ID
    again.cluster.close()


class FullDisk(MemoryStorage):
    """Has no room left once `full`."""

    full = False

    def save(self, spec: Any, changed: Any = None) -> None:
        if self.full:
            raise SourceError("no space left")


def test_what_cannot_be_saved_has_not_happened() -> None:
    disk = FullDisk()
    world = BrokerWorld(properties=SHORT, storage=disk)
    alter(world, (SESSION, SET, "20000"))
    disk.full = True
    with pytest.raises(SourceError):
        world.cluster.configure_groups({"g": {SESSION: "30000"}})
    assert world.cluster.spec.group_configs == {"g": {SESSION: "20000"}}
    assert world.cluster.group_settings("g").consumer_session_timeout_ms == 20_000
