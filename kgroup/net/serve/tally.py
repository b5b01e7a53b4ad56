"""Counts of clients' requests and coordinators' decisions since the start, for metrics."""

from collections import Counter
from collections.abc import Callable

from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.group.coordinator.events import GroupEvent, GroupStable, MembersLeftOut


class Tally:
    """`requests` are by API key and version.

    `completed_rebalances` are those of classic groups, counted when the leader's assignment is stored, as
    Kafka counts them. `warn` is called with what Kafka's coordinator logs as a warning.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.requests: Counter[tuple[int, int]] = Counter()
        self.completed_rebalances = 0
        self._warn = warn

    def decided(self, hosted: HostedCoordinator, event: GroupEvent) -> None:
        """A coordinator has decided, and its log has it."""
        match event:
            case GroupStable():
                self.completed_rebalances += 1
            case MembersLeftOut():
                left_out = ", ".join(event.member_ids)
                self._warn(
                    f"group {event.group_id}: the leader of generation {event.generation_id} left out"
                    f" {left_out}: an empty assignment"
                )
            case _:
                pass
