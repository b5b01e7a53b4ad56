"""The answer to each kind of claim, from an Evidence alone."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from kgroup.api.incident.ahead import deadline_says
from kgroup.api.incident.evidence import DataBatch, Evidence
from kgroup.api.incident.past import committed_at, end_at
from kgroup.api.lag.report import lag_report
from kgroup.api.ledger import ledger
from kgroup.api.what_if import named_changes
from kgroup.errors import InputError, SourceError
from kgroup.history.ledger.model import LedgerEntry
from kgroup.history.timeline.model import CauseKind, Generation, Grade, Timeline
from kgroup.history.timeline.replay import replay
from kgroup.history.what_if.what_if import what_if
from kgroup.lag.findings.model import Finding
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.incident.claims import ClaimKind, Says
from kgroup.report.timeline.rows import client_ids

Derived = dict[str, Any] | None


def derive(kind: ClaimKind, group: str, question: Says, evidence: Evidence) -> Derived:
    """The answer of the evidence to the question; None if it has none.

    Raises InputError for an invalid question.
    """
    try:
        return _DERIVATIONS[kind](group, question, evidence)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"a question of kind {kind} that makes no sense: {dict(question)}") from error


def timeline_of(group: str, evidence: Evidence) -> Timeline | None:
    """The group's history, as far as the evidence goes."""
    return replay(evidence.items, evidence.topic_names).get(group)


def _rebalance(group: str, question: Says, evidence: Evidence) -> Derived:
    timeline = timeline_of(group, evidence)
    wanted = int(question["partition"]), int(question["offset"])
    if timeline is None:
        return None
    for generation in timeline.generations:
        roster = generation.roster
        if (roster.offsets_partition, roster.offset) == wanted:
            return rebalance_says(timeline, generation)
    return None


def rebalance_says(timeline: Timeline, generation: Generation) -> dict[str, Any]:
    """A rebalance as values; names are client ids, or instance ids of static members."""
    clients = client_ids(timeline)
    return {
        "generation": generation.roster.generation,
        "at_ms": generation.roster.at_ms,
        "members": len(generation.roster.members),
        "cut": generation.cut,
        "joined": sorted(clients.get(member.member_id, "") for member in generation.joined),
        "left": sorted(clients.get(member.member_id, "") for member in generation.left),
        "moved": generation.moved.moved,
        "longest_gap_ms": max((gap.length_ms for gap in generation.gaps), default=None),
        "causes": [
            {
                "cause": cause.kind.value,
                "grade": cause.grade.value,
                "who": sorted({clients.get(member_id, "") for member_id in cause.member_ids}),
                "evidence": cause.evidence,
                "alternatives": [alternative.value for alternative in cause.alternatives],
                "remedy": cause.remedy,
            }
            for cause in generation.causes
        ],
    }


def _event(group: str, question: Says, evidence: Evidence) -> Derived:
    timeline = timeline_of(group, evidence)
    wanted = str(question["event"]), int(question["partition"]), int(question["offset"])
    for each in timeline.occurrences if timeline else ():
        if (each.cause.kind.value, each.offsets_partition, each.offset) == wanted:
            return {
                "at_ms": each.at_ms,
                "event": each.cause.kind.value,
                "grade": each.cause.grade.value,
                "evidence": each.cause.evidence,
                "partitions": [str(partition) for partition in each.partitions],
                "alternatives": [alternative.value for alternative in each.cause.alternatives],
                "remedy": each.cause.remedy,
            }
    return None


def _pattern(group: str, question: Says, evidence: Evidence) -> Derived:
    timeline = timeline_of(group, evidence)
    wanted = str(question["pattern"]), question["first_generation"], question["last_generation"]
    for each in timeline.patterns if timeline else ():
        if (each.name, each.first_generation, each.last_generation) == wanted:
            return {
                "pattern": each.name,
                "from_ms": each.from_ms,
                "to_ms": each.to_ms,
                "evidence": each.evidence,
                "remedy": each.remedy,
            }
    return None


def in_time(timeline: Timeline, from_ms: int, to_ms: int) -> Timeline | None:
    """The same with the generations of a time, and the one that was there when it began; None without any."""
    timed = [each for each in timeline.generations if (each.roster.at_ms or 0) <= to_ms]
    first = max(
        (number for number, each in enumerate(timed) if (each.roster.at_ms or 0) < from_ms), default=0
    )
    if not timed[first:]:
        return None
    return replace(timeline, generations=timed[first:])


def rebalances(timeline: Timeline, from_ms: int, to_ms: int) -> list[Generation]:
    """The generations that began in a time, without one that only begins the history."""
    return [
        each
        for number, each in enumerate(timeline.generations)
        if each.roster.at_ms is not None
        and from_ms <= each.roster.at_ms <= to_ms
        and (number or not any(cause.kind is CauseKind.HISTORY_CUT for cause in each.causes))
    ]


def _history(group: str, question: Says, evidence: Evidence) -> Derived:
    timeline = timeline_of(group, evidence)
    from_ms, to_ms = int(question["from_ms"]), int(question["to_ms"])
    if timeline is None:
        return None
    began = rebalances(timeline, from_ms, to_ms)
    causes: dict[str, int] = {}
    ungraded = 0
    for generation in began:
        for cause in generation.causes:
            causes[cause.kind.value] = causes.get(cause.kind.value, 0) + 1
            ungraded += cause.grade is Grade.UNKNOWN
    members = [len(generation.roster.members) for generation in began]
    return {
        "rebalances": len(began),
        "members_min": min(members, default=None),
        "members_max": max(members, default=None),
        "moved": sum(generation.moved.moved for generation in began),
        "waited_ms": sum(gap.length_ms for generation in began for gap in generation.gaps),
        "longest_gap_ms": max((gap.length_ms for each in began for gap in each.gaps), default=None),
        "causes": dict(sorted(causes.items(), key=lambda item: (-item[1], item[0]))),
        "ungraded": ungraded,
    }


def _remedy(group: str, question: Says, evidence: Evidence) -> Derived:
    timeline = timeline_of(group, evidence)
    if timeline is None:
        return None
    within = in_time(timeline, int(question["from_ms"]), int(question["to_ms"]))
    if within is None:
        return None
    try:
        compared = what_if(within, named_changes(**question["changes"]))
    except InputError:
        return None
    return {
        side: {
            "rebalances": outcome.rebalances,
            "moved": outcome.moved,
            "members_stopped": outcome.members_stopped,
            "unread_ms": outcome.unread_ms,
        }
        for side, outcome in (("recorded", compared.recorded), ("supposed", compared.supposed))
    }


def _finding(group: str, question: Says, evidence: Evidence) -> Derived:
    now_ms, retention_ms = int(question["now_ms"]), int(question["retention_ms"])
    wanted = tuple(question[name] for name in ("finding", "topic", "partition", "member_id"))
    if not evidence.items:
        return None
    with evidence.opened() as logs:
        try:
            report = lag_report(logs, findings=True, now_ms=now_ms, retention_ms=retention_ms)
        except SourceError:
            return None
        for finding in report.findings():
            if finding.group == group and identity_of(finding) == wanted:
                return finding_says(finding)
    return None


def _range(group: str, question: Says, evidence: Evidence) -> Derived:
    wanted = tuple(question[name] for name in ("kind", "topic", "partition", "from_offset", "to_offset"))
    if not evidence.items:
        return None
    with evidence.opened() as logs:
        try:
            account = ledger(logs, [group])
        except SourceError:
            return None
        entries = account[group].entries if group in account else ()
        return next((range_says(entry) for entry in entries if range_of(entry) == wanted), None)


def range_of(entry: LedgerEntry) -> tuple[str, str, int, int, int | None]:
    """The fields that distinguish a range from others of its group."""
    return entry.kind.value, *entry.partition, entry.from_offset, entry.to_offset


def range_says(entry: LedgerEntry) -> dict[str, Any]:
    """A range of the ledger as values."""
    return {
        "at_ms": entry.at_ms,
        "at_least": entry.at_least,
        "at_most": entry.at_most,
        "owners": [client_id for _, client_id in entry.owners],
        "cause": entry.cause.value,
        "grade": entry.grade.value,
        "evidence": entry.evidence,
    }


def identity_of(finding: Finding) -> tuple[str, str | None, int | None, str | None]:
    """The fields that distinguish a finding from others of its group."""
    return finding.kind.value, finding.topic, finding.partition, finding.member_id


def finding_says(finding: Finding) -> dict[str, Any]:
    """A finding as values."""
    return {
        "finding": finding.kind.value,
        "topic": finding.topic,
        "partition": finding.partition,
        "since_ms": finding.since_ms,
        "grade": finding.grade.value,
        "evidence": finding.evidence,
        "try_this": finding.try_this,
    }


def _lag(group: str, question: Says, evidence: Evidence) -> Derived:
    times_ms = [int(each) for each in question["times_ms"]]
    places = [(str(topic), int(partition)) for topic, partition in question["partitions"]]
    committed = committed_at(group, evidence.items, places, times_ms)
    by_place: dict[TopicPartition, list[DataBatch]] = {}
    for each in evidence.batches:
        by_place.setdefault((each.topic, each.partition), []).append(each)
    lags: list[int | None] = []
    unknown: list[int] = []
    for number, time_ms in enumerate(times_ms):
        known = []
        for place in places:
            commit = committed[place][number]
            end = end_at(by_place.get(place, ()), time_ms)
            if commit is not None and end is not None:
                known.append(max(end - commit.offset, 0))
        lags.append(sum(known) if known else None)
        unknown.append(len(places) - len(known))
    return {"lags": lags, "unknown": unknown}


_DERIVATIONS: Final[Mapping[ClaimKind, Callable[[str, Says, Evidence], Derived]]] = {
    ClaimKind.HISTORY: _history,
    ClaimKind.REBALANCE: _rebalance,
    ClaimKind.EVENT: _event,
    ClaimKind.PATTERN: _pattern,
    ClaimKind.RANGE: _range,
    ClaimKind.LAG: _lag,
    ClaimKind.FINDING: _finding,
    ClaimKind.DEADLINE: deadline_says,
    ClaimKind.REMEDY: _remedy,
}
