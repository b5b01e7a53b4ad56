"""A coordinator as its checkers see it: requests, answers, events, its log, and its state.

A checker belongs to one coordinator on one node, from its loading to its end. Times are the node's own clock.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.events import GroupEvent
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.protocol.requests.coordinator import ReplyBody, RequestBody
from kgroup.sim.watch.log_model import LogModel, Written

LOOK_EVERY_MS = 1_000
"""How often the checkers look, by the world's clock."""
SLACK_MS = 2_500
"""The time that a node which runs may take to act on a deadline: the checkers look every second."""


@dataclass(eq=False, slots=True, kw_only=True)
class Ticket:
    """A request that a coordinator has: who sent it, when, and the group as it was then.

    `state` Dead and `generation` -1: there was no such group. `was_leader`: by its member id. `pending`: ids
    that were given out (KIP-394). `of_consumer`: the group was one of the consumer protocol then.
    `is_stale`: it came before, or its sender has hung up on it.
    """

    request_id: int
    body: RequestBody
    client_id: str
    asked_ms: int
    process: int
    number: int = 0
    state: GroupState = GroupState.DEAD
    generation: int = -1
    was_leader: bool = False
    pending: frozenset[str] = frozenset()
    of_consumer: bool = False
    is_stale: bool = False


@dataclass(slots=True, kw_only=True)
class Scene:
    """Everything that checkers of one coordinator share. `report` takes a checker's name and a sentence.

    `loaded_ms`: since when it serves.
    """

    hosted: HostedCoordinator
    settings: GroupSettings
    model: LogModel
    report: Callable[[str, str], None]
    tickets: dict[int, Ticket] = field(default_factory=dict)
    loaded_ms: int = 0

    @property
    def coordinator(self) -> GroupCoordinator:
        """The coordinator itself; nothing of it is to be changed."""
        return self.hosted.coordinator

    def group(self, group_id: str) -> ClassicGroup | None:
        """A classic group as the coordinator has it."""
        return self.hosted.coordinator.classic.watched(group_id)

    def consumer_group(self, group_id: str) -> ConsumerGroup | None:
        """A group of the consumer protocol."""
        return self.hosted.coordinator.consumer.watched(group_id)

    def consumer_groups(self) -> list[ConsumerGroup]:
        """All of these."""
        consumer = self.hosted.coordinator.consumer
        return [group for group in map(consumer.watched, list(consumer)) if group is not None]

    def groups(self) -> list[ClassicGroup]:
        """All classic ones."""
        classic = self.hosted.coordinator.classic
        return [group for group in map(classic.watched, list(classic)) if group is not None]


class CoordinatorChecker:
    """Does nothing where a checker has nothing to do."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def loaded(self, now_ms: int) -> None:
        """The coordinator serves from now on."""

    def asked(self, ticket: Ticket) -> None:
        """A request is about to be decided on."""

    def answered(self, ticket: Ticket, reply: ReplyBody, now_ms: int) -> None:
        """Called once the request has its answer."""

    def heard(self, event: GroupEvent, now_ms: int) -> None:
        """The coordinator reports what it did; its group may have moved on since."""

    def written(self, written: Written, now_ms: int) -> None:
        """A record is in its log, and in the model."""

    def look(self, now_ms: int, is_awake: bool) -> None:
        """A second has passed; `is_awake`: its node has run all the time in which a deadline may be late."""
