"""Timelines as rows: one per generation, or one per event."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kgroup.durations import lasting
from kgroup.history.timeline.model import (
    Cause,
    CauseKind,
    Generation,
    Grade,
    Occurrence,
    Partition,
    Pattern,
    Timeline,
    TimelineMember,
    Wait,
)
from kgroup.report.emit import Column, Kind, Row

GENERATION_COLUMNS: Final = (
    Column(name="group"),
    Column(name="generation", kind=Kind.INTEGER),
    Column(name="time", kind=Kind.TIME_MS),
    Column(name="group_kind"),
    Column(name="protocol"),
    Column(name="leader"),
    Column(name="leader_changed", kind=Kind.BOOLEAN),
    Column(name="members", kind=Kind.INTEGER),
    Column(name="joined", kind=Kind.NESTED),
    Column(name="left", kind=Kind.NESTED),
    Column(name="replaced", kind=Kind.NESTED),
    Column(name="gained", kind=Kind.NESTED),
    Column(name="lost", kind=Kind.NESTED),
    Column(name="moved", kind=Kind.INTEGER),
    Column(name="kept", kind=Kind.INTEGER),
    Column(name="since_previous_ms", kind=Kind.DURATION_MS),
    Column(name="commits", kind=Kind.INTEGER),
    Column(name="commit_gap_ms", kind=Kind.DURATION_MS),
    Column(name="usual_commit_interval_ms", kind=Kind.DURATION_MS),
    Column(name="commit_gaps", kind=Kind.NESTED),
    Column(name="waits", kind=Kind.NESTED),
    Column(name="unfinished_generations", kind=Kind.INTEGER),
    Column(name="records_missing", kind=Kind.BOOLEAN),
    Column(name="causes", kind=Kind.NESTED),
    Column(name="patterns", kind=Kind.NESTED),
    Column(name="offsets_partition", kind=Kind.INTEGER),
    Column(name="log_offset", kind=Kind.INTEGER),
)
EVENT_COLUMNS: Final = (
    Column(name="group"),
    Column(name="time", kind=Kind.TIME_MS),
    Column(name="generation", kind=Kind.INTEGER),
    Column(name="event"),
    Column(name="grade"),
    Column(name="alternatives", kind=Kind.NESTED),
    Column(name="member_ids", kind=Kind.NESTED),
    Column(name="client_ids", kind=Kind.NESTED),
    Column(name="partitions", kind=Kind.NESTED),
    Column(name="evidence"),
    Column(name="remedy"),
    Column(name="offsets_partition", kind=Kind.INTEGER),
    Column(name="log_offset", kind=Kind.INTEGER),
)


def generation_table(several: bool) -> tuple[Column, ...]:
    """The columns of a table of generations; the group only where there are several."""
    return (
        *((Column(name="group"),) if several else ()),
        Column(name="generation", header="GEN", kind=Kind.INTEGER),
        Column(name="time", kind=Kind.TIME_MS),
        Column(name="members", header="N", kind=Kind.INTEGER),
        Column(name="moved", kind=Kind.INTEGER),
        Column(name="commit_gap_ms", header="GAP", kind=Kind.DURATION_MS),
        Column(name="cause"),
    )


def event_table(several: bool) -> tuple[Column, ...]:
    """The columns of a table of events."""
    return (
        *((Column(name="group"),) if several else ()),
        Column(name="time", kind=Kind.TIME_MS),
        Column(name="generation", header="GEN", kind=Kind.INTEGER),
        Column(name="event"),
        Column(name="grade"),
        Column(name="evidence"),
    )


def generation_rows(timelines: Iterable[Timeline], *, table: bool) -> Iterator[Row]:
    """A row per generation, groups by id, generations in log order."""
    for timeline in timelines:
        clients = client_ids(timeline) if table else {}
        for generation in timeline.generations:
            yield (
                _table_row(timeline, generation, clients) if table else _generation_row(timeline, generation)
            )


def event_rows(timelines: Iterable[Timeline]) -> Iterator[Row]:
    """A row per event, groups by id, events in log order, and last the patterns that they form."""
    for timeline in timelines:
        clients = client_ids(timeline)
        events: list[tuple[tuple[int, int], Row]] = []
        for number, generation in enumerate(timeline.generations):
            order = (generation.roster.offset, number)
            events += [(order, row) for row in _events_of(timeline, generation, clients)]
        for occurrence in timeline.occurrences:
            events.append(((occurrence.offset, -1), _occurrence_row(timeline, occurrence, clients)))
        if len({generation.roster.offsets_partition for generation in timeline.generations}) <= 1:
            events.sort(key=lambda event: event[0])
        yield from (row for _, row in events)
        for pattern in timeline.patterns:
            yield _pattern_row(timeline, pattern, clients)


def event_table_rows(timelines: Iterable[Timeline]) -> Iterator[Row]:
    """The same for a table: the evidence names members, one with its host, and what else it may be."""
    for timeline in timelines:
        members = {member.member_id: member for member in _members(timeline)}
        for row in event_rows([timeline]):
            of_event = row.get("member_ids") or []
            assert isinstance(of_event, list)
            known = [members[member_id] for member_id in of_event if member_id in members]
            options = row.get("alternatives")
            open_question = (
                f" ({' or '.join(map(str, options))}?)" if isinstance(options, list) and options else ""
            )
            yield {**row, "evidence": _naming(known, str(row["evidence"])) + open_question}


def _naming(members: Sequence[TimelineMember], evidence: str) -> str:
    """The evidence, behind the members' names if none of them is in it."""
    names = [member.instance_id or member.client_id or member.member_id for member in members]
    if not names or any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", evidence) for name in names):
        return evidence
    host = members[0].client_host.lstrip("/") if len(members) == 1 else ""
    return f"{counted_names(names)}{f' on {host}' if host else ''}: {evidence}"


def client_ids(timeline: Timeline) -> dict[str, str]:
    """Member id to client id, or to the instance id of a static member."""
    return {member.member_id: member.instance_id or member.client_id for member in _members(timeline)}


def _members(timeline: Timeline) -> Iterator[TimelineMember]:
    """All that were ever in it, at each generation."""
    for generation in timeline.generations:
        yield from (*generation.roster.members, *generation.joined, *generation.left)


def cause_text(cause: Cause, clients: dict[str, str]) -> str:
    """A cause in a few words: `join grow-2`, `member-gone sr-2 (leave or session-expired?)`."""
    # Of a static member that came back both ids are of the one instance.
    member_ids = cause.member_ids[-1:] if cause.kind is CauseKind.STATIC_RESTART else cause.member_ids
    names = counted_names([clients.get(member_id, member_id) for member_id in member_ids])
    text = f"{cause.kind} {names}".strip()
    if cause.grade is Grade.UNKNOWN:
        options = " or ".join(cause.alternatives)
        return f"{text} ({options}?)" if options else f"{text}?"
    return f"{text} (inferred)" if cause.grade is Grade.INFERRED else text


def counted_names(names: Sequence[str]) -> str:
    """The first three of them, each once, and how many more there are: `flap x2, stable`."""
    distinct = list(dict.fromkeys(names))
    shown = [f"{name} x{names.count(name)}" if names.count(name) > 1 else name for name in distinct[:3]]
    more = [f"and {len(distinct) - 3} more"] if len(distinct) > 3 else []
    return ", ".join([*shown, *more])


def _table_row(timeline: Timeline, generation: Generation, clients: dict[str, str]) -> Row:
    causes = "; ".join(cause_text(cause, clients) for cause in generation.causes)
    notes = [f"{generation.unfinished} rounds unfinished"] if generation.unfinished else []
    notes += ["log cut before"] if generation.cut else []
    return {
        "group": timeline.group_id,
        "generation": generation.roster.generation,
        "time": generation.roster.at_ms,
        "members": len(generation.roster.members),
        "moved": generation.moved.moved,
        "commit_gap_ms": _gap_ms(generation),
        "cause": f"{causes} [{', '.join(notes)}]" if notes else causes,
    }


def _generation_row(timeline: Timeline, generation: Generation) -> Row:
    roster, moved = generation.roster, generation.moved
    return {
        "group": timeline.group_id,
        "generation": roster.generation,
        "time": roster.at_ms,
        "group_kind": roster.kind,
        "protocol": roster.protocol,
        "leader": roster.leader,
        "leader_changed": generation.leader_changed,
        "members": len(roster.members),
        "joined": [_member(member) for member in generation.joined],
        "left": [_member(member) for member in generation.left],
        "replaced": [{"old": old, "new": new} for old, new in generation.replaced],
        "gained": {member: _texts(partitions) for member, partitions in sorted(moved.gained.items())},
        "lost": {member: _texts(partitions) for member, partitions in sorted(moved.lost.items())},
        "moved": moved.moved,
        "kept": moved.kept,
        "since_previous_ms": generation.since_previous_ms,
        "commits": generation.commits,
        "commit_gap_ms": _gap_ms(generation),
        "usual_commit_interval_ms": generation.usual_interval_ms,
        "commit_gaps": [
            {
                "partition": str(gap.partition),
                "last_before": gap.last_before_ms,
                "first_after": gap.first_after_ms,
                "length_ms": gap.length_ms,
            }
            for gap in sorted(generation.gaps)
        ],
        "waits": [_wait(wait) for wait in generation.waits],
        "unfinished_generations": generation.unfinished,
        "records_missing": generation.cut,
        "causes": [_cause(cause) for cause in generation.causes],
        "patterns": [pattern.name for pattern in timeline.patterns if _covers(pattern, generation)],
        "offsets_partition": roster.offsets_partition,
        "log_offset": roster.offset,
    }


def _events_of(timeline: Timeline, generation: Generation, clients: dict[str, str]) -> Iterator[Row]:
    roster = generation.roster
    common: Row = {"group": timeline.group_id, "time": roster.at_ms, "generation": roster.generation}
    position: Row = {"offsets_partition": roster.offsets_partition, "log_offset": roster.offset}
    recorded: Row = {"grade": Grade.RECORDED, "alternatives": []}
    if generation.cut:
        yield {
            **common,
            "event": "records-missing",
            **recorded,
            "evidence": "the log skips offsets before this",
            **position,
        }
    if generation.unfinished:
        evidence = f"{generation.unfinished} generations before this one ended without an assignment"
        if generation.cut:
            evidence = f"{generation.unfinished} generations before this one have no record"
        yield {**common, "event": "generations-skipped", **recorded, "evidence": evidence, **position}
    for cause in generation.causes:
        yield {**common, **_event(cause, clients), **position}
    if generation.leader_changed:
        leader = roster.leader or ""
        yield {
            **common,
            "event": "leader",
            **recorded,
            "member_ids": [leader],
            "client_ids": [clients.get(leader, "")],
            "evidence": f"{clients.get(leader, leader)} leads",
            **position,
        }
    for event, changes in (("lost", generation.moved.lost), ("gained", generation.moved.gained)):
        for member_id, partitions in sorted(changes.items()):
            name = clients.get(member_id, member_id)
            yield {
                **common,
                "event": event,
                **recorded,
                "member_ids": [member_id],
                "client_ids": [name],
                "partitions": _texts(partitions),
                "evidence": f"{name}: {_shortened(partitions)}",
                **position,
            }
    for wait in generation.waits:
        names = [clients.get(member_id, member_id) for member_id in (wait.member_id, wait.holder_id)]
        yield {
            **common,
            "time": wait.since_ms,
            "event": "waited",
            **recorded,
            "member_ids": [wait.member_id, wait.holder_id],
            "client_ids": names,
            "partitions": _texts(wait.partitions),
            "evidence": _wait_text(wait, *names),
            **position,
        }


def _occurrence_row(timeline: Timeline, occurrence: Occurrence, clients: dict[str, str]) -> Row:
    return {
        "group": timeline.group_id,
        "time": occurrence.at_ms,
        "generation": occurrence.generation,
        **_event(occurrence.cause, clients),
        "partitions": _texts(occurrence.partitions),
        "offsets_partition": occurrence.offsets_partition if occurrence.offsets_partition >= 0 else None,
        "log_offset": occurrence.offset if occurrence.offsets_partition >= 0 else None,
    }


def _pattern_row(timeline: Timeline, pattern: Pattern, clients: dict[str, str]) -> Row:
    return {
        "group": timeline.group_id,
        "time": pattern.from_ms,
        "generation": pattern.first_generation,
        "event": pattern.name,
        "grade": Grade.INFERRED,
        "alternatives": [],
        "member_ids": list(pattern.member_ids),
        "client_ids": sorted({clients.get(member_id, "") for member_id in pattern.member_ids}),
        "evidence": f"generations {pattern.first_generation} to {pattern.last_generation}: "
        + pattern.evidence,
        "remedy": pattern.remedy,
    }


def _event(cause: Cause, clients: dict[str, str]) -> Row:
    client_ids = [clients.get(member_id, "") for member_id in cause.member_ids]
    return {"event": cause.kind, "client_ids": client_ids, **_grounds(cause)}


def _cause(cause: Cause) -> Row:
    return {"cause": cause.kind, **_grounds(cause)}


def _grounds(cause: Cause) -> Row:
    return {
        "grade": cause.grade,
        "evidence": cause.evidence,
        "member_ids": list(cause.member_ids),
        "alternatives": list(cause.alternatives),
        "remedy": cause.remedy,
    }


def _member(member: TimelineMember) -> Row:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
    }


def _wait(wait: Wait) -> Row:
    """`until` and `length_ms` are null where the log ends first."""
    return {
        "member_id": wait.member_id,
        "holder_id": wait.holder_id,
        "partitions": _texts(wait.partitions),
        "since": wait.since_ms,
        "until": wait.until_ms,
        "length_ms": None if wait.until_ms is None else wait.until_ms - wait.since_ms,
        "released": wait.released,
    }


def _gap_ms(generation: Generation) -> int | None:
    return max((gap.length_ms for gap in generation.gaps), default=None)


def _covers(pattern: Pattern, generation: Generation) -> bool:
    at_ms = generation.roster.at_ms
    return (
        at_ms is not None
        and pattern.from_ms is not None
        and pattern.to_ms is not None
        and pattern.from_ms <= at_ms <= pattern.to_ms
    )


def _wait_text(wait: Wait, waiter: str, holder: str) -> str:
    what = _shortened(wait.partitions)
    if wait.until_ms is None:
        return f"{waiter} waits to the log's end for {what}, which {holder} has not given up"
    lasted = lasting(wait.until_ms - wait.since_ms)
    if wait.released:
        return f"{waiter} waited {lasted} for {what} until {holder} gave up"
    return f"{waiter} waited {lasted} for {what}, which {holder} had not given up when the target changed"


def _texts(partitions: Iterable[Partition]) -> list[str]:
    return [str(partition) for partition in partitions]


def _shortened(partitions: Sequence[Partition]) -> str:
    shown = ", ".join(_texts(partitions[:6]))
    return shown if len(partitions) <= 6 else f"{shown} and {len(partitions) - 6} more"
