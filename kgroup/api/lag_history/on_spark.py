"""`lag-report --windows --spark`: executors do all work that grows with the log or the rows.

The log is reduced to parts, which tell when their commits are and name some of their keys; by that the driver
plans. Commits go to their row makers, one for all groups of a topic partition, so that its past log
ends are looked up once. The rows go to where all rows of a range of keys are put into order.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from kgroup.api.lag.on_spark import job_of, job_progress
from kgroup.api.lag_history.history import Extent, HistoryOptions, UnknownEnds, extent_of, plan_history
from kgroup.api.lag_history.rows import AskedEnds, History, batches_of
from kgroup.api.opened import OpenedLogs
from kgroup.lag.status.history import WindowsOfTime
from kgroup.log.files.log_dir import OFFSETS_TOPIC, LogDir
from kgroup.log.topics.past_ends import PastEndsInLogs
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.emit import Kind
from kgroup.report.emit_batches import transit_schema
from kgroup.report.lag.history_columns import COLUMNS
from kgroup.report.progress import Progress
from kgroup.scan.reductions.keyed_rows import CommitKey, KeyedCommits, KeyedRows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from kgroup.log.files.sources import Sources
    from kgroup.scan.reductions.last_commits import LastPart
    from kgroup.spark.exchange import KeptBatches
    from kgroup.spark.parts.kinds import Note

_ROWS_OF_TASK: Final = 1 << 18
_MAKERS_MAX: Final = 512
_SAMPLE_MAX: Final = 512  # keys that a part names
_PLANNED_WITH: Final = "samples of the keys of all parts of the log"


@dataclass(frozen=True, slots=True)
class HistoryThere:
    """Rows that executors keep, one for each key and window. `unknown` is of log ends.

    `problems` are what could not be read.
    """

    session: "SparkSession"
    windows: WindowsOfTime
    kept: "KeptBatches"
    unknown: UnknownEnds | None
    problems: tuple[str, ...]

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """Batches sorted by group, topic, partition, offsets partition and window."""
        return self.kept.fetched()

    def save(self, name: str) -> int:
        """Let executors write the rows as a table of Spark's catalog; return how many they are."""
        from kgroup.spark.tables import save_frame

        times = [column.name for column in COLUMNS if column.kind is Kind.TIME_MS]
        return save_frame(self.session, name, self.kept.as_frame(), times)


@contextmanager
def history_on_spark(
    session: "SparkSession", logs: OpenedLogs, options: HistoryOptions, progress: Progress
) -> Iterator[HistoryThere]:
    """Let executors read the log and make the rows. Raises as `plan_history` does."""
    from kgroup.scan.reductions.cut_last import cut_last
    from kgroup.spark import exchange, jobs
    from kgroup.spark.reductions import LastCommitsOfEach

    reduction = LastCommitsOfEach(options.keep)
    with jobs.kept_pieces(session, *job_of(logs, reduction), cut_last) as parts:
        with job_progress(session, "Spark is reading", progress):
            answers = jobs.of_each_part(parts, partial(_summary, options=options), _PLANNED_WITH)
        summaries = [PartSummary.of_json(answer) for answer in answers]
        history = plan_history((part.extent for part in summaries), options)
        ranges = KeyRanges.of(summaries, len(history.windows))
        # Few rows may still be of many topic partitions, whose logs have to be looked into.
        makers = Makers.of(summaries, min(max(len(ranges), jobs.cores_of(session)), _MAKERS_MAX))
        commits = exchange.sent(parts, partial(_by_maker, options=options, makers=makers), makers.count)
        past_logs = _logs_of_data(logs.sources)
        make = partial(_rows, history=history, past_logs=past_logs, makers=makers, ranges=ranges)
        rows = exchange.sent(commits, make, len(ranges))
        with job_progress(session, "Spark is judging", progress):
            kept = exchange.kept_batches(rows, _in_order, transit_schema(COLUMNS))
        try:
            problems = tuple(line for part in summaries for line in part.problems)
            yield HistoryThere(session, history.windows, kept, _all_unknown(kept.notes), problems)
        finally:
            kept.forget()


@dataclass(frozen=True, slots=True)
class PartSummary:
    """The driver's input for planning: evenly chosen keys of a part, each for a number of them; and notes."""

    extent: Extent | None
    sample: tuple[CommitKey, ...]
    each: int
    problems: tuple[str, ...] = ()

    def as_json(self) -> list[Any]:
        """The note as JSON, for its way to the driver."""
        return [self.extent, self.sample, self.each, self.problems]

    @classmethod
    def of_json(cls, encoded: Sequence[Any]) -> "PartSummary":
        """The summary again."""
        extent, sample, each, problems = encoded
        keys = tuple(CommitKey(*key) for key in sample)
        return cls(None if extent is None else Extent(*extent), keys, each, tuple(problems))


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """Ranges of keys that follow each other, numbered from 0; range i ends before `ends[i]`."""

    ends: tuple[CommitKey, ...]

    @classmethod
    def of(cls, parts: Sequence[PartSummary], windows: int) -> "KeyRanges":
        """Ranges with about the same number of rows each, if all keys have a row in each window."""
        from kgroup.spark.ranges import even_ends

        sample = ((key, part.each * windows) for part in parts for key in part.sample)
        return cls(even_ends(sample, _ROWS_OF_TASK))

    def __len__(self) -> int:
        return len(self.ends) + 1

    def number(self, key: CommitKey) -> int:
        """The range that a key is in."""
        return bisect_right(self.ends, key)


@dataclass(frozen=True, slots=True)
class Makers:
    """Assigns keys to row makers, by number: all groups of a topic partition share one.

    But that what very many groups read is up to several: by topic and partition, how many.
    """

    count: int
    several: Mapping[TopicPartition, int]

    @classmethod
    def of(cls, parts: Sequence[PartSummary], count: int) -> "Makers":
        """`count` makers, with topic partitions shared among several by the contents of the parts."""
        groups: Counter[TopicPartition] = Counter()
        for part in parts:
            for key in part.sample:
                groups[key.topic, key.partition] += part.each
        share = -(-groups.total() // count) or 1
        several = {
            topic_partition: -(-number // share)
            for topic_partition, number in groups.items()
            if number > share
        }
        return cls(count, several)

    def number(self, key: CommitKey) -> int:
        """The number of the key's maker, from 0."""
        first = crc32(f"{key.topic}-{key.partition}".encode())
        several = self.several.get((key.topic, key.partition))
        return (first + (crc32(key.group.encode()) % several if several else 0)) % self.count


def _summary(part: "LastPart", options: HistoryOptions) -> list[Any]:
    keys = KeyedCommits.of(part, options.is_wanted).commits.keys
    each = -(-len(keys) // _SAMPLE_MAX) or 1
    return PartSummary(extent_of(part), tuple(keys[::each]), each, part.problems).as_json()


def _by_maker(
    parts: "Iterator[LastPart]", options: HistoryOptions, makers: Makers
) -> Iterator[tuple[int, KeyedCommits]]:
    for part in parts:
        yield from KeyedCommits.of(part, options.is_wanted).parted(makers.number)


def _rows(
    parts: Iterator[KeyedCommits],
    history: History,
    past_logs: Sequence[LogDir],
    makers: Makers,
    ranges: KeyRanges,
) -> "Iterator[tuple[int, KeyedRows | Note]]":
    from kgroup.spark.parts.kinds import Note

    commits = list(parts)
    if not commits:
        return
    ends = AskedEnds(PastEndsInLogs(past_logs, (history.windows.ends_ms() - 1).tolist()))
    for rows in history.rows(KeyedCommits.joined(commits), ends):
        yield from rows.parted(ranges.number)
    # Places that several makers ask about are reported one by one, as each counts once.
    shared = ends.unknown & makers.several.keys()
    of_one = UnknownEnds.of(ends.unknown - shared)
    yield 0, Note([None if of_one is None else [of_one.count, of_one.first], sorted(shared)])


def _in_order(values: "Iterator[KeyedRows | Note]") -> "Iterator[pa.RecordBatch | Note]":
    """The rows of a range of keys, and the notes that came with them."""
    rows: list[KeyedRows] = []
    for value in values:
        if isinstance(value, KeyedRows):
            rows.append(value)
        else:
            yield value
    if rows:
        yield from batches_of([KeyedRows.joined(rows)])


def _all_unknown(notes: Iterable[Sequence[Any]]) -> UnknownEnds | None:
    """The makers' unknown ends added up: how many and the first, or None. Shared partitions count once."""
    notes = list(notes)
    shared: set[TopicPartition] = {(topic, partition) for _, places in notes for topic, partition in places}
    unknown = [
        UnknownEnds(count, (topic, partition))
        for (count, (topic, partition)), _ in (note for note in notes if note[0] is not None)
    ]
    of_shared = UnknownEnds.of(shared)
    unknown += [] if of_shared is None else [of_shared]
    if not unknown:
        return None
    return UnknownEnds(sum(each.count for each in unknown), min(each.first for each in unknown))


def _logs_of_data(sources: "Sources") -> tuple[LogDir, ...]:
    """The folders of data topics, by paths that do not depend on a working folder."""
    return tuple(
        log_dir.elsewhere(lambda folder: folder.topic != OFFSETS_TOPIC and bool(folder.segments))
        for log_dir in sources.log_dirs
    )
