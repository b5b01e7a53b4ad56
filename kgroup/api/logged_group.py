"""A group as the offsets topic last saw it: its members, what they subscribe to, and what they own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from kgroup.api.group_model import LoggedGroup
from kgroup.api.names import is_pattern
from kgroup.api.opened import OpenedLogs, failed, left_out
from kgroup.assignors.model import NO_GENERATION, Topic
from kgroup.assignors.planning.plan import GroupPlan, PlanMember, new_plan
from kgroup.errors import InputError, SourceError, did_you_mean
from kgroup.history.groups.newest import NewestEntries
from kgroup.history.groups.snapshot import logged_topic_names
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.log.files.damage_text import damage_text, undecodable_text
from kgroup.log.files.entries import read_entries
from kgroup.log.files.sources import Sources
from kgroup.log.format.batch import Damage
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.log.topics.log_ends_file import read_log_ends_file
from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.log_listing import LogListing
from kgroup.protocol.records import keys, values
from kgroup.protocol.records.consumer_group import TopicPartitions
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, Undecodable
from kgroup.protocol.subscription import decode_member
from kgroup.protocol.topic_id import topic_id_text
from kgroup.protocol.topic_partition import TopicPartition


def read_logged_group(
    logs: OpenedLogs,
    group: str,
    *,
    log_ends: Path | None = None,
    topics: Sequence[Topic] = (),
) -> LoggedGroup:
    """Read a group's members, subscriptions and owned partitions from its newest records.

    Partition counts are, in this order, those of `topics`, those of the file `log_ends` (as for lag-report),
    those of the live cluster, and those of the folders and checkpoints next to the log.
    Raises SourceError if the group is not there or its members cannot be read, and InputError for a
    subscribed topic whose partitions nobody knows.
    """
    sources = logs.of_groups([group])
    living, damage = _living(logs, sources, group)
    live = logs.listing
    listings = [read_log_ends_file(log_ends)] if log_ends else []
    listings += [live] if live is not None else []
    reader = LogDirEndsReader(sources.log_dirs)
    beside = reader.read(())
    listings += [beside.segments, beside.checkpoints, beside.recorded]
    names = {**logged_topic_names(living), **reader.topic_names(), **LogEnds(listings).topic_names()}
    own = [entry for entry in _entries(living) if keys.group_of(entry.key) == group]
    logged = _classic(own, group) or _modern(own, names)
    if logged is None:
        where = "" if live is not None else f"{', '.join(logs.names)}: "
        here = "in this log" if live is None else "here"
        others = sorted({keys.group_of(entry.key) for entry in _entries(living)} - {group})
        hint = did_you_mean(group, others) or (f", but it is damaged: {damage[0]}" if damage else "")
        if is_pattern(group):
            hint = "; it takes one name, and no pattern"
        raise SourceError(f"{where}no group '{group}' with members is {here}{hint}")
    judged = logs.judged({name for member in logged.plan.members for name in member.topics})
    listings += [judged] if judged is not None else []
    plan = replace(logged.plan, topics=tuple(_topics(logged.plan, listings, topics)))
    problems = (*failed(sources), *damage, *reader.problems)
    return replace(logged, plan=plan, notes=tuple(left_out(sources)), problems=problems)


def _living(logs: OpenedLogs, sources: Sources, group: str) -> tuple[list[LoggedEntry], list[str]]:
    """The newest entries, of the group's own partition where it is there (of 50), else of all."""
    own = partition_for(group)
    segments = [segment for segment in sources if segment.partition == own] or list(sources)
    newest = NewestEntries()
    damage: list[str] = []
    for item in read_entries(segments, stdin=logs.stdin.open() if logs.stdin else None):
        if isinstance(item, Damage):
            damage.append(damage_text(item))
        else:
            if isinstance(item.entry, Undecodable):
                damage.append(undecodable_text(item, item.entry))
            newest.add(item)
    living = [*newest.commits(), *newest.others()]
    if len(segments) < len(sources) and not any(keys.group_of(e.key) == group for e in _entries(living)):
        others = replace(sources, segments=tuple(s for s in sources if s.partition != own))
        return _living(logs, others, group)
    return living, damage


def _entries(logged: Iterable[LoggedEntry]) -> Iterator[OffsetsEntry]:
    return (item.entry for item in logged if isinstance(item.entry, OffsetsEntry))


def _classic(entries: Sequence[OffsetsEntry], group: str) -> LoggedGroup | None:
    for entry in entries:
        if isinstance(entry.value, values.GroupMetadataValue) and entry.value.members:
            return _classic_group(entry.value, group)
    return None


def _classic_group(value: values.GroupMetadataValue, group: str) -> LoggedGroup:
    if value.protocol_type != "consumer":
        raise SourceError(
            f"group '{group}' has protocol type '{value.protocol_type}', whose members get no partitions"
        )
    members = [_classic_member(member, value.generation) for member in value.members]
    return LoggedGroup(plan=new_plan(members, (), value.generation), assignor=value.protocol)


def _classic_member(member: values.MemberMetadata, generation: int) -> PlanMember:
    blobs = decode_member(member.subscription, member.assignment)
    subscription = blobs.subscription
    if blobs.error or subscription is None:
        raise SourceError(f"member '{member.member_id}': {blobs.error}") from blobs.error
    return PlanMember(
        member_id=member.member_id,
        topics=subscription.topics,
        group_instance_id=member.group_instance_id,
        rack_id=subscription.rack,
        owned=blobs.owned,
        generation=generation if member.assignment else NO_GENERATION,
    )


def _modern(entries: Sequence[OffsetsEntry], names: Mapping[UUID, str]) -> LoggedGroup | None:
    """A consumer (KIP-848) or share group (KIP-932): subscriptions, and the target assignment."""
    subscribers = list(_subscribers(entries))
    if not subscribers:
        return None
    epoch = 0
    targets: dict[str, tuple[TopicPartitions, ...]] = {}
    for entry in entries:
        match entry.key, entry.value:
            case (
                keys.ConsumerGroupTargetAssignmentMemberKey(member_id=member_id),
                values.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=target),
            ):
                targets[member_id] = target
            case (
                keys.ShareGroupTargetAssignmentMemberKey(member_id=member_id),
                values.ShareGroupTargetAssignmentMemberValue(topic_partitions=target),
            ):
                targets[member_id] = target
            case _, values.ConsumerGroupMetadataValue() | values.ShareGroupMetadataValue() as metadata:
                epoch = metadata.epoch
            case _:
                pass
    members = [
        replace(member, owned=_named(targets.get(member.member_id, ()), names), generation=epoch)
        for member, _ in subscribers
    ]
    wishes = [assignor for _, assignor in subscribers]
    assignor = max(wishes, key=wishes.count)
    return LoggedGroup(
        plan=new_plan(members, (), epoch),
        assignor="server-range" if assignor == "range" else assignor,
    )


def _subscribers(entries: Sequence[OffsetsEntry]) -> Iterator[tuple[PlanMember, str]]:
    """The members, owning nothing yet, and the assignor that each asks for, else the broker's default."""
    patterns = {
        entry.key.regular_expression: entry.value.topics
        for entry in entries
        if isinstance(entry.key, keys.ConsumerGroupRegularExpressionKey)
        and isinstance(entry.value, values.ConsumerGroupRegularExpressionValue)
    }
    for entry in entries:
        match entry.key, entry.value:
            case (
                keys.ConsumerGroupMemberMetadataKey(member_id=member_id),
                values.ConsumerGroupMemberMetadataValue() as member,
            ):
                matched = patterns.get(member.subscribed_topic_regex or "", ())
                yield (
                    PlanMember(
                        member_id=member_id,
                        topics=tuple(dict.fromkeys((*member.subscribed_topic_names, *matched))),
                        group_instance_id=member.instance_id,
                        rack_id=member.rack_id,
                    ),
                    member.server_assignor or "uniform",
                )
            case (
                keys.ShareGroupMemberMetadataKey(member_id=member_id),
                values.ShareGroupMemberMetadataValue() as sharer,
            ):
                yield (
                    PlanMember(
                        member_id=member_id, topics=sharer.subscribed_topic_names, rack_id=sharer.rack_id
                    ),
                    "simple",
                )
            case _:
                pass


def _named(assigned: Sequence[TopicPartitions], names: Mapping[UUID, str]) -> tuple[TopicPartition, ...]:
    """Partitions by topic name; a topic that no source names goes by its id."""
    return tuple(
        (names.get(topic.topic_id, topic_id_text(topic.topic_id)) if topic.topic_id else "", number)
        for topic in assigned
        for number in topic.partitions
    )


def _topics(plan: GroupPlan, listings: Sequence[LogListing], given: Sequence[Topic]) -> Iterator[Topic]:
    counts: dict[str, int] = {}
    ids: dict[str, UUID] = {}
    for listing in listings:
        known = set(counts)
        for log in listing.logs:
            if log.topic not in known:
                counts[log.topic] = max(counts.get(log.topic, 0), log.partition + 1)
            if log.topic_id is not None:
                ids.setdefault(log.topic, log.topic_id)
    hidden = {name for listing in listings for name in listing.hidden}
    complete = any(listing.complete for listing in listings)
    said = {topic.name: topic for topic in given}
    counts |= {topic.name: topic.partitions for topic in given}
    wanted = dict.fromkeys(name for member in plan.members for name in member.topics)
    for name in dict.fromkeys((*wanted, *said)):
        if name in counts:
            yield Topic(name=name, partitions=counts[name], topic_id=ids.get(name))
        elif name in hidden or not complete:
            member = next(member for member in plan.members if name in member.topics)
            whose = "which you may not describe" if name in hidden else "whose partitions no file here knows"
            raise InputError(
                f"member '{member.member_id}' subscribes to '{name}', {whose}: say --topic {name}:N"
            )
