"""A client's book of what it wrote and what it was told, and the comparison with what is read back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

GROUP = "steady"
COPY_GROUP = "copy"
ABSENT = -1


class Ending(StrEnum):
    """What is known of a transaction's end."""

    OPEN = "open"
    COMMIT_SENT = "commit sent"
    COMMITTED = "committed"
    ABORT_SENT = "abort sent"
    ABORTED = "aborted"


@dataclass(slots=True)
class Transaction:
    """Values with their partitions, and the offset that goes with them (`ABSENT`: none)."""

    number: int
    values: dict[str, int] = field(default_factory=dict)
    offset: int = ABSENT
    ending: Ending = Ending.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Readback:
    """All that a reader sees: offset and value by partition, visible or not; offsets; topics."""

    values: Mapping[int, Mapping[int, str]]
    visible: frozenset[str]
    offsets: Mapping[int, int]
    copied: int
    topics: frozenset[str]


@dataclass(slots=True)
class Book:
    """What was sent and what was acknowledged, of all lives so far."""

    sent: dict[str, int] = field(default_factory=dict)  # value → partition
    stored: dict[int, dict[int, str]] = field(default_factory=dict)  # partition → offset → value
    offset_sent: dict[int, int] = field(default_factory=dict)
    offset_acknowledged: dict[int, int] = field(default_factory=dict)
    transactions: list[Transaction] = field(default_factory=list)
    topics: dict[str, bool | None] = field(default_factory=dict)  # present, absent, or either
    acknowledged: int = 0

    def store(self, partition: int, offset: int, value: str) -> None:
        """The broker said that a value lies at an offset."""
        self.stored.setdefault(partition, {})[offset] = value
        self.acknowledged += 1

    def wrongs(self, back: Readback, *, is_durable: bool) -> list[str]:
        """Sentences on what is not as promised. Unless `is_durable`, what was acknowledged may be gone."""
        wrongs = list(self._invented(back))
        if is_durable:
            wrongs += [*self._lost_records(back), *self._wrong_visibility(back)]
            wrongs += [*self._lost_offsets(back), *self._wrong_topics(back)]
        return wrongs

    def _invented(self, back: Readback) -> Iterable[str]:
        for partition, at in back.values.items():
            values = list(at.values())
            if len(set(values)) < len(values):
                yield f"partition {partition} holds a value twice"
            for offset, value in at.items():
                if self.sent.get(value) != partition:
                    yield f"partition {partition} offset {offset} holds {value!r}, which nobody wrote there"
        for partition, offset in back.offsets.items():
            if offset > self.offset_sent.get(partition, ABSENT):
                yield f"the group's offset {offset} of partition {partition} was never committed"
        if back.copied not in {ABSENT, *(transaction.number for transaction in self.transactions)}:
            yield f"the copying group's offset {back.copied} was never committed"

    def _lost_records(self, back: Readback) -> Iterable[str]:
        for partition, at in self.stored.items():
            for offset, value in at.items():
                there = back.values.get(partition, {}).get(offset)
                if there != value:
                    yield f"partition {partition} offset {offset} held {value!r} and holds {there!r}"

    def _wrong_visibility(self, back: Readback) -> Iterable[str]:
        in_transactions = {value for each in self.transactions for value in each.values}
        for at in self.stored.values():
            for value in at.values():
                if value not in in_transactions and value not in back.visible:
                    yield f"{value!r} belongs to no transaction and is hidden"
        for each in self.transactions:
            shown = {value for value in each.values if value in back.visible}
            if each.ending is Ending.COMMITTED and shown != set(each.values):
                yield f"transaction {each.number} was committed, and {set(each.values) - shown} are hidden"
            if each.ending in (Ending.ABORTED, Ending.ABORT_SENT, Ending.OPEN) and shown:
                yield f"transaction {each.number} is {each.ending}, and {shown} are visible"
            if shown and shown != set(each.values):
                yield f"transaction {each.number} is half visible: {shown} of {set(each.values)}"
            if each.values and each.offset == back.copied != ABSENT and not shown:
                yield f"transaction {each.number} counts for its offset and not for its records"

    def _lost_offsets(self, back: Readback) -> Iterable[str]:
        for partition, offset in self.offset_acknowledged.items():
            there = back.offsets.get(partition, ABSENT)
            if there < offset:
                yield f"the group's offset {offset} of partition {partition} went back to {there}"
        possible = {ABSENT}
        for each in self.transactions:
            if each.offset == ABSENT:
                continue
            if each.ending is Ending.COMMITTED:
                possible = {each.offset}
            elif each.ending is Ending.COMMIT_SENT:
                possible.add(each.offset)
        if back.copied not in possible:
            yield f"the copying group's offset is {back.copied}, and can be {sorted(possible)}"

    def _wrong_topics(self, back: Readback) -> Iterable[str]:
        for name, is_there in self.topics.items():
            if is_there is True and name not in back.topics:
                yield f"topic {name} was created and is gone"
            if is_there is False and name in back.topics:
                yield f"topic {name} was deleted and is there"

    def settle(self, back: Readback) -> None:
        """What was in doubt has been seen now: from here on it has to stay so."""
        self.stored = {partition: dict(at) for partition, at in back.values.items()}
        self.offset_acknowledged = dict(back.offsets)
        self.topics = {name: name in back.topics for name in self.topics}
        for each in self.transactions:
            each.values = {
                value: partition
                for value, partition in each.values.items()
                if value in back.values.get(partition, {}).values()
            }
            if each.ending is Ending.COMMIT_SENT:
                # Transactions of one connection end in their order: a later one's offset hides this one's.
                is_committed = bool(set(each.values) & back.visible) or (
                    not each.values and ABSENT != each.offset <= back.copied
                )
                each.ending = Ending.COMMITTED if is_committed else Ending.ABORTED
            elif each.ending in (Ending.OPEN, Ending.ABORT_SENT):
                each.ending = Ending.ABORTED
