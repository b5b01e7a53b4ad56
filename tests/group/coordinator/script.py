"""Scripts that drive a coordinator: a command, `----`, and everything that came of it.

Members go by names of the script's own (`m1`); their ids are the name and a counter. `advance` moves the
clock step by step through every deadline. `reload` builds the coordinator anew from the log.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import NO_PRODUCER_ID, OffsetsRecord, Reply, Request, Step
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import LoggedEntry, TransactionMarker
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    DeleteGroups,
    EndTransaction,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    OffsetCommit,
    OffsetDelete,
    RequestBody,
    SyncGroup,
    TxnOffsetCommit,
)

GROUP = "g"


def subscription(topics: str) -> bytes:
    """A version 0 subscription to topics given as `a,b`."""
    names = [name for name in topics.split(",") if name]
    body = b"".join(len(name).to_bytes(2, "big") + name.encode() for name in names)
    return b"\0\0" + len(names).to_bytes(4, "big") + body + b"\xff\xff\xff\xff"


@dataclass
class ScriptWorld:
    """A coordinator, its log, a clock, and the members of the script."""

    settings: GroupSettings = field(default_factory=lambda: GroupSettings(initial_rebalance_delay_ms=3000))
    now_ms: int = 0
    log: list[LoggedEntry] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    unanswered: dict[int, tuple[str, RequestBody]] = field(default_factory=dict)
    request_ids: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self._uuids = count(1)
        self.coordinator = self._new_coordinator()
        self.coordinator.loaded(self.now_ms)

    def _new_coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(0, self.settings, lambda: str(next(self._uuids)))

    # ---- commands -----------------------------------------------------------------------------

    def play(self, *lines: str) -> list[str]:
        """Run some commands; all that came of them."""
        return [answer for line in lines for answer in self.run(line)]

    def run(self, line: str) -> list[str]:
        command, *words = line.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        names = [word for word in words if "=" not in word]
        match command:
            case "advance":
                return self._advance(int(names[0]))
            case "reload":
                return self.reload()
            case "describe":
                return self._describe()
            case "offsets":
                return self._offsets(stable="stable" in names)
            case _:
                who = names[0] if names else "-"
                return self._ask(who, self._body(command, who, names[1:], options))

    def _body(self, command: str, who: str, words: list[str], options: dict[str, str]) -> RequestBody:
        member_id = options.get("id", self.ids.get(who, ""))
        instance = options.get("instance")
        generation = int(options.get("generation", "-1"))
        match command:
            case "join":
                protocols = options.get("protocols", "range").split(",")
                metadata = (
                    bytes.fromhex(options["raw"])
                    if "raw" in options
                    else subscription(options.get("topics", ""))
                )
                return JoinGroup(
                    group_id=GROUP,
                    session_timeout_ms=int(options.get("session", "10000")),
                    rebalance_timeout_ms=int(options.get("rebalance", "60000")),
                    member_id=member_id,
                    group_instance_id=instance,
                    protocol_type=options.get("type", "consumer"),
                    protocols=tuple((name, metadata) for name in protocols if name),
                    needs_known_id="two-step" in words,
                    can_skip_assignment="v9" in words,
                )
            case "sync":
                assigned = [pair.split(":") for pair in options.get("assign", "").split(",") if pair]
                return SyncGroup(
                    group_id=GROUP,
                    generation_id=generation,
                    member_id=member_id,
                    group_instance_id=instance,
                    protocol_type=options.get("type"),
                    protocol_name=options.get("protocol"),
                    assignments=tuple((self.ids.get(name, name), share.encode()) for name, share in assigned),
                )
            case "heartbeat":
                return Heartbeat(
                    group_id=GROUP, generation_id=generation, member_id=member_id, group_instance_id=instance
                )
            case "leave":
                return LeaveGroup(
                    group_id=GROUP,
                    members=(LeavingMember(member_id=member_id, group_instance_id=instance),),
                )
            case "commit":
                return OffsetCommit(
                    group_id=GROUP,
                    generation_id=generation,
                    member_id=member_id,
                    group_instance_id=instance,
                    retention_time_ms=int(options.pop("retention", "-1")),
                    topics=_topics(options),
                )
            case "txn-commit":
                return TxnOffsetCommit(
                    group_id=GROUP,
                    producer_id=int(options.pop("producer")),
                    producer_epoch=0,
                    generation_id=generation,
                    member_id=member_id,
                    group_instance_id=instance,
                    topics=_topics(options),
                )
            case "end-txn":
                return EndTransaction(
                    producer_id=int(options["producer"]), producer_epoch=0, committed="commit" in words
                )
            case "delete-offsets":
                return OffsetDelete(group_id=GROUP, topics=tuple((name, (0,)) for name in words))
            case "delete-group":
                return DeleteGroups(group_ids=(GROUP,))
            case _:
                raise AssertionError(f"no such command: {command}")

    # ---- what comes of them -------------------------------------------------------------------

    def _ask(self, who: str, body: RequestBody) -> list[str]:
        request_id = next(self.request_ids)
        self.unanswered[request_id] = (who, body)
        step = self.coordinator.handle(
            Request(id=request_id, body=body, client_id=who, client_host="/127.0.0.1"), self.now_ms
        )
        lines = self._take(step)
        if request_id in self.unanswered:
            deadline = self.coordinator.next_deadline_ms()
            lines.append(f"parked, deadline {deadline}")
        return lines

    def _advance(self, duration_ms: int) -> list[str]:
        end_ms = self.now_ms + duration_ms
        lines: list[str] = []
        while (due := self.coordinator.next_deadline_ms()) is not None and due <= end_ms:
            self.now_ms = max(due, self.now_ms)
            happened = self._take(self.coordinator.expire(self.now_ms))
            lines += [f"at {self.now_ms}: {line}" for line in happened]
        self.now_ms = end_ms
        return lines

    def reload(self) -> list[str]:
        """A new coordinator from the log; parked requests are refused as on a change of leaders."""
        lines = self._take(self.coordinator.unload(ErrorCode.NOT_COORDINATOR, self.now_ms))
        self.coordinator = self._new_coordinator()
        for entry in self.log:
            self.coordinator.apply(entry)
        return lines + self._take(self.coordinator.loaded(self.now_ms))

    def _take(self, step: Step) -> list[str]:
        lines = []
        for record in step.records():
            self.log.append(logged(record, len(self.log)))
            lines.append(f"log {self._record(record)}")
        lines += [self._reply(reply) for reply in step.replies]
        return lines

    def _record(self, record: OffsetsRecord) -> str:
        entry = record.entry
        if isinstance(entry, TransactionMarker):
            return f"marker producer={entry.producer_id} {'commit' if entry.committed else 'abort'}"
        subject = (
            f"{entry.key.topic}-{entry.key.partition}" if isinstance(entry.key, OffsetCommitKey) else "group"
        )
        pending = "" if record.producer_id == NO_PRODUCER_ID else f" producer={record.producer_id}"
        match entry.value:
            case None:
                return f"{subject} tombstone{pending}"
            case OffsetCommitValue() as value:
                return f"{subject} offset={value.offset}{pending}"
            case GroupMetadataValue() as value:
                members = ",".join(f"{each.member_id}:{each.assignment.decode()}" for each in value.members)
                return (
                    f"group generation={value.generation} type={value.protocol_type or '-'} "
                    f"protocol={value.protocol or '-'} leader={value.leader or '-'} members=[{members}]"
                )
            case _:
                raise AssertionError(entry)

    def _reply(self, reply: Reply) -> str:
        who, request = self.unanswered.pop(reply.request_id)
        body = reply.body
        api = type(request).__name__
        if getattr(body, "member_id", ""):
            self.ids[who] = body.member_id  # type: ignore[union-attr]
        words = [f"reply {who} {api}"]
        error = getattr(body, "error_code", None)
        if error is not None:
            words.append(error.name)
        if isinstance(request, JoinGroup):
            words.append(f"id={body.member_id or '-'}")  # type: ignore[union-attr]
            if not error:
                members = ",".join(each.member_id for each in body.members)  # type: ignore[union-attr]
                words += [
                    f"generation={body.generation_id}",  # type: ignore[union-attr]
                    f"protocol={body.protocol_name}",  # type: ignore[union-attr]
                    f"leader={body.leader}",  # type: ignore[union-attr]
                    f"members=[{members}]",
                ]
                if body.skip_assignment:  # type: ignore[union-attr]
                    words.append("skip-assignment")
        elif isinstance(request, SyncGroup) and not error:
            words.append(f"assignment={body.assignment.decode()!r}")  # type: ignore[union-attr]
        for member in getattr(body, "members", []) if isinstance(request, LeaveGroup) else []:
            words.append(f"{member.member_id or member.group_instance_id}:{member.error_code.name}")
        for topic in getattr(body, "topics", []):
            words += [
                f"{topic.name}-{part.partition_index}:{part.error_code.name}" for part in topic.partitions
            ]
        for result in getattr(body, "results", []):
            words.append(f"{result.group_id}:{result.error_code.name}")
        return " ".join(words)

    def _describe(self) -> list[str]:
        group = self.coordinator.describe(GROUP)
        members = ",".join(f"{each.member_id}:{each.member_assignment.decode()}" for each in group.members)
        error = f" {group.error_code.name}" if group.error_code else ""
        return [
            f"{group.group_state}{error} type={group.protocol_type or '-'} "
            f"protocol={group.protocol_data or '-'} members=[{members}]"
        ]

    def _offsets(self, *, stable: bool) -> list[str]:
        return [
            f"{topic.name}-{part.partition_index} offset={part.committed_offset}"
            + (f" {part.error_code.name}" if part.error_code else "")
            for topic in self.coordinator.fetch_offsets(GROUP, None, stable)
            for part in topic.partitions
        ]


def stable(*joins: str, settings: GroupSettings | None = None) -> ScriptWorld:
    """A Stable group of who joins, as `m1 session=6000` each: the first leads, and `m1` is given `m1s`."""
    world = ScriptWorld(settings or GroupSettings(initial_rebalance_delay_ms=0))
    for join in joins:
        world.run(f"join {join}")
    world.run("advance 0")
    names = [join.split()[0] for join in joins]
    shares = ",".join(f"{name}:{name}s" for name in names)
    for join, name in zip(joins, names, strict=True):
        instance = "".join(word for word in join.split() if word.startswith("instance="))
        world.run(f"sync {name} generation=1 assign={shares} {instance}")
    assert world.coordinator.describe(GROUP).group_state == "Stable"
    return world


def logged(record: OffsetsRecord, offset: int) -> LoggedEntry:
    """A record as it lies in the log."""
    return LoggedEntry(
        partition=0,
        offset=offset,
        timestamp_ms=record.timestamp_ms,
        leader_epoch=0,
        producer_id=None if record.producer_id == NO_PRODUCER_ID else record.producer_id,
        entry=record.entry,
    )


def _topics(options: dict[str, str]) -> tuple[CommitTopic, ...]:
    """`orders/0=5` among the options commits 5 for orders-0."""
    topics: dict[str, list[CommitPartition]] = {}
    for name, value in options.items():
        topic, slash, partition = name.partition("/")
        if slash:
            topics.setdefault(topic, []).append(
                CommitPartition(
                    partition_index=int(partition),
                    committed_offset=int(value),
                    committed_leader_epoch=-1,
                    committed_metadata="",
                )
            )
    return tuple(
        CommitTopic(name=name, topic_id=None, partitions=tuple(partitions))
        for name, partitions in topics.items()
    )
