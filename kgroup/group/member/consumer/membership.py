"""A member's part in a group of the consumer protocol (KIP-848): join, reconcile, acknowledge, leave.

There are no rounds. The coordinator answers a heartbeat with the member's epoch, and with its partitions
when they have changed. What is new is taken up at the next poll, in this order: commit,
`on_partitions_revoked`, `on_partitions_assigned`; only then does a heartbeat say what the member has, and the
coordinator may give what is free to others. Behaves as ConsumerMembershipManager and
ConsumerHeartbeatRequestManager of Kafka 4.3.1.
"""

from dataclasses import dataclass
from uuid import UUID

from kgroup.group.member import errors as member_errors
from kgroup.group.member.cluster import ClusterView, CoordinatorLink
from kgroup.group.member.commits import Committer
from kgroup.group.member.consumer.heartbeats import NONE, ConsumerHeartbeats, IdPartition, LocalAssignment
from kgroup.group.member.consumer.identity import (
    AWAY_EPOCH,
    IN_GROUP,
    LEAVING_EPOCH,
    ConsumerIdentity,
    ConsumerState,
)
from kgroup.group.member.errors import Reaction, reaction
from kgroup.group.member.fetcher import Fetcher
from kgroup.group.member.outbox import NEVER_MS, Outbox
from kgroup.group.member.positions import Subscriptions
from kgroup.group.member.step import CallbackKind, MemberError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import MemberRequest, MemberResponse
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeatResponse
from kgroup.protocol.topic_partition import TopicPartition

S = ConsumerState
_AT_ONCE = frozenset({S.JOINING, S.ACKNOWLEDGING})
"""States whose heartbeat does not wait for the interval."""


@dataclass(frozen=True, slots=True)
class _Reconciliation:
    """One under way: where it leads, what goes, and until when its commit may take."""

    local: LocalAssignment
    partitions: frozenset[TopicPartition]
    revoked: frozenset[TopicPartition]
    until_ms: int


class ConsumerMembership:
    """A `Membership`. Callbacks run only inside `on_poll` and `give_up_all`."""

    def __init__(
        self,
        outbox: Outbox,
        view: ClusterView,
        coordinator: CoordinatorLink,
        subscriptions: Subscriptions,
        identity: ConsumerIdentity,
        committer: Committer,
        fetcher: Fetcher,
    ) -> None:
        self._outbox = outbox
        self._settings = outbox.settings
        self._view = view
        self._coordinator = coordinator
        self._subscriptions = subscriptions
        self._identity = identity
        self._committer = committer
        self._fetcher = fetcher
        self._heartbeats = ConsumerHeartbeats(outbox, identity, subscriptions)
        self._target = NONE
        self._local = NONE
        self._names: dict[UUID, str] = {}  # of the topics of `_local`
        self._under_way: _Reconciliation | None = None
        self._unresolved: frozenset[UUID] = frozenset()
        self._metadata_backoff = outbox.backoff()
        self._polled_ms: int | None = None

    # ---- the user ---------------------------------------------------------------------------------

    def on_poll(self, now_ms: int) -> None:
        """The user is here: join, give up what was lost, continue with a reconciliation."""
        self._polled_ms = now_ms
        if not self._subscriptions.in_group:
            return
        state = self._identity.state
        if state is S.UNSUBSCRIBED:
            self._join()
        elif state is S.FENCED or state is S.STALE:
            self._lose()
            self._join()
        elif state is S.RECONCILING:
            self._reconcile(now_ms)

    def wants_poll(self, now_ms: int) -> bool:
        """Whether a poll would continue with something."""
        if not self._subscriptions.in_group:
            return False
        state = self._identity.state
        if state in (S.UNSUBSCRIBED, S.FENCED, S.STALE):
            return True
        if state is not S.RECONCILING:
            return False
        if self._under_way is not None:
            return self._committer.is_idle or now_ms >= self._under_way.until_ms
        return not self._unresolved or any(self._view.topic_name(each) for each in self._unresolved)

    def _join(self) -> None:
        self._target = self._local = NONE
        self._names = {}
        self._under_way = None
        self._unresolved = frozenset()
        self._identity.move(S.JOINING)

    def _lose(self) -> None:
        owned = frozenset(self._subscriptions.positions)
        if owned:
            self._outbox.turn.run(CallbackKind.LOST, owned, self._identity.generation)
            self._subscriptions.replace_partitions(())
            self._fetcher.ask_again()

    # ---- reconciliation ---------------------------------------------------------------------------

    def _reconcile(self, now_ms: int) -> None:
        if self._under_way is None:
            self._begin(now_ms)
        going = self._under_way
        if going is not None and (self._committer.is_idle or now_ms >= going.until_ms):
            self._complete(going, now_ms)

    def _begin(self, now_ms: int) -> None:
        """Take what the metadata has a name for; the rest follows when it has (Kafka: maybeReconcile)."""
        names: dict[UUID, str] = {}
        unresolved: set[UUID] = set()
        for topic_id in sorted({topic_id for topic_id, _ in self._target.partitions}):
            name = self._view.topic_name(topic_id) or self._names.get(topic_id)
            if name is None:
                unresolved.add(topic_id)
            else:
                names[topic_id] = name
        self._unresolved = frozenset(unresolved)
        if unresolved:
            self._ask_for_names(now_ms)
        found = frozenset(each for each in self._target.partitions if each[0] in names)
        local = LocalAssignment(self._target.number, found)
        if self._local != NONE and found == self._local.partitions:
            if local != self._local:
                self._local = local
                self._identity.move(S.ACKNOWLEDGING)
            return  # else only names are waited for
        partitions = _by_name(found, names)
        revoked = frozenset(self._subscriptions.positions) - partitions
        self._names = self._names | names
        self._under_way = _Reconciliation(
            local, partitions, revoked, now_ms + self._settings.max_poll_interval_ms
        )
        self._subscriptions.give_up(revoked)
        if self._settings.enable_auto_commit and self._identity.in_generation:
            self._committer.add(None, None, now_ms)
            self._committer.progress(now_ms)

    def _complete(self, going: _Reconciliation, now_ms: int) -> None:
        owned = frozenset(self._subscriptions.positions)
        self._under_way = None
        if going.revoked:
            # Tried again after this, a commit would land on what the next owner has committed.
            self._committer.drop_all()
            self._outbox.turn.run(CallbackKind.REVOKED, going.revoked, self._identity.generation)
        self._subscriptions.replace_partitions(going.partitions)
        self._fetcher.ask_again()
        self._committer.restart_auto(now_ms)
        self._outbox.turn.run(CallbackKind.ASSIGNED, going.partitions - owned, self._identity.generation)
        self._local = going.local
        kept = {topic_id for topic_id, _ in going.local.partitions}
        self._names = {topic_id: name for topic_id, name in self._names.items() if topic_id in kept}
        self._identity.move(S.ACKNOWLEDGING)

    def _ask_for_names(self, now_ms: int) -> None:
        if self._metadata_backoff.is_ready(now_ms):
            self._view.refresh()
            self._metadata_backoff.failed(now_ms)

    # ---- heartbeats -------------------------------------------------------------------------------

    def progress(self, now_ms: int) -> None:
        """Heartbeat when it is due; ask again for names that no metadata had."""
        node, heartbeats, state = self._coordinator.node, self._heartbeats, self._identity.state
        if self._unresolved and state is S.RECONCILING:
            self._ask_for_names(now_ms)
        if node is None or state not in IN_GROUP or heartbeats.request is not None:
            return
        if not heartbeats.backoff.is_ready(now_ms) or not (state in _AT_ONCE or now_ms >= heartbeats.due_ms):
            return
        heartbeats.send(node, self._local, self._may_take(), now_ms)
        if state is S.ACKNOWLEDGING:
            self._identity.move(S.STABLE if self._local == self._target else S.RECONCILING)

    def _may_take(self) -> frozenset[IdPartition]:
        """What the next polls may take: a reconciliation under way goes on, whatever is told meanwhile."""
        going = self._under_way
        return self._target.partitions | (frozenset() if going is None else going.local.partitions)

    def take(self, answer: MemberResponse, now_ms: int) -> None:
        """An epoch and perhaps an assignment, or why not."""
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        match reaction(member_errors.CONSUMER_HEARTBEAT, answer.error_code):
            case Reaction.PROCEED:
                self._heartbeats.answered(answer.heartbeat_interval_ms)
                self._proceed(answer)
            case Reaction.FIND:
                self._heartbeats.failed(now_ms, pause=False)
                self._coordinator.lost()
            case Reaction.RETRY:
                self._heartbeats.failed(now_ms, pause=True)
            case Reaction.STALE:
                self._heartbeats.failed(now_ms, pause=False)
                self._fence()
            case _:
                self._heartbeats.failed(now_ms, pause=False)
                why = answer.error_message or ""
                self._outbox.turn.error = MemberError("ConsumerGroupHeartbeat", answer.error_code, why)

    def _proceed(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        self._identity.take_epoch(answer.member_epoch)
        if answer.assignment is None:
            return
        given: frozenset[IdPartition] = frozenset(
            (topic.topic_id, number)
            for topic in answer.assignment.topic_partitions
            for number in topic.partitions
        )
        if self._target == NONE or given != self._target.partitions:
            self._target = LocalAssignment(self._target.number + 1, given)
        if self._target != self._local:
            self._identity.move(S.RECONCILING)
        elif self._identity.state in (S.RECONCILING, S.JOINING):
            self._identity.move(S.STABLE)

    def _fence(self) -> None:
        """The coordinator has given its partitions to others: they are lost, and it joins again."""
        self._under_way = None
        self._target = self._local = NONE
        self._identity.drop(S.FENCED)
        if not self._subscriptions.positions:  # nothing that a user has to hear of
            self._join()

    def take_commit(self, outcome: Reaction, error_code: ErrorCode, now_ms: int) -> None:
        """Nothing: what the coordinator thinks of the member, its heartbeats bring."""

    def failed(self, request: MemberRequest, now_ms: int) -> None:
        """A heartbeat found no answer: the coordinator is gone."""
        self._heartbeats.failed(now_ms, pause=True)
        self._coordinator.lost()

    # ---- going ------------------------------------------------------------------------------------

    def expire(self, now_ms: int) -> None:
        """The user stopped polling: leave, and come back with the next poll."""
        node, polled_ms = self._coordinator.node, self._polled_ms
        if node is None or polled_ms is None or self._identity.state not in IN_GROUP:
            return
        if now_ms >= polled_ms + self._settings.max_poll_interval_ms:
            leave = self._heartbeats.send_leave(node, self._leaving_epoch(even_static=False))
            self._outbox.abandon(leave)  # the next poll may join before it is answered
            self._out(S.STALE)

    def leave(self, reason: str, *, even_static: bool = False) -> int | None:
        """Leave the group; returns the id of the heartbeat that says so.

        A static member keeps its place for a session, unless `even_static` (KIP-1092). The protocol has no
        room for the reason.
        """
        node, request = self._coordinator.node, None
        if node is not None and self._identity.state in IN_GROUP:
            request = self._heartbeats.send_leave(node, self._leaving_epoch(even_static=even_static))
        self._heartbeats.stop()
        self._out(S.UNSUBSCRIBED)
        return request

    def _leaving_epoch(self, *, even_static: bool) -> int:
        is_static = self._settings.group_instance_id is not None
        return AWAY_EPOCH if is_static and not even_static else LEAVING_EPOCH

    def _out(self, state: ConsumerState) -> None:
        self._under_way = None
        self._unresolved = frozenset()
        self._target = self._local = NONE
        self._identity.drop(state)

    def give_up_all(self) -> None:
        """The callbacks of an end: revoked, or lost when the group has given the partitions to others."""
        owned = frozenset(self._subscriptions.positions)
        if owned and self._subscriptions.in_group:
            kind = CallbackKind.REVOKED if self._identity.in_generation else CallbackKind.LOST
            self._outbox.turn.run(kind, owned, self._identity.generation)
        self._subscriptions.replace_partitions(())
        self._fetcher.ask_again()

    # ---- time -------------------------------------------------------------------------------------

    def deadline_ms(self, now_ms: int) -> int:
        """The time at which `expire`, `progress` or a poll next has something to do.

        What a poll alone can settle counts only before its time: after it, it is up to the user.
        """
        due_ms = NEVER_MS
        if self._under_way is not None and self._under_way.until_ms > now_ms:
            due_ms = self._under_way.until_ms
        state = self._identity.state
        if self._unresolved and state is S.RECONCILING:
            due_ms = min(due_ms, self._metadata_backoff.ready_ms)
        if self._coordinator.node is None or state not in IN_GROUP:
            return due_ms
        if self._polled_ms is not None:
            due_ms = min(due_ms, self._polled_ms + self._settings.max_poll_interval_ms)
        heartbeats = self._heartbeats
        if heartbeats.request is not None:
            return due_ms
        ready_ms = heartbeats.backoff.ready_ms
        return min(due_ms, ready_ms if state in _AT_ONCE else max(heartbeats.due_ms, ready_ms))


def _by_name(partitions: frozenset[IdPartition], names: dict[UUID, str]) -> frozenset[TopicPartition]:
    return frozenset((names[topic_id], number) for topic_id, number in partitions)
