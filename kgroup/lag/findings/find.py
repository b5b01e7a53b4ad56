"""Find what is wrong with a group: stalls, stops, storms and the rest, each with evidence and a remedy.

The kinds and their facts are in `model.py`; a module per subject finds them: `stalls.py`,
`absence.py`, `commits.py`, `passed_over.py`, `pace.py`. The ground of most are `standstill.py` and
`group_standstill.py`; `proven_status.py` makes partitions' statuses of the same.
"""

from collections.abc import Iterator
from typing import Final

from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.absence import expiring, never_commits, without_members
from kgroup.lag.findings.commits import hanging_transactions, rewinds
from kgroup.lag.findings.group_standstill import standings
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts
from kgroup.lag.findings.pace import pace
from kgroup.lag.findings.passed_over import passed_over, read_twice
from kgroup.lag.findings.stalls import stalls
from kgroup.lag.findings.text import lasting

STORM_NEWS_MS: Final = 3_600_000
"""A storm that has been over for longer is no news."""

_WORST_FIRST: Final = tuple(FindingKind)
_TRY_STORM: Final = (
    "Find out why members do not stay (crash loop, autoscaler, max.poll.interval.ms): kgroup replay --group."
)


def find(facts: GroupFacts) -> tuple[Finding, ...]:
    """All that is wrong with one group, the worst kinds first, then by topic, partition and member."""
    standing = standings(facts)
    findings = [
        *stalls(facts, standing),
        *without_members(facts),
        *never_commits(facts),
        *hanging_transactions(facts),
        *_storms(facts),
        *rewinds(facts),
        *passed_over(facts),
        *read_twice(facts),
        *expiring(facts),
    ]
    # A group that nobody is in neither keeps up nor falls behind.
    if not any(finding.kind is FindingKind.DEAD_WITH_LAG for finding in findings):
        findings += pace(facts, standing)
    return tuple(sorted(findings, key=_order))


def _order(finding: Finding) -> tuple[int, str, int, str]:
    return (
        _WORST_FIRST.index(finding.kind),
        finding.topic or "",
        -1 if finding.partition is None else finding.partition,
        finding.member_id or "",
    )


def _storms(facts: GroupFacts) -> Iterator[Finding]:
    for pattern in facts.patterns:
        if pattern.name != "rebalance-storm":
            continue
        ended_ms = facts.now_ms - pattern.to_ms if pattern.to_ms is not None else 0
        if ended_ms > STORM_NEWS_MS:
            continue
        yield Finding(
            kind=FindingKind.REBALANCE_STORM,
            group=facts.group.group_id,
            member_id=pattern.member_ids[0] if len(pattern.member_ids) == 1 else None,
            since_ms=pattern.from_ms,
            grade=Grade.INFERRED,
            evidence=f"{pattern.evidence}; the last one {lasting(max(ended_ms, 0))} ago",
            numbers={
                "first_generation": pattern.first_generation,
                "last_generation": pattern.last_generation,
            },
            try_this=pattern.remedy or _TRY_STORM,
        )
