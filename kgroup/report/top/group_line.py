"""One group as a line of the live screen, and the sort order by pain."""

from dataclasses import dataclass

_HEALTHY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    """A group at the moment of a report; what is unknown, or not there, is None. Times are epoch ms.

    `kind` and `state` are None of a group that only a finding names. `epoch` is the generation of a classic
    group. `lag`, `lag_max`, `lag_unknown` and `time_lag_ms` are those of `lag-report --by group`. `drain_ms`
    is the longest of its partitions, None unless all of those that lag will be drained at their rates;
    `grows` says that the lag of one of these gets longer, `steady` that none does, and one keeps its lag.
    `finding` is the worst kind of finding, `stuck` whether that means that records wait which nobody reads,
    `findings` how many there are. `blocked_by` names partition, member and host. `event` is the last thing
    that the log tells of the group.
    """

    group: str
    kind: str | None = None
    state: str | None = None
    epoch: int | None = None
    members: int | None = None
    partitions: int = 0
    lag: int | None = None
    lag_max: int | None = None
    lag_unknown: int = 0
    time_lag_ms: int | None = None
    drain_ms: int | None = None
    grows: bool = False
    steady: bool = False
    status: str | None = None
    finding: str | None = None
    stuck: bool = False
    findings: int = 0
    since_ms: int | None = None
    evidence: str | None = None
    blocked_by: str | None = None
    event: str | None = None
    event_ms: int | None = None

    @property
    def pain(self) -> tuple[int, bool, int, int, str]:
        """Sorts the worst first: stuck, then in trouble, then healthy; of equals first what grows,
        then what takes longest to drain, then the larger lag, then the name.
        """
        severity = _HEALTHY if self.finding is None else 1 if self.stuck else 2
        return severity, not self.grows, -(self.drain_ms or 0), -(self.lag or 0), self.group
