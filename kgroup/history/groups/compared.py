"""Changes between two moments of a cluster: groups, their members, and their committed offsets."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kgroup.history.groups.model import Group
from kgroup.protocol.topic_id import TopicId
from kgroup.protocol.topic_partition import TopicPartition


class ChangeKind(StrEnum):
    """The kind of a change between two states of a log."""

    GROUP_CAME = "group-came"
    GROUP_GONE = "group-gone"
    STATE = "state"
    PROTOCOL = "protocol"
    MEMBERS_CAME = "members-came"
    MEMBERS_GONE = "members-gone"
    OFFSET_FORWARD = "offset-forward"
    OFFSET_BACK = "offset-back"
    OFFSET_CAME = "offset-came"
    OFFSET_GONE = "offset-gone"
    TOPIC_RECREATED = "topic-recreated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A committed offset, with the id of its topic if the log has it."""

    offset: int
    topic_id: TopicId = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Groups as they were: those with records of their own or commits, and what each has committed."""

    groups: Mapping[str, Group]
    committed: Mapping[str, Mapping[TopicPartition, Committed]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change. Offsets are numbers, all else is text; `difference` is of offsets, 0 without one."""

    group: str
    kind: ChangeKind
    topic: str | None = None
    partition: int | None = None
    before: int | str | None = None
    after: int | str | None = None
    difference: int | None = None


def changes(before: Moment, after: Moment) -> Iterator[Change]:
    """All changes, by group; of a group that came or is gone, its offsets as well.

    An offset of a topic whose id is another one is of another topic: no step forward or back.
    """
    for group in sorted({*before.groups, *after.groups}):
        yield from _of_group(group, before.groups.get(group), after.groups.get(group))
        yield from _of_offsets(group, before.committed.get(group, {}), after.committed.get(group, {}))


def _of_group(name: str, before: Group | None, after: Group | None) -> Iterator[Change]:
    if before is None or after is None:
        if before is not None:
            yield Change(group=name, kind=ChangeKind.GROUP_GONE, before=_said(before))
        if after is not None:
            yield Change(group=name, kind=ChangeKind.GROUP_CAME, after=_said(after))
        return
    if before.state is not after.state:
        yield Change(group=name, kind=ChangeKind.STATE, before=before.state.value, after=after.state.value)
    was, is_now = _protocol(before), _protocol(after)
    # An empty group has forgotten its assignor.
    if was != is_now and (before.kind is not after.kind or (before.protocol and after.protocol)):
        yield Change(group=name, kind=ChangeKind.PROTOCOL, before=was, after=is_now)
    ours = {member.member_id: member.instance_id or member.client_id for member in before.members}
    theirs = {member.member_id: member.instance_id or member.client_id for member in after.members}
    gone = sorted(name for member_id, name in ours.items() if member_id not in theirs)
    came = sorted(name for member_id, name in theirs.items() if member_id not in ours)
    if gone:
        yield Change(group=name, kind=ChangeKind.MEMBERS_GONE, before=", ".join(gone))
    if came:
        yield Change(group=name, kind=ChangeKind.MEMBERS_CAME, after=", ".join(came))


def _said(group: Group) -> str:
    return f"{group.kind}, {group.state}"


def _protocol(group: Group) -> str:
    return f"{group.kind}, {group.protocol}" if group.protocol else group.kind.value


def _of_offsets(
    group: str, before: Mapping[TopicPartition, Committed], after: Mapping[TopicPartition, Committed]
) -> Iterator[Change]:
    for place in sorted({*before, *after}):
        was, is_now = before.get(place), after.get(place)
        offsets = (None if was is None else was.offset, None if is_now is None else is_now.offset)
        if was is None or is_now is None:
            kind = ChangeKind.OFFSET_CAME if was is None else ChangeKind.OFFSET_GONE
        elif was.topic_id is not None and is_now.topic_id is not None and was.topic_id != is_now.topic_id:
            kind = ChangeKind.TOPIC_RECREATED
        elif was.offset == is_now.offset:
            continue
        else:
            is_back = is_now.offset < was.offset
            kind = ChangeKind.OFFSET_BACK if is_back else ChangeKind.OFFSET_FORWARD
        moved = kind in (ChangeKind.OFFSET_BACK, ChangeKind.OFFSET_FORWARD)
        yield Change(
            group=group,
            kind=kind,
            topic=place[0],
            partition=place[1],
            before=offsets[0],
            after=offsets[1],
            difference=(offsets[1] or 0) - (offsets[0] or 0) if moved else None,
        )
