"""`lag-report --html`: from a look and the whole log to the page of lag over time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kgroup.cli.lag_columns import ROW_COLUMNS
from kgroup.cli.lag_history import HistoryOptions, history_here
from kgroup.cli.lag_look import Look, matcher
from kgroup.errors import SourceError
from kgroup.group.lag_over_time import PastOffset, lag_over_time
from kgroup.group.lag_rules import RuleSet, rules_named
from kgroup.log.log_end_history import log_end_history
from kgroup.log.partition import PartitionFolder, SegmentFile
from kgroup.report.emit import Row
from kgroup.report.lag_by import By
from kgroup.report.lag_page import LagNow, TimeAxis, write_lag_page
from kgroup.report.lag_sums import sum_rows

_STEPS_MS: Final = tuple(
    1000 * seconds
    for seconds in (
        *(1, 2, 5, 10, 15, 30),
        *(60, 120, 300, 600, 900, 1800),
        *(3600, 7200, 10_800, 21_600, 43_200),
        *(86_400, 172_800, 604_800, 2_592_000),
    )
)
_WINDOWS_MAX: Final = 240
_WINDOWS_MIN: Final = 24
_ROWS_MAX: Final = 500_000  # windows of all groups' partitions that are held at once


def write_html(look: Look, path: Path) -> None:
    """Read the log for its past and write the page.

    Raises SourceError if there is no commit in the log, or the file cannot be written.
    """
    span = _span(look.sources.segments)
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
    history, past = history_here(look.sources, options)
    windows = history.windows
    ends_now = {(row.topic, row.partition): row.log_end_offset for row in rows}
    groups = lag_over_time(_offsets(past, windows.first, step_ms), len(windows), ends_now)
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


def _offsets(rows: Iterator[Row], first: int, step_ms: int) -> Iterator[PastOffset]:
    for row in rows:
        group, topic, partition, start_ms, offset, lag = (
            row[name] for name in ("group", "topic", "partition", "window_start", "current_offset", "lag")
        )
        assert isinstance(partition, int) and isinstance(start_ms, int) and isinstance(offset, int)
        assert lag is None or isinstance(lag, int)
        yield PastOffset(str(group), str(topic), partition, start_ms // step_ms - first, offset, lag)


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
