"""Retention of topics' records by the topics' settings, with DescribeConfigs."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka.protocol.admin import DescribeConfigsRequest

from kgroup.net.admin.cluster import Cluster

_TOPIC: Final = 2
_NAMES: Final = ("cleanup.policy", "retention.bytes", "retention.ms")


class TopicRetention(NamedTuple):
    """`retention.ms` and `retention.bytes`; None is for ever, as of a topic that is only compacted."""

    ms: int | None
    size: int | None


def topic_retention(cluster: Cluster, topics: Iterable[str]) -> dict[str, TopicRetention]:
    """The retention of topics whose settings the user may read. Raises SourceError if no broker answers."""
    names = sorted(set(topics))
    if not names:
        return {}
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=_TOPIC, resource_name=name, configuration_keys=list(_NAMES)
            )
            for name in names
        ]
    )
    made = {}
    for result in cluster.ask(request).results:
        settings = {config.name: config.value for config in result.configs or ()}
        if result.error_code == 0 and settings.keys() >= set(_NAMES):
            made[result.resource_name] = _retention(settings)
    return made


def _retention(settings: dict[str, str | None]) -> TopicRetention:
    policies = {policy.strip() for policy in (settings["cleanup.policy"] or "").split(",")}
    if "delete" not in policies:
        return TopicRetention(None, None)
    return TopicRetention(_bound(settings["retention.ms"]), _bound(settings["retention.bytes"]))


def _bound(value: str | None) -> int | None:
    """-1 is for ever. A bound of 0 deletes at once what a bound of 1 does."""
    number = int(value) if value is not None else -1
    return None if number < 0 else max(number, 1)
