"""Finds what is wrong with a group: stalls, stops, storms and the rest, each with evidence and a remedy.

The kinds and their facts are in `model.py`; a module per subject finds them: `stalls.py`, `poison.py`,
`blocked.py`, `reconciliation.py`, `absence.py`, `commits.py`, `passed_over.py`, `too_far.py`, `pace.py`,
`unevenly_behind.py`; the assignment is judged in `unowned.py`, `uneven.py`, `mixed.py` and `useless.py`,
what is no more than hygiene besides in `commit_habits.py`. The ground of most are `standstill.py` and
`group_standstill.py`; `proven_status.py` makes partitions' statuses of the same.
"""

from collections.abc import Iterator
from typing import Final

from kgroup.durations import lasting
from kgroup.history.timeline.duels import INSTANCE_ID_DUEL
from kgroup.history.timeline.oscillation import MEMBERS_OSCILLATE
from kgroup.lag.findings.absence import expiring, never_commits, without_members
from kgroup.lag.findings.blocked import blocked_readers
from kgroup.lag.findings.commit_habits import commits_last_offset, habits
from kgroup.lag.findings.commits import hanging_transactions, held_by_transactions, rewinds
from kgroup.lag.findings.group_standstill import are_read, standings
from kgroup.lag.findings.mixed import mixed_subscriptions
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, Severity
from kgroup.lag.findings.pace import pace
from kgroup.lag.findings.passed_over import passed_over, read_twice
from kgroup.lag.findings.poison import poison_records
from kgroup.lag.findings.reconciliation import stuck_reconciliations
from kgroup.lag.findings.stalls import stalls
from kgroup.lag.findings.too_far import too_far
from kgroup.lag.findings.uneven import given_more, uneven_assignment
from kgroup.lag.findings.unowned import unowned_partitions
from kgroup.lag.findings.useless import useless_members

STORM_NEWS_MS: Final = 3_600_000
"""A storm, or another pattern of members, that has been over for longer is no news."""

_OF_PATTERNS: Final = {
    "rebalance-storm": FindingKind.REBALANCE_STORM,
    MEMBERS_OSCILLATE: FindingKind.MEMBERS_OSCILLATE,
    INSTANCE_ID_DUEL: FindingKind.INSTANCE_ID_DUEL,
}
_WORST_FIRST: Final = tuple(FindingKind)
_TRY_STORM: Final = (
    "Find out why members do not stay (crash loop, autoscaler, max.poll.interval.ms): kgroup replay --group."
)


def find(facts: GroupFacts, *, hygiene: bool = False) -> tuple[Finding, ...]:
    """All that is wrong with one group, the worst kinds first, then by topic, partition and member.

    With `hygiene` also what is no trouble.
    """
    standing = standings(facts)
    poisoned = poison_records(facts)
    explained = poisoned.keys() | held_by_transactions(facts)
    findings = [
        *{id(finding): finding for finding in poisoned.values()}.values(),
        *stalls(facts, standing.without(explained) if explained else standing),
        *blocked_readers(facts, standing),
        *without_members(facts),
        *never_commits(facts),
        *stuck_reconciliations(facts),
        *hanging_transactions(facts),
        *_patterns(facts),
        *rewinds(facts),
        *passed_over(facts),
        *too_far(facts),
        *read_twice(facts),
        *expiring(facts),
        *unowned_partitions(facts),
        *mixed_subscriptions(facts),
    ]
    uneven = tuple(uneven_assignment(facts, standing, hygiene=hygiene))
    findings += uneven
    if hygiene:
        findings += [*useless_members(facts), *commits_last_offset(facts), *habits(facts)]
    # A group that nobody is in neither keeps up nor falls behind.
    if any(are_read(facts)):
        findings += pace(facts, standing, poisoned, given_more=given_more(uneven))
    wanted = (finding for finding in findings if hygiene or finding.severity is Severity.TROUBLE)
    return tuple(sorted(wanted, key=_order))


def _order(finding: Finding) -> tuple[int, str, int, str]:
    return (
        _WORST_FIRST.index(finding.kind),
        finding.topic or "",
        -1 if finding.partition is None else finding.partition,
        finding.member_id or "",
    )


def _patterns(facts: GroupFacts) -> Iterator[Finding]:
    for pattern in facts.patterns:
        kind = _OF_PATTERNS.get(pattern.name)
        if kind is None:
            continue
        ended_ms = facts.now_ms - pattern.to_ms if pattern.to_ms is not None else 0
        if ended_ms > STORM_NEWS_MS:
            continue
        yield Finding(
            kind=kind,
            group=facts.group.group_id,
            member_id=pattern.member_ids[0] if len(pattern.member_ids) == 1 else None,
            since_ms=pattern.from_ms,
            grade=pattern.grade,
            evidence=f"{pattern.evidence}; the last one {lasting(max(ended_ms, 0))} ago",
            numbers={
                "first_generation": pattern.first_generation,
                "last_generation": pattern.last_generation,
            },
            try_this=pattern.remedy or _TRY_STORM,
        )
