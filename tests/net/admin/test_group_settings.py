"""Settings of single groups, asked of a cluster here, and of brokers that do not tell."""

from types import SimpleNamespace
from typing import Any

from kafka.protocol.admin.configs import IncrementalAlterConfigsRequest

import kgroup.testing
from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.group_settings import group_settings
from kgroup.net.connect.properties import ConnectionOptions

GROUP, SET = 32, 0


def put(cluster: Cluster, group: str, name: str, value: str) -> None:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig(name=name, config_operation=SET, value=value)
    changed = resource(resource_type=GROUP, resource_name=group, configs=[config])
    answer = cluster.ask(IncrementalAlterConfigsRequest(resources=[changed], validate_only=False))
    assert [each.error_code for each in answer.responses] == [0]


def test_a_groups_own_settings_and_not_those_of_the_broker() -> None:
    properties = {"group.consumer.heartbeat.interval.ms": "6000"}
    with kgroup.testing.cluster(properties=properties) as kafka:
        options = ConnectionOptions(bootstrap_servers=kafka.bootstrap)
        with Cluster(options) as cluster:
            put(cluster, "billing", "share.session.timeout.ms", "50000")
            put(cluster, "billing", "consumer.assignment.interval.ms", "0")
            own, untold = group_settings(cluster, ["billing", "other", ""])
    assert own == {
        "billing": {"share.session.timeout.ms": "50000", "consumer.assignment.interval.ms": "0"},
    }
    assert untold == []


class Broker:
    """Answers with an error for `secret`, or not at all."""

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self.asked: list[int] = []

    def ask(self, request: Any) -> Any:
        self.asked.append(len(request.resources))
        if self.silent:
            raise SourceError("too old")
        return SimpleNamespace(
            results=[
                SimpleNamespace(
                    resource_name=each.resource_name,
                    error_code=30 if each.resource_name == "secret" else 0,
                    configs=[SimpleNamespace(name="a", value="1", config_source=8)],
                )
                for each in request.resources
            ]
        )


def test_who_may_not_read_them_is_told_so() -> None:
    own, untold = group_settings(Broker(), ["open", "secret"])  # type: ignore[arg-type]
    assert (own, untold) == ({"open": {"a": "1"}}, ["secret"])


def test_a_broker_that_knows_none_is_no_failure() -> None:
    assert group_settings(Broker(silent=True), ["g"]) == ({}, ["g"])  # type: ignore[arg-type]


def test_many_groups_are_asked_about_in_pieces() -> None:
    broker = Broker()
    own, _ = group_settings(broker, [f"g-{number}" for number in range(1_001)])  # type: ignore[arg-type]
    assert len(own) == 1_001
    assert broker.asked == [500, 500, 1]
