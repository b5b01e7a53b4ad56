"""`lag-report --html`: from a look and the whole log to the page of lag over time."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from kgroup.cli.lag_columns import ROW_COLUMNS
from kgroup.cli.lag_history import HistoryOptions, history_here
from kgroup.cli.lag_history_rows import AskedEnds, with_keys
from kgroup.cli.lag_look import Look, OpenedLogs, matcher
from kgroup.errors import SourceError
from kgroup.group.lag import LagRow
from kgroup.group.lag_over_time import PastOffset, lag_over_time
from kgroup.group.lag_rules import RuleSet, rules_named
from kgroup.group.log_ends import TopicState
from kgroup.log.keyed_rows import CommitKey, KeyedRows
from kgroup.log.log_end_history import log_end_history
from kgroup.log.partition import PartitionFolder, SegmentFile
from kgroup.log.past_ends import UNKNOWN, PastEnds
from kgroup.report.lag_by import By
from kgroup.report.lag_page import LagNow, TimeAxis, write_lag_page
from kgroup.report.lag_sums import sum_rows

if TYPE_CHECKING:
    from kgroup.net.admin import Cluster

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


def write_html(look: Look, logs: OpenedLogs, path: Path) -> None:
    """Read the log for its past and write the page; a cluster is asked where its logs ended.

    Raises SourceError if there is no commit in the log, or the file cannot be written.
    """
    span = _span(logs.sources.segments)
    if span is None:
        raise SourceError("--html: the log holds no record with a timestamp, so it has no past to show")
    rows = list(look.inputs.rows())
    windows_max = max(_WINDOWS_MIN, min(_WINDOWS_MAX, _ROWS_MAX // max(len(rows), 1)))
    step_ms = step_of(span[1] - span[0], windows_max)
    options = HistoryOptions(
        length_ms=step_ms,
        since_ms=span[0],
        until_ms=span[1],
        slots=1,
        rules=rules_named(RuleSet.KGROUP),
        wanted_group=matcher(None),  # how far others got says how long a log was
        wanted_topic=matcher(look.question.topics),
        only_lagging=False,
        quiet=look.question.quiet,
    )
    open_ends = partial(_ends_in_cluster, logs.cluster, rows) if logs.cluster is not None else None
    past = history_here(logs.sources, options, open_ends)
    windows = past.history.windows
    ends_now = {(row.topic, row.partition): row.log_end_offset for row in rows}
    groups = lag_over_time(_offsets(past.rows(), windows.first, step_ms), len(windows), ends_now)
    wanted = matcher(look.question.groups)
    axis = TimeAxis(
        start_ms=windows.start_ms(windows.first),
        step_ms=step_ms,
        count=len(windows),
        end_ms=windows.end_ms(windows.last),
    )
    write_lag_page([group for group in groups if wanted(group.group)], _now(look), axis, path)


def step_of(span_ms: int, windows_max: int) -> int:
    """The shortest round step that goes into a time no more than so often."""
    for step_ms in _STEPS_MS:
        if span_ms <= step_ms * (windows_max - 1):
            return step_ms
    return -(-span_ms // (windows_max - 1) // _STEPS_MS[-1]) * _STEPS_MS[-1]


def _span(segments: Sequence[SegmentFile]) -> tuple[int, int] | None:
    """When the oldest and the newest record of the offsets topic were written; None if nothing says."""
    by_folder: dict[Path, list[SegmentFile]] = {}
    for segment in segments:
        by_folder.setdefault(segment.folder, []).append(segment)
    times = [
        end.timestamp_ms
        for folder, files in by_folder.items()
        for end in log_end_history(_folder_of(folder, files), 3)
    ]
    return (min(times), max(times)) if times else None


def _folder_of(path: Path, files: Sequence[SegmentFile]) -> PartitionFolder:
    return PartitionFolder(
        path=path, topic=files[0].topic, partition=files[0].partition, segments=tuple(files)
    )


def _offsets(rows: Iterable[KeyedRows], first: int, step_ms: int) -> Iterator[PastOffset]:
    for batch in map(with_keys, rows):
        names = ("group", "topic", "partition", "window_start", "current_offset", "lag")
        fields = [batch[name].to_pylist() for name in names]
        for group, topic, partition, start_ms, offset, lag in zip(*fields, strict=True):
            yield PastOffset(group, topic, partition, start_ms // step_ms - first, offset, lag)


def _ends_in_cluster(
    cluster: "Cluster", rows: Sequence[LagRow], keys: Sequence[CommitKey], times_ms: Sequence[int]
) -> AskedEnds:
    """By one question for each time, all partitions at once; unknown before the first record that is left."""
    from kgroup.net.timestamps import TimeInLog, first_newer

    logs = {(row.topic, row.partition): row for row in rows if row.topic_state is TopicState.EXISTS}
    there = sorted({(key.topic, key.partition) for key in keys} & logs.keys())
    found = first_newer(cluster, [TimeInLog(*place, time_ms) for place in there for time_ms in times_ms])

    def ends_of(topic: str, partition: int) -> PastEnds:
        row = logs.get((topic, partition))
        start, end = (row.log_start_offset, row.log_end_offset) if row is not None else (None, None)
        now = UNKNOWN if end is None else end
        by_window = []
        for time_ms in times_ms:
            newer = found.get(TimeInLog(topic, partition, time_ms), _REFUSED)
            known = newer is None or newer == 0 or newer > (start or 0)
            by_window.append((now if newer is None else newer) if known else UNKNOWN)
        return PastEnds(np.array(by_window, np.int64), now)

    return AskedEnds(ends_of)


def _now(look: Look) -> dict[str, LagNow]:
    """The groups as the report has them."""
    return {
        str(row["group"]): LagNow(
            kind=str(row["group_kind"]),
            state=str(row["group_state"]),
            lag=lag if isinstance(lag := row["lag"], int) else None,
            unknown=int(str(row["lag_unknown"])),
        )
        for row in sum_rows(look.rows(ROW_COLUMNS), By.GROUP)
    }
