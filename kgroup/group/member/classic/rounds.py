"""A member's rounds: join, lead or follow, sync, own; heartbeats in between; leaving at the end."""

from typing import Final

from kgroup.assignors.model import AssignorError, GroupMember
from kgroup.assignors.registry import Protocol
from kgroup.errors import DecodeError
from kgroup.group.member import errors as member_errors
from kgroup.group.member.classic.heartbeats import Heartbeats
from kgroup.group.member.classic.join_reasons import failed_round, refusal
from kgroup.group.member.classic.leading import (
    Memory,
    find_assignors,
    group_members,
    make_assignment,
    rebalance_protocol,
    subscription_of,
)
from kgroup.group.member.cluster import ClusterView, CoordinatorLink
from kgroup.group.member.commits import Committer
from kgroup.group.member.errors import Reaction, reaction
from kgroup.group.member.fetcher import Fetcher
from kgroup.group.member.identity import Identity, MemberState
from kgroup.group.member.outbox import NEVER_MS, Outbox
from kgroup.group.member.positions import Subscriptions
from kgroup.group.member.step import ASSIGNOR, CallbackKind, MemberError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import MemberRequest, MemberResponse
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeavingMember,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.protocol.subscription import assigned_partitions

_PROTOCOL_TYPE = "consumer"
_STABLE: Final = MemberState.STABLE  # asked for in every turn; before Python 3.12 naming them is slow
_COMPLETING: Final = MemberState.COMPLETING_REBALANCE


class Rounds:
    """The member's part in rebalances. Joins begin and callbacks run only inside `on_poll`."""

    def __init__(
        self,
        outbox: Outbox,
        view: ClusterView,
        coordinator: CoordinatorLink,
        subscriptions: Subscriptions,
        identity: Identity,
        committer: Committer,
        fetcher: Fetcher,
    ) -> None:
        self._outbox = outbox
        self._settings = outbox.settings
        self._view = view
        self._coordinator = coordinator
        self._subscriptions = subscriptions
        self._committer = committer
        self._fetcher = fetcher
        self._identity = identity
        self._assignors = find_assignors(self._settings.partition_assignment_strategy)
        self.protocol = rebalance_protocol(self._settings.partition_assignment_strategy)
        self._memory = Memory()
        self._backoff = outbox.backoff()
        self._rejoin_reason: str | None = ""  # None: no need to join; the first join gives no reason
        self._is_prepared = False
        self._prepare_until_ms: int | None = None
        self._matched_from_ms: int | None = None
        self._request: int | None = None  # JoinGroup or SyncGroup
        self._leading: tuple[JoinGroupResponse, list[GroupMember], frozenset[str]] | None = None
        self._joined_topics: frozenset[str] = frozenset()
        self._counts_at_assignment: dict[str, int] | None = None
        self._group_topics: frozenset[str] = frozenset()
        self._assignment: bytes | None = None
        self._chosen = ""
        self._heartbeats = Heartbeats(outbox, identity)
        self._polled_ms: int | None = None
        self.is_leader = False

    def on_poll(self, now_ms: int) -> None:
        """The user is here: take the last round's end, begin the next one."""
        self._polled_ms = now_ms
        if not self._subscriptions.in_group:
            return
        if self._assignment is not None:
            self._complete_join(now_ms)
        self._notice_changes()
        if self._rejoin_reason is None or self._request is not None or self._leading is not None:
            return
        if self._coordinator.node is None or not self._has_matched(now_ms) or not self._prepare(now_ms):
            return
        if self._backoff.is_ready(now_ms):
            self._join()

    def request_rejoin(self, reason: str) -> None:
        """Join again at the next poll; the coordinator gets the last reason."""
        self._rejoin_reason = reason

    def take(self, answer: MemberResponse, now_ms: int) -> None:
        """The answer to JoinGroup, SyncGroup, Heartbeat or a LeaveGroup that nobody waits for."""
        match answer:
            case JoinGroupResponse():
                self.take_join(answer, now_ms)
            case SyncGroupResponse():
                self.take_sync(answer, now_ms)
            case HeartbeatResponse():
                self.take_heartbeat(answer, now_ms)
            case _:  # LeaveGroup: it is out, whatever the coordinator says
                pass

    def failed(self, request: MemberRequest, now_ms: int) -> None:
        """One of these found no answer."""
        match request:
            case JoinGroup() | SyncGroup():
                self.request_failed(now_ms)
            case Heartbeat():
                self.heartbeat_failed()
            case _:
                pass

    # ---- before a join ----------------------------------------------------------------------------

    def _notice_changes(self) -> None:
        if self._rejoin_reason is not None or self._identity.state is not MemberState.STABLE:
            return
        counts = self._view.partition_counts(self._group_topics)
        if self._counts_at_assignment is not None and counts != self._counts_at_assignment:
            if self._view.knows(self._group_topics):
                self.request_rejoin("cached metadata has changed")
        elif self._joined_topics != self._subscriptions.topics:
            self.request_rejoin("subscription has changed")

    def _has_matched(self, now_ms: int) -> bool:
        """Whether a pattern has been matched with the topics of now; if not, metadata is asked for.

        Kafka: ConsumerCoordinator.poll. Members that join with what each knew would find a new topic one
        by one, with a rebalance each, the last when its metadata is metadata.max.age.ms old.
        """
        if self._subscriptions.pattern is None:
            return True
        if self._matched_from_ms is None:
            self._matched_from_ms = now_ms - self._settings.retry_backoff_ms
            if not self._view.is_newer(self._matched_from_ms):
                self._view.refresh()
        return self._view.is_newer(self._matched_from_ms)

    def _prepare(self, now_ms: int) -> bool:
        """Commit, give up partitions, stop heartbeats (Kafka: onJoinPrepare). False: still committing."""
        if self._is_prepared:
            return True
        if self._settings.enable_auto_commit and self._identity.in_generation:
            if self._prepare_until_ms is None:
                self._prepare_until_ms = now_ms + self._settings.max_poll_interval_ms
                if self.protocol is Protocol.EAGER:
                    self._subscriptions.give_up_all()
                self._committer.add(None, None, now_ms)
            if not self._committer.is_idle and now_ms < self._prepare_until_ms:
                return False
        self._prepare_until_ms = None
        self._heartbeats.stop()
        self._give_up()
        self._is_prepared = True
        return True

    def _give_up(self) -> None:
        owned = frozenset(self._subscriptions.positions)
        if not self._identity.in_generation:
            kind, given_up = CallbackKind.LOST, owned
        elif self.protocol is Protocol.EAGER:
            kind, given_up = CallbackKind.REVOKED, owned
        else:
            topics = self._subscriptions.topics
            kind = CallbackKind.REVOKED
            given_up = frozenset(each for each in owned if each[0] not in topics)
        if given_up:
            self._outbox.turn.run(kind, given_up, self._identity.generation)
            self._subscriptions.replace_partitions(owned - given_up)
            self._fetcher.ask_again()

    # ---- joining ----------------------------------------------------------------------------------

    def _join(self) -> None:
        node, group = self._coordinator.node, self._settings.group_id
        assert node is not None and group is not None
        self._joined_topics = self._subscriptions.topics
        self._matched_from_ms = None
        owned = sorted(self._subscriptions.positions)
        protocols = tuple(
            (
                assignor.name,
                subscription_of(
                    self._joined_topics,
                    owned,
                    self._identity.generation,
                    self._settings.client_rack,
                    self._memory.user_data(assignor),
                ),
            )
            for assignor in self._assignors
        )
        self._identity.move(MemberState.PREPARING_REBALANCE)
        self._request = self._outbox.send(
            JoinGroup(
                group_id=group,
                session_timeout_ms=self._settings.session_timeout_ms,
                rebalance_timeout_ms=self._settings.max_poll_interval_ms,
                member_id=self._identity.member_id,
                group_instance_id=self._settings.group_instance_id,
                protocol_type=_PROTOCOL_TYPE,
                protocols=protocols,
                reason=self._rejoin_reason,
            ),
            node,
            coordinator=True,
            timeout_ms=self._settings.join_timeout_ms,
        )

    def take_join(self, answer: JoinGroupResponse, now_ms: int) -> None:
        """A generation, or why not."""
        self._request = None
        outcome = reaction(member_errors.JOIN_GROUP, answer.error_code)
        if outcome is Reaction.PROCEED:
            self._enter_generation(answer, now_ms)
        elif outcome is Reaction.TAKE_ID:
            self._identity.move(MemberState.UNJOINED)
            self._identity.member_id = answer.member_id
            self.request_rejoin(f"need to re-join with the given member-id: {answer.member_id}")
        else:
            self._round_refused("JoinGroup", outcome, answer.error_code, now_ms)

    def _enter_generation(self, answer: JoinGroupResponse, now_ms: int) -> None:
        chosen = answer.protocol_name or ""
        if chosen not in self._settings.partition_assignment_strategy:
            self._outbox.turn.error = MemberError(
                "JoinGroup", ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the coordinator chose {chosen!r}"
            )
            return
        self._backoff.succeeded()
        self._identity.enter(answer.generation_id, answer.member_id)
        self._chosen = chosen
        self._heartbeats.begin(now_ms)
        self._counts_at_assignment = None
        self.is_leader = answer.leader == answer.member_id
        if not self.is_leader:
            self._sync(())
            return
        try:
            members = group_members(answer)
        except DecodeError as error:
            self._fail("assignment", str(error))
            return
        topics = frozenset(topic for member in members for topic in member.topics)
        self._leading = (answer, members, topics)
        self._view.watch_group_topics(topics)

    def progress(self, now_ms: int) -> None:
        """Lead once the metadata is there; heartbeat when it is due."""
        if self._leading is not None and self._view.knows(self._leading[2]):
            self._lead(*self._leading)
        node, group, heartbeats = self._coordinator.node, self._settings.group_id, self._heartbeats
        if node is None or group is None or not self._beats or heartbeats.request is not None:
            return
        if now_ms >= heartbeats.due_ms:
            heartbeats.send(group, node, now_ms)

    def _lead(self, answer: JoinGroupResponse, members: list[GroupMember], topics: frozenset[str]) -> None:
        self._leading = None
        self._group_topics = topics
        self._counts_at_assignment = self._view.partition_counts(topics)
        if answer.skip_assignment:  # KIP-814: a static leader came back, the assignment stands
            self._sync(())
            return
        try:
            self._sync(make_assignment(self._chosen, members, self._view.assignable(topics)))
        except AssignorError as error:
            self._fail(ASSIGNOR, str(error))

    def _fail(self, api: str, why: str) -> None:
        self._outbox.turn.error = MemberError(api, ErrorCode.UNKNOWN_SERVER_ERROR, why)

    def _sync(self, assignments: tuple[tuple[str, bytes], ...]) -> None:
        node, group = self._coordinator.node, self._settings.group_id
        if node is None or group is None:  # lost while the leader waited for metadata
            self._identity.move(MemberState.UNJOINED)
            self.request_rejoin(failed_round(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        self._request = self._outbox.send(
            SyncGroup(
                group_id=group,
                generation_id=self._identity.generation,
                member_id=self._identity.member_id,
                group_instance_id=self._settings.group_instance_id,
                protocol_type=_PROTOCOL_TYPE,
                protocol_name=self._chosen,
                assignments=assignments,
            ),
            node,
            coordinator=True,
        )

    def take_sync(self, answer: SyncGroupResponse, now_ms: int) -> None:
        """The share of this member, taken at the next poll."""
        self._request = None
        outcome = reaction(member_errors.SYNC_GROUP, answer.error_code)
        if outcome is Reaction.PROCEED:
            self._identity.move(MemberState.STABLE)
            self._assignment = answer.assignment
            self._rejoin_reason = None
            return
        self._round_refused("SyncGroup", outcome, answer.error_code, now_ms)

    def _complete_join(self, now_ms: int) -> None:
        assert self._assignment is not None
        assignment, self._assignment = self._assignment, None
        self._is_prepared = False
        try:
            in_order = assigned_partitions(assignment)
        except DecodeError as error:
            self._fail("assignment", str(error))
            return
        assigned, owned = frozenset(in_order), frozenset(self._subscriptions.positions)
        topics = frozenset(topic for topic, _ in assigned)
        if not self._subscriptions.accept(topics):  # Kafka: checkAssignmentMatchedSubscription
            self.request_rejoin("received assignment does not match the current subscription")
            return
        if self._subscriptions.pattern is not None:
            self._joined_topics |= topics
        revoked = owned - assigned
        if revoked:  # only the cooperative protocol comes here with partitions
            self._outbox.turn.run(CallbackKind.REVOKED, revoked, self._identity.generation)
            if self._identity.in_generation:
                self.request_rejoin("need to revoke partitions and re-join")
        self._subscriptions.replace_partitions(assigned)
        self._fetcher.ask_again()
        self._memory.keep(self._chosen, in_order, self._identity.generation)
        self._committer.restart_auto(now_ms)
        self._outbox.turn.run(CallbackKind.ASSIGNED, assigned - owned, self._identity.generation)

    # ---- living -----------------------------------------------------------------------------------

    @property
    def _beats(self) -> bool:
        state = self._identity.state
        if state is _STABLE:
            return not self._is_prepared or self._assignment is not None
        return state is _COMPLETING

    def take_heartbeat(self, answer: HeartbeatResponse, now_ms: int) -> None:
        """Alive, or a reason to join again."""
        self._heartbeats.ended()
        outcome = reaction(member_errors.HEARTBEAT, answer.error_code)
        if outcome is Reaction.PROCEED or outcome is Reaction.RETRY:
            self._heartbeats.heard(now_ms)
            return
        if outcome is Reaction.REJOIN:
            self._heartbeats.heard(now_ms)
            if self._identity.state is MemberState.STABLE:  # a round under way ends by its own answers
                self.request_rejoin("group is already rebalancing")
            return
        why = refusal("HEARTBEAT", answer.error_code)
        self._react("Heartbeat", outcome, answer.error_code, why, now_ms)

    def take_commit(self, outcome: Reaction, error_code: ErrorCode, now_ms: int) -> None:
        """A commit was refused for what the group thinks of this member."""
        if outcome in (Reaction.REJOIN, Reaction.ANEW, Reaction.STALE) and self._subscriptions.in_group:
            why = refusal("OFFSET_COMMIT", error_code)
            if outcome is Reaction.REJOIN:
                why = "offset commit failed since group is already rebalancing"
            self._react("OffsetCommit", outcome, error_code, why, now_ms)

    def _round_refused(self, api: str, outcome: Reaction, error_code: ErrorCode, now_ms: int) -> None:
        self._identity.move(MemberState.UNJOINED)
        self._react(api, outcome, error_code, failed_round(error_code), now_ms)

    def _react(self, api: str, outcome: Reaction, error_code: ErrorCode, why: str, now_ms: int) -> None:
        match outcome:
            case Reaction.FIND:
                self._coordinator.lost()
                self._repeat_round(why, now_ms)
            case Reaction.RETRY:
                self._repeat_round(why, now_ms)
            case Reaction.REJOIN:
                self.request_rejoin(why)
            case Reaction.ANEW | Reaction.STALE:
                self._thrown_out(keep_id=outcome is Reaction.STALE, why=why)
            case _:
                self._outbox.turn.error = MemberError(api, error_code)

    def _repeat_round(self, reason: str, now_ms: int) -> None:
        """Join again, later; a stable member has no round that could have failed.

        Kafka: AbstractCoordinator.joinGroupIfNeeded waits after a round that failed and for nothing else. A
        stable member that waited once it had prepared itself would not heartbeat until its user polls again.
        """
        if self._identity.state is not MemberState.STABLE:
            self._backoff.failed(now_ms)
            self.request_rejoin(reason)

    def _thrown_out(self, *, keep_id: bool, why: str) -> None:
        self._outbox.abandon(self._request)
        self._heartbeats.stop()
        self._request = None
        self._leading = self._assignment = None
        self._counts_at_assignment = None
        self.is_leader = False
        self._is_prepared = False
        self._prepare_until_ms = None
        self._identity.reset(keep_id=keep_id)
        self.request_rejoin(why)

    def request_failed(self, now_ms: int) -> None:
        """JoinGroup or SyncGroup found no answer."""
        self._request = None
        self._coordinator.lost()
        self._backoff.failed(now_ms)
        self._identity.move(MemberState.UNJOINED)
        self.request_rejoin(failed_round(None))

    def heartbeat_failed(self) -> None:
        """The coordinator is gone; the session runs on meanwhile."""
        self._heartbeats.ended()
        self._coordinator.lost()

    def expire(self, now_ms: int) -> None:
        """The user stopped polling: leave. The coordinator was silent for a session: find another."""
        if not self._beats or self._polled_ms is None:
            return
        if now_ms >= self._polled_ms + self._settings.max_poll_interval_ms:
            self.leave("consumer poll timeout has expired.")
        elif self._coordinator.node is not None and now_ms >= self._heartbeats.session_end_ms:
            self._heartbeats.heard(now_ms)
            self._heartbeats.stop()
            self._coordinator.lost()

    def leave(self, reason: str, *, even_static: bool = False) -> int | None:
        """Leave the group; returns the LeaveGroup's id.

        A static member stays until its session ends, unless `even_static`.
        """
        node, group = self._coordinator.node, self._settings.group_id
        request = None
        instance_id = self._settings.group_instance_id
        if node and group and self._identity.member_id and (instance_id is None or even_static):
            leaving = LeavingMember(
                member_id=self._identity.member_id, group_instance_id=instance_id, reason=reason
            )
            # Brokers take one request of a connection at a time: a parked JoinGroup or SyncGroup would hold
            # this one back.
            request = self._outbox.send(
                LeaveGroup(group_id=group, members=(leaving,)), node, coordinator=self._request is None
            )
        self._thrown_out(keep_id=False, why="consumer pro-actively leaving the group")
        return request

    def give_up_all(self) -> None:
        """The callbacks of an end: revoked, or lost when the group has given the partitions to others."""
        owned = frozenset(self._subscriptions.positions)
        if owned and self._subscriptions.in_group:
            # Kafka: onLeavePrepare. Amid a round nobody knows whose they are by its end.
            is_settled = self._identity.in_generation and self._identity.state is MemberState.STABLE
            kind = CallbackKind.REVOKED if is_settled else CallbackKind.LOST
            self._outbox.turn.run(kind, owned, self._identity.generation)
        self._subscriptions.replace_partitions(())
        self._fetcher.ask_again()

    def wants_poll(self, now_ms: int) -> bool:
        """Whether a poll would end a round or begin one."""
        if self._assignment is not None:
            return True
        waits = self._rejoin_reason is not None and self._request is None and self._leading is None
        if not waits or self._coordinator.node is None or not self._subscriptions.in_group:
            return False
        if self._matched_from_ms is not None and not self._view.is_newer(self._matched_from_ms):
            return False
        if self._prepare_until_ms is not None and not self._committer.is_idle:
            return now_ms >= self._prepare_until_ms
        return self._backoff.is_ready(now_ms) or not self._is_prepared

    def deadline_ms(self, now_ms: int) -> int:
        """The time at which `expire`, `progress` or a poll next has something to do.

        What a poll alone can settle counts only before its time: after it, it is up to the user.
        """
        due_ms = NEVER_MS
        waits = self._rejoin_reason is not None and self._request is None
        if waits and self._coordinator.node is not None and self._backoff.ready_ms > now_ms:
            due_ms = self._backoff.ready_ms
        if self._prepare_until_ms is not None and self._prepare_until_ms > now_ms:
            due_ms = min(due_ms, self._prepare_until_ms)
        if not self._beats:
            return due_ms
        if self._polled_ms is not None:
            due_ms = min(due_ms, self._polled_ms + self._settings.max_poll_interval_ms)
        if self._coordinator.node is None:
            return due_ms
        heartbeats = self._heartbeats
        if heartbeats.request is not None:
            return min(due_ms, heartbeats.session_end_ms)
        return min(due_ms, heartbeats.session_end_ms, heartbeats.due_ms)
