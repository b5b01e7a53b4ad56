"""Groups, members and partitions that stand still while records wait."""

from collections.abc import Iterator, Sequence

from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.group_standstill import Standing, Standings
from kgroup.lag.findings.handover import changed_hands, handover_remedy, handover_text
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts
from kgroup.lag.findings.standstill import unread_text
from kgroup.lag.findings.static_silence import static_member_silent
from kgroup.lag.findings.text import counted, listed

_TRY_GROUP = (
    "Look at the members' logs and take a thread dump. They heartbeat, so the processes are alive, but their"
    " work between two polls never ends or never commits. If nothing else helps, restart them one by one."
)
_TRY_MEMBER = (
    "Look at this member's log and take a thread dump; compare its version and settings with the others'."
    " The others take over its partitions once you stop it."
)
_TRY_PARTITION = (
    "Look for a record at the committed offset that cannot be processed, for a pause() without resume(), or"
    " for a hanging worker of this partition. To skip one record: stop the group, and"
    " kafka-consumer-groups --reset-offsets --to-offset."
)
_TRY_SIMPLE = (
    "Offsets are committed without membership, so no log names the reader: find the process that used to"
    " commit through the commits' metadata or its deployment."
)


def stalls(facts: GroupFacts, standings: Standings) -> Iterator[Finding]:
    """The widest description of what stands still: the group, else members, else partitions."""
    if standings.group:
        yield static_member_silent(facts, standings.group) or _stopped_group(facts, standings.group)
    for member_id, standing in standings.members.items():
        yield static_member_silent(facts, standing) or _stalled_member(facts, member_id, standing)
    for stopped in standings.partitions:
        yield _stalled_partition(facts, stopped)


def _stopped_group(facts: GroupFacts, standing: Sequence[Standing]) -> Finding:
    lag = sum(stopped.still.lag for stopped in standing)
    topics = sorted({stopped.facts.row.topic for stopped in standing})
    last = max(standing, key=lambda stopped: (stopped.still.since_ms, stopped.still.lag))
    simple = facts.group.kind is GroupKind.SIMPLE
    members = "commits without membership" if simple else counted(len(facts.group.members), "live member")
    return Finding(
        kind=FindingKind.STOPPED_GROUP,
        group=facts.group.group_id,
        topic=topics[0] if len(topics) == 1 else None,
        partition=last.facts.row.partition if len(standing) == 1 else None,
        since_ms=last.still.since_ms,
        grade=Grade.INFERRED,
        evidence=f"{members}; {last.still.evidence}; {_unread(standing)} on"
        f" {counted(len(standing), 'partition')}",
        numbers={**last.still.numbers, "partitions": len(standing), "total_lag": lag},
        try_this=_TRY_SIMPLE if simple else _TRY_GROUP,
    )


def _stalled_member(facts: GroupFacts, member_id: str, standing: Sequence[Standing]) -> Finding:
    last = max(standing, key=lambda stopped: (stopped.still.since_ms, stopped.still.lag))
    only = standing[0].facts.row if len(standing) == 1 else None
    lag = sum(stopped.still.lag for stopped in standing)
    places = listed([f"{stopped.facts.row.topic}-{stopped.facts.row.partition}" for stopped in standing])
    return Finding(
        kind=FindingKind.STALLED_MEMBER,
        group=facts.group.group_id,
        topic=only.topic if only else None,
        partition=only.partition if only else None,
        member_id=member_id,
        since_ms=last.still.since_ms,
        grade=Grade.INFERRED,
        evidence=f"{last.still.evidence}; {_unread(standing)} on all it could read ({places}), while the"
        " other members keep committing",
        numbers={**last.still.numbers, "partitions": len(standing), "total_lag": lag},
        try_this=_TRY_MEMBER,
    )


def _stalled_partition(facts: GroupFacts, stopped: Standing) -> Finding:
    row = stopped.facts.row
    newest_ms = max(partition.last_ms for partition in facts.partitions if partition.commits)
    later_ms = newest_ms - stopped.facts.last_ms
    goes_on = f"; other partitions were committed for {lasting(later_ms)} more" if later_ms > 0 else ""
    simple = facts.group.kind is GroupKind.SIMPLE
    given = changed_hands(facts, stopped)
    since = {"since_generation": given.generation} if given is not None else {}
    return Finding(
        kind=FindingKind.STALLED_PARTITION,
        group=facts.group.group_id,
        topic=row.topic,
        partition=row.partition,
        member_id=row.member_id,
        since_ms=stopped.still.since_ms,
        grade=Grade.INFERRED,
        evidence=f"{stopped.still.evidence}; {_unread([stopped])}{goes_on}{handover_text(given)}",
        numbers={**stopped.still.numbers, **since},
        try_this=_TRY_SIMPLE if simple else handover_remedy(given, _TRY_PARTITION),
    )


def _unread(standing: Sequence[Standing]) -> str:
    return unread_text([stopped.facts for stopped in standing])
