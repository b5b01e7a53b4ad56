"""A snapshot of the coordinators of `kgroup serve`."""

from kgroup.net.serve.server import ClusterServer
from kgroup.report.coordinator_metrics import CoordinatorState
from kgroup.wire.apis import APIS


def coordinator_state(server: ClusterServer) -> CoordinatorState:
    """Groups of coordinators that are loading are left out. Call it where the server runs."""
    coordinators = [
        hosted.coordinator for hosted in server.cluster.coordinators.hosted.values() if not hosted.is_loading
    ]
    return CoordinatorState(
        groups=[(group.group_type, group.group_state) for each in coordinators for group in each.listing()],
        offsets=sum(each.offsets_count for each in coordinators),
        completed_rebalances=server.tally.completed_rebalances,
        requests={
            (APIS[api_key].name, version): count
            for (api_key, version), count in server.tally.requests.items()
        },
    )
