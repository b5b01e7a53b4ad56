"""Checks that coordinators hold what their logs say, and that what they acknowledge is in the log."""

from collections import deque

from kgroup.errors import DecodeError
from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.offsets import FetchTopic
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from kgroup.protocol.requests.coordinator import (
    OffsetCommit,
    OffsetCommitResponse,
    ReplyBody,
    TxnOffsetCommit,
)
from kgroup.protocol.subscription import decode_subscription
from kgroup.sim.watch.coordinators import CoordinatorChecker, Scene, Ticket
from kgroup.sim.watch.log_model import Written
from kgroup.sim.watch.result import LOG_AGREES
from kgroup.sim.watch.tallies import GroupPartition

_REMEMBERED = 64


class LogAgrees(CoordinatorChecker):
    """Offsets, pending ones, and groups between rebalances: in the coordinator as in the log."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._written: dict[GroupPartition, deque[int]] = {}
        self._compared_to = -1

    def written(self, written: Written, now_ms: int) -> None:
        """Commits in the log may be acknowledged."""
        if isinstance(written.key, OffsetCommitKey) and isinstance(written.value, OffsetCommitValue):
            key = written.key
            place = (key.group, (key.topic, key.partition))
            self._written.setdefault(place, deque(maxlen=_REMEMBERED)).append(written.value.offset)

    def answered(self, ticket: Ticket, reply: ReplyBody, now_ms: int) -> None:
        """Check that an acknowledged commit is in the log."""
        body = ticket.body
        if not isinstance(body, OffsetCommit | TxnOffsetCommit) or not isinstance(
            reply, OffsetCommitResponse
        ):
            return
        acknowledged = {
            (topic.name, each.partition_index)
            for topic in reply.topics
            for each in topic.partitions
            if each.error_code is ErrorCode.NONE
        }
        for topic in body.topics:
            for each in topic.partitions:
                partition = (topic.name, each.partition_index)
                offsets = self._written.get((body.group_id, partition), ())
                if partition in acknowledged and each.committed_offset not in offsets:
                    where = f"{body.group_id}: {topic.name}-{each.partition_index}"
                    self._report(f"{where}: {each.committed_offset} is acknowledged, and not in the log")

    def loaded(self, now_ms: int) -> None:
        """Check that what was read is what was written."""
        self._compare()

    def look(self, now_ms: int, is_awake: bool) -> None:
        """Live state is logged state, except within a rebalance."""
        self._compare()

    def _compare(self) -> None:
        end_offset = self.scene.hosted.partition.log.end_offset
        if end_offset != self._compared_to:
            self._compared_to = end_offset
            self._compare_offsets()
            self._compare_subscriptions()
        model = self.scene.model
        for group in self.scene.groups():
            if group.state in (GroupState.EMPTY, GroupState.STABLE):
                self._compare_group(group, model.groups.get(group.group_id))
        for group_id in model.groups:
            if self.scene.group(group_id) is None:
                self._report(f"{group_id} is in the log, and the coordinator does not know it")

    def _compare_offsets(self) -> None:
        model = self.scene.model
        places: dict[str, list[GroupPartition]] = {}
        for place in model.committed:
            places.setdefault(place[0], []).append(place)
        for offsets in model.pending.values():
            for place in offsets:
                places.setdefault(place[0], []).append(place)
        for group in self.scene.groups():
            places.setdefault(group.group_id, [])
        for group_id, own in places.items():
            self._compare_places(group_id, own)

    def _compare_places(self, group_id: str, places: list[GroupPartition]) -> None:
        model, coordinator = self.scene.model, self.scene.coordinator
        held = {
            (group_id, (topic.name, each.partition_index)): each.committed_offset
            for topic in coordinator.fetch_offsets(group_id, None, require_stable=False)
            for each in topic.offsets
        }
        logged = {place: model.committed[place].value.offset for place in places if place in model.committed}
        if held != logged:
            different = sorted(place for place in held | logged if held.get(place) != logged.get(place))
            place = different[0]
            self._report(
                f"{group_id}: {place[1][0]}-{place[1][1]} is {held.get(place)}, logged {logged.get(place)}"
            )
        for place in dict.fromkeys(places):
            topic, index = place[1]
            requested = FetchTopic(name=topic, topic_id=None, partition_indexes=(index,))
            [fetched] = coordinator.fetch_offsets(group_id, (requested,), require_stable=True)
            is_unstable = fetched.offsets[0].error_code is ErrorCode.UNSTABLE_OFFSET_COMMIT
            if is_unstable != model.is_pending(place):
                said = "pending" if is_unstable else "stable"
                self._report(f"{group_id}: {topic}-{index} is {said}, and not so in the log")

    def _compare_subscriptions(self) -> None:
        for group in self.scene.groups():
            logged = self.scene.model.groups.get(group.group_id)
            if group.state is not GroupState.STABLE or logged is None or group.subscribed_topics is None:
                continue
            try:
                topics = {
                    topic
                    for member in logged.members
                    for topic in decode_subscription(member.subscription).topics
                }
            except DecodeError:
                continue
            if topics != group.subscribed_topics:
                self._report(f"{group.group_id}: subscribed to {', '.join(sorted(group.subscribed_topics))}")

    def _compare_group(self, group: ClassicGroup, logged: GroupMetadataValue | None) -> None:
        live: dict[str, object] = {"generation": group.generation_id}
        kept: dict[str, object] = {"generation": logged.generation if logged else 0}
        if group.members or (logged is not None and logged.members):
            live |= {"leader": group.leader_id, "protocol": group.protocol_name}
            kept |= {
                "leader": logged.leader if logged else None,
                "protocol": logged.protocol if logged else None,
            }
        live |= {
            member.member_id: (member.group_instance_id, member.assignment, member.session_timeout_ms)
            for member in group.members.values()
        }
        kept |= {
            member.member_id: (member.group_instance_id, member.assignment, member.session_timeout)
            for member in (logged.members if logged else ())
        }
        if live != kept:
            names = [name for name in live | kept if live.get(name) != kept.get(name)]
            self._report(f"{group.group_id}: {group.state}: {names[0]} is not as in the log")

    def _report(self, why: str) -> None:
        self.scene.report(LOG_AGREES, why)
