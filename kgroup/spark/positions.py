"""Positions of a stream in a topic and in which incarnation of it, and how a replaced log is noticed.

Kafka: KIP-101 and KIP-320 (a record is identified by its offset and its leader epoch; a consumer whose record
is gone has to begin again), KIP-516 (topic ids).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kgroup.errors import InputError

Spans = Mapping[int, tuple[int, int]]
"""By offsets partition: the first offset, and the first one that is not meant."""

EpochEnds = Mapping[int, tuple[int, int] | None]
"""By offsets partition the greatest leader epoch up to the one asked for, -1 for none, and where it ends."""

_NO_EPOCH: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The next offset of one partition, and the leader epoch of the record before it, if brokers tell it.

    Reading began at `begin`, for the `life`-th time after the first one: `why` it had to.
    """

    offset: int
    epoch: int | None = None
    life: int = 0
    begin: int
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """The position read in each partition, with the cluster and topic; ids are None where there are none.

    `whole_ms` is when all was read that there was (epoch ms), None while there is more, and for who does not
    ask.
    """

    cluster_id: str | None
    topic_id: str | None
    partitions: Mapping[int, Position]
    whole_ms: int | None = None

    def as_json(self) -> dict[str, Any]:
        """JSON, as Spark keeps it in its checkpoint."""
        whole = {} if self.whole_ms is None else {"whole": self.whole_ms}
        return {
            "cluster": self.cluster_id,
            "topic": self.topic_id,
            "partitions": {
                str(partition): [each.offset, each.epoch, each.life, each.begin, each.why]
                for partition, each in sorted(self.partitions.items())
            },
            **whole,
        }

    @classmethod
    def of_json(cls, encoded: Mapping[str, Any]) -> "Positions":
        """The positions again. Raises InputError for what is none, as a checkpoint may be of anything."""
        try:
            partitions = {
                int(partition): Position(offset=offset, epoch=epoch, life=life, begin=begin, why=why)
                for partition, (offset, epoch, life, begin, why) in encoded["partitions"].items()
            }
            return cls(
                cluster_id=encoded["cluster"],
                topic_id=encoded["topic"],
                partitions=partitions,
                whole_ms=encoded.get("whole"),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                "the checkpoint's offsets are not as this version of kgroup writes them; give a new folder"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicNow:
    """A topic as it is: its ids, and the spans of its partitions but those without a leader."""

    cluster_id: str | None
    topic_id: str | None
    spans: Spans


def looked_at(read: Positions, now: TopicNow, epoch_ends: EpochEnds) -> tuple[Positions, frozenset[int]]:
    """The positions to continue from, and the partitions that cannot be continued now.

    Partitions whose log is another one, or has lost what was not read yet, begin again, and those that have
    come begin. `epoch_ends` are of the epochs of `read`, and lack those of partitions to be asked again.
    """
    another = _another_topic(read, now)
    positions: dict[int, Position] = {}
    waiting: set[int] = set()
    for partition, position in read.partitions.items():
        span = now.spans.get(partition)
        if another:
            positions[partition] = _anew(position, span[0] if span else 0, another)
            continue
        positions[partition] = position
        if span is None or (position.epoch is not None and partition not in epoch_ends):
            waiting.add(partition)
            continue
        why = _broken(position, span, epoch_ends.get(partition))
        if why:
            positions[partition] = _anew(position, span[0], why)
        elif span[1] < position.offset:
            waiting.add(partition)  # a new leader does not know yet how far its followers are
    for partition, (start, _) in now.spans.items():
        positions.setdefault(partition, Position(offset=start, begin=start))
    waiting.update(positions.keys() - now.spans.keys())
    looked = Positions(
        cluster_id=now.cluster_id or read.cluster_id,
        topic_id=now.topic_id or read.topic_id,
        partitions=positions,
    )
    return looked, frozenset(waiting)


def advanced(looked: Positions, ends: Mapping[int, int], epochs: Mapping[int, int | None]) -> Positions:
    """Positions after reading up to `ends`; `epochs` are those of the records before, and lack unsure ones.

    A partition of an unsure one stays where it is: were its epoch forgotten, nothing would show a truncation.
    """
    partitions = dict(looked.partitions)
    for partition, end in ends.items():
        if partition in epochs and end != partitions[partition].offset:
            partitions[partition] = replace(partitions[partition], offset=end, epoch=epochs[partition])
    return replace(looked, partitions=partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanToRead:
    """Offsets of a partition from `begin` to before `end`; `anew` is the reason to forget all before."""

    partition: int
    begin: int
    end: int
    anew: str | None


def to_read(start: Positions, end: Positions) -> list[SpanToRead]:
    """The spans between the positions at the start and at the end of a micro-batch, by partition."""
    spans = []
    for partition, until in sorted(end.partitions.items()):
        since = start.partitions.get(partition)
        if since is None or since.life != until.life:
            anew = until.why if since is not None else None
            if anew is not None or until.offset > until.begin:
                spans.append(SpanToRead(partition=partition, begin=until.begin, end=until.offset, anew=anew))
        elif until.offset > since.offset:
            spans.append(SpanToRead(partition=partition, begin=since.offset, end=until.offset, anew=None))
    return spans


def _anew(position: Position, start: int, why: str) -> Position:
    return Position(offset=start, begin=start, life=position.life + 1, why=why)


def _another_topic(read: Positions, now: TopicNow) -> str | None:
    for kind, before, after in (
        ("cluster", read.cluster_id, now.cluster_id),
        ("topic", read.topic_id, now.topic_id),
    ):
        if before and after and before != after:
            return f"the {kind} is another one: its id is {after}, and was {before}"
    return None


def _broken(position: Position, span: tuple[int, int], epoch_end: tuple[int, int] | None) -> str | None:
    """The reason a log cannot be continued from a position, None if it can."""
    start, end = span
    if start > position.offset:
        return f"the log begins at {start}, and {position.offset} was next: what lay between is gone unread"
    if epoch_end is not None:
        epoch, epoch_ends_at = epoch_end
        if epoch == _NO_EPOCH or epoch_ends_at < position.offset:
            where = "is not in it" if epoch == _NO_EPOCH else f"ends at {epoch_ends_at}"
            return (
                f"the log was cut off or made again: leader epoch {position.epoch} {where},"
                f" and {position.offset} was next"
            )
        return None
    if end < position.offset:
        return f"the log was cut off or made again: it ends at {end}, and {position.offset} was next"
    return None
