"""Obstacles between a group and the consumer protocol (KIP-848), from its last generation and its history.

Sources: `GroupMetadataManager.validateOnlineUpgrade`, `ConsumerConfig` (properties that one of the two
protocols does not know) and the server-side assignors of Kafka 4.3.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.durations import lasting
from kgroup.errors import DecodeError
from kgroup.history.advise.played import numbers, played, saved_text
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Grade, Roster, Timeline
from kgroup.history.what_if.changes import DEFAULT_SESSION_MS, Changes
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.protocol.subscription import decode_subscription

_REMOTE: Final = {"range": "range"}
"""The assignor of brokers that shares out as the client's does; for all others `uniform`, their first."""


class Standing(StrEnum):
    """READY: nothing to do. CHANGE: a setting has to go. NOTE: will be otherwise. BLOCKED: no way."""

    READY = "ready"
    CHANGE = "change"
    NOTE = "note"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolStep:
    """One thing about a group's change: `subject` is a property by Kafka's name, `conversion` or `cost`."""

    group: str
    subject: str
    standing: Standing
    grade: Grade
    evidence: str
    numbers: Mapping[str, int | float | str | None] = field(default_factory=dict)


def protocol_steps(
    timeline: Timeline, metadata: GroupMetadataValue | None, refusal: str | None
) -> list[ProtocolStep]:
    """All of one group. `metadata` is its last record if it is a classic group with members.

    `refusal` is what a coordinator said to the first member of the consumer protocol; None: it let it in.
    """
    roster = timeline.generations[-1].roster if timeline.generations else None
    conversion = _conversion(timeline.group_id, roster, refusal)
    if conversion.standing is Standing.BLOCKED or roster is None or not roster.members:
        return [conversion]
    if roster.kind is not GroupKind.CLASSIC:
        return [conversion]
    return [
        conversion,
        *_settings(timeline.group_id, roster),
        *_static(timeline.group_id, roster),
        *_racks(timeline.group_id, metadata),
        *_cost(timeline),
    ]


def _step(
    group: str, subject: str, standing: Standing, evidence: str, grade: Grade = Grade.RECORDED
) -> ProtocolStep:
    return ProtocolStep(group=group, subject=subject, standing=standing, grade=grade, evidence=evidence)


def _conversion(group: str, roster: Roster | None, refusal: str | None) -> ProtocolStep:
    if roster is None:
        return _step(
            group,
            "conversion",
            Standing.READY,
            "it has offsets and no members: the first to join decides",
        )
    if roster.kind in (GroupKind.SHARE, GroupKind.STREAMS):
        what = f"it is a {roster.kind} group, which has a protocol of its own"
        return _step(group, "conversion", Standing.BLOCKED, what)
    if roster.kind is GroupKind.CONSUMER:
        return _step(group, "conversion", Standing.READY, "it is a consumer group already")
    if refusal is not None:
        return _step(group, "conversion", Standing.BLOCKED, f"brokers answer GROUP_ID_NOT_FOUND: {refusal}")
    if not roster.members:
        what = (
            "it is Empty: the first member of the consumer protocol founds a group in its place, offsets stay"
        )
        return _step(group, "conversion", Standing.READY, what)
    count = len(roster.members)
    what = (
        f"the first member of the consumer protocol takes {count} classic member{'s' if count > 1 else ''} of"
        f" generation {roster.generation} along; each moves over when it is restarted"
    )
    return _step(group, "conversion", Standing.READY, what)


def _settings(group: str, roster: Roster) -> Iterator[ProtocolStep]:
    sessions = Counter(
        member.session_timeout_ms
        for member in roster.members
        if member.session_timeout_ms not in (None, DEFAULT_SESSION_MS)
    )
    if sessions:
        values = ", ".join(f"{count} with {value}" for value, count in sorted(sessions.items(), key=str))
        yield _step(
            group,
            "session.timeout.ms",
            Standing.CHANGE,
            f"{values}: take it out, as Kafka's client does not start with it. The broker's"
            f" group.consumer.session.timeout.ms counts, {lasting(DEFAULT_SESSION_MS)} and no less by"
            " default; so does its heartbeat interval",
        )
    entry = ASSIGNORS.get(roster.protocol or "")
    remote = _REMOTE.get(roster.protocol or "", "uniform")
    own = (
        ""
        if entry is not None and entry.client is not None
        else ", which is none of Kafka's and ends with it"
    )
    yield _step(
        group,
        "partition.assignment.strategy",
        Standing.CHANGE,
        f"the group goes by '{roster.protocol}'{own}. Take it out where it is set: the broker assigns, and"
        f" group.remote.assignor={remote} {'does the same' if remote == 'range' else 'is its default'}",
        Grade.INFERRED,
    )


def _static(group: str, roster: Roster) -> Iterator[ProtocolStep]:
    static = [member for member in roster.members if member.instance_id is not None]
    if static:
        yield _step(
            group,
            "group.instance.id",
            Standing.NOTE,
            f"{len(static)} of {len(roster.members)} members are static. A second process with the same id is"
            " refused (UNRELEASED_INSTANCE_ID) until the first has left or its session is over; in a classic"
            " group it puts the first one out",
        )


def _racks(group: str, metadata: GroupMetadataValue | None) -> Iterator[ProtocolStep]:
    racks: set[str] = set()
    for member in metadata.members if metadata is not None else ():
        try:
            rack = decode_subscription(member.subscription).rack
        except DecodeError:
            continue
        if rack:
            racks.add(rack)
    if racks:
        yield _step(
            group,
            "client.rack",
            Standing.NOTE,
            f"members are in {', '.join(sorted(racks))}. The brokers' assignors of 4.3 do not look at racks;"
            " fetching from the nearest replica stays as it is",
        )


def _cost(timeline: Timeline) -> Iterator[ProtocolStep]:
    comparison = played(timeline, Changes(protocol=Protocol.SERVER))
    if comparison is not None:
        yield ProtocolStep(
            group=timeline.group_id,
            subject="cost",
            standing=Standing.NOTE,
            grade=Grade.INFERRED,
            evidence=f"the same comings and goings with it: {saved_text(comparison)}",
            numbers=numbers(comparison),
        )
