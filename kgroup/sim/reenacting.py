"""Plays a plan in a world: the usual brokers and members, on the virtual clock."""

from collections.abc import Callable
from functools import partial
from typing import Final, assert_never

from kgroup.broker.partition import NO_LEADER
from kgroup.broker.plain_records import plain_batches
from kgroup.broker.storage import Storage
from kgroup.history.reenactment.model import (
    Act,
    CommitOffsets,
    Die,
    Grow,
    Join,
    Leave,
    MoveCoordinator,
    Plan,
    Produce,
    Rejoin,
    Resubscribe,
    Stall,
)
from kgroup.sim.scenario.interest import Interest
from kgroup.sim.scenario.scenario import Fault, FaultKind, NetworkSettings, Scenario, SimMember, SimTopic
from kgroup.sim.world.reenacted_member import ReenactedMember
from kgroup.sim.world.world import World

SESSION_MS_MAX: Final = 2_147_483_647
_VALUE: Final = b"a record of the past"


def reenact_virtually(
    plan: Plan, storage: Storage | None = None, on_act: Callable[[Act], None] | None = None, seed: int = 0
) -> None:
    """Play the plan at its own times. The logs go to `storage`, None: nowhere.

    Raises SourceError if the storage fails, InputError for a topic that cannot be made.
    """
    _Stage(plan, storage, on_act, seed).play()


class _Stage:
    def __init__(
        self, plan: Plan, storage: Storage | None, on_act: Callable[[Act], None] | None, seed: int
    ) -> None:
        self._plan = plan
        self._on_act = on_act
        self._world = World(_scenario(plan), seed, storage, None, codec=False, member_type=ReenactedMember)

    def play(self) -> None:
        """Play from the first act to the end."""
        schedule = self._world.schedule
        for act in self._plan.acts:
            schedule.at(self._plan.start_ms + act.at_ms, partial(self._do, act))
        self._world.play(until_settled=False)

    def _member(self, name: str) -> ReenactedMember:
        member = self._world.members[name]
        assert isinstance(member, ReenactedMember)
        return member

    def _do(self, act: Act) -> None:
        if self._on_act is not None:
            self._on_act(act)
        match act:
            case Join():
                client_id = self._plan.member(act.member).client_id
                self._member(act.member).join(_spec(self._plan, act), client_id)
            case Leave():
                self._member(act.member).close()
            case Die():
                self._member(act.member).kill()
            case Stall():
                self._member(act.member).stall(act.duration_ms)
            case Rejoin():
                self._member(act.member).rejoin()
            case Resubscribe():
                self._member(act.member).subscribe(Interest(topics=act.topics))
            case CommitOffsets():
                offsets = tuple(((name, number), offset) for (name, number), offset in act.offsets)
                self._member(act.member).commit(offsets)
            case Produce():
                self._produce(act)
            case Grow() | MoveCoordinator():
                pass  # faults of the scenario
            case _:
                assert_never(act)

    def _produce(self, act: Produce) -> None:
        partitions = self._world.cluster.cluster.topics[act.partition.topic].partitions
        if act.partition.partition < len(partitions):
            partition = partitions[act.partition.partition]
            if partition.leader != NO_LEADER:
                for batch in plain_batches(act.records, self._world.schedule.now_ms, _VALUE):
                    partition.append(batch)


def _scenario(plan: Plan) -> Scenario:
    faults = []
    for act in plan.acts:
        if isinstance(act, Grow):
            faults.append(
                Fault(at_ms=act.at_ms, kind=FaultKind.GROW, target=act.topic, amount=act.partitions)
            )
        elif isinstance(act, MoveCoordinator):
            faults.append(Fault(at_ms=act.at_ms, kind=FaultKind.MOVE, target=plan.group_id))
    return Scenario(
        name="reenactment",
        duration_ms=plan.duration_ms,
        settle_ms=0,
        nodes=2 if any(isinstance(act, MoveCoordinator) for act in plan.acts) else 1,
        topics=tuple(SimTopic(name=topic.name, partitions=topic.partitions) for topic in plan.topics),
        members=tuple(
            SimMember(
                name=member.name,
                group=plan.group_id,
                topics=member.topics,
                start_ms=None,
                instance_id=member.instance_id,
            )
            for member in plan.members
        ),
        faults=tuple(faults),
        network=NetworkSettings(latency_min_ms=1, latency_max_ms=1),
        properties={
            "group.initial.rebalance.delay.ms": str(plan.initial_delay_ms),
            "group.min.session.timeout.ms": "1",
            "group.max.session.timeout.ms": str(SESSION_MS_MAX),
            "offsets.topic.num.partitions": "1",
        },
        epoch_ms=plan.start_ms,
    )


def _spec(plan: Plan, act: Join) -> SimMember:
    return SimMember(
        name=act.member,
        group=plan.group_id,
        topics=act.topics,
        assignors=act.assignors,
        instance_id=plan.member(act.member).instance_id,
        session_timeout_ms=act.session_timeout_ms,
        heartbeat_interval_ms=min(plan.heartbeat_ms, max(act.session_timeout_ms // 3, 1)),
        max_poll_interval_ms=act.max_poll_interval_ms,
        max_poll_records=10_000,
        metadata_max_age_ms=plan.metadata_max_age_ms,
        processing_ms=0.0,
    )
