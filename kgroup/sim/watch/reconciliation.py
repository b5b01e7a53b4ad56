"""Consumer-protocol groups: what their coordinators hold against what their members have.

A partition has one owner at a time because its coordinator gives it to nobody until the owner before has said
that it gave it up, or is out. So two things have to hold: in the coordinator's books no partition stands
twice, and a member has nothing that the books do not say of it. A member that is out, or fenced, may still
read until it hears of it: no protocol can prevent that.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import AWAY
from kgroup.group.coordinator.consumer.rules import SESSION
from kgroup.group.coordinator.events import GroupDeleted, GroupEvent, MemberRemoved
from kgroup.group.coordinator.timers import TimerKey
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kgroup.protocol.requests.coordinator import ReplyBody
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.coordinators import SLACK_MS, CoordinatorChecker, Scene, Ticket
from kgroup.sim.watch.result import ALIVE_STAY, DEADLINES, EPOCHS_GROW, SESSIONS_END, UNREVOKED
from kgroup.sim.watch.stale_heartbeats import StaleHeartbeats, held


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A running member: its name, its id and epoch by its own account, and what its user has."""

    name: str
    member_id: str
    epoch: int
    owned: frozenset[TopicPartition]


class Books:
    """Looks at one group at a time. `broken` takes a checker's name and a sentence.

    `changed` is called when a group's epoch has gone up. `known` takes what `stale` explains.
    """

    def __init__(
        self,
        broken: Callable[[str, str], None],
        name_of: Callable[[UUID], str | None],
        changed: Callable[[], None],
        *,
        known: Callable[[str, str], None],
        stale: StaleHeartbeats,
    ) -> None:
        self._broken = broken
        self._known = known
        self._stale = stale
        self._name_of = name_of
        self._changed = changed
        self._group_epochs: dict[str, int] = {}
        self._member_epochs: dict[str, dict[str, int]] = {}

    def forget(self, group_id: str) -> None:
        """The group was deleted, or its log has lost its end: epochs begin again."""
        self._group_epochs.pop(group_id, None)
        self._member_epochs.pop(group_id, None)

    def look(self, group: ConsumerGroup, holders: Iterable[Holder], *, is_logged: bool) -> None:
        """Check everything as of now; `is_logged`: the log has what the coordinator has decided.

        Without it the epochs have to wait: if the append fails, they are void, nobody has heard of them, and
        they are given out again.
        """
        if is_logged:
            self._look_at_epochs(group)
        self._look_at_owners(group)
        for holder in holders:
            member = group.members.get(holder.member_id)
            if member is None or member.classic is not None or holder.epoch <= 0:
                continue
            if holder.epoch not in (member.member_epoch, member.previous_member_epoch):
                continue  # it is fenced, and will hear so
            more = holder.owned - held(member, self._name_of)
            if more:
                is_known = self._stale.explain(group.group_id, holder.member_id, holder.epoch, more)
                report = self._known if is_known else self._broken
                report(
                    UNREVOKED,
                    f"{group.group_id}: {holder.name} has {_names(more)} at epoch {holder.epoch}, and the "
                    "coordinator thinks that it gave that up",
                )

    def _look_at_owners(self, group: ConsumerGroup) -> None:
        owners: dict[tuple[UUID, int], str] = {}
        for member in group.members.values():
            for owned in (member.assigned, member.revoking):
                for topic_id, partitions in owned.items():
                    for partition in partitions:
                        owner = owners.setdefault((topic_id, partition), member.member_id)
                        if owner != member.member_id:
                            what = f"{self._name_of(topic_id)}-{partition} is given to {member.member_id}"
                            self._broken(UNREVOKED, f"{group.group_id}: {what}, and {owner} has it")

    def _look_at_epochs(self, group: ConsumerGroup) -> None:
        group_id, before = group.group_id, self._group_epochs.get(group.group_id)
        if before is not None and group.epoch < before:
            self._broken(EPOCHS_GROW, f"{group_id}: group epoch {group.epoch} after {before}")
        if before is not None and group.epoch > before:
            self._changed()
        self._group_epochs[group_id] = group.epoch
        if group.assignment_epoch > group.epoch:
            self._broken(
                EPOCHS_GROW,
                f"{group_id}: a target of epoch {group.assignment_epoch}, group epoch {group.epoch}",
            )
        known = self._member_epochs.setdefault(group_id, {})
        for member_id in known.keys() - group.members.keys():
            del known[member_id]
        for member in group.members.values():
            if member.member_epoch == AWAY:
                continue
            least = known.get(member.member_id, 0)
            if not least <= member.member_epoch <= group.assignment_epoch:
                self._broken(
                    EPOCHS_GROW,
                    f"{group_id}: {member.member_id} at epoch {member.member_epoch} after {least}, "
                    f"target {group.assignment_epoch}",
                )
            known[member.member_id] = max(least, member.member_epoch)


class ConsumerSessions(CoordinatorChecker):
    """Members of the consumer protocol: the silent are out in time, and who heartbeats stays.

    Epoch ms of the node. `_signs`: when the coordinator last answered a heartbeat of a member.
    """

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._signs: dict[tuple[str, str], int] = {}

    def loaded(self, now_ms: int) -> None:
        """Everybody has a session more; one of the classic protocol has its own, of another length."""
        for group in self.scene.consumer_groups():
            for member in group.members.values():
                if member.classic is None:
                    self._signs[group.group_id, member.member_id] = now_ms

    def answered(self, ticket: Ticket, reply: ReplyBody, now_ms: int) -> None:
        """The member lives."""
        body = ticket.body
        if not isinstance(body, ConsumerGroupHeartbeat):
            return
        assert isinstance(reply, ConsumerGroupHeartbeatResponse)
        if reply.error_code is ErrorCode.NONE and body.member_epoch >= 0:
            self._signs[body.group_id, body.member_id] = ticket.asked_ms

    def heard(self, event: GroupEvent, now_ms: int) -> None:
        """A member is out."""
        if isinstance(event, GroupDeleted):
            self._signs = {key: ms for key, ms in self._signs.items() if key[0] != event.group_id}
        if not isinstance(event, MemberRemoved):
            return
        sign_ms = self._signs.pop((event.group_id, event.member_id), None)
        if event.why.startswith("session expired") and sign_ms is not None:
            left_ms = sign_ms + self.scene.settings.consumer_session_timeout_ms - now_ms
            if left_ms > 0 and self.scene.consumer_group(event.group_id) is not None:
                self.scene.report(
                    ALIVE_STAY, f"{event.group_id}: {event.member_id} is out, {left_ms} ms before its session"
                )

    def look(self, now_ms: int, is_awake: bool) -> None:
        """Every member has been heard of within a session, and its deadline is watched."""
        for group in self.scene.consumer_groups():
            for member in group.members.values():
                key = (group.group_id, member.member_id)
                if member.classic is not None:
                    self._signs.pop(key, None)
                    continue
                sign_ms = self._signs.setdefault(key, now_ms)
                if self.scene.coordinator.deadline_ms(TimerKey(SESSION, *key)) is None:
                    self.scene.report(DEADLINES, f"{group.group_id}: no session deadline {member.member_id}")
                late_ms = now_ms - sign_ms - self.scene.settings.consumer_session_timeout_ms
                if is_awake and late_ms > SLACK_MS and member.member_epoch != AWAY:
                    self.scene.report(
                        SESSIONS_END, f"{group.group_id}: {member.member_id} is {late_ms} ms past its session"
                    )
                    self._signs[key] = now_ms


def _names(partitions: Iterable[TopicPartition]) -> str:
    return " ".join(f"{topic}-{number}" for topic, number in sorted(partitions))
