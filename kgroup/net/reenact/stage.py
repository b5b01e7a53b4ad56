"""Plays a plan in real time, faster or slower: a cluster in this process, and members that join it."""

import asyncio
from collections.abc import Callable
from typing import Final, assert_never

from kgroup.broker.plain_records import plain_batches
from kgroup.broker.settings import BrokerSettings, from_properties
from kgroup.history.reenactment.model import (
    Act,
    CommitOffsets,
    Die,
    Grow,
    Join,
    Leave,
    MoveCoordinator,
    Plan,
    PlannedMember,
    Produce,
    Rejoin,
    Resubscribe,
    Stall,
)
from kgroup.net.reenact.actor import Actor, scaled_settings
from kgroup.net.serve.running import TopicRequest
from kgroup.net.serve.server import ClusterServer
from kgroup.protocol.requests.client import Node

_VALUE: Final = b"a record of the past"
_MS_MAX: Final = 2_147_483_647


def settings_of(plan: Plan, speed: float) -> BrokerSettings:
    """The brokers' settings: bounds that let the members have the timeouts of the plan."""
    return from_properties(
        {
            "group.initial.rebalance.delay.ms": str(round(plan.initial_delay_ms / speed)),
            "group.min.session.timeout.ms": "100",
            "group.max.session.timeout.ms": str(_MS_MAX),
            "offsets.topic.num.partitions": "1",
        }
    )


def topics_of(plan: Plan) -> tuple[TopicRequest, ...]:
    """The topics to start with."""
    return tuple(TopicRequest(name=each.name, partitions=each.partitions) for each in plan.topics)


class Stage:
    """Plays one plan once. `tell` gets each act but commits and records, `say` what is not as planned."""

    def __init__(
        self,
        plan: Plan,
        server: ClusterServer,
        *,
        speed: float,
        replaced: PlannedMember | None,
        tell: Callable[[Act], None],
        say: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._server = server
        self._speed = speed
        self._replaced = None if replaced is None else replaced.name
        self._tell = tell
        self._say = say
        self._said: set[str] = set()
        self._actors = {member.name: Actor(member.name, say) for member in plan.members}
        first = server.cluster.alive[0]
        self._broker = Node(node_id=-1, host=first.host, port=first.port)

    async def play(self, stop: asyncio.Event) -> bool:
        """Play until the plan is over or is stopped; returns whether all of it was played."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            for act in self._plan.acts:
                if await _is_set_by(stop, start + act.at_ms / 1000 / self._speed):
                    return False
                await self._do(act)
            return not await _is_set_by(stop, start + self._plan.duration_ms / 1000 / self._speed)
        finally:
            await asyncio.gather(*(actor.die() for actor in self._actors.values()))

    async def _do(self, act: Act) -> None:
        if not isinstance(act, CommitOffsets | Produce):
            self._tell(act)
        match act:
            case Produce():
                self._produce(act)
            case Grow():
                cluster = self._server.cluster
                cluster.create_partitions(act.topic, act.partitions, self._server.clock.now_ms())
            case MoveCoordinator():
                self._move()
            case _:
                if act.member != self._replaced:
                    await self._do_as(self._actors[act.member], act)

    async def _do_as(
        self, actor: Actor, act: Join | Leave | Die | Stall | Resubscribe | Rejoin | CommitOffsets
    ) -> None:
        match act:
            case Join():
                settings, clamped = scaled_settings(self._plan, act, self._speed)
                if clamped is not None and clamped not in self._said:
                    self._said.add(clamped)
                    self._say(f"{act.member}: {clamped}")
                await actor.join(settings, act.topics, self._broker)
            case Leave():
                actor.leave()
            case Die():
                await actor.die()
            case Stall():
                actor.stall(act.duration_ms / 1000 / self._speed)
            case Rejoin():
                actor.rejoin()
            case Resubscribe():
                actor.subscribe(act.topics)
            case CommitOffsets():
                actor.commit(act)
            case _:
                assert_never(act)

    def _produce(self, act: Produce) -> None:
        partition = self._server.cluster.partition(*act.partition)
        if partition is not None:
            for batch in plain_batches(act.records, self._server.clock.now_ms(), _VALUE):
                partition.append(batch)
            self._server.schedule_flush()

    def _move(self) -> None:
        cluster = self._server.cluster
        partition = cluster.offsets_partition(self._plan.group_id)
        hosted = cluster.coordinators.hosted.get(partition)
        others = [node.node_id for node in cluster.alive if hosted is None or node.node_id != hosted.node_id]
        if others:
            self._server.move_coordinator(partition, others[0])


async def _is_set_by(stop: asyncio.Event, time: float) -> bool:
    """Wait until then, or until it is set; says whether it is."""
    left = time - asyncio.get_running_loop().time()
    if left <= 0:
        await asyncio.sleep(0)
        return stop.is_set()
    try:
        await asyncio.wait_for(stop.wait(), left)
    except TimeoutError:
        return False
    return True
