"""The rate at which the intervals of `kgroup deadlines` held, at many moments of runs whose end is known.

    python -m benchmarks.deadlines_backtest            # real captures and played lives
    python -m benchmarks.deadlines_backtest --only real

At each cut only what was known by then is used. A prediction is *decided* if its bound was met before the run
ended, or if the interval ended before the run did. `held`: the bound was met within the interval; of those
`width` is the median of the interval's length in parts of the time that was left, without those that have no
latest time (`no end`). Of what is `not-in-sight` all that came is missed: crashes, as a rule. Beside it a
line through the last ten commits, with a quarter to either side. Predictions are in two halves by their
partition's name: numbers in the rules were chosen by `fit`, `check` is the other half.
"""

import argparse
import io
import lzma
import tarfile
import tempfile
import zlib
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from tabulate import tabulate

from kgroup.api.opened import open_logs
from kgroup.lag.deadlines.deadlines import Forecast
from kgroup.lag.deadlines.model import Deadline, DeadlineKind, Outlook, PartitionPast, Seen
from kgroup.log.files.entries import read_entries
from kgroup.log.files.headers import HeaderAt, read_headers
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue

FIXTURES = Path(__file__).parent.parent / "fixtures"
CUTS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
TIMES_MS = (10_000, 30_000, 60_000, 300_000)
SHARES = (1.3, 2.0, 4.0)
COMMITS = 64
NAIVE_COMMITS = 10
NAIVE_SHARE = 0.25


@dataclass(frozen=True)
class Log:
    """A partition's log ends and their times, in order."""

    times_ms: list[int]
    ends: list[int]

    def ended_at(self, time_ms: int) -> int:
        """The log's end at a time."""
        index = bisect_right(self.times_ms, time_ms)
        return self.ends[index - 1] if index else 0

    def written_ms(self, offset: int) -> int | None:
        """The time at which the record at an offset was written."""
        index = bisect_right(self.ends, offset)
        return self.times_ms[index] if index < len(self.ends) else None


@dataclass(frozen=True)
class Run:
    """A group on a partition: commits by time, and the log. `ended_ms` is when nothing more is known."""

    name: str
    is_real: bool
    commits: list[tuple[int, int]]
    log: Log
    ended_ms: int

    def met_records(self, cut_ms: int, records: int) -> int | None:
        """The first time after the cut at which the lag was above this many records."""
        for from_ms, to_ms, position in self._stays(cut_ms):
            came_ms = self.log.written_ms(position + records)
            if came_ms is not None and max(came_ms, from_ms) < to_ms:
                return max(came_ms, from_ms)
        return None

    def met_time(self, cut_ms: int, length_ms: int) -> int | None:
        """The first time after the cut at which the first unread record had waited longer than this."""
        for from_ms, to_ms, position in self._stays(cut_ms):
            came_ms = self.log.written_ms(position)
            if came_ms is not None and max(came_ms + length_ms, from_ms) < to_ms:
                return max(came_ms + length_ms, from_ms)
        return None

    def _stays(self, cut_ms: int) -> Iterator[tuple[int, int, int]]:
        """The stretches in which the group stood at an offset after the cut: from, to, offset."""
        for number, (at_ms, position) in enumerate(self.commits):
            is_last = number + 1 == len(self.commits)
            to_ms = self.ended_ms if is_last else self.commits[number + 1][0]
            if to_ms > cut_ms:
                yield max(at_ms, cut_ms), to_ms, position

    def past(self, cut_ms: int) -> PartitionPast | None:
        """The partition's past as known at the cut; None before the first commit."""
        before = bisect_left(self.commits, (cut_ms + 1, -1))
        last = self.commits[max(before - COMMITS, 0) : before]
        if not last:
            return None
        return PartitionPast(
            seen=tuple(Seen(at_ms, position, self.log.ended_at(at_ms)) for at_ms, position in last),
            position=last[-1][1],
            end=self.log.ended_at(cut_ms),
            now_ms=cut_ms,
            ended_at=self.log.ended_at,
        )


@dataclass(frozen=True)
class Scored:
    """A prediction and what came of it; widths are in parts of the time until the bound was met."""

    outlook: Outlook
    kind: DeadlineKind
    is_real: bool
    is_fit: bool
    covered: bool | None
    """None if the run does not decide it."""
    width: float | None
    naive_covered: bool | None
    naive_width: float | None


def runs_of(folder: Path, *, is_real: bool) -> Iterator[Run]:
    """The partitions of a log directory with eight commits or more that never go back, and their own log."""
    commits: defaultdict[tuple[str, str, int], list[tuple[int, int]]] = defaultdict(list)
    newest_ms = 0
    with open_logs(folder) as logs:
        for item in read_entries(logs.sources):
            if not isinstance(item, LoggedEntry) or not isinstance(item.entry, OffsetsEntry):
                continue
            key, value = item.entry.key, item.entry.value
            if isinstance(key, OffsetCommitKey) and item.producer_id is None:
                place = commits[key.group, key.topic, key.partition]
                if isinstance(value, OffsetCommitValue):
                    place.append((value.commit_timestamp, value.offset))
                    newest_ms = max(newest_ms, value.commit_timestamp)
                else:
                    place.clear()  # deleted or expired: what was before is another story
        data = DataLogs(logs.sources.log_dirs)
        read: dict[tuple[str, int], Log] = {}
        for (group, topic, partition), made in sorted(commits.items()):
            made.sort()
            rises = all(a[1] <= b[1] for a, b in pairwise(made))
            where = data.folder(topic, partition)
            if len(made) < 8 or not rises or where is None:
                continue
            if (topic, partition) not in read:
                read[topic, partition] = _log(where.segments)
            log = read[topic, partition]
            if log.ends and made[-1][1] <= log.ends[-1]:
                ended_ms = max(newest_ms, log.times_ms[-1])
                name = f"{folder.name}/{group}/{topic}-{partition}"
                yield Run(name, is_real, made, log, ended_ms)


def _log(segments: Iterable[object]) -> Log:
    times_ms: list[int] = []
    ends: list[int] = []
    for segment in segments:
        for item in read_headers(segment.path):  # type: ignore[attr-defined]
            if isinstance(item, HeaderAt):
                header = item.header
                times_ms.append(max(header.max_timestamp_ms, times_ms[-1] if times_ms else 0))
                ends.append(header.last_offset + 1)
    return Log(times_ms, ends)


def score(run: Run) -> Iterator[Scored]:
    """Predictions at each cut, of bounds in records that are multiples of the lag by then, and of times."""
    begun_ms = run.commits[0][0]
    is_fit = zlib.crc32(run.name.encode()) % 2 == 0
    for cut in CUTS:
        cut_ms = begun_ms + round((run.ended_ms - begun_ms) * cut)
        past = run.past(cut_ms)
        if past is None:
            continue
        forecast = Forecast(past)
        lag = max(past.end - past.position, 0, *(seen.end - seen.position for seen in past.seen))
        for share in SHARES:
            records = round(lag * share) + 1
            truth = run.met_records(cut_ms, records)
            yield from _scored(run, is_fit, forecast.slo_records(records), truth, past)
        for length_ms in TIMES_MS:
            truth = run.met_time(cut_ms, length_ms)
            yield from _scored(run, is_fit, forecast.slo_time(length_ms), truth, past)


def _scored(
    run: Run, is_fit: bool, deadline: Deadline, truth: int | None, past: PartitionPast
) -> Iterator[Scored]:
    if deadline.outlook in (Outlook.PASSED, Outlook.UNKNOWN):
        return
    line = _naive(deadline, past)
    interval = None if deadline.low_ms is None else (deadline.low_ms, deadline.high_ms)
    naive = None
    if line is not None:
        ahead = line - past.now_ms
        naive = past.now_ms + ahead * (1 - NAIVE_SHARE), past.now_ms + ahead * (1 + NAIVE_SHARE)
    covered, width = _judge(interval, truth, run, past)
    naive_covered, naive_width = _judge(naive, truth, run, past)
    yield Scored(
        deadline.outlook, deadline.kind, run.is_real, is_fit, covered, width, naive_covered, naive_width
    )


def _judge(
    interval: tuple[float, float | None] | None, truth: int | None, run: Run, past: PartitionPast
) -> tuple[bool | None, float | None]:
    if truth is None:
        is_wrong = interval is not None and interval[1] is not None and interval[1] < run.ended_ms
        return (False if is_wrong else None), None
    if interval is None:
        return False, None
    low, high = interval
    width = None if high is None else (high - low) / max(truth - past.now_ms, 1)
    return low <= truth and (high is None or truth <= high), width


def _naive(deadline: Deadline, past: PartitionPast) -> int | None:
    """The time at which a line through the last commits meets the bound; None if it does not."""
    seen = past.seen[-NAIVE_COMMITS:]
    span_ms = past.now_ms - seen[0].at_ms
    if span_ms <= 0:
        return None
    if deadline.kind is DeadlineKind.SLO_RECORDS:
        lags = [seen[0].end - seen[0].position, past.end - past.position]
    else:
        lags = [_waited(past, each.at_ms, each.position) for each in seen[:1]]
        lags.append(_waited(past, past.now_ms, past.position))
    rate = (lags[1] - lags[0]) / span_ms
    return past.now_ms + round((deadline.bound - lags[1]) / rate) if rate > 0 else None


def _waited(past: PartitionPast, at_ms: int, position: int) -> int:
    """The time lag then."""
    low, high = 0, at_ms
    if (past.ended_at(at_ms) or 0) <= position:
        return 0
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if (past.ended_at(middle) or 0) > position else (middle + 1, high)
    return at_ms - low


def all_runs(only: str | None) -> Iterator[Run]:
    """Those of real brokers, then of incidents and healthy twins as `tests.incidents` plays them."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if only in (None, "real"):
            for folder in [*sorted(FIXTURES.glob("*/lives")), FIXTURES / "pipeline/4.3.1"]:
                yield from runs_of(folder, is_real=True)
            packed = lzma.decompress((FIXTURES / "incidents/incidents-4.3.1.tar.xz").read_bytes())
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(scratch / "incidents", filter="data")
            for folder in sorted(scratch.glob("incidents/**/at-the-end")):
                yield from runs_of(folder, is_real=True)
        if only in (None, "played"):
            from tests.incidents.library import play, read_library

            library = read_library()
            lives = [incident.life for incident in library.incidents if incident.life]
            for life in [*lives, *(twin.life for twin in library.twins)]:
                folder = scratch / life.replace(".", "-")
                play(life).write(folder)
                yield from runs_of(folder, is_real=False)


def table(scored: list[Scored]) -> str:
    """Coverage and width, by where runs are from and what was foreseen."""
    rows = []
    for is_real in (True, False):
        for outlook in (Outlook.EXPECTED, Outlook.POSSIBLE, Outlook.NOT_IN_SIGHT):
            part = [s for s in scored if s.is_real is is_real and s.outlook is outlook]
            if part:
                rows.append(_row(f"{'real' if is_real else 'played'}, {outlook}", part))
    given = [s for s in scored if s.outlook is not Outlook.NOT_IN_SIGHT]
    for kind in (DeadlineKind.SLO_RECORDS, DeadlineKind.SLO_TIME):
        rows.append(_row(f"intervals, {kind}", [s for s in given if s.kind is kind]))
    for is_fit in (True, False):
        part = [s for s in given if s.is_fit is is_fit]
        rows.append(_row(f"intervals, half {'fit' if is_fit else 'check'}", part))
    return tabulate(
        rows,
        headers=["of what", "predictions", "decided", "held", "width", "no end", "line held", "line width"],
        colalign=("left", *["right"] * 7),
        disable_numparse=True,
    )


def _row(what: str, part: list[Scored]) -> tuple[str, ...]:
    decided = [s for s in part if s.covered is not None]
    naive = [s for s in part if s.naive_covered is not None]
    held = [s for s in decided if s.covered]
    widths = [s.width for s in held if s.width is not None]
    naive_widths = [s.naive_width for s in naive if s.naive_width is not None and s.naive_covered]
    return (
        what,
        f"{len(part):,}",
        f"{len(decided):,}",
        f"{len(held) / len(decided):.1%}" if decided else "-",
        f"{median(widths):.2f}" if widths else "-",
        f"{1 - len(widths) / len(held):.0%}" if held else "-",
        f"{sum(bool(s.naive_covered) for s in naive) / len(naive):.1%}" if naive else "-",
        f"{median(naive_widths):.2f}" if naive_widths else "-",
    )


def main() -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(description="How often deadlines held.")
    parser.add_argument("--only", choices=["real", "played"])
    arguments = parser.parse_args()
    print(table([each for run in all_runs(arguments.only) for each in score(run)]))


if __name__ == "__main__":
    main()
