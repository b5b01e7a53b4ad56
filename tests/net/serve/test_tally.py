"""What `serve` counts and warns of: rebalances that ended, requests by version, members left out."""

from typing import cast

import kgroup.testing
from kgroup.api.served import coordinator_state
from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.group.coordinator.events import MembersLeftOut
from kgroup.net.serve.tally import Tally
from kgroup.report.coordinator_metrics import CoordinatorState, coordinator_metrics
from kgroup.testing import ErrorCode
from tests.broker.world import join, sync
from tests.net.serve.test_faults import address, heartbeat
from tests.net.serve.test_server import until_loaded
from tests.net.wire_client import WireClient


def test_a_rebalance_counts_once_its_assignment_is_stored() -> None:
    with kgroup.testing.cluster(topics={"orders": 1}) as kafka, WireClient(address(kafka)) as client:

        def now() -> CoordinatorState:
            return kafka._call(lambda: coordinator_state(kafka._running))

        joined = until_loaded(client, join)
        assert joined.error_code == ErrorCode.NONE
        assert now().groups == [("classic", "CompletingRebalance")]
        assert now().completed_rebalances == 0
        assert client.ask(sync(joined.member_id, 1)).error_code == ErrorCode.NONE
        client.ask(heartbeat())
        client.ask(heartbeat())
        after = now()
        assert after.completed_rebalances == 1
        assert after.groups == [("classic", "Stable")]
        assert after.requests["Heartbeat", 3] == 2
        assert after.requests["SyncGroup", 3] == 1


def test_members_that_the_leader_left_out_are_a_warning() -> None:
    told: list[str] = []
    tally = Tally(told.append)
    left_out = MembersLeftOut(group_id="g", generation_id=3, member_ids=("a", "b"))
    tally.decided(cast(HostedCoordinator, None), left_out)
    assert told == ["group g: the leader of generation 3 left out a, b: an empty assignment"]


def test_the_metrics_have_the_names_of_kafkas_beans() -> None:
    state = CoordinatorState(
        groups=[
            ("classic", "Stable"),
            ("classic", "Stable"),
            ("classic", "Empty"),
            ("consumer", "Assigning"),
        ],
        offsets=12,
        completed_rebalances=7,
        requests={("JoinGroup", 9): 3, ("Heartbeat", 4): 5, ("Heartbeat", 3): 1},
    )
    lines = list(coordinator_metrics(state))
    samples = [line for line in lines if not line.startswith("#") and not line.endswith(" 0")]
    assert samples == [
        "kafka_server_group_coordinator_metrics_group_completed_rebalance_count 7",
        'kafka_server_group_coordinator_metrics_group_count{protocol="classic"} 3',
        'kafka_server_group_coordinator_metrics_group_count{protocol="consumer"} 1',
        'kafka_server_group_coordinator_metrics_consumer_group_count{state="assigning"} 1',
        "kafka_coordinator_group_GroupMetadataManager_NumOffsets 12",
        "kafka_coordinator_group_GroupMetadataManager_NumGroups 3",
        "kafka_coordinator_group_GroupMetadataManager_NumGroupsEmpty 1",
        "kafka_coordinator_group_GroupMetadataManager_NumGroupsStable 2",
        'kafka_network_RequestMetrics_RequestsPerSec_Count{request="Heartbeat",version="3"} 1',
        'kafka_network_RequestMetrics_RequestsPerSec_Count{request="Heartbeat",version="4"} 5',
        'kafka_network_RequestMetrics_RequestsPerSec_Count{request="JoinGroup",version="9"} 3',
    ]
    assert "# TYPE kafka_server_group_coordinator_metrics_group_completed_rebalance_count counter" in lines
    assert "kafka_coordinator_group_GroupMetadataManager_NumGroupsDead 0" in lines
