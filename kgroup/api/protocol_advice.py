"""Whether groups can switch to the consumer protocol, and what will be different afterwards."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgroup.api.advise import refuse_stdin
from kgroup.api.names import names_given
from kgroup.api.opened import OpenedLogs
from kgroup.api.replay import replay_all
from kgroup.api.tabular import Tabular
from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request
from kgroup.history.advise.protocol_change import ProtocolStep, Standing, protocol_steps
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import GroupMetadataKey
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kgroup.report.advice_rows import PROTOCOL_COLUMNS, PROTOCOL_TABLE, protocol_rows
from kgroup.report.emit import Column, Row
from kgroup.report.html_table import html_table
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted

_NEWCOMER = "a-first-member"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProtocolAdvice(Tabular):
    """Obstacles between groups and the consumer protocol, by group; `groups` is the number examined."""

    steps: tuple[ProtocolStep, ...]
    groups: int
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def blocked(self) -> tuple[str, ...]:
        """The groups that cannot change over."""
        return tuple(each.group for each in self.steps if each.standing is Standing.BLOCKED)

    def __iter__(self) -> Iterator[ProtocolStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<ProtocolAdvice: {counted(self.groups, 'group')}, {len(self.blocked)} blocked>"

    def _repr_html_(self) -> str:
        return html_table(protocol_rows(self.steps), PROTOCOL_TABLE)

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup advise --protocol consumer -o parquet`."""
        return PROTOCOL_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each step."""
        return protocol_rows(self.steps)


class _LastMetadata:
    """The newest record of each classic group."""

    def __init__(self) -> None:
        self.of_group: dict[str, LoggedEntry] = {}

    def begin(self) -> None:
        self.of_group.clear()

    def add(self, logged: LoggedEntry) -> None:
        entry = logged.entry
        if isinstance(entry, OffsetsEntry) and isinstance(entry.key, GroupMetadataKey):
            self.of_group[entry.key.group] = logged


def advise_protocol(
    logs: OpenedLogs, groups: str | Sequence[str] | None = None, *, progress: Progress = NO_PROGRESS
) -> ProtocolAdvice:
    """Say for each group what a change to the consumer protocol asks for, and what it brings.

    Whether a group can be converted is what the coordinator here, which behaves as Kafka's, answers to the
    first new member of the group as the log has it. Raises as `advise` does.
    """
    refuse_stdin(logs)
    last = _LastMetadata()
    replayed = replay_all(logs, names_given(groups) or ["*"], progress=progress, watcher=last)
    steps: list[ProtocolStep] = []
    for timeline in replayed.values():
        logged = last.of_group.get(timeline.group_id)
        value = _value(logged)
        steps += protocol_steps(
            timeline, value, conversion_refusal(timeline.group_id, logged) if logged and value else None
        )
    return ProtocolAdvice(
        steps=tuple(steps),
        groups=len(replayed),
        problems=(*replayed.problems, *([replayed.missing] if replayed.missing else [])),
        remarks=replayed.remarks,
    )


def _value(logged: LoggedEntry | None) -> GroupMetadataValue | None:
    entry = None if logged is None else logged.entry
    if not isinstance(entry, OffsetsEntry) or not isinstance(entry.value, GroupMetadataValue):
        return None
    return entry.value if entry.value.members else None


def conversion_refusal(group: str, logged: LoggedEntry) -> str | None:
    """A coordinator's words to the first member of the consumer protocol, None if it is let in.

    `logged` is the last record of the group, with members.
    """
    coordinator = GroupCoordinator(0, GroupSettings(), lambda: _NEWCOMER)
    coordinator.apply(logged)
    now_ms = logged.timestamp_ms
    coordinator.loaded(now_ms)
    joining = ConsumerGroupHeartbeat(
        group_id=group,
        member_id=_NEWCOMER,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=(),
        topic_partitions=(),
    )
    [reply] = coordinator.handle(Request(id=0, body=joining), now_ms).replies
    answer = reply.body
    assert isinstance(answer, ConsumerGroupHeartbeatResponse)
    return None if answer.error_code is ErrorCode.NONE else (answer.error_message or answer.error_code.name)
