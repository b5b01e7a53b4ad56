"""Advice on a group's setting, with the numbers behind it. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kgroup.history.timeline.model import Grade


class Setting(StrEnum):
    """The subject of advice: properties by Kafka's names, and the number of members."""

    SESSION_TIMEOUT = "session.timeout.ms"
    MAX_POLL_INTERVAL = "max.poll.interval.ms"
    INSTANCE_ID = "group.instance.id"
    ASSIGNOR = "partition.assignment.strategy"
    PROTOCOL = "group.protocol"
    MEMBERS = "members"
    OFFSETS_RETENTION = "offsets.retention.minutes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One setting that a group's history speaks against.

    `setting` is a Setting, or the name of a setting of the group itself. `now` is what the log has of it and
    `advised` what to take ("-": nothing), as text in the property's unit. `numbers` are
    those of the evidence: durations in ms, times epoch ms; `recorded_` and `supposed_` are the two sides of
    a what-if. `caution` is what it costs, or what the log does not tell.
    """

    group: str
    setting: str
    now: str
    advised: str
    grade: Grade
    evidence: str
    numbers: Mapping[str, int | float | str | None] = field(default_factory=dict)
    caution: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A time between two commits of one member within a generation, at the end of which it had got further.

    The second was of this partition, from `offset` on. Times are epoch ms. `worked_ms` is how long of it
    there was surely something to read, None where no log tells. `rebalance_timeout_ms` is the member's
    `max.poll.interval.ms`, None where the record has none.
    """

    from_ms: int
    to_ms: int
    topic: str
    partition: int
    offset: int
    client_id: str
    rebalance_timeout_ms: int | None
    worked_ms: int | None = None

    @property
    def length_ms(self) -> int:
        """The time from one commit to the other."""
        return self.to_ms - self.from_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """The pauses of a group's members: the `longest` first, how many in all, and the median of late."""

    longest: tuple[Pause, ...]
    count: int
    usual_ms: int

    def at_work(self, longer_than_ms: int) -> list[Pause]:
        """Those of the longest pauses that are longer, with something to read all that time."""
        return [each for each in self.longest if (each.worked_ms or 0) > longer_than_ms]

    def perhaps(self, longer_than_ms: int) -> list[Pause]:
        """Pauses longer than this, where no log shows whether there was something to read."""
        return [each for each in self.longest if each.worked_ms is None and each.length_ms > longer_than_ms]


class Verdict(StrEnum):
    """The effect of a joining client's property."""

    REFUSED = "refused"
    """The client does not start, or the coordinator lets it in no more."""
    HARMS = "harms"
    """It joins, and the group or a member suffers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """One thing that speaks against a client's properties. `value` is the property's, or its default."""

    group: str
    name: str
    value: str
    verdict: Verdict
    grade: Grade
    evidence: str

    @property
    def fails(self) -> bool:
        """Whether a rollout should stop for it."""
        return self.grade is not Grade.UNKNOWN
