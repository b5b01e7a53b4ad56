"""The commits of a group: per partition the last one, and the rhythm of those before it."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from kgroup.history.timeline.model import Partition

_REMEMBERED = 6
_RHYTHM_COMMITS_MIN = 3  # intervals, from four commits
_OFF_BEAT = 0.9


@dataclass(slots=True)
class CommitTrack:
    """The commits of one partition so far. `offset` is the committed one, `log_offset` its record's,
    `value_version` the version of its value.

    `intervals_ms` are the last ones between commits, `advances` whether each of these moved forward.
    """

    at_ms: int
    offset: int
    log_offset: int
    expire_timestamp_ms: int = -1
    value_version: int = -1
    intervals_ms: deque[int] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    advances: deque[bool] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def add(self, at_ms: int, offset: int, log_offset: int, expire_timestamp_ms: int, version: int) -> None:
        """Take the next commit."""
        self.intervals_ms.append(at_ms - self.at_ms)
        self.advances.append(offset > self.offset)
        self.at_ms, self.offset, self.log_offset = at_ms, offset, log_offset
        self.expire_timestamp_ms, self.value_version = expire_timestamp_ms, version


@dataclass(frozen=True, slots=True)
class Silence:
    """The end of a member's commits: when its last one was, and whether it came in the rhythm of those
    before.

    `log_offset` is that of the last one's record. `usual_ms` is the median interval, None with too few
    commits to tell. `in_rhythm` is True if the last commit came no sooner than usual (a closing client
    commits out of turn) and each one moved forward.
    """

    last_ms: int
    log_offset: int
    usual_ms: int | None
    in_rhythm: bool


def silence_of(
    tracks: dict[Partition, CommitTrack], owned: Iterable[Partition], since_log_offset: int
) -> Silence | None:
    """The evidence of commits for the partitions since a record; None if there are none."""
    own = [tracks[partition] for partition in owned if partition in tracks]
    own = [track for track in own if track.log_offset > since_log_offset]
    if not own:
        return None
    latest = max(own, key=lambda track: (track.at_ms, track.log_offset))
    if len(latest.intervals_ms) < _RHYTHM_COMMITS_MIN:
        return Silence(latest.at_ms, latest.log_offset, None, False)
    usual = int(median(latest.intervals_ms))
    in_rhythm = (
        usual > 0
        and latest.intervals_ms[-1] >= _OFF_BEAT * usual
        and max(latest.intervals_ms) <= 2 * usual
        and all(latest.advances)
    )
    return Silence(latest.at_ms, latest.log_offset, usual, in_rhythm)


def usual_interval_ms(tracks: dict[Partition, CommitTrack], owned: Iterable[Partition]) -> int | None:
    """The median time between commits of these partitions, None with too few to tell."""
    intervals = [gap for partition in owned if partition in tracks for gap in tracks[partition].intervals_ms]
    return int(median(intervals)) if len(intervals) >= _RHYTHM_COMMITS_MIN else None
