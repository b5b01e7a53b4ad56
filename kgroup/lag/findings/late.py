"""Reasons a group gets nothing, or only old records: the groups it waits for, up the edges.

Pure: what is unread, who stands still and when a topic was last written to come from outside.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgroup.durations import lasting
from kgroup.history.feeds.model import Feed, FeedKind
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.text import counted

_LATE_MS: Final = 10_000  # less is no delay that somebody would ask about


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A group on one topic that it reads. `unread` are records that it could read; None is unknown.

    `unread_since_ms` is the time (epoch ms) of the oldest of them.
    """

    group: str
    topic: str
    unread: int | None
    unread_since_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """The last write to a topic (epoch ms), and the longest time between two batches before it."""

    newest_ms: int
    longest_gap_ms: int | None = None

    def is_silent(self, now_ms: int) -> bool:
        """Whether it has been silent for longer than ever, and than a few seconds."""
        return now_ms - self.newest_ms > max(self.longest_gap_ms or 0, _LATE_MS)


class Because(StrEnum):
    """The first cause, as far back as the edges lead.

    `SOURCE_STANDS`: a group up the chain stands still, by a finding of its own. `SOURCE_BEHIND`: one up the
    chain has records to read. `SOURCE_SILENT`: all up the chain have read everything, and nothing more is
    written. `UNKNOWN`: nothing is known of who writes the topic, or of what they have unread.
    """

    SOURCE_STANDS = "source-stands"
    SOURCE_BEHIND = "source-behind"
    SOURCE_SILENT = "source-silent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """A group that is late at a topic though it keeps up with it, and why.

    `chain` goes from the group up: group, topic, group, topic … to the `cause`, a group or, if silence is the
    cause, a topic. `since_ms` is since when the group gets nothing, or the time of what it could get next, in
    epoch ms.
    """

    group: str
    topic: str
    because: Because
    cause: str | None
    chain: tuple[str, ...]
    grade: Grade
    since_ms: int | None
    evidence: str


@dataclass(frozen=True, slots=True)
class _Found:
    because: Because
    chain: tuple[str, ...]
    evidence: tuple[str, ...]
    since_ms: int | None = None


class Lateness:
    """Answers for one moment, `now_ms` (epoch ms).

    `standing` says of groups that stand still by what that is known. Topics without a pulse are unknown.
    """

    def __init__(
        self,
        feeds: Iterable[Feed],
        readings: Iterable[Reading],
        pulses: Mapping[str, Pulse],
        standing: Mapping[str, str],
        now_ms: int,
    ) -> None:
        self._writers: dict[str, list[Feed]] = {}
        for feed in feeds:
            is_seen = feed.kind is FeedKind.WRITES and feed.grade is Grade.RECORDED
            if is_seen or (feed.kind is FeedKind.DECLARED and not feed.is_source):
                self._writers.setdefault(feed.topic, []).append(feed)
        self._readings: dict[str, list[Reading]] = {}
        for reading in readings:
            self._readings.setdefault(reading.group, []).append(reading)
        self._pulses = pulses
        self._standing = standing
        self._now_ms = now_ms

    def all(self) -> Iterator[Late]:
        """The results for each waiting group and topic, by group and topic."""
        for _, readings in sorted(self._readings.items()):
            for reading in sorted(readings, key=lambda reading: reading.topic):
                late = self._late(reading)
                if late is not None:
                    yield late

    def _late(self, reading: Reading) -> Late | None:
        pulse = self._pulses.get(reading.topic)
        is_silent = pulse is not None and pulse.is_silent(self._now_ms)
        if is_silent and reading.unread == 0:
            return self._waiting(reading, pulse)
        if pulse is None or is_silent:
            return None
        waited_ms = _LATE_MS + (self._now_ms - (reading.unread_since_ms or self._now_ms))
        found = [
            found
            for writer in self._writers.get(reading.topic, ())
            if writer.group != reading.group
            and (found := self._behind(writer.group)) is not None
            and self._now_ms - (found.since_ms or self._now_ms) > waited_ms
        ]
        if not found:
            return None
        oldest = min(found, key=lambda found: (found.since_ms or self._now_ms, found.chain))
        return self._as_late(reading, oldest, oldest.since_ms, ())

    def _waiting(self, reading: Reading, pulse: Pulse | None) -> Late | None:
        assert pulse is not None
        said = f"nothing was written to {reading.topic} for {lasting(self._now_ms - pulse.newest_ms)}"
        found = self._above(reading.topic, frozenset({reading.group}))
        if found is None:
            evidence = (said, "no transaction of a group wrote to it: who does is unknown")
            found = _Found(Because.UNKNOWN, (), evidence)
            return self._as_late(reading, found, pulse.newest_ms, ())
        return self._as_late(reading, found, pulse.newest_ms, (said,))

    def _as_late(self, reading: Reading, found: _Found, since_ms: int | None, first: tuple[str, ...]) -> Late:
        chain = (reading.group, reading.topic, *found.chain)
        return Late(
            group=reading.group,
            topic=reading.topic,
            because=found.because,
            cause=None if found.because is Because.UNKNOWN else chain[-1],
            chain=chain,
            grade=Grade.UNKNOWN if found.because is Because.UNKNOWN else Grade.INFERRED,
            since_ms=since_ms,
            evidence="; ".join((*first, *found.evidence)),
        )

    def _above(self, topic: str, seen: frozenset[str]) -> _Found | None:
        """The cause among those who write a topic that gets nothing; None if nobody is known to."""
        found = [
            self._of_writer(writer, seen)
            for writer in self._writers.get(topic, ())
            if writer.group not in seen
        ]
        order = list(Because)
        return min(found, key=lambda found: (order.index(found.because), found.chain), default=None)

    def _of_writer(self, writer: Feed, seen: frozenset[str]) -> _Found:
        group = writer.group
        wrote = f"{group} writes it ({_transactions(writer)})"
        behind = self._behind(group)
        if behind is not None:
            return _Found(behind.because, behind.chain, (wrote, *behind.evidence), behind.since_ms)
        readings = self._readings.get(group, [])
        if not readings or any(reading.unread is None for reading in readings):
            return _Found(Because.UNKNOWN, (group,), (wrote, f"what {group} has unread is unknown"))
        silent = [reading.topic for reading in readings if self._is_silent(reading.topic)]
        if len(silent) < len(readings):
            # It gets records, has read them all, and wrote nothing: it may filter, or wait for more.
            return _Found(Because.UNKNOWN, (group,), (wrote, f"{group} has read all that it got"))
        found = [
            _Found(above.because, (group, topic, *above.chain), (wrote, *above.evidence), above.since_ms)
            if (above := self._above(topic, seen | {group})) is not None
            else _Found(
                Because.SOURCE_SILENT,
                (group, topic),
                (wrote, f"{group} has read all, and nothing more is written to {topic}: by whom is unknown"),
            )
            for topic in silent
        ]
        order = list(Because)
        return min(found, key=lambda found: (order.index(found.because), found.chain))

    def _behind(self, group: str) -> _Found | None:
        """The obstacle of a group that has something to read; None if it has nothing, or that is unknown."""
        behind = [reading for reading in self._readings.get(group, ()) if reading.unread]
        if not behind:
            return None
        since_ms = min((r.unread_since_ms for r in behind if r.unread_since_ms is not None), default=None)
        unread = sum(reading.unread or 0 for reading in behind)
        topics = ", ".join(sorted(reading.topic for reading in behind))
        waited = "" if since_ms is None else f", the oldest for {lasting(self._now_ms - since_ms)}"
        said = f"{group} has {unread:,} unread on {topics}{waited}"
        stands = self._standing.get(group)
        because = Because.SOURCE_BEHIND if stands is None else Because.SOURCE_STANDS
        return _Found(because, (group,), (said,) if stands is None else (said, stands), since_ms)

    def _is_silent(self, topic: str) -> bool:
        pulse = self._pulses.get(topic)
        return pulse is not None and pulse.is_silent(self._now_ms)


def _transactions(writer: Feed) -> str:
    if writer.kind is FeedKind.DECLARED:
        return "its topology says so"
    return counted(writer.transactions or 0, "transaction")
