"""Burrow's storage: what it keeps of log ends and commits, and the status of a group from that.

After linkedin/Burrow of October 2025, `core/internal/storage/inmemory.go`, for one cluster. Rings of slots
are lists here that never grow beyond the number of slots; what is stored and what is dropped is the same.

kgroup judges the windows that a log gives it (`lag_rules`). This is here to hold its copy of Burrow's rules
against Burrow's own answers to streams of commits and log ends (`fixtures/vectors/lag_status.jsonl`).
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter

from kgroup.lag.status.burrow_rules import as_float32
from kgroup.lag.status.model import GroupStatus, Verdict, group_status
from kgroup.lag.status.rule_sets import BurrowRules
from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class BurrowConfig:
    """Burrow's settings and their defaults.

    `intervals`: how many commits, and log ends, are kept per partition. `min_distance_s`: a commit sooner
    after the one before takes its place. `expire_group_s`: older commits are not taken, and a group whose
    last one is older does not exist.
    """

    intervals: int = 10
    min_distance_s: int = 0
    expire_group_s: int = 604_800
    rules: BurrowRules = field(default_factory=BurrowRules)

    def __post_init__(self) -> None:
        assert self.intervals >= 1, "a window has at least one slot"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionVerdict:
    """What is stored of a partition, and what the rules say of it."""

    topic: str
    partition: int
    window: CommitWindow
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupVerdict:
    """A group, from its partitions by topic and number.

    `complete` is the share of partitions whose window is full, a 32-bit float; None without a group.
    `max_lag` is None without partitions.
    """

    status: GroupStatus
    partitions: tuple[PartitionVerdict, ...] = ()
    complete: float | None = None

    @property
    def total_lag(self) -> int:
        """Records unread in all partitions."""
        return sum(partition.verdict.lag for partition in self.partitions)

    @property
    def max_lag(self) -> int | None:
        """Records unread in the partition that has most."""
        return max((partition.verdict.lag for partition in self.partitions), default=None)


@dataclass(slots=True)
class _Group:
    last_commit_ms: int = 0
    # topic -> a list of commits per partition, None where nothing was committed
    topics: dict[str, list[list[WindowCommit] | None]] = field(default_factory=dict)


class BurrowStore:
    """Log ends and commits of one cluster, fed in the order they were read; `now_ms` is epoch ms."""

    def __init__(self, config: BurrowConfig) -> None:
        self._config = config
        self._heads: dict[str, list[list[LogEnd]]] = {}
        self._groups: dict[str, _Group] = {}

    def add_log_end(
        self, topic: str, partition: int, offset: int, timestamp: int, partition_count: int
    ) -> None:
        """Take a log end read at `timestamp`, when the topic had `partition_count` partitions."""
        assert partition >= 0, "no such partition"
        partitions = self._heads.setdefault(topic, [])
        missing = max(partition_count, partition + 1) - len(partitions)
        partitions.extend([] for _ in range(missing))
        heads = partitions[partition]
        heads.append(LogEnd(offset=offset, timestamp=timestamp))
        del heads[: -self._config.intervals]

    def add_commit(
        self, group_id: str, topic: str, partition: int, offset: int, timestamp: int, order: int, now_ms: int
    ) -> None:
        """Take a commit, whose record has offset `order` in the offsets topic, unless Burrow drops it.

        Dropped are commits that are too old, and all commits to a partition whose log end was never read.
        """
        if timestamp < self._oldest_ms(now_ms):
            return
        heads = self._heads_of(topic, partition)
        if not heads:
            return
        group = self._groups.setdefault(group_id, _Group())
        commits = self._commits_of(group, topic, partition)
        commit = WindowCommit(offset=offset, timestamp=timestamp, order=order)
        if commits and commits[-1].order >= order:
            self._insert(commits, commit)
            return
        group.last_commit_ms = timestamp
        self._append(commits, replace(commit, lag=max(heads[-1].offset - offset, 0)))

    def delete_topic(self, topic: str) -> None:
        """Forget a topic. A group stays even when it has no other."""
        self._heads.pop(topic, None)
        for group in self._groups.values():
            group.topics.pop(topic, None)

    def delete_group(self, group_id: str, topic: str | None = None) -> None:
        """Forget a group, or what it committed to one topic, and the group if that was all."""
        group = self._groups.get(group_id)
        if group is None:
            return
        if topic is not None:
            group.topics.pop(topic, None)
        if topic is None or not group.topics:
            del self._groups[group_id]

    def judge(self, group_id: str, now_ms: int) -> GroupVerdict:
        """The status of a group now; a group whose last commit is too old is forgotten."""
        group = self._groups.get(group_id)
        if group is None:
            return GroupVerdict(status=GroupStatus.NOT_FOUND)
        if group.last_commit_ms < self._oldest_ms(now_ms):
            del self._groups[group_id]
            return GroupVerdict(status=GroupStatus.NOT_FOUND)
        partitions = tuple(self._judge_partitions(group, now_ms))
        full = sum(partition.verdict.complete == 1.0 for partition in partitions)
        return GroupVerdict(
            status=group_status(partition.verdict.status for partition in partitions),
            partitions=partitions,
            complete=as_float32(full / len(partitions)) if partitions else 0.0,
        )

    def _judge_partitions(self, group: _Group, now_ms: int) -> Iterator[PartitionVerdict]:
        for topic, partitions in sorted(group.topics.items()):
            for partition, commits in enumerate(partitions):
                heads = self._heads_of(topic, partition)
                window = CommitWindow(
                    slots=0 if commits is None else self._config.intervals,
                    commits=tuple(commits or ()),
                    heads=tuple(heads),
                )
                # Without a log end there is no commit either, and then any end gives the same verdict.
                end_offset = heads[-1].offset if heads else 0
                yield PartitionVerdict(
                    topic=topic,
                    partition=partition,
                    window=window,
                    verdict=self._config.rules.judge(window, end_offset, now_ms),
                )

    def _oldest_ms(self, now_ms: int) -> int:
        return (now_ms // 1000 - self._config.expire_group_s) * 1000

    def _heads_of(self, topic: str, partition: int) -> list[LogEnd]:
        partitions = self._heads.get(topic, [])
        return partitions[partition] if 0 <= partition < len(partitions) else []

    def _commits_of(self, group: _Group, topic: str, partition: int) -> list[WindowCommit]:
        """The commits to a partition; the first one makes an entry for every partition of its topic."""
        partitions = group.topics.setdefault(topic, [])
        if partition >= len(partitions):
            partitions.extend([None] * (len(self._heads[topic]) - len(partitions)))
        commits = partitions[partition]
        if commits is None:
            commits = partitions[partition] = []
        return commits

    def _append(self, commits: list[WindowCommit], commit: WindowCommit) -> None:
        if commits and self._is_too_close(commits[-1], commit):
            commits[-1] = replace(commit, timestamp=commits[-1].timestamp)
            return
        commits.append(commit)
        del commits[: -self._config.intervals]

    def _insert(self, commits: list[WindowCommit], commit: WindowCommit) -> None:
        """Put a commit that comes late, whose lag is therefore unknown, where its order belongs."""
        is_full = len(commits) == self._config.intervals
        if is_full and commits[0].order >= commit.order:
            return
        index = bisect_left(commits, commit.order, key=attrgetter("order"))
        if commits[index].order == commit.order:
            return
        if is_full and index == 1:
            commits[0] = commit  # the oldest makes room, even where the two would have been merged
        elif index > 0 and self._is_too_close(commits[index - 1], commit):
            commits[index - 1] = replace(commit, timestamp=commits[index - 1].timestamp)
        else:
            commits.insert(index, commit)
            del commits[: -self._config.intervals]

    def _is_too_close(self, before: WindowCommit, commit: WindowCommit) -> bool:
        """Whether `commit` takes the place of the one before it, and keeps that one's timestamp.

        Were the timestamp moved on, a group that always commits sooner than the distance would never get a
        second slot. A timestamp that goes back is too close at any distance.
        """
        return commit.timestamp - before.timestamp < self._config.min_distance_s * 1000
