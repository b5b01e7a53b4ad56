"""Findings as rows."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from kgroup.history.groups.model import Group
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding
from kgroup.report.emit import Column, Kind, Row

FINDING_COLUMNS: Final = (
    Column(name="group"),
    Column(name="finding"),
    Column(name="severity"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="member_id"),
    Column(name="client_id"),
    Column(name="since", kind=Kind.TIME_MS),
    Column(name="grade"),
    Column(name="evidence"),
    Column(name="numbers", kind=Kind.NESTED),
    Column(name="try_this", header="TRY"),
)


FINDING_TABLE: Final = (
    Column(name="group"),
    Column(name="finding"),
    Column(name="where"),
    Column(name="lasting_ms", header="FOR", kind=Kind.DURATION_MS),
    Column(name="evidence"),
)


def finding_rows(findings: Iterable[Finding], groups: Mapping[str, Group]) -> Iterator[Row]:
    """A row of FINDING_COLUMNS per finding."""
    for finding, client_id in _with_clients(findings, groups):
        yield {
            "group": finding.group,
            "finding": finding.kind.value,
            "severity": finding.severity.value,
            "topic": finding.topic,
            "partition": finding.partition,
            "member_id": finding.member_id,
            "client_id": client_id,
            "since": finding.since_ms,
            "grade": finding.grade.value,
            "evidence": finding.evidence,
            "numbers": dict(finding.numbers),
            "try_this": finding.try_this,
        }


def finding_table(findings: Iterable[Finding], groups: Mapping[str, Group], now_ms: int) -> Iterator[Row]:
    """A row of FINDING_TABLE per finding, which leaves room for the evidence."""
    for finding, client_id in _with_clients(findings, groups):
        topic_partition = finding.topic
        if finding.partition is not None:
            topic_partition = f"{topic_partition}-{finding.partition}"
        yield {
            "group": finding.group,
            "finding": finding.kind.value + ("?" if finding.grade is Grade.UNKNOWN else ""),
            "where": " ".join(text for text in (topic_partition, client_id) if text) or None,
            "lasting_ms": None if finding.since_ms is None else _lasting_ms(finding.since_ms, now_ms),
            "evidence": finding.evidence,
        }


def _with_clients(
    findings: Iterable[Finding], groups: Mapping[str, Group]
) -> Iterator[tuple[Finding, str | None]]:
    for group_id, of_group in groupby(findings, lambda finding: finding.group):
        members = groups[group_id].members if group_id in groups else ()
        clients = {member.member_id: member.client_id for member in members}
        yield from ((finding, clients.get(finding.member_id or "")) for finding in of_group)


def _lasting_ms(since_ms: int, now_ms: int) -> int:
    """In whole seconds; what began by a clock that is ahead lasts for no time, never for less."""
    return max(now_ms - since_ms, 0) // 1000 * 1000


def remedies(findings: Iterable[Finding]) -> Iterator[str]:
    """What to try, once for each kind of finding."""
    shown: set[str] = set()
    for finding in findings:
        if finding.try_this not in shown:
            shown.add(finding.try_this)
            yield f"{finding.kind.value}: try: {finding.try_this}"
