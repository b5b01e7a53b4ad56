"""A member of a consumer group, pure: calls, answers and time in, requests and callbacks out.

What is the same whichever protocol the group speaks: subscriptions, positions, commits, fetches, the end.
The protocol itself is a `Membership`: `classic/rounds.py` or `consumer/membership.py`. Read the others in
this order: `step` (what goes in and out), the membership, `fetcher` (positions), `commits`, `cluster`,
`errors` (the tables). It behaves as the consumers of Kafka 4.3.1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, assert_never

from kgroup.errors import InputError
from kgroup.group.member.cluster import ClusterView, CoordinatorLink
from kgroup.group.member.commits import Committer
from kgroup.group.member.errors import Reaction
from kgroup.group.member.fetcher import Fetcher
from kgroup.group.member.identity import Place
from kgroup.group.member.outbox import NEVER_MS, Outbox
from kgroup.group.member.positions import Position, SubscriptionKind, Subscriptions
from kgroup.group.member.settings import MemberSettings
from kgroup.group.member.step import (
    Answered,
    Assign,
    Close,
    Commit,
    Failed,
    MemberError,
    MemberInput,
    MemberStep,
    MemberTurn,
    Pause,
    Poll,
    Resume,
    Seek,
    Subscribe,
    SubscribePattern,
    Unsubscribe,
    UseError,
)
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    Fetch,
    FetchResponse,
    FindCoordinator,
    FindCoordinatorResponse,
    ListOffsets,
    ListOffsetsResponse,
    MemberRequest,
    MemberResponse,
    Metadata,
    MetadataResponse,
    Node,
    OffsetFetch,
    OffsetFetchResponse,
)
from kgroup.protocol.requests.coordinator import OffsetCommit, OffsetCommitResponse
from kgroup.protocol.topic_partition import TopicPartition


class Membership(Protocol):
    """A member's part in the protocol of its group. Callbacks run only inside `on_poll` and `give_up_all`."""

    def on_poll(self, now_ms: int) -> None:
        """The user is here."""
        ...

    def wants_poll(self, now_ms: int) -> bool:
        """Whether `on_poll` would do something."""
        ...

    def progress(self, now_ms: int) -> None:
        """Send what is due."""
        ...

    def expire(self, now_ms: int) -> None:
        """Do what the time brings."""
        ...

    def deadline_ms(self, now_ms: int) -> int:
        """The time at which `expire`, `progress` or a poll next has something to do."""
        ...

    def take(self, answer: MemberResponse, now_ms: int) -> None:
        """An answer to one of its own requests."""
        ...

    def take_commit(self, outcome: Reaction, error_code: ErrorCode, now_ms: int) -> None:
        """The answer to a commit, as far as it is about the member's place in the group."""
        ...

    def failed(self, request: MemberRequest, now_ms: int) -> None:
        """One of its own requests found no answer."""
        ...

    def leave(self, reason: str, *, even_static: bool = False) -> int | None:
        """Leave the group; returns the id of the request that says so."""
        ...

    def give_up_all(self) -> None:
        """The callbacks of an end."""
        ...


class Machine:
    """One consumer.

    `now_ms` is any clock that never goes back. `random` gives numbers in [0, 1), for back-offs and for the
    choice between equal nodes. Call `handle` with everything that happens and `expire` when
    `next_deadline_ms` has come, and do what the step says: callbacks first, then requests. A user that
    waits in `poll` polls again after each of these.

    A subclass sets `_membership`.
    """

    _membership: Membership

    def __init__(
        self, settings: MemberSettings, bootstrap: Sequence[Node], random: Callable[[], float], place: Place
    ) -> None:
        if not bootstrap:
            raise InputError("no bootstrap server")
        self._settings = settings
        self._place = place
        self._outbox = Outbox(settings, random)
        self._subscriptions = Subscriptions()
        self._view = ClusterView(self._outbox, bootstrap, self._subscriptions)
        self._coordinator = CoordinatorLink(self._outbox, self._view)
        self._fetcher = Fetcher(self._outbox, self._view, self._coordinator, self._subscriptions, place)
        self._committer = Committer(self._outbox, self._coordinator, place, self._subscriptions)
        self._error: MemberError | None = None
        self._close_until_ms: int | None = None
        self._leave: int | None = None
        self._unsubscribing: int | None = None
        self._leaves_if_static = False
        self._is_closed = False

    # ---- what it is -------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """The generation, or the member's epoch in the consumer protocol; below 1 outside of any."""
        return self._place.generation

    @property
    def member_id(self) -> str:
        """Empty as long as it has none."""
        return self._place.member_id

    @property
    def is_settled(self) -> bool:
        """Whether it has a place in the group and all that it shall have."""
        return self._place.is_settled

    @property
    def beats(self) -> bool:
        """Whether it is to heartbeat."""
        return self._place.beats

    @property
    def is_leader(self) -> bool:
        """Whether the member leads its generation; nobody leads in the consumer protocol."""
        return False

    @property
    def subscription_kind(self) -> SubscriptionKind:
        """The one of the exclusive kinds of subscription that it has."""
        return self._subscriptions.kind

    @property
    def positions(self) -> Mapping[TopicPartition, Position]:
        """The positions of the member, by assigned partition."""
        return self._subscriptions.positions

    # ---- what happens -----------------------------------------------------------------------------

    def handle(self, event: MemberInput, now_ms: int) -> MemberStep:
        """Take a user's call, or what the network brought.

        Raises UseError or InputError for a call that makes no sense now; nothing has changed then.
        """
        turn = self._outbox.turn
        turn.now_ms = now_ms
        match event:
            case Answered():
                ended = self._outbox.take(event.request_id)
                if ended is not None:
                    self._answered(event.request_id, ended.node_id, ended.body, event.body, now_ms)
            case Failed():
                ended = self._outbox.take(event.request_id)
                if ended is not None:
                    self._failed(event.request_id, ended.node_id, ended.body, now_ms)
            case Poll():
                self._usable()
                if self._close_until_ms is None:
                    self._poll(now_ms)
            case _:
                self._usable()
                self._call(event, now_ms)
        return self._finish(turn, now_ms)

    def expire(self, now_ms: int) -> MemberStep:
        """Everything whose time has come by `now_ms`."""
        turn = self._outbox.turn
        turn.now_ms = now_ms
        if self._error is None and self._close_until_ms is None:
            self._membership.expire(now_ms)
        return self._finish(turn, now_ms)

    def next_deadline_ms(self) -> int | None:
        """The latest time to call `expire`; work that the last turn could do is done and does not count."""
        if self._is_closed:
            return None
        due_ms = NEVER_MS if self._close_until_ms is None else self._close_until_ms
        if self._error is None:
            done_ms = self._outbox.turn.now_ms
            due_ms = min(
                due_ms,
                self._view.deadline_ms(),
                self._coordinator.deadline_ms(),
                self._membership.deadline_ms(done_ms),
                self._committer.deadline_ms(),
                self._fetcher.deadline_ms(done_ms),
            )
        return None if due_ms == NEVER_MS else due_ms

    def wants_poll(self, now_ms: int) -> bool:
        """Whether a Poll would do more than show that the user is alive: for one who waits in `poll`."""
        return (
            self._error is not None
            or self._membership.wants_poll(now_ms)
            or self._committer.wants_poll(now_ms)
            or self._fetcher.has_records
        )

    def _usable(self) -> None:
        if self._is_closed:
            raise UseError("the member is closed")

    def _poll(self, now_ms: int) -> None:
        if self._error is not None:
            self._outbox.turn.error = self._error
            return
        if self._subscriptions.kind is SubscriptionKind.NONE:
            raise UseError("the member is not subscribed to any topics, nor assigned any partitions")
        self._membership.on_poll(now_ms)
        self._committer.on_poll(now_ms)
        self._fetcher.hand_out()

    def _call(
        self,
        event: Subscribe | SubscribePattern | Assign | Unsubscribe | Seek | Pause | Resume | Commit | Close,
        now_ms: int,
    ) -> None:
        match event:
            case Subscribe() | SubscribePattern() | Assign():
                self._subscribe(event, now_ms)
            case Unsubscribe():
                self._unsubscribe()
            case Seek():
                [position] = self._subscriptions.assigned([event.partition])
                if event.offset < 0:
                    raise InputError(f"offset {event.offset} is below 0")
                position.move_to(event.offset)
            case Pause() | Resume():
                for position in self._subscriptions.assigned(event.partitions):
                    position.is_paused = isinstance(event, Pause)
            case Commit():
                if self._settings.group_id is None:
                    raise UseError("commits need a group.id")
                self._committer.add(event.commit_id, event.offsets, now_ms)
            case Close():
                if self._close_until_ms is None:
                    self._leaves_if_static = event.leave_group
                    self._close_until_ms = now_ms + self._settings.request_timeout_ms
                    if self._settings.enable_auto_commit and self._may_commit():
                        self._committer.add(None, None, now_ms)
                    self._committer.close()
            case _:
                assert_never(event)

    def _subscribe(self, event: Subscribe | SubscribePattern | Assign, now_ms: int) -> None:
        if self._settings.group_id is None and not isinstance(event, Assign):
            raise UseError("subscribing to topics or a pattern needs a group.id")
        match event:
            case Subscribe(topics=()) | Assign(partitions=()):
                self._unsubscribe()  # as in KafkaConsumer
            case Subscribe():
                self._subscriptions.subscribe(event.topics)
            case SubscribePattern():
                self._subscriptions.subscribe_pattern(event.pattern)
                self._view.refresh()
            case Assign():
                # No rebalance follows that would commit what the last partitions gave.
                self._committer.on_poll(now_ms)
                self._subscriptions.assign(event.partitions)
                self._fetcher.ask_again()

    def _may_commit(self) -> bool:
        if self._subscriptions.in_group:
            return self._place.in_generation
        return self._settings.group_id is not None

    def _unsubscribe(self) -> None:
        self._membership.give_up_all()
        self._unsubscribing = self._membership.leave("the consumer unsubscribed from all topics")
        self._outbox.abandon(self._unsubscribing)  # it may join again before that is answered
        self._committer.drop_all()
        self._subscriptions.unsubscribe()

    # ---- what comes back --------------------------------------------------------------------------

    def _answered(
        self, request_id: int, node_id: int, request: MemberRequest, answer: MemberResponse, now_ms: int
    ) -> None:
        match answer:
            case FindCoordinatorResponse():
                self._coordinator.take(answer, now_ms)
            case MetadataResponse():
                self._view.take(answer, now_ms)
            case OffsetCommitResponse():
                assert isinstance(request, OffsetCommit)
                outcome, error_code = self._committer.take(request, answer, now_ms)
                self._membership.take_commit(outcome, error_code, now_ms)
            case OffsetFetchResponse():
                self._fetcher.take_committed(answer, now_ms)
            case ListOffsetsResponse():
                assert isinstance(request, ListOffsets)
                self._fetcher.take_listed(request, answer, now_ms)
            case FetchResponse():
                assert isinstance(request, Fetch)
                self._fetcher.take_fetched(node_id, request, answer, now_ms)
            case _ if request_id == self._leave:
                self._left()
            case _:
                self._membership.take(answer, now_ms)

    def _failed(self, request_id: int, node_id: int, request: MemberRequest, now_ms: int) -> None:
        match request:
            case Metadata():
                self._view.failed(now_ms)
            case OffsetCommit():
                self._committer.failed(now_ms)
            case OffsetFetch():
                self._fetcher.committed_failed(now_ms)
            case ListOffsets():
                self._fetcher.listing_failed(request, now_ms)
            case Fetch():
                self._fetcher.fetch_failed(node_id, now_ms)
            case FindCoordinator():
                self._coordinator.failed(now_ms)
            case _ if request_id == self._leave:
                self._left()
            case _:
                self._membership.failed(request, now_ms)

    # ---- the end of each turn ---------------------------------------------------------------------

    def _finish(self, turn: MemberTurn, now_ms: int) -> MemberStep:
        while (cut_off := self._outbox.next_cut_off()) is not None:
            ended = self._outbox.take(cut_off)
            if ended is not None:
                self._failed(cut_off, ended.node_id, ended.body, now_ms)
        if turn.error is not None:
            self._error = turn.error
        if self._close_until_ms is not None:
            self._close(now_ms)
        elif self._error is None and self._subscriptions.kind is not SubscriptionKind.NONE:
            if self._coordinator.node is None:
                self._coordinator.progress(now_ms)
            self._view.progress(now_ms)
            self._membership.progress(now_ms)
            if not self._committer.is_idle:
                self._committer.progress(now_ms)
            self._fetcher.progress(now_ms)
            if turn.error is not None:
                self._error = turn.error
        return turn.finish()

    def _close(self, now_ms: int) -> None:
        assert self._close_until_ms is not None
        if self._is_closed:
            return
        is_late = now_ms >= self._close_until_ms
        self._committer.progress(now_ms)
        if not self._committer.is_idle and not is_late and self._error is None:
            self._coordinator.progress(now_ms)
            return
        if self._outbox.is_under_way(self._unsubscribing) and not is_late:
            return  # closing the connections now would keep the LeaveGroup from its coordinator
        if self._leave is None and not is_late:
            self._membership.give_up_all()
            self._leave = self._membership.leave(
                "the consumer is being closed", even_static=self._leaves_if_static
            )
            self._committer.drop_all()
        if self._leave is None or is_late:
            self._membership.give_up_all()
            self._outbox.turn.closed = self._is_closed = True

    def _left(self) -> None:
        # Whatever the coordinator said, the member is out; a session that still stands will end.
        self._outbox.turn.closed = self._is_closed = True
