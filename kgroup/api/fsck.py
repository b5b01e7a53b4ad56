"""Whether a broker will load these offsets partitions, how long that takes, and which groups are at stake."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgroup.api.opened import OpenedLogs
from kgroup.api.tabular import Tabular
from kgroup.errors import InputError, SourceError
from kgroup.history.loading.check import PartitionCheck
from kgroup.history.loading.cleaning import CleanedSegment, cleaning
from kgroup.history.loading.estimate import estimate
from kgroup.history.loading.model import Obstacle, Outcome
from kgroup.history.loading.partition import PartitionLoading, Replayed, SegmentFacts, outcome_of
from kgroup.history.loading.releases import NEWEST, Release, release_of, releases
from kgroup.log.files.checkpoints import CLEAN_SHUTDOWN, CLEANED, RECOVERY_POINTS, read_offset_checkpoint
from kgroup.log.files.index import read_offset_index
from kgroup.log.files.log_dir import OFFSETS_TOPIC, SegmentFile
from kgroup.log.files.segment import read_segment
from kgroup.log.files.sources import STDIN
from kgroup.log.format.batch import Batch, Damage
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, TransactionMarker
from kgroup.protocol.records.keys import group_of
from kgroup.report.emit import Column, Row
from kgroup.report.fsck_rows import COLUMNS, fsck_rows
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.scan.reductions.scan import Newest, ScanBlock, Slice, newest, scan

_SCANNED: Final = ("log_offset", "group", "tombstone", "record_timestamp")
_READ_BYTES: Final = 64 * 1024


class Fsck(Tabular):
    """The partitions in order; as a table a row for each."""

    def __init__(self, checks: Sequence[PartitionCheck]) -> None:
        self.checks = tuple(checks)

    def __iter__(self) -> Iterator[PartitionCheck]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    @property
    def bad(self) -> list[PartitionCheck]:
        """The checks with a finding."""
        return [check for check in self.checks if check.finding is not None]

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup fsck -o parquet`."""
        return COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each partition."""
        return fsck_rows(self.checks)


def fsck(logs: OpenedLogs, *, kafka_version: str = NEWEST, progress: Progress = NO_PROGRESS) -> Fsck:
    """Judge every replica of every offsets partition as a broker of that version would load it.

    Nothing is written. Raises InputError for a version that is not known, or logs that are no files;
    SourceError if a file cannot be read.
    """
    asked = release_of(kafka_version)
    if logs.cluster is not None or logs.remote is not None:
        raise InputError("fsck looks at files: give the PATH of a log directory or a copy of it")
    segments = tuple(logs.every_replica)
    if any(segment.path == STDIN for segment in segments):
        raise InputError("fsck reads files twice: standard input cannot be used")
    total = sum(_size(segment) for segment in segments)
    checks = []
    with progress.counted_bytes("reading", total) as advance:
        for (partition, folder), parts in groupby(segments, key=lambda each: (each.partition, each.folder)):
            replica = list(parts)
            checks.append(_check(partition, folder, replica, asked))
            advance(sum(map(_size, replica)))
    return Fsck(checks)


def replayed(blocks: Iterable[ScanBlock]) -> Iterator[Replayed]:
    """The records a coordinator replays, in log order: commits by their groups, other records singly."""
    for block in blocks:
        rows = block.commits
        is_value = ~rows["tombstone"].to_numpy(zero_copy_only=False)
        offsets = rows["log_offset"].to_numpy()
        groups = rows["group"]
        assert isinstance(groups, pa.DictionaryArray)
        codes, names = groups.indices.to_numpy(), groups.dictionary
        done = 0
        for logged in block.others:
            if isinstance(logged.entry, TransactionMarker):
                continue
            until = int(np.searchsorted(offsets, logged.offset))
            if until > done:
                yield _names(names, codes[done:until][is_value[done:until]])
                done = until
            yield logged
        if done < len(offsets):
            yield _names(names, codes[done:][is_value[done:]])


def _names(names: "pa.Array[pa.Scalar[pa.DataType]]", codes: NDArray[np.int32]) -> list[str]:
    return [str(names[int(code)].as_py()) for code in np.unique(codes)]


@dataclass(slots=True)
class _Counts:
    """Counts of one pass over the segments."""

    records: int = 0
    tombstones: int = 0
    newest_ms: int = -1

    def add(self, block: ScanBlock) -> int:
        """Count a block; returns its records."""
        commits, others = block.commits, block.others
        records = commits.num_rows + len(others)
        self.records += records
        self.tombstones += int(pc.sum(commits["tombstone"]).as_py() or 0)
        self.tombstones += sum(
            isinstance(each.entry, OffsetsEntry) and each.entry.value is None for each in others
        )
        times = [int(pc.max(commits["record_timestamp"]).as_py())] if commits.num_rows else []
        self.newest_ms = max([self.newest_ms, *times, *(each.timestamp_ms for each in others)])
        return records


def _check(partition: int, folder: Path, segments: Sequence[SegmentFile], asked: Release) -> PartitionCheck:
    where = _LogDirFiles(folder.parent, partition)
    loading = PartitionLoading([asked, *releases()])
    counts = _Counts()
    cleaned: list[CleanedSegment] = []
    ends = [each.base_offset for each in segments[1:]]
    for segment, next_base in zip(segments, [*ends, None], strict=True):
        facts = where.facts(segment, next_base)
        blocks: list[ScanBlock] = []
        damage: list[Damage] = []
        records = 0
        part = _slice(segment, facts.size)
        for block in scan([part], columns=_SCANNED):
            blocks.append(block)
            damage += block.damage
            records += counts.add(block)
        if damage:
            _replay_damaged(loading, facts, damage)
        else:
            loading.healthy(facts, replayed(blocks))
        expected = None if next_base is None else next_base - (segment.base_offset or 0)
        cleaned.append(
            CleanedSegment(
                base_offset=segment.base_offset or 0,
                size=facts.size,
                begun_ms=_begun_ms(segment),
                has_gaps=expected is not None and records < expected,
            )
        )
    found = loading.obstacles()
    counting = newest([_slice(segment, _size(segment)) for segment in segments])
    commits = counting.commits.filter(pc.invert(counting.commits["tombstone"]))
    live = [e for e in counting.others if isinstance(e.entry, OffsetsEntry) and e.entry.value is not None]
    size = sum(each.size for each in cleaned)
    obstacles = tuple(_placed(each, segments) if n == 0 else each for n, each in enumerate(found[asked]))
    return PartitionCheck(
        partition=partition,
        folder=Path(segments[0].path).parent,
        version=asked.version,
        obstacles=obstacles,
        others=_others(found, outcome_of(obstacles)),
        size=size,
        records=counts.records,
        tombstones=counts.tombstones,
        live_records=commits.num_rows + len(live),
        groups=_groups(commits, counting),
        cleaning=cleaning(cleaned, where.cleaned_to, counts.newest_ms if counts.newest_ms >= 0 else None),
        estimate=estimate(
            size=size,
            records=counts.records,
            live_commits=commits.num_rows,
            live_bytes=_value_bytes(commits, counting),
        ),
        is_clean=where.is_clean,
        commits=commits,
    )


class _LogDirFiles:
    """The files next to a partition's folder: how the broker stopped, and what its next start checks."""

    def __init__(self, path: Path, partition: int) -> None:
        self._key = (OFFSETS_TOPIC, partition)
        recovery = path / RECOVERY_POINTS
        self.is_clean: bool | None = True if (path / CLEAN_SHUTDOWN).exists() else None
        self._recovered_from = 0
        if self.is_clean is None and recovery.is_file():
            self.is_clean = False
            self._recovered_from = read_offset_checkpoint(recovery).get(self._key, 0)
        cleaned = path / CLEANED
        self.cleaned_to = read_offset_checkpoint(cleaned).get(self._key, 0) if cleaned.is_file() else None

    def facts(self, segment: SegmentFile, next_base: int | None) -> SegmentFacts:
        """The segment with what a start of the broker walks and checks of it."""
        index = Path(segment.path).with_suffix(".index")
        is_unflushed = self.is_clean is False and (next_base is None or next_base > self._recovered_from)
        walked_from = None
        if next_base is None:
            walked_from = 0
            if index.is_file() and segment.base_offset is not None:
                entries = read_offset_index(index, segment.base_offset)
                walked_from = entries[len(entries) - 1].position if len(entries) else 0
        return SegmentFacts(
            path=segment.path,
            size=_size(segment),
            is_checked=is_unflushed or (self.is_clean is not None and not index.is_file()),
            walked_from=walked_from,
            ends_log=is_unflushed,
        )


def _replay_damaged(loading: PartitionLoading, facts: SegmentFacts, damage: Sequence[Damage]) -> None:
    try:
        with Path(facts.path).open("rb") as file:
            if not facts.size:
                loading.damaged(facts, b"", damage)
                return
            with mmap(file.fileno(), 0, access=ACCESS_READ) as raw, memoryview(raw) as view:
                loading.damaged(facts, view, damage)
    except OSError as error:
        raise SourceError(f"{facts.path}: {error.strerror or error}") from error


def _others(found: Mapping[Release, Sequence[Obstacle]], outcome: Outcome) -> dict[str, Outcome]:
    outcomes = {release.version: outcome_of(obstacles) for release, obstacles in found.items()}
    return {r.version: outcomes[r.version] for r in releases() if outcomes[r.version] is not outcome}


def _placed(obstacle: Obstacle, segments: Sequence[SegmentFile]) -> Obstacle:
    """The obstacle with the byte position of its batch."""
    if obstacle.position is not None or obstacle.offset is None:
        return obstacle
    for item in read_segment(obstacle.segment or segments[0].path):
        if isinstance(item, Batch) and item.base_offset <= obstacle.offset <= item.last_offset:
            return replace(obstacle, position=item.position)
    return obstacle


def _begun_ms(segment: SegmentFile) -> int | None:
    first = next(
        (i for i in read_segment(segment.path, read_bytes=_READ_BYTES) if isinstance(i, Batch)), None
    )
    if first is None:
        return None
    record = next(iter(first.records()), None) if first.delete_horizon_ms is None else None
    return first.max_timestamp_ms if record is None else record.timestamp_ms


def _groups(commits: pa.Table, counting: Newest) -> tuple[str, ...]:
    names = {str(name) for name in pc.unique(commits["group"]).to_pylist()}
    names |= {str(name) for name in pc.unique(counting.pending["group"]).to_pylist()}
    for logged in counting.others:
        if isinstance(logged.entry, OffsetsEntry) and logged.entry.value is not None:
            names.add(group_of(logged.entry.key))
    return tuple(sorted(names))


def _value_bytes(commits: pa.Table, counting: Newest) -> int:
    total = int(pc.sum(pc.binary_length(commits["metadata"])).as_py() or 0)
    for logged in counting.others:
        if isinstance(logged.entry, OffsetsEntry) and logged.entry.value is not None:
            total += len(encode_entry(logged.entry)[1] or b"")
    return total


def _slice(segment: SegmentFile, size: int) -> Slice:
    return Slice(path=Path(segment.path), offsets_partition=segment.partition, start=0, end=size)


def _size(segment: SegmentFile) -> int:
    try:
        return Path(segment.path).stat().st_size
    except OSError as error:
        raise SourceError(f"{segment.path}: {error.strerror or error}") from error
