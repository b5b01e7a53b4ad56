"""`explain GROUP` and `lag-report --explain`: everything known about one group, on one page."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Final

from kgroup.api.lag.proof import JudgedGroup
from kgroup.api.opened import OpenedLogs
from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Timeline
from kgroup.lag.findings.model import Finding, GroupFacts, Severity
from kgroup.lag.findings.reset import reset_safety
from kgroup.lag.findings.text import counted
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.model import Judged, PartitionStatus, group_status
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.emit import iso_time, table_lines
from kgroup.report.progress import Progress
from kgroup.report.table import TableColumn, printable, render_table
from kgroup.report.timeline.rows import generation_rows, generation_table

_WIDTH: Final = 100  # where nobody says how wide the page may be
_NARROWEST: Final = 40
_LAST_REBALANCES: Final = 5
_PARTITIONS: Final = (
    TableColumn(heading="PARTITION", wraps=False),
    TableColumn(heading="COMMITTED", right=True),
    TableColumn(heading="LOG-END", right=True),
    TableColumn(heading="LAG", right=True),
    TableColumn(heading="MEMBER"),
    TableColumn(heading="STATUS", wraps=False),
    TableColumn(heading="RULE", wraps=False),
    TableColumn(heading="NOTES"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Each group's timeline, and its current state according to a live coordinator."""

    timelines: Mapping[str, Timeline]
    states: Mapping[str, str]


def explain_groups(
    groups: Iterable[tuple[JudgedGroup, Sequence[Finding]]], past: Past | None, width_max: int | None
) -> Iterator[str]:
    """A page per group, line by line: state, members, partitions and their rules, the last rebalances and
    why, findings with what to try, and whether a reset now is safe.

    Without a `past`, rebalances are not mentioned.
    """
    for number, ((facts, judged), findings) in enumerate(groups):
        yield from ("",) if number else ()
        yield from _page(facts, judged, findings, past, width_max)


def past_of(logs: OpenedLogs, groups: Sequence[str], progress: Progress) -> Past:
    """Read the history of these groups or patterns, and ask a live cluster for their states."""
    from kgroup.api.replay import classic_states, replay_all

    timelines = replay_all(logs, groups, progress=progress)
    states = {group: state.state for group, state in classic_states(logs, timelines.values())}
    return Past(timelines=timelines, states=states)


def _page(
    facts: GroupFacts,
    of_partitions: Sequence[Judged | None],
    findings: Sequence[Finding],
    past: Past | None,
    width_max: int | None,
) -> Iterator[str]:
    group_id, width = facts.group.group_id, width_max or _WIDTH
    topic_partitions = (partition.topic_partition for partition in facts.partitions)
    verdicts = zip(topic_partitions, of_partitions, strict=True)
    judged = {topic_partition: one for topic_partition, one in verdicts if one is not None}
    yield from _head(facts, judged)
    yield ""
    yield from _members(facts)
    yield ""
    yield from _partitions(facts, judged, width_max)
    if past is not None and (timeline := past.timelines.get(group_id)) is not None:
        yield ""
        yield from _rebalances(timeline, width_max)
    yield ""
    yield from _findings(findings, facts, width)
    yield ""
    reset = reset_safety(facts, past.states.get(group_id) if past is not None else None)
    yield from _paragraph(f"Reset now: {reset.verdict.value}: ", printable(reset.why), width)


def _head(facts: GroupFacts, judged: Mapping[TopicPartition, Judged]) -> Iterator[str]:
    group = facts.group
    kind = group.kind.value + (f", protocol {group.protocol}" if group.protocol else "")
    yield f"Group {printable(group.group_id)} ({kind}), as of {iso_time(facts.now_ms)}"
    since = f" since {iso_time(facts.group.since_ms)}" if facts.group.since_ms is not None else ""
    epoch = f", generation {group.epoch}" if group.epoch is not None else ""
    yield f"State   {group.state.value}{since}{epoch}, {counted(len(group.members), 'member')}"
    known = [verdict.status for verdict in judged.values()]
    lags = [partition.row.lag for partition in facts.partitions if partition.row.lag is not None]
    unknown = len(facts.partitions) - len(lags)
    lag = f"{_offsets(facts, sum(lags))} on {counted(len(lags), 'partition')}" if lags else "-"
    yield f"Lag     {lag}{f', unknown on {unknown}' if unknown else ''}"
    yield f"Status  {f'{group_status(known).value} by the rules{_worst(known)}' if known else '-'}"


def _offsets(facts: GroupFacts, lag: int) -> str:
    """A lag is offsets; compaction leaves fewer records."""
    fewer = sum(
        (partition.row.lag or 0) - partition.unread_records
        for partition in facts.partitions
        if partition.unread_records is not None
    )
    compacted = f" ({counted(lag - fewer, 'record')}: compacted)" if fewer else ""
    return counted(lag, "offset") + compacted


def _worst(statuses: list[PartitionStatus]) -> str:
    numbers = {status: statuses.count(status) for status in PartitionStatus if status in statuses}
    listed = ", ".join(f"{number} {status.value}" for status, number in numbers.items())
    return f" ({listed})" if numbers else ""


def _members(facts: GroupFacts) -> Iterator[str]:
    members = facts.group.members
    if not members:
        yield "Members: none"
        return
    yield "Members:"
    for member in members:
        owned: dict[str, list[int]] = {}
        for partition in member.owned:
            owned.setdefault(partition.topic, []).append(partition.partition)
        places = " ".join(f"{topic}:{','.join(map(str, sorted(of)))}" for topic, of in sorted(owned.items()))
        who = printable(member.client_id or member.member_id)
        static = f", instance {printable(member.instance_id)}" if member.instance_id else ""
        static += ", away (it left to come back)" if member.is_away else ""
        yield f"  {who} on {printable(member.client_host)}{static}: {printable(places) or 'owns nothing'}"


def _partitions(
    facts: GroupFacts, judged: Mapping[TopicPartition, Judged], width_max: int | None
) -> Iterator[str]:
    if facts.group.kind is GroupKind.SHARE:
        yield "Partitions: the progress of a share group is in __share_group_state"
        return
    if not facts.partitions:
        yield "Partitions: none, it has neither offsets nor owned partitions"
        return
    cells = [_cells(partition.row, judged.get(partition.topic_partition)) for partition in facts.partitions]
    yield from render_table(_PARTITIONS, cells, width_max=width_max, rows_at_once=len(cells))
    yield ""
    yield "Rules and their numbers (lags and offsets in records, times in epoch ms):"
    partitions: dict[tuple[str, str], list[str]] = {}
    for topic_partition, verdict in judged.items():
        numbers = json.dumps(verdict.numbers)
        partitions.setdefault((verdict.rule.value, numbers), []).append(
            f"{printable(topic_partition[0])}-{topic_partition[1]}"
        )
    for (rule, numbers), places in partitions.items():
        yield from _paragraph("  ", f"{rule} {numbers}: {', '.join(places)}", width_max or _WIDTH)


def _cells(row: LagRow, verdict: Judged | None) -> list[str]:
    return [
        f"{printable(row.topic)}-{row.partition}",
        *("-" if offset is None else str(offset) for offset in (row.current_offset, row.log_end_offset)),
        "-" if row.lag is None else str(row.lag),
        printable(row.client_id or row.member_id or "-"),
        verdict.status.value if verdict else "-",
        verdict.rule.value if verdict else "-",
        ",".join(note.value for note in row.notes) or "-",
    ]


def _rebalances(timeline: Timeline, width_max: int | None) -> Iterator[str]:
    generations = timeline.generations
    if not generations:
        yield f"Rebalances: none, {counted(timeline.commits, 'commit')} without membership"
        return
    last = replace(timeline, generations=generations[-_LAST_REBALANCES:])
    yield f"Rebalances, the last {len(last.generations)} of {len(generations)}:"
    yield from table_lines(generation_rows([last], table=True), generation_table(False), width_max=width_max)
    for cause in generations[-1].causes:
        if cause.evidence:
            yield from _paragraph("  why the last: ", printable(cause.evidence), width_max or _WIDTH)


def _findings(findings: Sequence[Finding], facts: GroupFacts, width: int) -> Iterator[str]:
    if not findings:
        yield "Findings: none"
        return
    clients = {member.member_id: member.client_id for member in facts.group.members}
    yield "Findings:"
    for finding in findings:
        about = [
            f"{finding.topic}-{finding.partition}" if finding.partition is not None else finding.topic,
            clients.get(finding.member_id or ""),
        ]
        where = ", ".join(printable(text) for text in about if text)
        hygiene = "" if finding.severity is Severity.TROUBLE else ", hygiene"
        yield f"  {finding.kind.value}{f' ({where})' if where else ''}, {finding.grade.value}{hygiene}"
        if finding.since_ms is not None:
            ago = lasting(max(facts.now_ms - finding.since_ms, 0))
            yield f"    since    {iso_time(finding.since_ms)}, {ago} ago"
        yield from _paragraph("    evidence ", printable(finding.evidence), width)
        yield from _paragraph("    try      ", finding.try_this, width)


def _paragraph(label: str, text: str, width: int) -> list[str]:
    """Lines of a width; what has no blanks in it, such as a name, is never broken."""
    return wrap(
        text,
        max(width, _NARROWEST),
        initial_indent=label,
        subsequent_indent=" " * max(len(label), 4),
        break_long_words=False,
        break_on_hyphens=False,
    )
