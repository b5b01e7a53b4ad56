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


Found = tuple[Finding, str | None]
"""A finding, and the client id of the member that it is about."""


def with_clients(findings: Iterable[Finding], groups: Mapping[str, Group]) -> Iterator[Found]:
    """Findings, a group's one after the other, with client ids as the groups have them."""
    for group_id, of_group in groupby(findings, lambda finding: finding.group):
        members = groups[group_id].members if group_id in groups else ()
        clients = {member.member_id: member.client_id for member in members}
        yield from ((finding, clients.get(finding.member_id or "")) for finding in of_group)


def finding_rows(found: Iterable[Found]) -> Iterator[Row]:
    """A row of FINDING_COLUMNS per finding."""
    for finding, client_id in found:
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


def finding_table(found: Iterable[Found], now_ms: int) -> Iterator[Row]:
    """A row of FINDING_TABLE per finding, which leaves room for the evidence."""
    for finding, client_id in found:
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


def _lasting_ms(since_ms: int, now_ms: int) -> int:
    """The duration in whole seconds; never negative, even if the starting clock is ahead."""
    return max(now_ms - since_ms, 0) // 1000 * 1000


class Remedies:
    """The remedies of passing findings, once each."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def noted(self, found: Found) -> Found:
        """The finding again."""
        finding, _ = found
        self._lines.setdefault(finding.try_this, f"{finding.kind.value}: try: {finding.try_this}")
        return found

    def lines(self) -> list[str]:
        """A line for each, in the order in which they came."""
        return list(self._lines.values())
