"""Findings as ASCII JSON, so that odd names survive the trip from executors."""

import json
from collections.abc import Iterable, Iterator

from kgroup.history.groups.model import Group
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, Severity
from kgroup.report.lag.finding_rows import Found, with_clients


def found_texts(findings: Iterable[Finding], group: Group) -> Iterator[str]:
    """A text for each finding on a group, with the client id of the member that it is about."""
    for finding, client_id in with_clients(findings, {group.group_id: group}):
        yield json.dumps(
            [
                finding.kind,
                finding.group,
                finding.topic,
                finding.partition,
                finding.member_id,
                finding.since_ms,
                finding.grade,
                finding.evidence,
                dict(finding.numbers),
                finding.try_this,
                finding.weight,
                client_id,
            ]
        )


def found_of(text: str) -> Found:
    """The finding of a text, and the client id."""
    kind, group, topic, partition, member_id, since_ms, grade, evidence, numbers, try_this, weight, client = (
        json.loads(text)
    )
    finding = Finding(
        kind=FindingKind(kind),
        group=group,
        topic=topic,
        partition=partition,
        member_id=member_id,
        since_ms=since_ms,
        grade=Grade(grade),
        evidence=evidence,
        numbers=numbers,
        try_this=try_this,
        weight=None if weight is None else Severity(weight),
    )
    return finding, client
