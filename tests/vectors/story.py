"""`story.json` of a capture as questions: what was done to a group, and which causes a log may name for it.

Truth comes from the driver's diary alone. A cause that kgroup grades `recorded` or `inferred` must have an
event of the diary that made it; an event that the log can show should be named.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgroup.history.timeline.model import Cause, CauseKind, Grade, Timeline
from kgroup.history.timeline.replay import replay
from kgroup.log.files.sources import one_replica_each, open_sources
from kgroup.log.format.batch import Damage
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap, OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey, group_of
from kgroup.scan.reductions.scan import split
from kgroup.scan.reductions.select import select

K = CauseKind
# From an event to its trace in the log: a member may sleep through a heartbeat, a session runs out,
# metadata grow old.
SLOW_MS = 60_000
CLOCK_MS = 1_500


class HeldError(Exception):
    """The log cannot show a condition, and why."""


@dataclass(frozen=True, slots=True)
class Said:
    """A cause that replay gives, and where."""

    group: str
    at_ms: int | None
    cause: Cause
    client_ids: tuple[str, ...]
    topics: frozenset[str]

    @property
    def graded(self) -> bool:
        return self.cause.grade is not Grade.UNKNOWN


@dataclass(frozen=True, slots=True)
class Story:
    """A capture's diary with the timelines that kgroup reads off its log."""

    name: str
    truth: list[dict[str, Any]]
    events: list[dict[str, Any]]
    timelines: dict[str, Timeline]
    group_records: dict[str, list[int]]
    """When each group's records other than commits were written, whatever replay makes of them."""
    stopped_ms: int
    """When the capture ends."""

    def said(self) -> Iterator[Said]:
        for group, timeline in self.timelines.items():
            clients: dict[str, str] = {}
            for generation in timeline.generations:
                for member in (*generation.roster.members, *generation.left, *generation.joined):
                    clients.setdefault(member.member_id, member.instance_id or member.client_id)
                topics = frozenset(p.topic for m in generation.roster.members for p in m.owned)
                for cause in generation.causes:
                    yield Said(group, generation.roster.at_ms, cause, _clients(cause, clients), topics)
            for occurrence in timeline.occurrences:
                topics = frozenset(partition.topic for partition in occurrence.partitions)
                yield Said(
                    group, occurrence.at_ms, occurrence.cause, _clients(occurrence.cause, clients), topics
                )

    def of(self, group: str | None, kind: str, action: str | None = None) -> Iterator[dict[str, Any]]:
        """The events of a group (None: of any)."""
        for event in self.events:
            is_ours = event["what"] == kind and (group is None or event["group"] == group)
            if is_ours and (action is None or list(event.get("action", ()))[:1] == [action]):
                yield event


def read_story(folder: Path) -> Story:
    """Read the diary and replay the log beside it, every group."""
    document = json.loads((folder / "story.json").read_text(encoding="utf-8"))
    sources = one_replica_each(open_sources([folder]))
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 26)]
    records: defaultdict[str, list[int]] = defaultdict(list)
    entries = _noting(select(slices, lambda group: True), records)
    timelines = replay(entries, LogDirEndsReader(sources.log_dirs).topic_names())
    name = f"{folder.absolute().parent.name}/{folder.name}"
    return Story(name, document["truth"], document["events"], timelines, records, document["stoppedMs"])


def _noting(
    items: Iterable[LoggedEntry | Damage | OffsetGap], records: defaultdict[str, list[int]]
) -> Iterator[LoggedEntry | OffsetGap]:
    for item in items:
        if isinstance(item, LoggedEntry) and isinstance(item.entry, OffsetsEntry):
            key = item.entry.key
            if not isinstance(key, OffsetCommitKey):
                records[group_of(key)].append(item.timestamp_ms)
        if not isinstance(item, Damage):
            yield item


def is_true(story: Story, said: Said) -> bool | None:
    """Whether an event of the diary made what was said; None where it tells nothing of such members."""
    if said.cause.kind in _OF_MEMBERS and said.client_ids and not _is_driven(story, said):
        return None
    start = _STARTS.get(said.cause.kind)
    if start is not None and not any(story.of(said.group, start)):
        return None
    if said.cause.kind is K.OFFSET_RESET and _is_in_the_time_of_a_tool(story, said):
        return True
    return any(_near(event["t"], said.at_ms, _slow_ms(said)) for event in _makers(story, said))


def _is_in_the_time_of_a_tool(story: Story, said: Said) -> bool:
    """Whether an admin's tool was at work: it had set the offsets when it ended, which is when the event is
    noted. The diary may have the time of its start, too: the tool itself takes seconds.
    """
    for event in story.of(said.group, "admin", "alter"):
        begun = [
            condition["from_ms"]
            for condition in story.truth
            if condition["condition"] == "rewind-by-admin"
            and condition["group"] == said.group
            and condition["from_ms"] <= event["t"] <= condition["to_ms"]
        ]
        first_ms = min([event["t"], *begun]) - CLOCK_MS
        if said.at_ms is None or first_ms <= said.at_ms <= event["t"] + CLOCK_MS:
            return True
    return False


# The driver logs every step of its own members; of clients in other languages, and of those that Connect,
# Streams and
# raw requests bring, not how they end.
_STARTS = {K.SHARE_STATE_READY: "start-share-consumers", K.TOPOLOGY_READY: "start-streams"}
_OF_MEMBERS = (K.FIRST_JOIN, K.JOIN, K.LEAVE, K.SESSION_EXPIRED, K.STATIC_RESTART, K.SUBSCRIPTION_CHANGED)


def _is_driven(story: Story, said: Said) -> bool:
    started = {event["handle"] for event in story.of(said.group, "started")}
    starts = [event for event in story.of(said.group, "start-member") if event["handle"] in started]
    return any(_is_client(story, event, said.client_ids) for event in starts)


def _slow_ms(said: Said) -> int | None:
    if said.cause.kind is K.NO_MEMBERSHIP:
        return None  # holds for the group's whole life
    # A deleted topic stays in the metadata of some clients until it is refreshed.
    return 2 * SLOW_MS if said.cause.kind is K.SUBSCRIPTION_CHANGED else SLOW_MS


def _makers(story: Story, said: Said) -> Iterator[dict[str, Any]]:
    group = said.group
    match said.cause.kind:
        case K.FIRST_JOIN | K.JOIN:
            yield from (e for e in story.of(group, "start-member") if _is_client(story, e, said.client_ids))
            # A client takes its time to start; one that was out, or asleep, joins when it notices.
            for kind in ("started", "thaw", "lost", "unblocked"):
                yield from (e for e in story.of(group, kind) if _is_client(story, e, said.client_ids))
            for kind in ("raw-join", "start-connect-worker", "start-streams", "start-share-consumers"):
                yield from story.of(group, kind)
        case K.LEAVE:
            yield from (e for e in story.of(group, "stop-member") if _is_client(story, e, said.client_ids))
            yield from story.of(group, "raw-leave")
            yield from story.of(group, "share-consumers-left")
            yield from story.of(group, "admin", "remove-members")
        case K.SESSION_EXPIRED:
            yield from (e for e in story.of(group, "kill-member") if _is_client(story, e, said.client_ids))
            # Clients of 0.10 close without waiting for their LeaveGroup to be sent: it is lost, and the
            # coordinator waits for the session to run out.
            closed = (e for e in story.of(group, "closed") if _is_client(story, e, said.client_ids))
            yield from (e for e in closed if said.at_ms and said.at_ms - e["t"] >= 5_000)
            # A static member that closes keeps its place until its session expires.
            stopped = (e for e in story.of(group, "stop-member") if _is_client(story, e, said.client_ids))
            yield from (e for e in stopped if _instance_of(story, e))
        case K.POLL_INTERVAL_EXCEEDED:
            blocked = story.of(group, "do", "block")
            yield from (e for e in blocked if _is_client(story, e, said.client_ids))
        case K.STATIC_RESTART:
            yield from (e for e in story.of(group, "start-member") if e.get("p_group_instance_id"))
        case K.ASSIGNOR_CHANGED:
            starts = story.of(group, "start-member")
            yield from (e for e in starts if e.get("p_partition_assignment_strategy"))
        case K.SUBSCRIPTION_CHANGED:
            yield from story.of(group, "do", "subscribe")
            yield from story.of(None, "admin", "delete-topic")
            yield from story.of(group, "start-member")
        case K.TOPIC_GREW:
            grown = (e for e in story.of(None, "admin", "partitions") if e["r"] == "ok")
            yield from (e for e in grown if e["action"][1] in said.cause.evidence)
        case K.METADATA_CHANGED:
            for action in ("partitions", "create-topic", "delete-topic"):
                yield from story.of(None, "admin", action)
        case K.SHARE_STATE_READY | K.TOPOLOGY_READY as kind:
            yield from story.of(group, _STARTS[kind])
        case K.COOPERATIVE_FOLLOW_UP:
            yield from (e for e in story.of(group, "revoked") if e["partitions"] != "[]")
        case K.OFFSET_RESET:
            yield from story.of(group, "raw-commit")
            yield from (e for e in story.of(group, "start-member") if e.get("assign"))
        case K.REWIND:
            yield from story.of(group, "do")
            yield from story.of(group, "raw-commit")
        case K.GROUP_DELETED:
            yield from story.of(group, "admin", "delete-group")
        case K.TOPIC_DELETED:
            yield from story.of(None, "admin", "delete-topic")
        case K.PROTOCOL_MIGRATED:
            conditions = ("classic-to-consumer", "consumer-to-classic")
            yield from (
                {"t": t["from_ms"]}
                for t in story.truth
                if t["group"] == group and t["condition"] in conditions
            )
        case K.TRANSACTION_ABORTED:
            yield from (e for e in story.of(group, "do", "txn") if "abort" in e["action"])
        case K.NO_MEMBERSHIP:
            yield from (e for e in story.of(group, "start-member") if e.get("assign"))
            yield from story.of(group, "raw-commit")
            yield from story.of(group, "do", "txn")
        case K.UNREADABLE_MEMBER:
            yield from story.of(group, "raw-join")
        case _:
            return


def _near(event_ms: int, said_ms: int | None, slow_ms: int | None) -> bool:
    return said_ms is None or slow_ms is None or -CLOCK_MS <= said_ms - event_ms <= slow_ms


def _clients(cause: Cause, clients: dict[str, str]) -> tuple[str, ...]:
    return tuple(clients.get(member_id, "") for member_id in cause.member_ids)


def client_of(story: Story, event: dict[str, Any]) -> str:
    """The client id (or instance id) of the member that an event is about."""
    start = _start_of(story, event)
    client: str = _instance_of(story, event) or start.get("client") or start["handle"]
    return client


def _instance_of(story: Story, event: dict[str, Any]) -> str | None:
    instance_id: str | None = _start_of(story, event).get("p_group_instance_id")
    return instance_id


def _start_of(story: Story, event: dict[str, Any]) -> dict[str, Any]:
    starts = [e for e in story.of(event["group"], "start-member") if e["handle"] == event["handle"]]
    return starts[0] if starts else event


def _is_client(story: Story, event: dict[str, Any], client_ids: tuple[str, ...]) -> bool:
    return any(client_id.startswith(client_of(story, event)) for client_id in client_ids)
