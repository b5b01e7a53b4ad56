"""Assignments of partitions to members: a group run through assignors, rebalance after rebalance."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from kgroup.api.group_model import LoggedGroup
from kgroup.api.tabular import Tabular
from kgroup.assignors.model import Topic
from kgroup.assignors.planning.plan import GroupPlan, PlanMember, new_plan
from kgroup.assignors.planning.rounds import Round, run_rounds
from kgroup.assignors.planning.steps import PARTITIONS_MAX
from kgroup.assignors.registry import ASSIGNORS, find_names
from kgroup.errors import InputError
from kgroup.report.assignments import MEMBER_COLUMNS, MEMBER_TABLE, json_member_rows, member_rows, round_title
from kgroup.report.emit import Column, Row
from kgroup.report.html_table import html_table

if TYPE_CHECKING:
    from kgroup.api.opened import OpenedLogs

Members = Sequence[str] | Mapping[str, Sequence[str]]


class Rounds(Sequence[Round], Tabular):
    """Rebalances in order; as a table a row for each member in each of them."""

    def __init__(self, rounds: Iterable[Round]) -> None:
        self._rounds = tuple(rounds)

    @overload
    def __getitem__(self, index: int) -> Round: ...

    @overload
    def __getitem__(self, index: slice) -> "Rounds": ...

    def __getitem__(self, index: int | slice) -> "Round | Rounds":
        return Rounds(self._rounds[index]) if isinstance(index, slice) else self._rounds[index]

    def __len__(self) -> int:
        return len(self._rounds)

    def __repr__(self) -> str:
        assignors = ", ".join(dict.fromkeys(played.assignor for played in self))
        members = len(self[-1].plan.members) if self else 0
        return f"<Rounds of {assignors}: {len(self)}, {members} members at the end>"

    def _repr_html_(self) -> str:
        return "".join(html_table(member_rows(played), MEMBER_TABLE, round_title(played)) for played in self)

    @property
    def assignment(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """Each member's (topic, partition) pairs after the last round, by id. Raises its AssignorError."""
        last = self[-1]
        if last.error is not None:
            raise last.error
        assert last.assignment is not None
        return last.assignment

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup assign -o parquet`."""
        return MEMBER_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each member in each round."""
        return json_member_rows(self)


def assign(
    group: GroupPlan | LoggedGroup | Members,
    assignor: str | Sequence[str] | None = None,
    *,
    topics: Mapping[str, int] | None = None,
    then: Sequence[str] = (),
    kafka_version: str | None = None,
) -> Rounds:
    """Assign partitions to members with one of Kafka's assignors.

    `group` is one that `group_plan` read, a GroupPlan, the ids of members that all subscribe to `topics`
    (name to partition count), or a mapping from each member to its own topics. `assignor` defaults to the
    group's own, or range; with several, their rounds follow one another. `then` lists steps, each followed
    by a rebalance: 'leave c1', 'join c4', 'grow orders:12'. Raises InputError for invalid input; if Kafka's
    assignor throws, the round holds its error.
    """
    own = None
    if isinstance(group, LoggedGroup):
        plan, own = group.plan, group.assignor
    elif isinstance(group, GroupPlan):
        plan = group
    else:
        plan = plan_of(group, topics or {})
    if assignor is None and own is not None and own not in ASSIGNORS:
        raise InputError(f"the group uses the assignor '{own}', not one of Kafka's: name one")
    assignors = [assignor or own or "range"] if assignor is None or isinstance(assignor, str) else assignor
    names = find_names(assignors, kafka_version)
    return Rounds(played for name in names for played in run_rounds(plan, name, then))


def group_plan(
    logs: "OpenedLogs",
    group: str,
    *,
    topics: Mapping[str, int] | None = None,
    log_ends: str | Path | None = None,
) -> LoggedGroup:
    """A group as the log last saw it: members, subscriptions, owned partitions, and its assignor.

    `topics` are partition counts that override those from the log directory, the cluster, or a file of
    `log_ends`. Raises SourceError if the group does not exist, InputError for a topic of unknown size.
    """
    from kgroup.api.logged_group import read_logged_group

    return read_logged_group(
        logs, group, log_ends=None if log_ends is None else Path(log_ends), topics=_topics(topics or {})
    )


def plan_of(members: Members, topics: Mapping[str, int]) -> GroupPlan:
    """A plan of new members: with all the topics, or each with its own. Raises InputError."""
    if not topics:
        raise InputError("members need topics: topics={'orders': 6}")
    subscribed = members if isinstance(members, Mapping) else dict.fromkeys(members, tuple(topics))
    if not isinstance(members, Mapping) and len(subscribed) < len(members):
        twice = next(member_id for member_id in members if members.count(member_id) > 1)
        raise InputError(f"member '{twice}' is given twice")
    for member_id, names in subscribed.items():
        if not member_id:
            raise InputError("an empty member id")
        for name in names:
            if name not in topics:
                raise InputError(f"member '{member_id}': there is no topic '{name}'")
    planned = [
        PlanMember(member_id=member_id, topics=tuple(names)) for member_id, names in subscribed.items()
    ]
    return new_plan(planned, _topics(topics))


def _topics(counts: Mapping[str, int]) -> list[Topic]:
    for name, count in counts.items():
        if not name or not 0 <= count <= PARTITIONS_MAX:
            raise InputError(f"topic '{name}': {count} partitions are not from 0 to {PARTITIONS_MAX}")
    return [Topic(name=name, partitions=count) for name, count in counts.items()]
