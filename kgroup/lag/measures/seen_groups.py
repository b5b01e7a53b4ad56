"""Groups as a cluster or a log shows them at one moment, with the partitions they read."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kgroup.history.groups.model import Group, GroupKind, GroupState
from kgroup.lag.measures.rows import LagRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenGroup:
    """A group, and a row for each partition that it has committed or that a member owns.

    `coordinator` is the node id of its coordinator, None for a log. `problem` is why its coordinator does not
    say all of it; if it is not `is_described`, nothing is known of members. Of a share group rows have its
    start offset as the current one, and the broker's own lag.
    """

    group: Group
    rows: tuple[LagRow, ...] = ()
    coordinator: int | None = None
    problem: str | None = None
    is_described: bool = True

    @property
    def group_id(self) -> str:
        """The group's id."""
        return self.group.group_id

    @property
    def kind(self) -> GroupKind | None:
        """The group's kind, None if unknown."""
        return self.group.kind if self.is_described or self.group.state is not GroupState.UNKNOWN else None

    @property
    def member_count(self) -> int | None:
        """The number of members, None if unknown."""
        return len(self.group.members) if self.is_described else None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of its members, each once."""
        return tuple(sorted({member.client_host.lstrip("/") for member in self.group.members}))

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of its rows."""
        return tuple(sorted({row.topic for row in self.rows}))

    @property
    def lag(self) -> int | None:
        """The sum of what is known, a lag below 0 as 0; None if there is none that is known."""
        known = [max(row.lag, 0) for row in self.rows if row.lag is not None]
        return sum(known) if known else None

    @property
    def lag_unknown(self) -> int:
        """The number of rows with an unknown lag."""
        return sum(row.lag is None for row in self.rows)

    @property
    def last_commit_ms(self) -> int | None:
        """The time of its newest commit, epoch ms."""
        times = (row.commit_timestamp for row in self.rows)
        return max((time for time in times if time is not None and time >= 0), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenGroups:
    """Groups by id, as of `now_ms` (epoch ms).

    `hosts` are the brokers by node id, as HOST:PORT, and `requests` counts what they were asked; a log has
    neither. `times_known`: whether commits have their times. `absent` are names that were asked for and are
    not there, `known_ids` all groups that there are, as far as those were listed. `problems` are what could
    not be read, `remarks` what rows do not show.
    """

    groups: tuple[SeenGroup, ...]
    now_ms: int
    log_ended_ms: int | None = None
    hosts: dict[int, str] = field(default_factory=dict)
    requests: int | None = None
    times_known: bool = True
    absent: tuple[str, ...] = ()
    known_ids: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[SeenGroup]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def refused(self) -> str | None:
        """The number of groups not shown in full, and why the first is not; None if all are."""
        refused = [group for group in self.groups if group.problem is not None]
        if not refused:
            return None
        first = f"group {refused[0].group_id}: {refused[0].problem}"
        return first if len(refused) == 1 else f"{len(refused)} of {len(self.groups)} groups: {first}"
