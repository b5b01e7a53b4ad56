"""Contents of `__consumer_offsets`: records and bytes per group, client, kind, partition and segment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from kgroup.api.lag.options import matcher
from kgroup.api.names import names_given, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs, failed, left_out
from kgroup.api.tabular import Tabular
from kgroup.errors import InputError, SourceError
from kgroup.lag.findings.heavy_writer import HeavyWriter, Writing, heavy_writer
from kgroup.log.files.damage_text import damage_text
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.segment import read_segment
from kgroup.log.files.sources import STDIN
from kgroup.log.format.batch import Batch
from kgroup.report.emit import Column, Row
from kgroup.report.html_table import html_table
from kgroup.report.offsets_topic_rows import COLUMNS, By, filling_rows, filling_table
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted
from kgroup.scan.reading.drive import Slice
from kgroup.scan.reductions.tally import tally
from kgroup.scan.reductions.tally_amounts import Amount, PartitionTally, What

_READ_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class OffsetsTopic(Tabular):
    """The tallies of the offsets partitions; as a table a row for each group, the largest first."""

    partitions: tuple[PartitionTally, ...]
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """The lines on what was left out on purpose, such as shorter replicas."""

    @cached_property
    def whole(self) -> Amount:
        """All of it together."""
        whole = Amount()
        for partition in self.partitions:
            for segment in partition.segments:
                for amount in segment.amounts.values():
                    whole.add(amount)
        return whole

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        return sum(segment.size for partition in self.partitions for segment in partition.segments)

    @cached_property
    def writing(self) -> tuple[Writing, ...]:
        """Each group's current writing, where the end of the log shows it."""
        return tuple(each for partition in self.partitions for each in _writing(partition))

    @property
    def heavy_writer(self) -> HeavyWriter | None:
        """The group that fills the topic, if there is one."""
        return heavy_writer(self.writing)

    def groups(self) -> list[str]:
        """All groups that something is written of."""
        return sorted(
            {
                group
                for partition in self.partitions
                for segment in partition.segments
                for group, _ in segment.amounts
                if group is not None
            }
        )

    def rows(self, by: By = By.GROUP, groups: Sequence[str] | None = None) -> Iterator[Row]:
        """The requested rows, largest first. Raises SourceError if none of the groups is there."""
        names = names_given(groups)
        if names is not None and (unmatched := without_match(names, there := self.groups())):
            raise SourceError(nothing_matches("group", unmatched, there, "; leave out --group to see all"))
        wanted = None if names is None else matcher(names)
        return filling_rows(self.partitions, self.writing, by, wanted)

    def __repr__(self) -> str:
        return f"<OffsetsTopic of {counted(len(self.partitions), 'partition')}: {self.size:,} bytes>"

    def _repr_html_(self) -> str:
        return html_table(self.rows(), filling_table(By.GROUP), repr(self))

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup offsets-topic -o parquet`."""
        return COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each group."""
        return self.rows()


def offsets_topic(logs: OpenedLogs, *, now_ms: int, progress: Progress = NO_PROGRESS) -> OffsetsTopic:
    """Tally an offsets topic, of each partition one replica; of a live cluster what its brokers send of it.

    `now_ms` decides which deletions the log cleaner may take away. Raises SourceError if a file cannot be
    read, and InputError for what is not files.
    """
    logs.pass_over_leaderless()
    segments = tuple(logs.sources)
    if any(segment.path == STDIN for segment in segments):
        raise InputError("-: standard input has no size: give files")
    made = []
    with progress.counted_bytes("reading", sum(_size(each) for each in segments)) as advance:
        for (partition, _), of_partition in groupby(segments, key=lambda each: (each.partition, each.folder)):
            files = list(of_partition)
            parts = [
                Slice(path=Path(each.path), offsets_partition=partition, start=0, end=_size(each))
                for each in files
            ]
            made.append(tally(parts, _base_offsets(files), now_ms))
            advance(sum(part.end for part in parts))
    leaderless = [f"offsets partition {each}: no broker leads it, left out" for each in logs.leaderless]
    damage = [damage_text(each) for partition in made for each in partition.damage]
    return OffsetsTopic(
        partitions=tuple(made),
        problems=(*failed(logs.sources), *leaderless, *damage),
        remarks=tuple(left_out(logs.sources)),
    )


def _writing(partition: PartitionTally) -> Iterator[Writing]:
    if partition.run_ms is None:
        return
    groups: dict[str, dict[What, Amount]] = {}
    for (group, what), amount in partition.segments[-1].amounts.items():
        if group is not None and amount.run_records:
            groups.setdefault(group, {})[what] = amount
    for group, amounts in sorted(groups.items()):
        commits = amounts.get(What.COMMIT, Amount())
        yield Writing(
            group=group,
            run_ms=partition.run_ms,
            records=sum(amount.run_records for amount in amounts.values()),
            commits=commits.run_records,
            keys=partition.run_keys.get(group, 0),
            commit_bytes=commits.run_bytes,
            bytes=sum(amount.run_bytes for amount in amounts.values()),
        )


def _base_offsets(files: Sequence[SegmentFile]) -> list[int]:
    """Base offsets from the files' names, or from their first batches."""
    bases: list[int] = []
    for file in files:
        base = file.base_offset
        if base is None:
            items = read_segment(file.path, read_bytes=_READ_BYTES)
            base = next((item.base_offset for item in items if isinstance(item, Batch)), 0)
        bases.append(max(base, bases[-1]) if bases else base)
    return bases


def _size(segment: SegmentFile) -> int:
    try:
        return Path(segment.path).stat().st_size
    except OSError as error:
        raise SourceError(f"{segment.path}: {error.strerror or error}") from error
