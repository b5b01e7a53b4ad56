"""A broker's effective settings, by DescribeConfigs."""

from typing import Final

from kafka.protocol.admin import DescribeConfigsRequest

from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Cluster

_BROKER: Final = 4


def broker_setting(cluster: Cluster, node_id: int, name: str) -> str | None:
    """The value of a setting; None if the broker does not say, as to a user who may not describe it."""
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=_BROKER, resource_name=str(node_id), configuration_keys=[name]
            )
        ]
    )
    try:
        answer = cluster.ask(request, node_id)
    except SourceError:
        return None
    for result in answer.results:
        for config in result.configs or ():
            if config.name == name:
                return None if config.value is None else str(config.value)
    return None
