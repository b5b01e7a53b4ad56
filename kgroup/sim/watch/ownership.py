"""A consumer process's treatment of its partitions, its heartbeats and its commits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kgroup.group.member.settings import GroupProtocol, MemberSettings
from kgroup.group.member.step import CallbackKind, CommitOutcome, Send
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import FindCoordinator
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from kgroup.protocol.requests.coordinator import Heartbeat, JoinGroup, LeaveGroup, OffsetCommit, SyncGroup
from kgroup.protocol.subscription import decode_subscription, partitions_of
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.result import GIVES_UP, KEEPS_ALIVE, RESUMES

_SLACK_MS = 3_500
_INTERVALS = 3  # of auto-commit, without one: then none will come
_CONSUMER_INTERVAL_MS = 5_000
_COOPERATIVE = "cooperative-sticky"


@dataclass(slots=True)
class _Held:
    """A partition since it was assigned. Nobody may begin below `least`; `next` None: nothing is read yet."""

    least: int
    next: int | None = None
    committed: int = -1


class Ownership:
    """One process's partitions. Times are ms of the world; `is_eager`: it gives up all before it rejoins."""

    def __init__(self, name: str, settings: MemberSettings, checkers: Checkers, now_ms: Callable[[], int]):
        self._name = name
        self._settings = settings
        self._checkers = checkers
        self._now_ms = now_ms
        self._group = settings.group_id or ""
        self._speaks_consumer = settings.group_protocol is GroupProtocol.CONSUMER
        self._interval_ms = settings.heartbeat_interval_ms
        if self._speaks_consumer:  # the brokers', by default
            self._interval_ms = max(self._interval_ms, _CONSUMER_INTERVAL_MS)
        self._is_eager = not self._speaks_consumer and any(
            name != _COOPERATIVE for name in settings.partition_assignment_strategy
        )
        self._held: dict[TopicPartition, _Held] = {}
        self._handed_out_ms: int | None = None  # what was handed out and is in no commit yet
        self._unsent_ms: int | None = None
        self._searched_ms = now_ms()
        self._beat_ms = now_ms()
        self._stable_ms: int | None = None
        self._polled_ms = now_ms()
        self._failed_ms = -(1 << 60)
        self._left = False
        self._must_leave = self._closes = False
        self._closes_ms = now_ms()
        self._open: set[int] = set()  # heartbeats, and searches for the coordinator
        self._over_ms = now_ms()

    # ---- partitions -------------------------------------------------------------------------------

    def changed(self, kind: CallbackKind, partitions: Iterable[TopicPartition]) -> None:
        """A callback."""
        if kind is CallbackKind.ASSIGNED:
            for partition in partitions:
                if partition in self._held:
                    self._say(GIVES_UP, f"is given {partition[0]}-{partition[1]} and has it")
                least = min(self._checkers.may_be_committed((self._group, partition)))
                self._held[partition] = _Held(least)
            return
        if kind is CallbackKind.REVOKED and self._settings.enable_auto_commit and self._is_eager:
            since_ms = self._unsent_ms
            if since_ms is not None and self._now_ms() - since_ms < self._settings.max_poll_interval_ms / 2:
                self._say(GIVES_UP, "gives up what it has not committed")
        if kind is CallbackKind.LOST:
            self._must_leave = False  # its group has put it out already
        for partition in partitions:
            self._held.pop(partition, None)
        if not self._held:
            self._unsent_ms = self._handed_out_ms = None

    def unsubscribes(self) -> None:
        """The user wants nothing any more: Kafka's classic consumer gives up without a commit then."""
        self._unsent_ms = self._handed_out_ms = None

    def handed_out(self, partition: TopicPartition, first: int, last: int) -> None:
        """The user gets records."""
        where = f"{partition[0]}-{partition[1]}"
        held = self._held.get(partition)
        if held is None:
            self._say(RESUMES, f"reads {where} and does not have it")
            return
        if held.next is None:
            least = min(held.least, *self._checkers.may_be_committed((self._group, partition)))
            if first < least:
                self._say(RESUMES, f"begins {where} at {first}, and {least} was acknowledged")
        elif first != held.next:
            self._say(RESUMES, f"goes on in {where} at {first}, and was at {held.next}")
        held.next = last + 1
        if self._handed_out_ms is None:
            self._handed_out_ms = self._now_ms()

    # ---- requests ---------------------------------------------------------------------------------

    def sent(self, send: Send) -> None:
        """A request leaves."""
        now_ms = self._now_ms()
        match send.body:
            case Heartbeat():
                self._beat_ms = now_ms
                self._open.add(send.request_id)
            case FindCoordinator():
                self._searched_ms = now_ms
                self._open.add(send.request_id)
            case OffsetCommit() as body:
                self._unsent_ms = self._handed_out_ms = None
                self._check_commit(body)
            case JoinGroup() as body:
                self._beat_ms = now_ms
                self._check_join(body)
            case SyncGroup():
                self._beat_ms = now_ms
            case ConsumerGroupHeartbeat() as body:
                self._beat_ms = now_ms
                self._open.add(send.request_id)
                self._left |= body.member_epoch < 0
                self._check_acknowledgement(body)
            case LeaveGroup() as body:
                self._left = True
                if any(not each.member_id and each.group_instance_id is None for each in body.members):
                    self._say(KEEPS_ALIVE, "leaves without saying who")
            case _:
                pass

    def over(self, request_id: int) -> None:
        """A request has its answer, or will get none."""
        if request_id in self._open:
            self._open.remove(request_id)
            self._over_ms = self._now_ms()

    def _check_commit(self, body: OffsetCommit) -> None:
        for topic in body.topics:
            for each in topic.partitions:
                held = self._held.get((topic.name, each.partition_index))
                if held is None:
                    continue  # given up meanwhile: the coordinator judges by the generation
                where = f"{topic.name}-{each.partition_index}"
                if held.next is not None and each.committed_offset > held.next:
                    self._say(RESUMES, f"commits {each.committed_offset} of {where}, and is at {held.next}")
                if each.committed_offset < held.committed:
                    self._say(RESUMES, f"commits {each.committed_offset} of {where} after {held.committed}")
                held.committed = each.committed_offset

    def _check_acknowledgement(self, body: ConsumerGroupHeartbeat) -> None:
        if body.member_epoch <= 0 and self._held and not self._left:
            self._say(GIVES_UP, f"joins again with {len(self._held)} partitions")
        if body.topic_partitions is None or body.member_epoch <= 0:
            return
        said = sum(len(partitions) for _, partitions in body.topic_partitions)
        if said < len(self._held):  # it may claim more: what it was given and takes with the next poll
            self._say(GIVES_UP, f"says that it has {said} partitions, and has {len(self._held)}")

    def _check_join(self, body: JoinGroup) -> None:
        if self._is_eager:
            if self._held:
                self._say(GIVES_UP, f"joins again with {len(self._held)} partitions")
            return
        for name, metadata in body.protocols:
            if name == _COOPERATIVE:
                owned = partitions_of(decode_subscription(metadata).owned_partitions)
                if sorted(owned) != sorted(self._held):
                    self._say(GIVES_UP, f"claims {len(owned)} partitions, and has {len(self._held)}")
        if body.session_timeout_ms != self._settings.session_timeout_ms:
            self._say(KEEPS_ALIVE, "asks for another session timeout")

    def ended(self, outcome: CommitOutcome) -> None:
        """A commit was acknowledged or not."""
        if outcome.error_code is not ErrorCode.NONE:
            self._failed_ms = self._now_ms()
            self._unsent_ms = None

    # ---- time -------------------------------------------------------------------------------------

    def polled(self) -> None:
        """The user polls: all that it was given before counts as processed."""
        self._polled_ms = self._now_ms()
        if self._handed_out_ms is not None and self._unsent_ms is None:
            self._unsent_ms = self._polled_ms

    def look(self, is_settled: bool, beats: bool, is_polling: bool, restless_ms: int) -> None:
        """A second has passed; `restless_ms`: when the process stood still last, or its clock jumped."""
        now_ms = self._now_ms()
        if not is_settled:
            self._stable_ms = None
        elif self._stable_ms is None:
            self._stable_ms = now_ms
        since_ms = max(restless_ms, self._searched_ms)
        if self._stable_ms is not None and not self._open and not self._closes:
            silent_ms = now_ms - max(self._beat_ms, self._stable_ms, self._over_ms, since_ms)
            if silent_ms > self._interval_ms + _SLACK_MS:
                self._say(KEEPS_ALIVE, f"sends no heartbeat for {silent_ms} ms")
                self._beat_ms = now_ms
        # Kafka's consumer leaves when it has a coordinator to tell; one lost with a heartbeat's connection is
        # searched for in the same ms.
        knows_whom = not self._speaks_consumer or self._searched_ms < self._beat_ms
        if beats and knows_whom and not self._closes:
            late_ms = now_ms - max(self._polled_ms, restless_ms) - self._settings.max_poll_interval_ms
            if late_ms > _SLACK_MS:
                self._say(KEEPS_ALIVE, f"is in its group {late_ms} ms after max.poll.interval.ms")
                self._polled_ms = now_ms
        self._look_at_commits(now_ms, since_ms, is_polling)

    def _look_at_commits(self, now_ms: int, since_ms: int, is_polling: bool) -> None:
        if not self._settings.enable_auto_commit or self._stable_ms is None or self._unsent_ms is None:
            return
        begin_ms = max(self._unsent_ms, self._stable_ms, since_ms, self._failed_ms)
        late_ms = now_ms - begin_ms - _INTERVALS * self._settings.auto_commit_interval_ms
        if is_polling and late_ms > self._settings.request_timeout_ms:
            self._say(KEEPS_ALIVE, f"commits nothing for {now_ms - begin_ms} ms")
            self._unsent_ms = now_ms

    def closes(self, member_id: str, is_settled: bool, clock_ms: int) -> None:
        """The user closes it, by its own clock at `clock_ms`. Without a coordinator it can tell nobody."""
        is_in = is_settled and bool(member_id) and self._settings.group_instance_id is None
        silent_ms = self._now_ms() - self._beat_ms
        knows = silent_ms < self._interval_ms + _SLACK_MS
        self._must_leave = is_in and knows and self._searched_ms < self._beat_ms
        self._left, self._closes = False, True
        self._closes_ms = clock_ms

    def closed(self, clock_ms: int) -> None:
        """Note that the process ended in order, by its own clock at `clock_ms`."""
        # A process that stood still meanwhile, or whose clock jumped, may have no time left to tell anybody.
        in_time = clock_ms - self._closes_ms < self._settings.request_timeout_ms / 2
        if in_time and self._must_leave and not self._left and self._searched_ms < self._beat_ms:
            self._say(KEEPS_ALIVE, "closes and does not leave")

    def _say(self, checker: str, what: str) -> None:
        self._checkers.broken(checker, f"{self._group}: {self._name} {what}")
