"""The promises every run is checked against; `result.CHECKERS` says them in words.

- one-owner: what members take over at the end of a generation's rounds is disjoint. It counts per generation:
  a member that has not heard yet of a newer one still reads what it had, and no protocol can prevent that.
  What Kafka's own assignor hands out twice (`leading`) is kept apart: nobody here broke a rule.
- commits-survive: in the order of the coordinator's own answers. A commit that was not answered, or with an
  error that leaves it open, may or may not be in the log.
- generations-grow: of the generations that a group stores. One that was formed but never got its assignment
  dies with its coordinator, and its number is given out again; Kafka's coordinator does the same, and nobody
  owns anything by such a generation.
- settles: within the time that the scenario leaves for it. New partitions of a topic count once the leader's
  metadata must have shown them: metadata.max.age and a minute for the rebalance after they came.
  What Kafka's own coordinator leaves without a reader (`unheard`, `lost_words`, `downgrades`) is kept apart
  here, too.
- members-go-on: a member may fail where the scenario asks for what cannot be, and where Kafka's own assignor
  throws (a leader whose metadata is older than what members claim: `kgroup.assignors` keeps that, too).
  Members that Kafka's own coordinator fails on (`first_rounds`) are kept apart.
- no-skip: records are handed out, and commits acknowledged, no further than the group has processed.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kgroup.group.coordinator.events import GenerationFormed, GroupDeleted, GroupEvent, GroupStable
from kgroup.group.member.step import ASSIGNOR, MemberError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import OffsetCommit, OffsetCommitResponse
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.first_rounds import FirstRounds
from kgroup.sim.watch.result import (
    COMMITS_SURVIVE,
    GENERATIONS_GROW,
    MEMBERS_GO_ON,
    NO_SKIP,
    ONE_OWNER,
    RECONCILES,
    SETTLES,
    Violation,
)
from kgroup.sim.watch.tallies import GroupPartition, Measures

_NONE: Final = -1
_VIOLATIONS_MAX: Final = 20  # of one checker: one broken promise tends to break others
_LATE_MS: Final = 60_000
"""After a loss of writes: how long members may still act on what is lost."""
_GENERATIONS_KEPT: Final = 8  # per group, for members that are late
_LEFT_OPEN: Final = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT}
)
_OF_THE_SCENARIO: Final = frozenset(
    {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.INVALID_SESSION_TIMEOUT,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
)
"""Errors that no retry cures because the scenario asks for them."""
FATAL_TO_CONSUMERS: Final = frozenset({ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.GROUP_ID_NOT_FOUND})
"""Kafka's consumer ends with these, although time cures them: its own place is not free yet, as the answer to
its first heartbeat was lost; and its group is classic again, as it was out."""


class Checkers:
    """Hears of all events, and collects every broken promise."""

    def __init__(self, measures: Measures, now_ms: Callable[[], int]) -> None:
        self.violations: list[Violation] = []
        self.known: list[Violation] = []
        """As Kafka's own do it under the same conditions."""
        self.first_rounds = FirstRounds()
        self._seen: set[tuple[str, str]] = set()
        self._measures = measures
        self._now_ms = now_ms
        self._started_ms = now_ms()
        self._owners: dict[str, dict[int, dict[TopicPartition, str]]] = {}
        self._assigned_twice: dict[str, dict[int, frozenset[TopicPartition]]] = {}
        self._generations: dict[str, int] = {}
        self._commits: dict[GroupPartition, list[tuple[int, int]]] = {}
        self._next_commit = 0
        self._lost_ms: dict[str, int] = {}
        self._writes_lost_ms: dict[str, int] = {}
        self.on_reconciled: Callable[[str], None] = lambda group: None
        """A member of this group has taken what it was given by the consumer protocol."""
        self.on_epochs_lost: Callable[[str], None] = lambda group: None
        """The epochs of this group begin again."""

    def broken(self, checker: str, violation: str) -> None:
        """A promise was broken now."""
        so_far = sum(each.checker == checker for each in self.violations)
        if so_far < _VIOLATIONS_MAX and (checker, violation) not in self._seen:
            self._seen.add((checker, violation))
            self.violations.append(Violation(checker=checker, at_ms=self._now_ms(), what=violation))

    def known_to_kafka(self, checker: str, what: str) -> None:
        """A promise does not hold now, as with Kafka's own."""
        if (checker, what) not in [(each.checker, each.what) for each in self.known]:
            self.known.append(Violation(checker=checker, at_ms=self._now_ms(), what=what))

    # ---- owners and generations -------------------------------------------------------------------

    def took_over(
        self, group: str, generation: int, member: str, partitions: Iterable[TopicPartition]
    ) -> None:
        """A member has taken its share of a generation."""
        if self._now_ms() - self._lost_ms.get(group, -_LATE_MS) < _LATE_MS:
            return  # generations that were lost are given out again
        generations = self._owners.setdefault(group, {})
        owners = generations.setdefault(generation, {})
        for partition in partitions:
            owner = owners.setdefault(partition, member)
            if owner != member:
                what = f"{group}: {_name(partition)}: {owner} and {member} in generation {generation}"
                if partition in self._assigned_twice.get(group, {}).get(generation, ()):
                    self.known.append(Violation(checker=ONE_OWNER, at_ms=self._now_ms(), what=what))
                else:
                    self.broken(ONE_OWNER, what)
        while len(generations) > _GENERATIONS_KEPT:
            del generations[min(generations)]

    def assigned_twice(self, group: str, generation: int, partitions: frozenset[TopicPartition]) -> None:
        """The leader of a generation gives these to two members, as Kafka's would."""
        self._assigned_twice.setdefault(group, {})[generation] = partitions

    def group_event(self, event: GroupEvent) -> None:
        """A coordinator reports something it has stored."""
        match event:
            case GroupStable():
                self._stored(event.group_id, event.generation_id)
            case GenerationFormed(members=0):
                self._stored(event.group_id, event.generation_id)
            case GroupDeleted():
                self._generations.pop(event.group_id, None)
                self._forget_owners(event.group_id)
                self.on_epochs_lost(event.group_id)
                self._lost_ms[event.group_id] = self._now_ms()
            case _:
                pass

    def begin_again(self, group: str, generation: int) -> None:
        """The log has lost what came after this generation."""
        self._lost_ms[group] = self._writes_lost_ms[group] = self._now_ms()
        self.on_epochs_lost(group)
        if group in self._generations:
            self._generations[group] = min(self._generations[group], generation)
            self._forget_owners(group)

    def _forget_owners(self, group: str) -> None:
        """Its generations are numbered again."""
        self._owners.pop(group, None)
        self._assigned_twice.pop(group, None)

    def has_lost(self, group: str) -> bool:
        """Whether the log has lost writes that members may still act on."""
        return self._now_ms() - self._writes_lost_ms.get(group, -_LATE_MS) < _LATE_MS

    def lost_commits(self, committed: Mapping[GroupPartition, int], is_lost: Callable[[str], bool]) -> None:
        """The log has lost commits that were acknowledged, and has these."""
        for group_partition in self._commits:
            if is_lost(group_partition[0]):
                self._commits[group_partition] = [(0, committed.get(group_partition, _NONE))]

    def _stored(self, group: str, generation: int) -> None:
        before = self._generations.get(group, -1)
        if generation <= before:
            self.broken(GENERATIONS_GROW, f"{group}: generation {generation} after {before}")
        self._generations[group] = generation

    # ---- records ----------------------------------------------------------------------------------

    def handed_out(self, group_partition: GroupPartition, member: str, first: int) -> None:
        """A member is given records from `first` on."""
        done_to = self._measures.processed_to(group_partition)
        if first > done_to:
            self.broken(
                NO_SKIP,
                f"{_in_group(group_partition)}: {member} reads on at {first}, {done_to} is not processed",
            )

    def begins_at_end(self, group_partition: GroupPartition, offset: int) -> None:
        """`auto.offset.reset=latest` decides: the group passes over what lies before this."""
        self._measures.pass_over(group_partition, offset)

    def skips(self, group_partition: GroupPartition, member: str) -> None:
        """A member goes to the end of the log though it was given an offset."""
        self.broken(
            NO_SKIP, f"{_in_group(group_partition)}: {member} resets its position, and there is a commit"
        )

    # ---- commits ----------------------------------------------------------------------------------

    def commit_asked(self, body: OffsetCommit) -> int:
        """A commit reaches its coordinator; returns its number for `commit_answered`."""
        self._next_commit += 1
        for topic in body.topics:
            for each in topic.partitions:
                group_partition = (body.group_id, (topic.name, each.partition_index))
                self._commits.setdefault(group_partition, [(0, _NONE)]).append(
                    (self._next_commit, each.committed_offset)
                )
        return self._next_commit

    def commit_answered(self, number: int, body: OffsetCommit, answer: OffsetCommitResponse) -> None:
        """The coordinator's word on it; what was asked before it is settled by it."""
        for topic in answer.topics:
            for each in topic.partitions:
                group_partition = (body.group_id, (topic.name, each.partition_index))
                if each.error_code is ErrorCode.NONE:
                    self._acknowledged(group_partition, number)
                elif each.error_code not in _LEFT_OPEN:
                    self._commits[group_partition] = [
                        commit for commit in self._commits[group_partition] if commit[0] != number
                    ]

    def _acknowledged(self, group_partition: GroupPartition, number: int) -> None:
        commits = self._commits[group_partition]
        at = next(index for index, (commit_number, _) in enumerate(commits) if commit_number == number)
        del commits[:at]
        offset = commits[0][1]
        done_to = self._measures.processed_to(group_partition)
        if offset > done_to:
            self.broken(
                NO_SKIP,
                f"{_in_group(group_partition)}: {offset} is committed, and {done_to} is not processed",
            )

    def deleted(self, group_partition: GroupPartition) -> None:
        """The log says that an offset is deleted; whether its time was over is for `retention` to say.

        The offset of before counts on: a log that loses its end has it again.
        """
        if group_partition in self._commits:
            self._commits[group_partition].append((0, _NONE))

    def acknowledged(self, group_partition: GroupPartition) -> int:
        """The last acknowledged offset of a partition; -1: none."""
        commits = self._commits.get(group_partition)
        return commits[0][1] if commits else _NONE

    def may_be_committed(self, group_partition: GroupPartition) -> list[int]:
        """The offsets that a coordinator may have: the last acknowledged one, and those asked for since."""
        return [offset for _, offset in self._commits.get(group_partition, [(0, _NONE)])]

    def acknowledged_partitions(self) -> list[GroupPartition]:
        """The partitions of groups that were ever committed to, in a fixed order."""
        return sorted(self._commits)

    def committed(self, group_partition: GroupPartition, offset: int, retention_ms: int, where: str) -> None:
        """The log says that this is the committed offset (-1: none, as after `offsets.retention`)."""
        may_be_expired = self._now_ms() - self._started_ms >= retention_ms
        allowed = [offset for _, offset in self._commits[group_partition]]
        if offset not in allowed and not (offset == _NONE and may_be_expired):
            self.broken(
                COMMITS_SURVIVE,
                f"{_in_group(group_partition)}: {allowed[0]} was acknowledged, {where} has {offset}",
            )

    # ---- members and the end ----------------------------------------------------------------------

    def member_failed(self, member: str, error: MemberError) -> None:
        """A member cannot go on."""
        if self.first_rounds.explain(member, error):
            what = f"{member}: {error}"
            self.known.append(Violation(checker=MEMBERS_GO_ON, at_ms=self._now_ms(), what=what))
            return
        if self._lost_ms and error.error_code is ErrorCode.GROUP_ID_NOT_FOUND:
            return  # Kafka's consumer does not continue either: its group was lost, or deleted when empty
        if error.api == "ConsumerGroupHeartbeat" and error.error_code in FATAL_TO_CONSUMERS:
            return
        if error.error_code not in _OF_THE_SCENARIO and error.api != ASSIGNOR:
            self.broken(MEMBERS_GO_ON, f"{member}: {error}")

    def unsettled(self, why: str, *, of_consumer: bool, is_known: bool) -> None:
        """The time to settle is over, for a group of this kind; `is_known`: Kafka's would be as it is."""
        checker = RECONCILES if of_consumer else SETTLES
        if is_known:
            self.known.append(Violation(checker=checker, at_ms=self._now_ms(), what=why))
        else:
            self.broken(checker, why)


def _name(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"


def _in_group(group_partition: GroupPartition) -> str:
    group, partition = group_partition
    return f"{group}: {_name(partition)}"
