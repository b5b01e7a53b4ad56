"""Checks that offsets expire when they may and when they must, and not otherwise (KIP-211)."""

from kgroup.errors import DecodeError
from kgroup.group.coordinator.classic.group import CONSUMER_PROTOCOL
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from kgroup.protocol.requests.coordinator import DeleteGroups, OffsetDelete, PartitionsDeleted
from kgroup.protocol.subscription import decode_subscription
from kgroup.sim.watch.coordinators import SLACK_MS, CoordinatorChecker, Scene, Ticket
from kgroup.sim.watch.log_model import Kept, Written
from kgroup.sim.watch.result import RETENTION
from kgroup.sim.watch.tallies import GroupPartition

S = GroupState
_REBALANCES = (S.PREPARING_REBALANCE, S.COMPLETING_REBALANCE)


class Retention(CoordinatorChecker):
    """Offsets are deleted on request, or when their group was empty for offsets.retention.minutes."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._due_since_ms: dict[GroupPartition, int] = {}
        self._calm_ms: dict[str, int] = {}  # when a request found the group not rebalancing

    def asked(self, ticket: Ticket) -> None:
        """What is written now may have been decided before this request."""
        if ticket.state not in _REBALANCES:
            self._calm_ms[getattr(ticket.body, "group_id", "")] = ticket.asked_ms

    def written(self, written: Written, now_ms: int) -> None:
        """A tombstone has a reason."""
        if written.value is not None:
            return
        group_id = written.key.group
        if self._asked_for(written):
            return
        if isinstance(written.key, OffsetCommitKey):
            if isinstance(written.before, Kept) or written.was_pending:
                why = self._why_not(written, now_ms)
                if why is not None:
                    place = f"{group_id}: {written.key.topic}-{written.key.partition}"
                    self.scene.report(RETENTION, f"{place} is deleted: {why}")
            return
        if self.scene.consumer_group(group_id) is not None:
            return  # it has been converted, and keeps its name
        model = self.scene.model
        left = any(place[0] == group_id for place in model.committed) or any(
            place[0] == group_id for offsets in model.pending.values() for place in offsets
        )
        if left or (isinstance(written.before, GroupMetadataValue) and written.before.members):
            self.scene.report(RETENTION, f"{group_id} is deleted, and has members or offsets")

    def _asked_for(self, written: Written) -> bool:
        for ticket in self.scene.tickets.values():
            match ticket.body:
                case DeleteGroups(group_ids=group_ids) if written.key.group in group_ids:
                    return True
                case OffsetDelete(group_id=group_id) if written.key.group == group_id:
                    return isinstance(written.key, OffsetCommitKey)
                case PartitionsDeleted():
                    return True
                case _:
                    pass
        return False

    def _why_not(self, written: Written, now_ms: int) -> str | None:
        assert isinstance(written.key, OffsetCommitKey)
        if written.was_pending:
            return "a transaction is open"
        assert isinstance(written.before, Kept)
        value = written.before.value
        due_ms = self._due_ms(written.key, value)
        if due_ms is None:
            return "its group reads it"
        if now_ms < due_ms:
            return f"{due_ms - now_ms} ms too early"
        group = self.scene.group(written.key.group)
        was_calm = self._calm_ms.get(written.key.group) == now_ms
        if group is not None and group.state in _REBALANCES and not was_calm:
            return "its group rebalances"
        return None

    def _due_ms(self, key: OffsetCommitKey, value: OffsetCommitValue) -> int | None:
        """The time at which the offset may go; None: not while its group is as the log says."""
        # By the log: the coordinator itself may have decided more since, which is yet to be written.
        read = self.scene.model.topics_of(key.group)
        if read is not None:
            expires = key.topic not in read
            return value.commit_timestamp + self.scene.settings.offsets_retention_ms if expires else None
        group = self.scene.model.groups.get(key.group)
        start_ms = value.commit_timestamp
        if group is not None and group.members:
            try:
                topics = {
                    topic for each in group.members for topic in decode_subscription(each.subscription).topics
                }
            except DecodeError:
                return None
            if group.protocol_type != CONSUMER_PROTOCOL or key.topic in topics:
                return None
        elif group is not None and group.protocol_type:
            start_ms = group.current_state_timestamp
        if value.expire_timestamp >= 0:
            return value.expire_timestamp
        return start_ms + self.scene.settings.offsets_retention_ms

    def look(self, now_ms: int, is_awake: bool) -> None:
        """Nothing stays when its time is long over."""
        patience_ms = self.scene.settings.offsets_retention_check_interval_ms + SLACK_MS
        before_ms, self._due_since_ms = self._due_since_ms, {}
        if not is_awake:
            return
        for place, kept in self.scene.model.committed.items():
            group_id, (topic, index) = place
            group = self.scene.group(group_id)
            if group is None or group.state is not S.EMPTY or self.scene.model.is_pending(place):
                continue
            due_ms = self._due_ms(OffsetCommitKey(group=group_id, topic=topic, partition=index), kept.value)
            if due_ms is None or now_ms < due_ms:
                continue
            since_ms = self._due_since_ms[place] = before_ms.get(place, now_ms)
            if now_ms - since_ms > patience_ms:
                self.scene.report(RETENTION, f"{group_id}: {topic}-{index} stays after its time")
