"""The strategies of a reset: from a group's commits and the logs to a target for each partition.

The rules are those of kafka-consumer-groups 4.3 (`OffsetsUtils`), except that an offset outside the log is
for `plan.py` to refuse or to clamp.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from kgroup.errors import RefusedError
from kgroup.operations.model import GroupOffsets, PartitionLimits, Position, Target
from kgroup.protocol.topic_partition import TopicPartition

NO_RECORD_SINCE = "nothing newer: the log's end"
NO_COMMIT = "the log's end"


@dataclass(frozen=True, slots=True)
class ToEarliest:
    """The log's start."""


@dataclass(frozen=True, slots=True)
class ToLatest:
    """The high watermark, as for readers of uncommitted data."""


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """The committed offset, with a new commit time; the log's end where nothing is committed."""


@dataclass(frozen=True, slots=True)
class ToOffset:
    """The same offset in every partition."""

    offset: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """This many offsets from what is committed; negative goes back."""

    records: int


@dataclass(frozen=True, slots=True)
class ToTime:
    """The first record at or after a time (epoch ms)."""

    time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToPositions:
    """Positions named one by one: of a file, another group, a finding. `source` says whose."""

    positions: Mapping[TopicPartition, Position | None]
    source: str


Strategy = ToEarliest | ToLatest | ToCurrent | ToOffset | ShiftBy | ToTime | ToPositions


def targets(
    strategy: Strategy,
    offsets: GroupOffsets,
    partitions: Sequence[TopicPartition],
    limits: Mapping[TopicPartition, PartitionLimits],
    at_time: Mapping[TopicPartition, int | None] | None = None,
) -> dict[TopicPartition, Target]:
    """A target for each of these partitions, in their order; all of them have limits.

    `at_time` answers ToTime: the offset of the first record at or after it, None if there is none. Raises
    RefusedError for a shift of a partition without a commit, as Kafka does.
    """
    commits = offsets.commits
    if isinstance(strategy, ShiftBy):
        _require_commits(offsets, partitions)
    found: dict[TopicPartition, Target] = {}
    for place in partitions:
        log, old = limits[place], commits.get(place)
        match strategy:
            case ToEarliest():
                found[place] = _at(log.log_start, old)
            case ToLatest():
                found[place] = _at(log.log_end, old)
            case ToCurrent():
                found[place] = Target(position=old) if old else _at(log.log_end, old, NO_COMMIT)
            case ToOffset(offset):
                found[place] = _at(offset, old)
            case ShiftBy(records):
                assert old is not None
                found[place] = _at(old.offset + records, old)
            case ToTime():
                assert at_time is not None, "ToTime needs answers"
                offset_then = at_time[place]
                if offset_then is None:
                    found[place] = _at(log.log_end, old, NO_RECORD_SINCE)
                else:
                    found[place] = _at(offset_then, old)
            case ToPositions(positions=positions):
                found[place] = Target(position=positions[place])
            case _:
                assert_never(strategy)
    return found


def _at(offset: int, old: Position | None, why: str = "") -> Target:
    """An offset as Kafka's tool commits it: bare. Where nothing changes, what was committed with it stays."""
    kept = old if old is not None and old.offset == offset else Position(offset)
    return Target(position=kept, why=why)


def _require_commits(offsets: GroupOffsets, partitions: Sequence[TopicPartition]) -> None:
    missing = [place for place in partitions if place not in offsets.commits]
    if missing:
        topic, partition = missing[0]
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise RefusedError(
            f"--shift-by: group {offsets.group!r} has no offset to shift for {topic}-{partition}{more}"
        )
