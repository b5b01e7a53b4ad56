"""Measures a run: who reads what, since when, and what was done twice. Takes facts from any design."""

from kgroup.group.coordinator.events import GenerationFormed, GroupEvent, RebalanceStarted
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import MemberResponse
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeatResponse
from kgroup.protocol.requests.coordinator import HeartbeatResponse, OffsetCommitResponse, SyncGroupResponse
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.result import Tally

GroupPartition = tuple[str, TopicPartition]
"""A group and a partition that it reads."""


class Measures:
    """Adds up what `Tally` says. `now_ms` never goes back; time is counted whenever a reader changes."""

    def __init__(self) -> None:
        self.notifications = 0
        self.rebalances = 0
        self.generations = 0
        self.requests = 0
        self._moved = 0
        self._processed = 0
        self._duplicates = 0
        self._passed_over = 0
        self._holders: dict[GroupPartition, set[str]] = {}
        self._spared: set[GroupPartition] = set()
        self._last_holder: dict[GroupPartition, str] = {}
        self._processed_to: dict[GroupPartition, int] = {}
        self._stopped_since: dict[str, int] = {}
        self._counted_to_ms = 0
        self._unread = 0
        self._shared = 0
        self._unread_ms = 0
        self._shared_ms = 0
        self._stopped_ms = 0

    def group_event(self, event: GroupEvent) -> None:
        """A coordinator says what it did."""
        if isinstance(event, RebalanceStarted):
            self.rebalances += 1
        elif isinstance(event, GenerationFormed) and event.members:
            self.generations += 1

    def epoch_went_up(self) -> None:
        """A consumer group has a new epoch, and works out another target for it."""
        self.rebalances += 1

    def answer(self, body: MemberResponse) -> None:
        """A member got an answer."""
        self.notifications += _tells_of_rebalance(body)

    # ---- partitions -------------------------------------------------------------------------------

    def need(self, group_partition: GroupPartition, now_ms: int) -> None:
        """Count time without a reader for this partition from now on: the group has to have one."""
        self._spared.discard(group_partition)
        if group_partition not in self._holders:
            self._count_to(now_ms)
            self._holders[group_partition] = set()
            self._unread += 1

    def spare(self, group_partition: GroupPartition, now_ms: int) -> None:
        """Count no time without a reader from now on: nobody in the group wants the partition."""
        holders = self._holders.get(group_partition)
        if holders:
            self._spared.add(group_partition)
        elif holders is not None:
            self._count_to(now_ms)
            del self._holders[group_partition]
            self._unread -= 1

    def hold(self, group_partition: GroupPartition, member: str, now_ms: int) -> None:
        """A running member reads the partition. Needs it, too."""
        if group_partition not in self._holders:
            self.need(group_partition, now_ms)
        holders = self._holders[group_partition]
        if member in holders:
            return
        self._count_to(now_ms)
        holders.add(member)
        self._unread -= len(holders) == 1
        self._shared += len(holders) == 2
        if self._last_holder.get(group_partition, member) != member:
            self._moved += 1
        self._last_holder[group_partition] = member

    def release(self, group_partition: GroupPartition, member: str, now_ms: int) -> None:
        """The member does not read it now: it gave it up, or stands still, or is gone."""
        holders = self._holders.get(group_partition)
        if holders is None or member not in holders:
            return
        self._count_to(now_ms)
        holders.remove(member)
        self._shared -= len(holders) == 1
        if not holders and group_partition in self._spared:
            self._spared.remove(group_partition)
            del self._holders[group_partition]
        else:
            self._unread += not holders

    def readers(self, group_partition: GroupPartition) -> frozenset[str]:
        """The members that read the partition now."""
        return frozenset(self._holders.get(group_partition, ()))

    def _count_to(self, now_ms: int) -> None:
        passed_ms = now_ms - self._counted_to_ms
        self._unread_ms += passed_ms * self._unread
        self._shared_ms += passed_ms * self._shared
        self._counted_to_ms = now_ms

    # ---- members and records ----------------------------------------------------------------------

    def stop(self, member: str, now_ms: int) -> None:
        """A running member has nothing to read until a rebalance is over."""
        self._stopped_since.setdefault(member, now_ms)

    def go_on(self, member: str, now_ms: int) -> None:
        """Note that the member has its share, or is not running any more."""
        since_ms = self._stopped_since.pop(member, None)
        if since_ms is not None:
            self._stopped_ms += now_ms - since_ms

    def process(self, group_partition: GroupPartition, first: int, last: int) -> None:
        """Records `first` to `last` (inclusive) of a partition are done."""
        done_to = self._processed_to.get(group_partition, 0)
        self._processed += last - first + 1
        self._duplicates += max(0, min(last + 1, done_to) - first)
        self._processed_to[group_partition] = max(done_to, last + 1)

    def pass_over(self, group_partition: GroupPartition, offset: int) -> None:
        """The group continues at `offset`, whatever lies before it and was never processed."""
        done_to = self._processed_to.get(group_partition, 0)
        self._passed_over += max(0, offset - done_to)
        self._processed_to[group_partition] = max(done_to, offset)

    def processed_to(self, group_partition: GroupPartition) -> int:
        """The offset behind the last record that the group has processed or passed over; 0: none yet."""
        return self._processed_to.get(group_partition, 0)

    # ---- the end ----------------------------------------------------------------------------------

    def tally(self, now_ms: int) -> Tally:
        """Everything up to now."""
        self._count_to(now_ms)
        stopped_ms = self._stopped_ms + sum(now_ms - since_ms for since_ms in self._stopped_since.values())
        return Tally(
            notifications=self.notifications,
            rebalances=self.rebalances,
            generations=self.generations,
            moved_partitions=self._moved,
            unavailable_partition_s=self._unread_ms / 1000,
            two_owner_partition_s=self._shared_ms / 1000,
            processed=self._processed,
            duplicates=self._duplicates,
            passed_over=self._passed_over,
            stopped_member_s=stopped_ms / 1000,
            requests=self.requests,
        )


def _tells_of_rebalance(body: MemberResponse) -> bool:
    match body:
        case HeartbeatResponse() | SyncGroupResponse():
            return body.error_code is ErrorCode.REBALANCE_IN_PROGRESS
        case ConsumerGroupHeartbeatResponse():
            return body.assignment is not None
        case OffsetCommitResponse():
            return any(
                each.error_code is ErrorCode.REBALANCE_IN_PROGRESS
                for topic in body.topics
                for each in topic.partitions
            )
        case _:
            return False
