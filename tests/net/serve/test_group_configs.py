"""Settings of a group: set by kafka-python, obeyed at the next heartbeat, there after a restart."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType, KafkaAdminClient

import kgroup.testing
from kgroup.testing import ErrorCode
from kgroup.wire.consumer_group_messages import ConsumerGroupHeartbeatRequest
from tests.net.serve.test_faults import address, find
from tests.net.wire_client import WireClient

SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def started(folder: Path) -> kgroup.testing.Cluster:
    return kgroup.testing.cluster(topics={"orders": 1}, data_dir=folder)


@contextmanager
def admin_of(kafka: kgroup.testing.Cluster) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    try:
        yield client
    finally:
        client.close()


def resource(configs: dict[str, Any] | None = None) -> ConfigResource:
    return ConfigResource(ConfigResourceType.GROUP, "g", configs)


def altered(admin: KafkaAdminClient, configs: dict[str, Any]) -> str:
    """What kafka-python makes of the answer."""
    return str(admin.alter_configs([resource(configs)])["group"]["g"])


def modified(admin: KafkaAdminClient) -> dict[str, str]:
    """What differs from the defaults, as kafka-python sorts it out by each value's source."""
    return {
        name: config["value"] for name, config in admin.describe_configs([resource()])["group"]["g"].items()
    }


def beat(client: WireClient, epoch: int) -> Any:
    """The answer to a heartbeat, once the coordinator has its log."""
    while True:
        answer = client.ask(
            ConsumerGroupHeartbeatRequest(
                version=1,
                group_id="g",
                member_id="m",
                member_epoch=epoch,
                rebalance_timeout_ms=60_000 if epoch == 0 else -1,
                subscribed_topic_names=["orders"] if epoch == 0 else None,
                topic_partitions=[] if epoch == 0 else None,
            )
        )
        if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            assert answer.error_code == ErrorCode.NONE, answer
            return answer


def test_a_client_sets_them_members_hear_of_them_and_a_restart_keeps_them(tmp_path: Path) -> None:
    with started(tmp_path / "data") as kafka, WireClient(address(kafka)) as client, admin_of(kafka) as admin:
        client.ask(find())
        joined = beat(client, 0)
        assert joined.heartbeat_interval_ms == 5_000
        altered(admin, {HEARTBEAT: "9000", SESSION: (AlterConfigOp.SET, "60000")})
        assert beat(client, joined.member_epoch).heartbeat_interval_ms == 9_000
        assert modified(admin) == {HEARTBEAT: "9000", SESSION: "60000"}
        altered(admin, {SESSION: (AlterConfigOp.DELETE, None)})
    with started(tmp_path / "data") as kafka, WireClient(address(kafka)) as client, admin_of(kafka) as admin:
        assert modified(admin) == {HEARTBEAT: "9000"}
        client.ask(find())
        assert beat(client, joined.member_epoch).heartbeat_interval_ms == 9_000


def test_a_client_is_told_why_not(tmp_path: Path) -> None:
    with started(tmp_path / "data") as kafka, admin_of(kafka) as admin:
        why = altered(admin, {SESSION: "60001"})
        assert why.endswith(f"{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms")
        assert modified(admin) == {}
