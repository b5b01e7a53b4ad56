"""How events are written down."""

from kgroup.protocol.requests.coordinator import CommitPartition
from kgroup.sim.watch.trace import to_json


def test_what_is_a_tuple_for_speed_has_its_names_in_a_trace() -> None:
    partition = CommitPartition(
        partition_index=1, committed_offset=2, committed_leader_epoch=-1, committed_metadata=None
    )
    assert to_json(partition) == {
        "type": "CommitPartition",
        "partitionIndex": 1,
        "committedOffset": 2,
        "committedLeaderEpoch": -1,
        "committedMetadata": None,
    }
