"""Coordinators whose log cannot be read for a while, or that meet a fault of kgroup's own."""

import errno
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest, OffsetFetchRequest

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.broker.partition import Partition
from kgroup.protocol.error_codes import ErrorCode
from tests.broker.world import GROUP, BrokerWorld, commit, coordinator, join

E = ErrorCode


def committed(world: BrokerWorld, node: int) -> tuple[ErrorCode, int | None]:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(version=5, name="orders", partition_indexes=[0])
    answer = world.ask(OffsetFetchRequest(version=5, group_id=GROUP, topics=[topic]), node)
    offsets = [part.committed_offset for each in answer.topics for part in each.partitions]
    return E(answer.error_code), offsets[0] if offsets else None


def with_a_commit() -> tuple[BrokerWorld, int, Partition]:
    """Two nodes, the one that coordinates the group, and the offsets partition that has its commit."""
    world = BrokerWorld(nodes=2)
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    node = coordinator(world)
    world.ask(commit(7), node)
    partition = world.cluster.topics[OFFSETS_TOPIC].partitions[world.cluster.offsets_partition(GROUP)]
    return world, node, partition


def test_a_log_that_cannot_be_read_now_is_read_a_second_later_and_nothing_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, node, partition = with_a_commit()
    healthy = partition.log.batches

    descriptors_left = False

    def opened_when_read(offset: int) -> Iterator[bytes]:
        if not descriptors_left:
            raise OSError(errno.EMFILE, "Too many open files")
        yield from healthy(offset)

    monkeypatch.setattr(partition.log, "batches", opened_when_read)
    world.cluster.move_coordinator(partition.index, 3 - node, world.now_ms)
    assert committed(world, 3 - node) == (E.COORDINATOR_LOAD_IN_PROGRESS, None)
    assert world.warnings == [f"{OFFSETS_TOPIC}-{partition.index}: [Errno 24] Too many open files"]
    descriptors_left = True
    assert world.cluster.next_deadline_ms() == world.now_ms + 1000  # not at once: no busy loop
    world.advance(1000)
    assert committed(world, 3 - node) == (E.NONE, 7)


def test_another_node_does_not_wait_until_the_last_one_would_have_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, node, partition = with_a_commit()

    def unreadable(offset: int) -> Iterator[bytes]:
        raise OSError(errno.EIO, "Input/output error")
        yield b""

    with monkeypatch.context() as broken:
        broken.setattr(partition.log, "batches", unreadable)
        world.cluster.move_coordinator(partition.index, 3 - node, world.now_ms)
        assert committed(world, 3 - node) == (E.COORDINATOR_LOAD_IN_PROGRESS, None)
    world.cluster.move_coordinator(partition.index, node, world.now_ms)
    assert (world.cluster.next_deadline_ms() or 0) <= world.now_ms
    world.advance(0)
    assert committed(world, node) == (E.NONE, 7)


def test_a_fault_refuses_its_request_sends_the_others_back_and_loses_no_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = BrokerWorld(properties={"group.initial.rebalance.delay.ms": "3000"})
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    node = coordinator(world)
    world.ask(commit(7), node)
    world.cluster.coordinators.survive_faults = True
    waiting = world.send(join(), node)
    world.settle()
    healthy = HostedCoordinator.handle

    def stumble(hosted: HostedCoordinator, request: Any, now_ms: int) -> None:
        healthy(hosted, request, now_ms)
        raise KeyError("members")

    monkeypatch.setattr(HostedCoordinator, "handle", stumble)
    culprit = world.send(HeartbeatRequest(version=3, group_id=GROUP, generation_id=1, member_id="m"), node)
    answers = world.settle()
    assert answers[culprit].error_code == E.UNKNOWN_SERVER_ERROR
    assert answers[waiting].error_code == E.COORDINATOR_NOT_AVAILABLE
    monkeypatch.undo()
    world.advance(1000)
    assert committed(world, node) == (E.NONE, 7)
    assert len(world.warnings) == 1


def test_a_fault_that_lasts_is_met_once_a_second_and_not_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    world = BrokerWorld(nodes=2)
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    node = coordinator(world)
    world.ask(commit(7), node)
    world.cluster.coordinators.survive_faults = True

    def stumble(hosted: HostedCoordinator, batches_max: int, now_ms: int) -> None:
        raise KeyError("members")

    monkeypatch.setattr(HostedCoordinator, "load", stumble)
    index = world.cluster.offsets_partition(GROUP)
    world.cluster.move_coordinator(index, 3 - node, world.now_ms)
    world.settle()
    assert len(world.warnings) == 1
    assert world.cluster.next_deadline_ms() == world.now_ms + 1000
    world.advance(2000)
    assert len(world.warnings) == 3
    monkeypatch.undo()
    world.advance(1000)
    assert committed(world, 3 - node) == (E.NONE, 7)


def test_without_being_told_to_survive_them_faults_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    world = BrokerWorld()
    node = coordinator(world)

    def stumble(hosted: HostedCoordinator, request: Any, now_ms: int) -> None:
        raise KeyError("members")

    monkeypatch.setattr(HostedCoordinator, "handle", stumble)
    with pytest.raises(KeyError):
        world.send(join(), node)


def test_a_fault_while_answers_are_written_is_followed_by_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    world = BrokerWorld()
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    node = coordinator(world)
    world.cluster.coordinators.survive_faults = True

    def failing(hosted: HostedCoordinator) -> Any:
        raise IndexError("out of range")

    monkeypatch.setattr(HostedCoordinator, "flush", failing)
    assert world.ask(commit(7), node).topics[0].partitions[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    monkeypatch.undo()
    assert world.cluster.next_deadline_ms() == world.now_ms + 1000
