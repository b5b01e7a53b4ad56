"""The settings that single groups have of their own, by DescribeConfigs."""

from collections.abc import Iterable
from typing import Final

from kafka.protocol.admin import DescribeConfigsRequest

from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Cluster

_GROUP: Final = 32
_OF_GROUP: Final = 8  # a config source: set for this group
_AT_ONCE: Final = 500


def group_settings(cluster: Cluster, groups: Iterable[str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Each group's own settings, by Kafka's names, and the groups whose settings brokers did not give.

    The broker's settings that a group inherits are left out. Brokers before 3.8 have no group settings, and
    others may refuse them to this user.
    """
    found: dict[str, dict[str, str]] = {}
    untold: list[str] = []
    names = sorted(group for group in set(groups) if group)  # "" is no group to a broker
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        request = DescribeConfigsRequest(
            resources=[
                DescribeConfigsRequest.DescribeConfigsResource(
                    resource_type=_GROUP, resource_name=name, configuration_keys=None
                )
                for name in some
            ]
        )
        try:
            results = cluster.ask(request).results
        except SourceError:
            untold += some
            continue
        for result in results:
            if result.error_code:
                untold.append(result.resource_name)
                continue
            own = {
                config.name: config.value or ""
                for config in result.configs or ()
                if getattr(config, "config_source", None) == _OF_GROUP
            }
            if own:
                found[result.resource_name] = own
    return found, untold
