"""The groups of a lag report, each as one line of the live screen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from kgroup.api.lag.chunks import ReportedGroup
from kgroup.api.lag.report import LagReport
from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import STUCK_KINDS, Finding, GroupFacts
from kgroup.lag.measures.rows import LagRow
from kgroup.report.emit import Row
from kgroup.report.emit_columns import rows_of
from kgroup.report.lag.sums import SUMMED, By, sum_rows
from kgroup.report.top.group_line import GroupLine

_RATES: Final = ("drain_ms", "growth_per_s")


class _Found(TypedDict, total=False):
    """The part of a line that comes of findings."""

    finding: str
    stuck: bool
    findings: int
    since_ms: int | None
    evidence: str
    blocked_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsNow:
    """A report's groups: a line for each, and by group id what the line was made of."""

    lines: tuple[GroupLine, ...]
    reported: Mapping[str, ReportedGroup]


def groups_now(report: LagReport) -> GroupsNow:
    """The groups of a report that was made with findings, by group id; last those that only a finding names.

    Sums are those of `lag-report --by group`, over the rows of the report's topics.
    """
    lines: list[GroupLine] = []
    reported: dict[str, ReportedGroup] = {}
    for chunk in report.chunks():
        names = [name for name in chunk.columns if name in SUMMED or name in _RATES]
        by_group: dict[str, list[Row]] = {}
        for row in rows_of(chunk.columns, names):
            by_group.setdefault(str(row["group"]), []).append(row)
        for of_group in chunk.groups:
            (facts, _), findings = of_group
            group_id = facts.group.group_id
            reported[group_id] = of_group
            lines.append(_line(facts, findings, by_group.get(group_id, ())))
    for finding in report.cluster_findings():
        if finding.group not in reported:
            lines.append(GroupLine(group=finding.group, **_found([finding], None)))
    return GroupsNow(lines=tuple(lines), reported=reported)


def _line(facts: GroupFacts, findings: Sequence[Finding], rows: Sequence[Row]) -> GroupLine:
    group, sums = facts.group, next(sum_rows(rows, By.GROUP), {})
    growths = [growth for row in rows for growth in _growth(row)]
    event = max(_events(facts), default=(None, None))
    return GroupLine(
        group=group.group_id,
        kind=group.kind.value,
        state=group.state.value,
        epoch=group.epoch,
        members=len(group.members),
        partitions=len(rows),
        lag=_integer(sums.get("lag")),
        lag_max=_integer(sums.get("lag_max")),
        lag_unknown=_integer(sums.get("lag_unknown")) or 0,
        time_lag_ms=_integer(sums.get("time_lag_ms")),
        status=None if sums.get("status") is None else str(sums["status"]),
        drain_ms=_drain_ms(rows),
        grows=any(growth > 0 for growth in growths),
        steady=all(growth <= 0 for growth in growths) and 0 in growths,
        event=event[1],
        event_ms=event[0],
        **_found(findings, facts),
    )


def _drain_ms(rows: Sequence[Row]) -> int | None:
    """The longest; None if that of one that lags is unknown, or it is never drained."""
    if any(_lags(row) and row.get("drain_ms") is None for row in rows):
        return None
    return max((drain for row in rows if isinstance(drain := row.get("drain_ms"), int)), default=None)


def _lags(row: Row) -> bool:
    lag = row["lag"]
    return isinstance(lag, int) and lag > 0


def _growth(row: Row) -> Iterator[float]:
    """Records per second by which the lag of a row that lags grows, if two readings tell."""
    growth = row.get("growth_per_s")
    if _lags(row) and isinstance(growth, (int, float)):
        yield growth


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _events(facts: GroupFacts) -> Iterator[tuple[int, str]]:
    """Times (epoch ms) and what the log has for them: the last commit, and the last change of the group."""
    commits = (partition.row.commit_timestamp for partition in facts.partitions)
    if (last := max((time for time in commits if time is not None), default=None)) is not None:
        yield last, "commit"
    group = facts.group
    if group.since_ms is not None:
        is_classic = group.kind in (GroupKind.CLASSIC, GroupKind.SIMPLE)
        began = f"{'generation' if is_classic else 'epoch'} {group.epoch} began"
        yield group.since_ms, "became empty" if group.state is GroupState.EMPTY else began


def _found(findings: Sequence[Finding], facts: GroupFacts | None) -> _Found:
    """The worst finding of a group, which comes first, as columns; empty without one."""
    if not findings:
        return {}
    worst = findings[0]
    return {
        "finding": worst.kind.value + ("?" if worst.grade is Grade.UNKNOWN else ""),
        "stuck": worst.kind in STUCK_KINDS,
        "findings": len(findings),
        "since_ms": worst.since_ms,
        "evidence": worst.evidence,
        "blocked_by": _blocked_by(worst, facts),
    }


def _blocked_by(finding: Finding, facts: GroupFacts | None) -> str | None:
    """Partition, member and host that a finding is about, as far as it is about one of each.

    Of a group as a whole that nobody reads, its members; else where most of its lag is.
    """
    if facts is None:
        return _place(finding.topic, finding.partition)
    members = {member.member_id: member for member in facts.group.members}
    if finding.member_id is not None and (member := members.get(finding.member_id)) is not None:
        who = _who(member.client_id or member.member_id, member.client_host)
        return " ".join(text for text in (_place(finding.topic, finding.partition), who) if text)
    if finding.partition is not None:
        at = (finding.topic, finding.partition)
        row = next((one.row for one in facts.partitions if one.topic_partition == at), None)
        return _of_row(row) if row is not None else _place(*at)
    if finding.kind in STUCK_KINDS:
        count = len(members)
        return f"all {count} members" if count > 1 else "its member" if count else "no members"
    furthest = max((one.row for one in facts.partitions), key=lambda row: row.lag or 0, default=None)
    if furthest is None or not furthest.lag or furthest.lag < 0:
        return finding.topic
    return f"mostly {_of_row(furthest)}"


def _of_row(row: LagRow) -> str:
    place = _place(row.topic, row.partition) or ""
    return f"{place} {_who(row.client_id or row.member_id, row.host)}" if row.member_id else place


def _who(name: str | None, host: str | None) -> str:
    """A name and host; as Kafka logs a host, it begins with a slash."""
    return f"{name} on {host.removeprefix('/')}" if host else str(name)


def _place(topic: str | None, partition: int | None) -> str | None:
    return topic if topic is None or partition is None else f"{topic}-{partition}"
