"""A group's lag over time, ready to be drawn on a page: from a report's rows and the whole log."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kgroup.api.lag.options import LagOptions, matcher
from kgroup.api.lag_history.history import HistoryOptions, history_here
from kgroup.api.lag_history.rows import AskedEnds, with_keys
from kgroup.api.opened import OpenedLogs
from kgroup.errors import InputError, SourceError
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.over_time import GroupLags, PastOffset, lag_over_time
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.rule_set import RuleSet
from kgroup.lag.status.rule_sets import rules_named
from kgroup.log.format.batch import Batch
from kgroup.log.topics.past_ends import UNKNOWN, PastEnds
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.emit import iso_time
from kgroup.report.pages.lag import LagNow, TimeAxis
from kgroup.report.progress import Progress
from kgroup.scan.reductions.keyed_rows import CommitKey

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

    from kgroup.lag.status.history import WindowsOfTime
    from kgroup.net.admin.cluster import Cluster

_STEPS_MS: Final = tuple(
    1000 * seconds
    for seconds in (
        *(1, 2, 5, 10, 15, 30),
        *(60, 120, 300, 600, 900, 1800),
        *(3600, 7200, 10_800, 21_600, 43_200),
        *(86_400, 172_800, 604_800, 2_592_000),
    )
)
_REFUSED: Final = -1
_WINDOWS_MAX: Final = 240
_WINDOWS_MIN: Final = 24
_ROWS_MAX: Final = 500_000  # windows of all groups' partitions that are held at once


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTime:
    """The time to show (epoch ms): from the log's beginning if `since_ms` is None.

    If the log goes on behind `until_ms`, a look at it does not say how groups were then.
    """

    since_ms: int | None
    until_ms: int
    log_goes_on: bool = False


class PageLags(NamedTuple):
    """The lags of the groups that were asked for, by group, and their axis; `now` is by group, too."""

    groups: list[GroupLags]
    axis: TimeAxis
    now: dict[str, LagNow]


class _GroupNow:
    """A group's rows, summed up: a lag below 0 makes up for no other partition's."""

    def __init__(self, row: LagRow) -> None:
        self._first = row
        self._lags: dict[TopicPartition, int | None] = {}

    def add(self, row: LagRow) -> None:
        self._lags[row.topic, row.partition] = None if row.lag is None else max(row.lag, 0)

    def now(self) -> LagNow:
        known = [lag for lag in self._lags.values() if lag is not None]
        return LagNow(
            kind=str(self._first.group_kind),
            state=str(self._first.group_state),
            lag=sum(known) if known else None,
            unknown=len(self._lags) - len(known),
            lags=self._lags,
        )


class PageRows:
    """The data of a report's rows that the page needs, noted as they pass; `options` are the report's.

    `number` is how many there are. `spans` are where each partition's log begins and ends now; `there` are
    the partitions of topics that exist.
    """

    def __init__(self, options: LagOptions) -> None:
        self.options = options
        self.number = 0
        self.spans: dict[TopicPartition, tuple[int | None, int | None]] = {}
        self.there: set[TopicPartition] = set()
        self._wanted = matcher(options.topics)
        self._groups: dict[str, _GroupNow] = {}

    def note(self, rows: Iterable[LagRow]) -> None:
        """Take some of the rows, those of topics that nobody asked for, too."""
        for row in rows:
            self.number += 1
            self.spans[row.topic, row.partition] = row.log_start_offset, row.log_end_offset
            if row.topic_state is TopicState.EXISTS:
                self.there.add((row.topic, row.partition))
            if self._wanted(row.topic):
                if row.group not in self._groups:
                    self._groups[row.group] = _GroupNow(row)
                self._groups[row.group].add(row)

    def groups(self) -> dict[str, LagNow]:
        """The groups as the report has them."""
        return {group: sums.now() for group, sums in self._groups.items()}


def lags_of_page(
    session: "SparkSession | None", rows: PageRows, logs: OpenedLogs, page: PageTime, progress: Progress
) -> PageLags:
    """Read the log for its past, here or on Spark; a cluster is asked for past log ends.

    `rows` have noted all of the report's. Raises SourceError if there is no commit in the log; InputError if
    the page would end before it begins.
    """
    oldest_ms = _oldest_ms(logs)
    if oldest_ms is None:
        raise SourceError("--html: the log holds no record with a timestamp, so it has no past to show")
    since_ms = oldest_ms if page.since_ms is None else max(page.since_ms, oldest_ms)
    if since_ms > page.until_ms:
        raise InputError(
            f"--html: the page would begin at {iso_time(since_ms)} and end at {iso_time(page.until_ms)}"
        )
    windows_max = max(_WINDOWS_MIN, min(_WINDOWS_MAX, _ROWS_MAX // max(rows.number, 1)))
    step_ms = step_of(page.until_ms - since_ms, windows_max)
    options = HistoryOptions(
        length_ms=step_ms,
        since_ms=since_ms,
        until_ms=page.until_ms,
        slots=1,
        rules=rules_named(RuleSet.KGROUP),
        wanted_group=matcher(None),  # how far others got says how long a log was
        wanted_topic=matcher(rows.options.topics),
        only_lagging=False,
    )
    ends_now = {topic_partition: end for topic_partition, (_, end) in rows.spans.items()}
    with _past(session, logs, options, rows, progress) as (windows, batches):
        groups = lag_over_time(_offsets(batches, windows.first, step_ms), len(windows), ends_now)
    wanted = matcher(rows.options.groups)
    axis = TimeAxis(
        start_ms=windows.start_ms(windows.first),
        step_ms=step_ms,
        count=len(windows),
        end_ms=windows.end_ms(windows.last),
    )
    now = {} if page.log_goes_on else rows.groups()
    return PageLags([group for group in groups if wanted(group.group)], axis, now)


@contextmanager
def _past(
    session: "SparkSession | None",
    logs: OpenedLogs,
    options: HistoryOptions,
    rows: PageRows,
    progress: Progress,
) -> "Iterator[tuple[WindowsOfTime, Iterable[RecordBatch]]]":
    """The history in columns, and its windows."""
    # A cluster's log was copied to this machine, and from here alone the cluster is asked for past log ends.
    if session is None or logs.cluster is not None:
        open_ends = partial(_ends_in_cluster, logs.cluster, rows) if logs.cluster is not None else None
        here = history_here(logs.sources, options, open_ends, progress=progress)
        yield here.history.windows, map(with_keys, here.rows())
        return
    from kgroup.api.lag_history.on_spark import history_on_spark

    with history_on_spark(session, logs, options, progress) as there:
        yield there.windows, there.batches()


def step_of(span_ms: int, windows_max: int) -> int:
    """The shortest round step that goes into a time no more often than that."""
    for step_ms in _STEPS_MS:
        if span_ms <= step_ms * (windows_max - 1):
            return step_ms
    return -(-span_ms // (windows_max - 1) // _STEPS_MS[-1]) * _STEPS_MS[-1]


def _oldest_ms(logs: OpenedLogs) -> int | None:
    """The start of the offsets topic, by the first batch of each of its partitions; None if unknown."""
    times: list[int] = []
    for _, segments in groupby(logs.sources, key=attrgetter("folder")):
        batches = (item for segment in segments for item in logs.batches(segment) if isinstance(item, Batch))
        times += islice((one.max_timestamp_ms for one in batches if one.max_timestamp_ms >= 0), 1)
    return min(times, default=None)


def _offsets(batches: "Iterable[RecordBatch]", first: int, step_ms: int) -> Iterator[PastOffset]:
    for batch in batches:
        names = ("group", "topic", "partition", "window_start", "current_offset", "lag")
        fields = [batch[name].to_pylist() for name in names]
        for group, topic, partition, start_ms, offset, lag in zip(*fields, strict=True):
            yield PastOffset(group, topic, partition, start_ms // step_ms - first, offset, lag)


def _ends_in_cluster(
    cluster: "Cluster", rows: PageRows, keys: Sequence[CommitKey], times_ms: Sequence[int]
) -> AskedEnds:
    """Log ends from one request per time, all partitions at once; unknown before the first record left."""
    from kgroup.net.admin.timestamps import TimeInLog, first_newer

    there = sorted({(key.topic, key.partition) for key in keys} & rows.there)
    newer_records = first_newer(
        cluster, [TimeInLog(*topic_partition, time_ms) for topic_partition in there for time_ms in times_ms]
    )

    def ends_of(topic: str, partition: int) -> PastEnds:
        topic_partition = topic, partition
        start, end = rows.spans[topic_partition] if topic_partition in rows.there else (None, None)
        now = UNKNOWN if end is None else end
        by_window = []
        for time_ms in times_ms:
            newer = newer_records.get(TimeInLog(topic, partition, time_ms), _REFUSED)
            known = newer is None or newer == 0 or newer > (start or 0)
            by_window.append((now if newer is None else newer) if known else UNKNOWN)
        return PastEnds(np.array(by_window, np.int64), now)

    return AskedEnds(ends_of)
