"""The commits of a group: the last one per partition, and the rhythm of those before it."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from kgroup.history.timeline.model import Partition
from kgroup.protocol.topic_id import TopicId

_REMEMBERED = 6
_REMEMBERED_TIMES = 17
_RHYTHM_COMMITS_MIN = 3  # intervals, from four commits
_OFF_BEAT = 0.9
# One longest interval among this many is taken for a hiccup, not for the rhythm.
_HICCUP_AMONG_MIN = 8
_IDLE_COMMITS_MIN = 2
# Who read at a pace that varied by a quarter at most, and then this part of it and less, stopped between.
_STEADY = 0.25
_STOPPED = 0.7
_STEP_MIN = 4


class Committed(NamedTuple):
    """One commit: its time (epoch ms), the offset of its record in the log, and the committed offset."""

    at_ms: int
    log_offset: int
    offset: int


@dataclass(slots=True)
class CommitTrack:
    """The commits of one partition so far. `offset` is the committed one, `log_offset` its record's,
    `value_version` the version of its value.

    `intervals_ms` are the last ones between commits, `advances` whether each of these moved forward;
    `recent` are more of the last commits themselves. `topic_id` is that of the last commit that has one.
    """

    at_ms: int
    offset: int
    log_offset: int
    expire_timestamp_ms: int = -1
    value_version: int = -1
    intervals_ms: deque[int] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    advances: deque[bool] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    recent: deque[Committed] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_TIMES))
    topic_id: TopicId = None

    def add(self, at_ms: int, offset: int, log_offset: int, expire_timestamp_ms: int, version: int) -> None:
        """Take the next commit."""
        if not self.recent:
            self.recent.append(Committed(self.at_ms, self.log_offset, self.offset))
        self.recent.append(Committed(at_ms, log_offset, offset))
        self.intervals_ms.append(at_ms - self.at_ms)
        self.advances.append(offset > self.offset)
        self.at_ms, self.offset, self.log_offset = at_ms, offset, log_offset
        self.expire_timestamp_ms, self.value_version = expire_timestamp_ms, version


@dataclass(frozen=True, slots=True)
class Silence:
    """The end of a member's commits: when its last one was, and whether it came in the rhythm of those
    before.

    `log_offset` is that of the last one's record. `usual_ms` is the median interval, None with too few
    commits to tell. `in_rhythm` is True if the last commit came in its turn (a closing client commits out of
    turn) and each one moved forward.

    `longest_ms` is the longest interval, but for one hiccup among many; None with too few. `hiccup_ms` is the
    longest of all, `stalled_ms` the one before the last commit. `commits_idle`: commits continue where
    nothing is read, as those of clients that commit by the clock. With that or a rhythm, a silence is no lack
    of records. `moved` says that each commit but the last moved forward, `stopped_reading` that the last one
    came in its turn and moved on by much less than those before: the client lived, and read no more.
    `partition` has the last commit, of `last_offset`; commits moved on by `per_ms` records a ms.
    """

    last_ms: int
    log_offset: int
    usual_ms: int | None
    in_rhythm: bool
    longest_ms: int | None = None
    hiccup_ms: int = 0
    stalled_ms: int = 0
    commits_idle: bool = False
    moved: bool = False
    stopped_reading: bool = False
    partition: Partition | None = None
    last_offset: int = 0
    per_ms: float = 0.0


def silence_of(
    tracks: dict[Partition, CommitTrack], owned: Iterable[Partition], since_log_offset: int
) -> Silence | None:
    """The evidence of commits for the partitions since a record; None without any."""
    own = {partition: tracks[partition] for partition in owned if partition in tracks}
    own = {partition: track for partition, track in own.items() if track.log_offset > since_log_offset}
    if not own:
        return None
    partition = max(own, key=lambda name: (own[name].at_ms, own[name].log_offset, name))
    latest = own[partition]
    if len(latest.intervals_ms) < _RHYTHM_COMMITS_MIN:
        return Silence(latest.at_ms, latest.log_offset, None, False, partition=partition)
    usual = int(median(latest.intervals_ms))
    in_rhythm = _is_in_turn(latest.intervals_ms, usual) and all(latest.advances)
    since = [commit for commit in latest.recent if commit.log_offset > since_log_offset]
    intervals = sorted(after.at_ms - before.at_ms for before, after in pairwise(since))
    if len(intervals) < _RHYTHM_COMMITS_MIN:
        intervals = sorted(latest.intervals_ms)
    return Silence(
        latest.at_ms,
        latest.log_offset,
        usual,
        in_rhythm,
        longest_ms=intervals[-2] if len(intervals) >= _HICCUP_AMONG_MIN else intervals[-1],
        hiccup_ms=intervals[-1],
        stalled_ms=latest.intervals_ms[-1],
        commits_idle=_commits_idle(since),
        moved=all(list(latest.advances)[:-1]),
        stopped_reading=_stopped_reading(since),
        partition=partition,
        last_offset=latest.offset,
        per_ms=_per_ms(since),
    )


def _stopped_reading(since: Sequence[Committed]) -> bool:
    steps = [(after.at_ms - before.at_ms, after.offset - before.offset) for before, after in pairwise(since)]
    *earlier, (last_ms, last_step) = steps[-_REMEMBERED:] if steps else [(0, 0)]
    if len(earlier) < _RHYTHM_COMMITS_MIN or any(each_ms <= 0 for each_ms, _ in earlier):
        return False
    usual_ms = median(each_ms for each_ms, _ in earlier)
    paces = [step / each_ms for each_ms, step in earlier]
    pace = median(paces)
    is_steady = pace > 0 and all(abs(each - pace) <= _STEADY * pace for each in paces)
    expected = pace * last_ms
    in_turn = _OFF_BEAT * usual_ms <= last_ms <= usual_ms / _OFF_BEAT
    return is_steady and in_turn and expected >= _STEP_MIN and last_step <= _STOPPED * expected


def _per_ms(since: Sequence[Committed]) -> float:
    if len(since) < 2 or since[-1].at_ms <= since[0].at_ms:
        return 0.0
    return (since[-1].offset - since[0].offset) / (since[-1].at_ms - since[0].at_ms)


def _is_in_turn(intervals_ms: deque[int], usual_ms: int) -> bool:
    """Whether the last commit came no sooner than others; a client that closes commits at once."""
    *earlier, last = intervals_ms
    return last >= _OFF_BEAT * min(usual_ms, sorted(earlier)[1])


def _commits_idle(since: Sequence[Committed]) -> bool:
    """Whether it commits when idle, not counting the last commit, which a closing client makes anyway.

    One that never read anything proves nothing: it may commit whatever it was given.
    """
    idle = sum(before.offset == after.offset for before, after in pairwise(since[:-1]))
    return idle >= _IDLE_COMMITS_MIN and since[-1].offset > since[0].offset


def usual_interval_ms(tracks: dict[Partition, CommitTrack], owned: Iterable[Partition]) -> int | None:
    """The median time between commits of these partitions, None with too few to tell."""
    intervals = [gap for partition in owned if partition in tracks for gap in tracks[partition].intervals_ms]
    return int(median(intervals)) if len(intervals) >= _RHYTHM_COMMITS_MIN else None
