"""Positions from committed offsets and resets; and prefetching, partition by partition."""

from dataclasses import dataclass, field
from typing import Final

from kgroup.assignors.java_order import computed_order, hash_order, partition_hash, string_hash
from kgroup.group.member import errors as member_errors
from kgroup.group.member.cluster import ClusterView, CoordinatorLink
from kgroup.group.member.errors import Reaction, reaction
from kgroup.group.member.identity import Place
from kgroup.group.member.outbox import NEVER_MS, Outbox
from kgroup.group.member.positions import Position, PositionState, Subscriptions
from kgroup.group.member.settings import GroupProtocol, OffsetReset
from kgroup.group.member.step import MemberError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Fetch,
    FetchedPartition,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    Node,
    OffsetFetch,
    OffsetFetchResponse,
)
from kgroup.protocol.topic_partition import TopicPartition, group_by_topic

_FETCHING: Final = PositionState.FETCHING  # asked for in every turn; before Python 3.12 naming it is slow


@dataclass(slots=True)
class _Session:
    """A fetch session with one node (KIP-227): its id, the next epoch, the partitions in it."""

    session_id: int = 0
    epoch: int = 0
    partitions: set[TopicPartition] = field(default_factory=set)


class Fetcher:
    """Brings every assigned partition to FETCHING, and records to the user.

    One fetch at a time per node, for its partitions that have nothing buffered; an answer counts only where
    the position is still the one that was asked for.
    """

    def __init__(
        self,
        outbox: Outbox,
        view: ClusterView,
        coordinator: CoordinatorLink,
        subscriptions: Subscriptions,
        place: Place,
    ) -> None:
        self._outbox = outbox
        self._view = view
        self._coordinator = coordinator
        self._subscriptions = subscriptions
        self._place = place
        self._sessions: dict[int, _Session] = {}
        self._fetching_from: set[int] = set()
        self._listing: set[TopicPartition] = set()
        self._committed_request: int | None = None
        self._backoff = outbox.backoff()

    def progress(self, now_ms: int) -> None:
        """Send what the positions need next."""
        if now_ms < self._backoff.ready_ms:
            return
        ready, all_known = [], True
        for partition, position in self._subscriptions.positions.items():
            if position.state is not _FETCHING:
                all_known = False
            elif not position.buffered and not position.is_held_back:
                leader = self._view.leader(partition)
                if leader is not None and leader.node_id not in self._fetching_from:
                    ready.append(partition)
        if not all_known:
            self._fetch_committed()
            self._list_offsets()
        if ready:
            self._fetch(ready)

    def deadline_ms(self, now_ms: int) -> int:
        """The time at which a failed request may be retried; NEVER_MS if it waits for something else."""
        waits = self._backoff.ready_ms > now_ms and self._subscriptions.positions
        return self._backoff.ready_ms if waits else NEVER_MS

    @property
    def has_records(self) -> bool:
        """Whether a poll would hand out records."""
        for position in self._subscriptions.positions.values():  # asked at every answer
            if position.buffered and not position.is_held_back:
                return True
        return False

    def hand_out(self) -> None:
        """Return up to max.poll.records records, partition by partition; emptied ones come last next time."""
        left = self._outbox.settings.max_poll_records
        positions = self._subscriptions.positions
        for partition in list(positions):
            position = positions[partition]
            if not left or not position.buffered or position.is_held_back:
                continue
            records = position.hand_out(left)
            left -= len(records)
            self._outbox.turn.records.append((partition, records))
            positions[partition] = positions.pop(partition)

    def ask_again(self) -> None:
        """The assignment changed: commits fetched for the old one may have grown under another owner."""
        self._outbox.abandon(self._committed_request)
        self._committed_request = None

    # ---- committed offsets ------------------------------------------------------------------------

    def _fetch_committed(self) -> None:
        group, node = self._outbox.settings.group_id, self._coordinator.node
        waiting = self._in_state(PositionState.INITIALIZING)
        if not waiting:
            return
        if group is None:
            for partition in waiting:
                self._subscriptions.positions[partition].reset()
            return
        if node is None or self._committed_request is not None:
            return
        # Kafka's consumer asks in the orders of its HashSet of partitions and of its HashMap by topic, and so
        # do we: the recorded requests show it.
        ordered = hash_order(waiting, partition_hash)
        by_topic = group_by_topic(ordered)
        names = computed_order([topic for topic, _ in ordered], string_hash)
        topics = tuple((name, tuple(by_topic[name])) for name in names)
        # Kafka's classic consumer does not say who it is, and that of KIP-848 does.
        says_who = (
            self._outbox.settings.group_protocol is GroupProtocol.CONSUMER and self._subscriptions.in_group
        )
        self._committed_request = self._outbox.send(
            OffsetFetch(
                group_id=group,
                topics=topics,
                member_id=self._place.member_id if says_who else None,
                member_epoch=self._place.generation if says_who else -1,
            ),
            node,
            coordinator=True,
        )

    def take_committed(self, answer: OffsetFetchResponse, now_ms: int) -> None:
        """Committed offsets become positions; where there is none, auto.offset.reset decides."""
        self._committed_request = None
        if self._refused_committed(answer.error_code, now_ms):
            return
        self._backoff.succeeded()
        for committed in answer.offsets:
            if self._refused_committed(committed.error_code, now_ms):
                continue
            position = self._subscriptions.positions.get(committed.partition)
            if position is None or position.state is not PositionState.INITIALIZING:
                continue
            if committed.offset >= 0:
                position.committed = committed.offset
                position.move_to(committed.offset)
            else:
                self._reset(committed.partition, position)

    def _refused_committed(self, error_code: ErrorCode, now_ms: int) -> bool:
        match reaction(member_errors.OFFSET_FETCH, error_code):
            case Reaction.PROCEED:
                return False
            case Reaction.FIND:
                self._coordinator.lost()
                self._backoff.failed(now_ms)
            case Reaction.RETRY:
                self._backoff.failed(now_ms)
            case _:
                self._outbox.turn.error = MemberError("OffsetFetch", error_code)
        return True

    def committed_failed(self, now_ms: int) -> None:
        """The coordinator is gone."""
        self._committed_request = None
        self._coordinator.lost()
        self._backoff.failed(now_ms)

    def _reset(self, partition: TopicPartition, position: Position) -> None:
        position.reset()
        if self._outbox.settings.auto_offset_reset is OffsetReset.NONE:
            self._outbox.turn.error = MemberError(
                f"position of {partition[0]}-{partition[1]}",
                ErrorCode.OFFSET_OUT_OF_RANGE,
                "no committed offset that can be read, and auto.offset.reset is none",
            )

    # ---- resets -----------------------------------------------------------------------------------

    def _list_offsets(self) -> None:
        if self._outbox.settings.auto_offset_reset is OffsetReset.NONE:
            return
        earliest = self._outbox.settings.auto_offset_reset is OffsetReset.EARLIEST
        waiting = [each for each in self._in_state(PositionState.AWAIT_RESET) if each not in self._listing]
        for node, partitions in self._by_leader(waiting):
            self._listing.update(partitions)
            self._outbox.send(
                ListOffsets(
                    partitions=tuple(partitions),
                    timestamp=EARLIEST_TIMESTAMP if earliest else LATEST_TIMESTAMP,
                    read_committed=self._outbox.settings.read_committed,
                ),
                node,
            )

    def take_listed(self, request: ListOffsets, answer: ListOffsetsResponse, now_ms: int) -> None:
        """The ends of the logs become positions."""
        self._listing.difference_update(request.partitions)
        for listed in answer.offsets:
            match reaction(member_errors.LIST_OFFSETS, listed.error_code):
                case Reaction.PROCEED:
                    position = self._subscriptions.positions.get(listed.partition)
                    if position is not None and position.state is PositionState.AWAIT_RESET:
                        position.move_to(listed.offset)
                        self._backoff.succeeded()
                case Reaction.REFRESH:
                    self._view.refresh()
                    self._backoff.failed(now_ms)
                case _:
                    self._fail("ListOffsets", listed.partition, listed.error_code)

    def listing_failed(self, request: ListOffsets, now_ms: int) -> None:
        """The leader is gone."""
        self._listing.difference_update(request.partitions)
        self._view.refresh()
        self._backoff.failed(now_ms)

    # ---- records ----------------------------------------------------------------------------------

    def _fetch(self, ready: list[TopicPartition]) -> None:
        settings = self._outbox.settings
        positions = self._subscriptions.positions
        for node, partitions in self._by_leader(ready):
            session = self._sessions.setdefault(node.node_id, _Session())
            forgotten = session.partitions - set(partitions)
            session.partitions = set(partitions)
            self._fetching_from.add(node.node_id)
            self._outbox.send(
                Fetch(
                    offsets=tuple((each, positions[each].position or 0) for each in partitions),
                    max_wait_ms=settings.fetch_max_wait_ms,
                    min_bytes=settings.fetch_min_bytes,
                    max_bytes=settings.fetch_max_bytes,
                    partition_max_bytes=settings.max_partition_fetch_bytes,
                    session_id=session.session_id,
                    session_epoch=session.epoch,
                    forgotten=tuple(sorted(forgotten)) if session.session_id else (),
                    rack_id=settings.client_rack or "",
                    read_committed=settings.read_committed,
                ),
                node,
            )

    def take_fetched(self, node_id: int, request: Fetch, answer: FetchResponse, now_ms: int) -> None:
        """Records are kept for the user."""
        self._fetching_from.discard(node_id)
        session = self._sessions.setdefault(node_id, _Session())
        match reaction(member_errors.FETCH, answer.error_code):
            case Reaction.PROCEED:
                session.session_id = answer.session_id
                session.epoch = request.session_epoch + 1 if answer.session_id else 0
            case Reaction.NEW_SESSION:
                self._sessions[node_id] = _Session()
                return
            case Reaction.REFRESH:
                self._sessions[node_id] = _Session()
                self._view.refresh()
                self._backoff.failed(now_ms)
                return
            case _:
                self._outbox.turn.error = MemberError("Fetch", answer.error_code)
                return
        offsets = dict(request.offsets)
        for fetched in answer.partitions:
            position = self._subscriptions.positions.get(fetched.partition)
            if position is None or position.state is not PositionState.FETCHING:
                continue
            if position.position != offsets.get(fetched.partition) or position.buffered:
                continue  # a seek or a new owner's commit moved it meanwhile
            self._take_partition(position, fetched, now_ms)

    def _take_partition(self, position: Position, fetched: FetchedPartition, now_ms: int) -> None:
        match reaction(member_errors.FETCH, fetched.error_code):
            case Reaction.PROCEED:
                position.high_watermark = fetched.high_watermark
                position.log_start_offset = fetched.log_start_offset
                if fetched.next_offset is not None:
                    position.take_fetched(fetched.records, fetched.next_offset)
                self._backoff.succeeded()
            case Reaction.RESET:
                self._reset(fetched.partition, position)
            case Reaction.REFRESH:
                self._view.refresh()
                self._backoff.failed(now_ms)
            case _:
                self._fail("Fetch", fetched.partition, fetched.error_code)

    def fetch_failed(self, node_id: int, now_ms: int) -> None:
        """The leader is gone, and the session with it."""
        self._fetching_from.discard(node_id)
        self._sessions.pop(node_id, None)
        self._view.refresh()
        self._backoff.failed(now_ms)

    # ---- helpers ----------------------------------------------------------------------------------

    def _in_state(self, state: PositionState) -> list[TopicPartition]:
        return [each for each, position in self._subscriptions.positions.items() if position.state is state]

    def _by_leader(self, partitions: list[TopicPartition]) -> list[tuple[Node, list[TopicPartition]]]:
        """Partitions by the node that leads them, in the order of the node ids."""
        by_node: dict[int, tuple[Node, list[TopicPartition]]] = {}
        for partition in partitions:
            leader = self._view.leader(partition)
            if leader is not None:
                by_node.setdefault(leader.node_id, (leader, []))[1].append(partition)
        return [by_node[node_id] for node_id in sorted(by_node)]

    def _fail(self, api: str, partition: TopicPartition, error_code: ErrorCode) -> None:
        self._outbox.turn.error = MemberError(f"{api} of {partition[0]}-{partition[1]}", error_code)
