"""A consumer's subscription, and its position in each partition it owns."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

import re2

from kgroup.errors import InputError
from kgroup.group.member.step import UseError
from kgroup.protocol.requests.client import FetchedRecord
from kgroup.protocol.topic_partition import TopicPartition

# RE2 would say on standard error what is wrong with a pattern.
_QUIETLY: Final = re2.Options()
_QUIETLY.log_errors = False


class SubscriptionKind(StrEnum):
    """Kafka's SubscriptionState.SubscriptionType: one at a time, until unsubscribe."""

    NONE = "none"
    TOPICS = "topics"
    PATTERN = "pattern"
    USER_ASSIGNED = "user-assigned"


class PositionState(StrEnum):
    """INITIALIZING: the committed offset is being fetched. AWAIT_RESET: auto.offset.reset decides."""

    INITIALIZING = "INITIALIZING"
    AWAIT_RESET = "AWAIT_RESET"
    FETCHING = "FETCHING"


@dataclass(slots=True)
class Position:
    """The position of a member in one partition.

    committed offset <= position <= high watermark <= log end offset. `position` is the offset of the next
    record to hand out. The log end offset behind the high watermark stays on the brokers: consumers never see
    it.
    """

    state: PositionState = PositionState.INITIALIZING
    position: int | None = None
    committed: int | None = None
    high_watermark: int | None = None
    log_start_offset: int | None = None
    buffered: list[FetchedRecord] = field(default_factory=list)
    fetched_to: int | None = None  # where the position goes when `buffered` is all handed out
    is_given_up: bool = False
    """It will be revoked once its commit is answered: no more is fetched or handed out (KAFKA-14196)."""

    is_paused: bool = False
    """Its user wants nothing of it now; it stays assigned."""

    is_unwanted: bool = False
    """Its topic is not subscribed to any more, and the group has not heard of that yet (Kafka:
    SubscriptionState.isFetchableAndSubscribed)."""

    @property
    def is_held_back(self) -> bool:
        """Whether nothing is to be fetched or handed out."""
        return self.is_given_up or self.is_paused or self.is_unwanted

    def move_to(self, offset: int) -> None:
        """Continue at `offset`; what was fetched ahead is dropped."""
        self.state, self.position = PositionState.FETCHING, offset
        self.drop_fetched()

    def reset(self) -> None:
        """Ask where auto.offset.reset leads."""
        self.state, self.position = PositionState.AWAIT_RESET, None
        self.drop_fetched()

    def drop_fetched(self) -> None:
        """Forget what was fetched and not handed out."""
        self.buffered, self.fetched_to = [], None

    def take_fetched(self, records: Iterable[FetchedRecord], next_offset: int) -> None:
        """Keep fetched records from the position on."""
        assert self.position is not None
        self.buffered = [record for record in records if record.offset >= self.position]
        self.fetched_to = max(next_offset, self.position)
        if not self.buffered:
            self.position, self.fetched_to = self.fetched_to, None

    def hand_out(self, records_max: int) -> tuple[FetchedRecord, ...]:
        """The next records for the user; the position moves behind them."""
        taken, self.buffered = self.buffered[:records_max], self.buffered[records_max:]
        if taken:
            self.position = taken[-1].offset + 1
        if not self.buffered and self.fetched_to is not None:
            self.position, self.fetched_to = self.fetched_to, None
        return tuple(taken)


class TopicPattern(Protocol):
    """A compiled regular expression."""

    def fullmatch(self, text: str) -> object | None:
        """Something if all of `text` matches."""


class Subscriptions:
    """The kind of subscription, and the partitions that came of it."""

    def __init__(self) -> None:
        self.kind = SubscriptionKind.NONE
        self.topics: frozenset[str] = frozenset()
        self.pattern: TopicPattern | None = None
        self.pattern_text: str | None = None
        self.positions: dict[TopicPartition, Position] = {}

    @property
    def in_group(self) -> bool:
        """Whether partitions come from the group."""
        return self.kind in (SubscriptionKind.TOPICS, SubscriptionKind.PATTERN)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Raises UseError over another kind, InputError for a blank topic name.

        What was fetched of other topics is dropped; their partitions go with the next join.
        """
        names = frozenset(topics)
        _refuse_blank(names)
        self._become(SubscriptionKind.TOPICS)
        self.topics = names
        for (topic, _), position in self.positions.items():
            if topic not in names:
                position.drop_fetched()
        self._mark_unwanted()

    def subscribe_pattern(self, pattern: str) -> None:
        """Raises UseError over another kind, InputError for anything but an RE2 expression.

        The syntax is that of a broker's subscription patterns (RE2J, KIP-848): without lookaheads and
        back references, and linear in the length of a name.
        """
        if not pattern:
            raise InputError("the topic pattern is empty")
        try:
            compiled = re2.compile(pattern, _QUIETLY)
        except (re2.error, UnicodeError) as error:
            why = error.args[0].decode() if isinstance(error, re2.error) else "no UTF-8"
            raise InputError(f"topic pattern {pattern!r}: {why}") from error
        self._become(SubscriptionKind.PATTERN)
        self.pattern, self.pattern_text = compiled, pattern

    def match_topics(self, topics: Iterable[str]) -> None:
        """Take the topics of the cluster that the pattern matches as a whole."""
        assert self.pattern is not None
        self.topics = frozenset(topic for topic in topics if self.pattern.fullmatch(topic))

    def accept(self, topics: frozenset[str]) -> bool:
        """Whether the group may assign partitions of these topics.

        A topic that the pattern matches is taken in even if this member has not heard of it.
        """
        if self.pattern is None:
            return topics <= self.topics
        if not all(map(self.pattern.fullmatch, topics)):
            return False
        self.topics |= topics
        return True

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """User-assigned partitions; raises UseError over another kind, InputError for a blank topic name."""
        wanted = tuple(partitions)
        _refuse_blank(topic for topic, _ in wanted)
        self._become(SubscriptionKind.USER_ASSIGNED)
        self.replace_partitions(wanted)

    def assigned(self, partitions: Iterable[TopicPartition]) -> list[Position]:
        """Their positions. Raises UseError for one that this member does not have."""
        found = []
        for partition in partitions:
            position = self.positions.get(partition)
            if position is None:
                raise UseError(f"{partition[0]}-{partition[1]} is not assigned to this member")
            found.append(position)
        return found

    def unsubscribe(self) -> None:
        """Back to nothing."""
        self.kind, self.topics = SubscriptionKind.NONE, frozenset()
        self.pattern = self.pattern_text = None
        self.positions = {}

    def replace_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """These are the partitions now; those that stay keep their positions."""
        self.positions = {each: self.positions.get(each) or Position() for each in sorted(set(partitions))}
        self._mark_unwanted()

    def _mark_unwanted(self) -> None:
        for (topic, _), position in self.positions.items():
            position.is_unwanted = self.kind is SubscriptionKind.TOPICS and topic not in self.topics

    def give_up_all(self) -> None:
        """All partitions will be revoked: no position goes beyond what is committed now."""
        for position in self.positions.values():
            position.is_given_up = True

    def give_up(self, partitions: Iterable[TopicPartition]) -> None:
        """These will be revoked: none of their positions goes beyond what is committed now."""
        for partition in partitions:
            self.positions[partition].is_given_up = True

    def all_consumed(self) -> tuple[tuple[TopicPartition, int], ...]:
        """Every known position: what a commit of everything commits."""
        return tuple(
            (partition, position.position)
            for partition, position in self.positions.items()
            if position.position is not None
        )

    def _become(self, kind: SubscriptionKind) -> None:
        if self.kind not in (SubscriptionKind.NONE, kind):
            raise UseError(
                f"subscriptions to topics, to a pattern and to partitions exclude each other: this is one to "
                f"{self.kind} already; unsubscribe first"
            )
        self.kind = kind


def _refuse_blank(topics: Iterable[str]) -> None:
    """Kafka: Utils.isBlank, which trims what Java's `trim` does: all up to the space."""
    for topic in topics:
        if all(character <= " " for character in topic):
            raise InputError(f"{topic!r}: a topic name is blank")
