"""The sticky assignment of a group whose members all subscribe to the same topics.

Source: the constrained assignment of Kafka 4.3.1's AbstractStickyAssignor. Every member ends with
`quota` partitions or one more. Members keep what they owned up to that, and the rest is dealt out in
turn to the members that have too few.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kgroup.assignors.client.leader_view import LeaderView
from kgroup.assignors.client.sticky_claims import Ownership, left_over
from kgroup.assignors.client.sticky_racks import StickyRacks
from kgroup.assignors.java_order import sorted_strings, string_order, string_ranks
from kgroup.assignors.model import Assignment, AssignorError
from kgroup.protocol.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualAssignment:
    """The balanced assignment, and which of its partitions another member must give up first."""

    assignment: Assignment
    transferring: dict[TopicPartition, str]


def assign_equal(view: LeaderView, ownership: Ownership, racks: StickyRacks) -> EqualAssignment:
    """Balance a group with equal subscriptions.

    Raises AssignorError for an empty group, and where claims of partitions that do not exist leave
    Kafka without a member to give a partition to.
    """
    if not view.members:
        raise AssignorError("java.lang.ArithmeticException", "/ by zero", "the group has no members")
    table = _Table(view, ownership, racks)
    table.keep_owned()
    waiting = table.unassigned()
    if racks.of_member:
        waiting = table.deal_near(waiting)
    table.deal(waiting)
    return EqualAssignment(assignment=table.assignment, transferring=table.transferring())


class _Table:
    """The owners of partitions while the assignment is made.

    `below` are members under the quota, `at_quota` members at it that may get one more. As many
    members as there are partitions left over by the division get one more: `more_left` of them are
    still to be found.
    """

    def __init__(self, view: LeaderView, ownership: Ownership, racks: StickyRacks) -> None:
        self._view = view
        self._ownership = ownership
        self._racks = racks
        total = sum(topic.partitions for topic in view.topics.values())
        self._quota, self._more_left = divmod(total, len(view.members))
        self._most = self._quota + (self._more_left > 0)
        self._topic_ranks = string_ranks(view.topics)
        self.assignment: Assignment = {member.member_id: [] for member in view.members}
        self._below: list[str] = []
        self._at_quota: list[str] = []
        self._revoked: dict[TopicPartition, str] = {}
        self._kept_counts: dict[str, int] = {}

    def keep_owned(self) -> None:
        """Let members keep what they owned, up to the quota, and some of them one more.

        Who gets one more goes by the order of the second map into which Kafka copies the members.
        """
        for member_id in string_order(self._ownership.owned):
            mine = self._still_wanted(member_id)
            if len(mine) < self._quota:
                kept = len(mine)
                self._below.append(member_id)
            elif len(mine) >= self._most and self._more_left > 0:
                kept = self._most
                self._count_one_more()
            else:
                kept = self._quota
                if self._more_left > 0:
                    self._at_quota.append(member_id)
            self.assignment[member_id].extend(mine[:kept])
            self._kept_counts[member_id] = kept
            for partition in mine[kept:]:
                self._revoked[partition] = member_id

    def _still_wanted(self, member_id: str) -> list[TopicPartition]:
        mine = self._ownership.owned[member_id]
        if self._racks.of_member:
            far = [partition for partition in mine if self._racks.mismatch(member_id, partition)]
            self._revoked.update(dict.fromkeys(far, member_id))
            mine = [partition for partition in mine if not self._racks.mismatch(member_id, partition)]
        ranks = self._topic_ranks
        # By partition id, then topic, as one number.
        mine = sorted(mine, key=lambda partition: partition[1] * len(ranks) + ranks[partition[0]])
        if self._ownership.contested:
            for partition in dict.fromkeys(p for p in mine if p in self._ownership.contested):
                mine.remove(partition)
        return mine

    def _count_one_more(self) -> None:
        self._more_left -= 1
        if self._more_left == 0:
            self._at_quota.clear()

    def unassigned(self) -> list[TopicPartition]:
        """The partitions nobody keeps, by topic and partition, then those with fewest members near first.

        Where anything is kept, Kafka counts the partitions 0..n-1 even if the ids have gaps.
        """
        kept = [partition for partitions in self.assignment.values() for partition in partitions]
        topics = [self._view.topics[name] for name in sorted_strings(self._view.topics)]
        waiting = [
            (topic.name, number)
            for topic in topics
            for number in (range(topic.partitions) if kept else topic.ids())
        ]
        if kept:
            ranks = self._topic_ranks
            waiting = left_over(waiting, kept, lambda partition: (ranks[partition[0]], partition[1]))
        near = self._racks.members_near
        if near:
            waiting.sort(key=lambda partition: near.get(partition, 0))
        self._below = sorted_strings(self._below)
        self._at_quota = sorted_strings(self._at_quota)
        return waiting

    def deal_near(self, waiting: list[TopicPartition]) -> list[TopicPartition]:
        """Deal out in turn what can be near its member; return the rest."""
        rest: list[TopicPartition] = []
        turn = 0
        for partition in waiting:
            index = self._next_near(partition, self._below, turn)
            if index is not None:
                member_id = self._below[index]
                mine = self.assignment[member_id]
                mine.append(partition)
                if len(mine) < self._quota:
                    index += 1
                else:
                    del self._below[index]
                    if len(mine) < self._most and self._more_left > 0:
                        self._at_quota.append(member_id)
                turn = index % len(self._below) if self._below else 0
                continue
            index = self._next_near(partition, self._at_quota, 0)
            if index is None:
                rest.append(partition)
                continue
            member_id = self._at_quota[index]
            self.assignment[member_id].append(partition)
            if len(self.assignment[member_id]) == self._most:
                del self._at_quota[index]
                self._count_one_more()
        return rest

    def _next_near(self, partition: TopicPartition, member_ids: list[str], start: int) -> int | None:
        racks = self._racks.of_partition.get(partition)
        if not racks:
            return None
        of_member = self._racks.of_member
        for indexes in (range(start, len(member_ids)), range(start)):
            for index in indexes:
                if of_member.get(member_ids[index]) in racks:
                    return index
        return None

    def deal(self, waiting: list[TopicPartition]) -> None:
        """Deal out the rest: in turn to members below the quota, then one more to each at it."""
        start = 0
        # Ends: each pass deals at least one partition, or all that are left.
        while self._below and start < len(waiting):
            rounds = min(self._quota - len(self.assignment[member_id]) for member_id in self._below)
            width = len(self._below)
            hand = waiting[start : start + rounds * width]
            for index, member_id in enumerate(self._below):
                self.assignment[member_id].extend(hand[index::width])
            start += len(hand)
            full = [m for m in self._below if len(self.assignment[m]) == self._quota]
            self._at_quota.extend(full)
            self._below = [m for m in self._below if len(self.assignment[m]) < self._quota]
        rest = waiting[start:]
        if len(rest) > len(self._at_quota):
            raise _not_possible("No more unfilled consumers to be assigned.")
        for member_id, partition in zip(self._at_quota, rest, strict=False):
            self.assignment[member_id].append(partition)
        if self._most > self._quota:
            self._more_left -= len(rest)
        self._check_filled()

    def _check_filled(self) -> None:
        if not self._below:
            return
        if self._more_left:
            raise _not_possible(
                "We haven't reached the expected number of members with more than the minQuota partitions, "
                "but no more partitions to be assigned"
            )
        raise _not_possible(
            f"Consumer: [{self._below[0]}] doesn't reach minQuota partitions, "
            "and no more partitions to be assigned"
        )

    def transferring(self) -> dict[TopicPartition, str]:
        """Newly assigned partitions that another member owned until now, or two claimed."""
        contested = self._ownership.contested
        if not self._revoked and not contested:
            return {}
        return {
            partition: member_id
            for member_id, partition in self._newly_assigned()
            if partition in contested or self._revoked.get(partition, member_id) != member_id
        }

    def _newly_assigned(self) -> Iterable[tuple[str, TopicPartition]]:
        for member_id, partitions in self.assignment.items():
            for partition in partitions[self._kept_counts[member_id] :]:
                yield member_id, partition


def _not_possible(message: str) -> AssignorError:
    why = "claims of partitions that do not exist upset its count"
    return AssignorError("java.lang.IllegalStateException", message, why)
