"""The group coordinators of `kgroup serve` as metrics for Prometheus.

Names are those of Kafka 4.3's JMX beans, joined with underscores: `kafka.server` with
`type=group-coordinator-metrics` gives `kafka_server_group_coordinator_metrics_...`. Other parts of a bean's
name are labels. Source: GroupCoordinatorMetrics, RequestMetrics.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.report.lag.metrics import gauge

_OF_GROUPS: Final = "kafka_server_group_coordinator_metrics_"
_OF_CLASSIC: Final = "kafka_coordinator_group_GroupMetadataManager_"
_CLASSIC: Final = "classic"
_CONSUMER: Final = "consumer"
_CLASSIC_STATES: Final = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
_CONSUMER_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorState:
    """`groups` are (type, state) of each group, as ListGroups has them; `requests` go by API and version.

    Counts are since the start.
    """

    groups: Sequence[tuple[str, str]]
    offsets: int
    completed_rebalances: int
    requests: Mapping[tuple[str, int], int]


def coordinator_metrics(state: CoordinatorState) -> Iterator[str]:
    """Lines without line ends."""
    yield from gauge(
        f"{_OF_GROUPS}group_completed_rebalance_count",
        "Rebalances of classic groups that ended with a stored assignment.",
        [({}, state.completed_rebalances)],
        "counter",
    )
    of_type = Counter(group_type for group_type, _ in state.groups)
    yield from gauge(
        f"{_OF_GROUPS}group_count",
        "Groups by protocol.",
        [({"protocol": each}, of_type[each]) for each in (_CLASSIC, _CONSUMER)],
    )
    in_state = Counter(state.groups)
    yield from gauge(
        f"{_OF_GROUPS}consumer_group_count",
        "Groups of the consumer protocol by state.",
        [({"state": each.lower()}, in_state[_CONSUMER, each]) for each in _CONSUMER_STATES],
    )
    yield from gauge(f"{_OF_CLASSIC}NumOffsets", "Committed offsets.", [({}, state.offsets)])
    yield from gauge(f"{_OF_CLASSIC}NumGroups", "Classic groups.", [({}, of_type[_CLASSIC])])
    for each in _CLASSIC_STATES:
        number = in_state[_CLASSIC, each]
        yield from gauge(f"{_OF_CLASSIC}NumGroups{each}", f"Classic groups that are {each}.", [({}, number)])
    yield from gauge(
        "kafka_network_RequestMetrics_RequestsPerSec_Count",
        "Requests by API and version; logins are not counted.",
        [
            ({"request": api, "version": version}, count)
            for (api, version), count in sorted(state.requests.items())
        ],
        "counter",
    )
