"""A new leader whose copy is not level with that of the leader before."""

import pytest
from kafka.protocol.consumer.offsets import ListOffsetsRequest

from kgroup.broker.partition import NO_LEADER
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.protocol.error_codes import ErrorCode
from tests.broker.world import BrokerWorld

E = ErrorCode
TOPIC = "orders"


class Behind:
    """The copies of a partition: node 2 has all, and has heard that the first record may be read."""

    def may_lead(self, node_id: int) -> bool:
        return node_id == 2

    def lead(self, node_id: int) -> int:
        return 1


EARLIEST, LATEST = -2, -1


@pytest.mark.parametrize(("version", "error"), [(5, E.OFFSET_NOT_AVAILABLE), (4, E.LEADER_NOT_AVAILABLE)])
def test_a_new_leader_tells_no_end_until_it_knows_that_of_the_leader_before(version: int, error: E) -> None:
    """KIP-207; who is too old to know that error hears another one that goes by."""
    world = BrokerWorld(nodes := 2)
    world.cluster.create_topic(TOPIC, 1, nodes, {}, world.now_ms)
    partition = world.cluster.topics[TOPIC].partitions[0]
    for timestamp_ms in (100, 200):
        partition.append(encode_batch([LogRecord(offset=0, timestamp_ms=timestamp_ms, key=None, value=b"v")]))
    partition.replicas_apart = Behind()
    world.cluster.fence(1, world.now_ms)
    assert partition.leader == 2

    def listed(timestamp_ms: int, isolation: int = 0) -> tuple[int, int]:
        topic = ListOffsetsRequest.ListOffsetsTopic
        part = topic.ListOffsetsPartition(
            version=version, partition_index=0, timestamp=timestamp_ms, current_leader_epoch=-1
        )
        request = ListOffsetsRequest(
            version=version,
            isolation_level=isolation,
            topics=[topic(version=version, name=TOPIC, partitions=[part])],
        )
        [answer] = world.ask(request, 2).topics[0].partitions
        return answer.error_code, answer.offset

    assert [listed(LATEST, each) for each in (0, 1)] == [(error, -1)] * 2
    assert listed(150) == (error, -1), "the record at that time may be read before long"
    assert (listed(50), listed(EARLIEST)) == ((E.NONE, 0), (E.NONE, 0)), "what is known to be there is told"
    partition.replicate_to(2)
    assert (listed(LATEST), listed(150)) == ((E.NONE, 2), (E.NONE, 1))


def test_who_is_not_in_sync_does_not_lead() -> None:
    world = BrokerWorld(nodes := 3)
    world.cluster.create_topic(TOPIC, 1, nodes, {}, world.now_ms)
    partition = world.cluster.topics[TOPIC].partitions[0]
    partition.replicas_apart = Behind()
    world.cluster.fence(2, world.now_ms)
    world.cluster.fence(1, world.now_ms)
    assert partition.leader == NO_LEADER
    world.cluster.start(2, world.now_ms)
    assert partition.leader == 2
