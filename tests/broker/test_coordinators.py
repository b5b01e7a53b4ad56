"""Group coordinators on their nodes: nothing decided is lost at a move, and every deadline is kept."""

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest, OffsetCommitRequest, OffsetFetchRequest
from kafka.protocol.producer.transaction import TxnOffsetCommitRequest

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.broker.partition import Partition
from kgroup.broker.transactions import ProducerIdentity
from kgroup.errors import SourceError
from kgroup.log.format.batch import decode_batch
from kgroup.log.store.record_log import MemoryLog
from kgroup.protocol.error_codes import ErrorCode
from tests.broker.world import GROUP, BrokerWorld, commit, coordinator, join, sync

E = ErrorCode


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld(nodes=3)
    assert world.cluster.create_topic("orders", 3, -1, {}, world.now_ms) is E.NONE
    return world


def heartbeat(member_id: str, generation: int) -> HeartbeatRequest:
    return HeartbeatRequest(version=3, group_id=GROUP, generation_id=generation, member_id=member_id)


def offsets_partition(world: BrokerWorld) -> Partition:
    index = world.cluster.offsets_partition(GROUP)
    return world.cluster.internal_topic(OFFSETS_TOPIC, world.now_ms).partitions[index]


def move(world: BrokerWorld, node: int) -> int:
    """Another node leads the group's partition now."""
    successor = next(number for number in world.nodes if number != node)
    world.cluster.move_coordinator(world.cluster.offsets_partition(GROUP), successor, world.now_ms)
    return successor


def committed(world: BrokerWorld, node: int, *, stable: bool = False) -> tuple[int, int]:
    """Error and offset of the group's first partition."""
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(version=7, name="orders", partition_indexes=[0])
    request = OffsetFetchRequest(version=7, group_id=GROUP, topics=[topic], require_stable=stable)
    [each] = world.ask(request, node).topics[0].partitions
    return each.error_code, each.committed_offset


def stable_member(world: BrokerWorld, node: int) -> str:
    member = str(world.ask(join(), node).member_id)
    assert world.ask(sync(member, 1), node).assignment == b"all"
    return member


# ---- moves --------------------------------------------------------------------------------------------


def test_what_was_decided_before_a_move_is_written_then_answered(world: BrokerWorld) -> None:
    node = coordinator(world)
    token = world.send(commit(5), node)
    # The step of the commit has not been flushed yet.
    assert offsets_partition(world).log.end_offset == 0
    successor = move(world, node)
    assert offsets_partition(world).log.end_offset == 1
    assert world.settle()[token].topics[0].partitions[0].error_code == E.NONE
    assert committed(world, successor) == (E.NONE, 5)


def members_commit(offset: int, member_id: str) -> OffsetCommitRequest:
    request = commit(offset)
    request.member_id, request.generation_id_or_member_epoch = member_id, 1
    return request


def test_what_was_decided_before_a_nodes_death_is_written_and_whoever_waited_is_not_answered(
    world: BrokerWorld,
) -> None:
    node = coordinator(world)
    member = stable_member(world, node)
    waiting = world.send(join(), node)
    assert waiting not in world.settle()
    world.send(members_commit(7, member), node)
    world.cluster.kill(node, world.now_ms)
    assert waiting not in world.settle()
    assert committed(world, coordinator(world, world.cluster.alive[0].node_id)) == (E.NONE, 7)


def test_a_node_that_comes_back_leads_only_what_nobody_led(world: BrokerWorld) -> None:
    partition = offsets_partition(world)
    first = partition.leader
    world.cluster.kill(first, world.now_ms)
    second, epoch = partition.leader, partition.leader_epoch
    world.cluster.start(first, world.now_ms)
    assert (partition.leader, partition.leader_epoch) == (second, epoch)


def test_dead_nodes_are_not_elected(world: BrokerWorld) -> None:
    partition = offsets_partition(world)
    for _ in range(2):
        world.cluster.kill(partition.leader, world.now_ms)
        assert world.cluster.nodes[partition.leader].alive
    world.cluster.kill(partition.leader, world.now_ms)
    assert partition.leader == -1


# ---- loading ------------------------------------------------------------------------------------------


def test_members_of_a_loaded_group_are_thrown_out_though_nobody_asks_anything(world: BrokerWorld) -> None:
    node = coordinator(world)
    member = stable_member(world, node)
    successor = move(world, node)
    world.settle()
    assert world.cluster.next_deadline_ms(successor) == world.now_ms + 10_000
    world.advance(10_000)
    assert world.ask(heartbeat(member, 1), successor).error_code == E.UNKNOWN_MEMBER_ID


def test_every_record_of_a_batch_is_loaded(world: BrokerWorld) -> None:
    node = coordinator(world)
    for offset in (1, 2, 3):
        world.send(commit(offset), node)
    world.settle()
    [raw] = offsets_partition(world).batches()
    assert len(decode_batch(raw).records()) == 3
    successor = move(world, node)
    world.settle()
    assert committed(world, successor) == (E.NONE, 3)


def test_a_log_whose_tail_was_cleaned_goes_on_where_it_ended(world: BrokerWorld) -> None:
    """What is left keeps its offsets, and what comes after is newer than all that was there."""
    node = coordinator(world)
    world.ask(commit(1), node)
    world.ask(commit(2), node)
    partition = offsets_partition(world)
    log = partition.log
    assert isinstance(log, MemoryLog)
    log.replace(list(log.batches(0))[:1])
    log.end_offset = 50
    successor = move(world, node)
    world.settle()
    assert world.cluster.coordinators.hosted[partition.index].coordinator.end_offset == 50
    world.ask(commit(3), successor)
    assert world.cluster.coordinators.hosted[partition.index].coordinator.end_offset == 51


def begun(world: BrokerWorld) -> ProducerIdentity:
    """A producer whose transaction has the group's partition, with a pending offset of 9 there."""
    identity = world.cluster.transactions.init_producer_id("copier", 30_000, (-1, -1), world.now_ms)
    partition = (OFFSETS_TOPIC, world.cluster.offsets_partition(GROUP))
    producer = (identity.producer_id, identity.producer_epoch)
    world.cluster.transactions.add_partitions("copier", producer, [partition], world.now_ms)
    return identity


def commit_in_transaction(world: BrokerWorld, node: int, producer: ProducerIdentity, offset: int) -> None:
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    partition = topic.TxnOffsetCommitRequestPartition(
        version=3, partition_index=0, committed_offset=offset, committed_metadata=""
    )
    request = TxnOffsetCommitRequest(
        version=3,
        transactional_id="copier",
        group_id=GROUP,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        generation_id=-1,
        member_id="",
        topics=[topic(version=3, name="orders", partitions=[partition])],
    )
    assert world.ask(request, node).topics[0].partitions[0].error_code == E.NONE


def end(world: BrokerWorld, producer: ProducerIdentity, *, committed: bool = True) -> None:
    ended = world.cluster.transactions.end(
        "copier",
        (producer.producer_id, producer.producer_epoch),
        committed=committed,
        bump_epoch=False,
        now_ms=world.now_ms,
    )
    assert ended.error is E.NONE


def test_a_marker_is_written_before_the_transaction_counts_as_complete(world: BrokerWorld) -> None:
    node = coordinator(world)
    producer = begun(world)
    commit_in_transaction(world, node, producer, 9)
    before = offsets_partition(world).log.end_offset
    end(world, producer)
    # Nothing has been flushed since.
    assert offsets_partition(world).log.end_offset == before + 1
    assert committed(world, node, stable=True) == (E.NONE, 9)


@pytest.mark.parametrize("ticks", [0, 1])
@pytest.mark.parametrize("earlier_commits", [0, 600])
def test_a_transaction_that_ends_while_its_coordinator_loads_ends_there_too(
    world: BrokerWorld, ticks: int, earlier_commits: int
) -> None:
    """Also when a part of the log has been read by then: a coordinator loads 500 batches at a time."""
    node = coordinator(world)
    for offset in range(earlier_commits):
        world.ask(commit(offset), node)
    producer = begun(world)
    commit_in_transaction(world, node, producer, 9999)
    successor = move(world, node)
    if earlier_commits:
        for _ in range(ticks):
            world.cluster.tick(world.now_ms)
    hosted = world.cluster.coordinators.hosted[world.cluster.offsets_partition(GROUP)]
    assert hosted.is_loading
    end(world, producer)
    world.settle()
    assert committed(world, successor, stable=True) == (E.NONE, 9999)


# ---- deadlines ----------------------------------------------------------------------------------------


def test_one_deadline_of_a_node_does_not_make_it_forget_the_next(world: BrokerWorld) -> None:
    node = coordinator(world)
    stable_member(world, node)
    waiting = world.send(join(), node)
    assert waiting not in world.settle()
    # At 10,000 the first member's session and with it the round end; nobody asks anything from here on.
    assert world.advance(10_000)[waiting].generation_id == 2
    written = offsets_partition(world).log.end_offset
    # The second member neither syncs nor heartbeats: with it the group is empty, and that is logged.
    world.advance(30_000)
    assert offsets_partition(world).log.end_offset == written + 1


def test_what_a_deadline_decides_is_written_and_answered_at_once(world: BrokerWorld) -> None:
    node = coordinator(world)
    stable_member(world, node)
    before = offsets_partition(world).log.end_offset
    world.advance(10_000)
    # The group is empty now, which is logged.
    assert offsets_partition(world).log.end_offset == before + 1


def test_a_request_finds_done_what_was_due_before_it_though_nobody_looked_at_the_clock(
    world: BrokerWorld,
) -> None:
    node = coordinator(world)
    stable_member(world, node)
    before = offsets_partition(world).log.end_offset
    world.now_ms += 10_000
    world.send(commit(5), node)  # sets no deadline itself
    world.cluster.coordinators.flush()
    # The member's session is over, so the group is empty, which is logged; the commit came too early.
    assert offsets_partition(world).log.end_offset == before + 1


def test_an_open_transaction_wakes_the_node_at_its_deadline() -> None:
    world = BrokerWorld()
    world.cluster.internal_topic(OFFSETS_TOPIC, world.now_ms)
    begun(world)
    assert world.cluster.next_deadline_ms() == world.now_ms + 30_000
    world.now_ms += 30_000
    world.cluster.tick(world.now_ms)
    assert world.cluster.transactions.next_deadline_ms() is None
    assert world.cluster.next_deadline_ms() != world.now_ms


# ---- a log that cannot be written ---------------------------------------------------------------------


class FailingLog(MemoryLog):
    """A disk that is full."""

    full = False

    def append(self, batch: bytes, leader_epoch: int):  # type: ignore[no-untyped-def]
        if self.full:
            raise SourceError("orders-0.log: No space left on device")
        return super().append(batch, leader_epoch)


def test_who_waits_in_a_round_hears_of_a_failed_append_too(world: BrokerWorld) -> None:
    node = coordinator(world)
    log = offsets_partition(world).log = FailingLog()
    member = stable_member(world, node)
    waiting = world.send(join(), node)
    assert waiting not in world.settle()
    log.full = True
    refused = world.send(members_commit(5, member), node)
    world.cluster.coordinators.flush()
    answers = {each.token: each for each in world.nodes[node].take_answers()}
    assert {waiting, refused} <= set(answers)
    assert world._decoded(waiting, answers[waiting].frame).error_code == E.COORDINATOR_NOT_AVAILABLE


def test_who_has_an_answer_is_not_refused_as_well(world: BrokerWorld) -> None:
    node = coordinator(world)
    stable_member(world, node)
    hosted = world.cluster.coordinators.hosted[world.cluster.offsets_partition(GROUP)]
    assert hosted.fail(E.NOT_COORDINATOR) == []


def test_a_failed_coordinator_begins_again_from_the_log(world: BrokerWorld) -> None:
    node = coordinator(world)
    log = offsets_partition(world).log = FailingLog()
    world.ask(commit(5), node)
    log.full = True
    world.send(commit(6), node)
    world.cluster.coordinators.flush()
    log.full = False
    world.settle()
    assert committed(world, node) == (E.NONE, 5)


# ---- topics -----------------------------------------------------------------------------------------


def test_dead_nodes_hold_no_replicas_of_a_new_topic(world: BrokerWorld) -> None:
    world.cluster.kill(3, world.now_ms)
    assert world.cluster.check_new_topic("new", 1, 3) is E.INVALID_REPLICATION_FACTOR
    assert world.cluster.check_new_topic("new", 1, 2) is E.NONE
    assert world.cluster.create_topic("new", 4, 2, {}, world.now_ms) is E.NONE
    replicas = [partition.replicas for partition in world.cluster.topics["new"].partitions]
    assert all(sorted(each) == [1, 2] for each in replicas)


@pytest.mark.parametrize(
    ("count", "error"), [(2, E.INVALID_PARTITIONS), (3, E.INVALID_PARTITIONS), (4, E.NONE)]
)
def test_a_topic_grows_by_at_least_one_partition(world: BrokerWorld, count: int, error: ErrorCode) -> None:
    assert world.cluster.create_partitions("orders", count, world.now_ms) is error
    assert len(world.cluster.topics["orders"].partitions) == max(count, 3)


# ---- without anybody to lead ------------------------------------------------------------------------


def test_a_partition_without_a_leader_has_no_coordinator() -> None:
    world = BrokerWorld()
    coordinator(world)
    index = world.cluster.offsets_partition(GROUP)
    assert index in world.cluster.coordinators.hosted
    world.cluster.fence(1, world.now_ms)
    assert index not in world.cluster.coordinators.hosted
    assert world.cluster.coordinator(GROUP, 1, world.now_ms) is E.NOT_COORDINATOR
    world.cluster.start(1, world.now_ms)
    assert index in world.cluster.coordinators.hosted


def test_a_new_coordinator_checks_its_offsets_after_an_interval() -> None:
    """offsets.retention.check.interval.ms, 10 minutes."""
    world = BrokerWorld()
    coordinator(world)
    assert world.cluster.next_deadline_ms(1) == world.now_ms + 600_000


def test_without_an_initial_delay_a_join_is_answered_at_once() -> None:
    world = BrokerWorld()
    token = world.send(join(), coordinator(world))
    world.cluster.coordinators.flush()
    assert token in {answer.token for answer in world.nodes[1].take_answers()}
