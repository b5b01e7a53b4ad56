"""The changes a request would make: computed on the group as it is, and logged as a whole at the end.

As in Kafka, no rule sees the effect of its own records: whatever is refused half way has changed nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.protocol.records.entries import OffsetsEntry


@dataclass(slots=True)
class Plan:
    """`before` is done first, once nothing is refused any more; then `entries` are logged.

    `afterwards` is called with the group as it is then: it sets deadlines and what no record holds.
    """

    before: list[Callable[[], None]] = field(default_factory=list)
    entries: list[OffsetsEntry] = field(default_factory=list)
    afterwards: list[Callable[[ConsumerGroup], None]] = field(default_factory=list)
