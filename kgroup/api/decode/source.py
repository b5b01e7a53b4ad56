"""The records that `kgroup decode` reads, from log files or from a live cluster."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol
from uuid import UUID

from kgroup.errors import KgroupError, SourceError
from kgroup.log.files.entries import ReadRecord, Selection, read_decoded
from kgroup.log.files.log_dir import LogDir
from kgroup.log.files.sources import STDIN, Sources
from kgroup.log.files.spool import SpooledStream
from kgroup.log.files.transaction_outcomes import TransactionOutcomes
from kgroup.log.format.batch import Damage
from kgroup.log.topics.log_ends_file import read_log_ends_file
from kgroup.log.topics.recorded_ends import newest_recorded
from kgroup.protocol.records.entries import TransactionOutcome

if TYPE_CHECKING:
    from kgroup.api.live import LiveLogs

_TOPICS_JSON = "topics.json"


class EntrySource(Protocol):
    """Records of the offsets topic, each with its place; `read` begins at the start whenever it is called."""

    def read(self, selection: Selection) -> Iterator[ReadRecord | Damage]:
        """Records that may be in the selection, partition after partition, in the order of each log."""

    def outcome(self, read: ReadRecord) -> TransactionOutcome | None:
        """The outcome of the record's transaction; None if it is in none."""


class FileSource:
    """Segment files, and `stdin` where they name it. Raises SourceError where one cannot be read."""

    def __init__(self, sources: Sources, stdin: SpooledStream | None) -> None:
        self.sources = sources
        self._stdin = stdin
        self._outcomes = TransactionOutcomes(sources, stdin)

    @property
    def total_bytes(self) -> int:
        """The size of all files; standard input counts as nothing."""
        return sum(_size(Path(segment.path)) for segment in self.sources if segment.path != STDIN)

    def read(self, selection: Selection) -> Iterator[ReadRecord | Damage]:
        """See EntrySource."""
        return read_decoded(self.sources, stdin=self.stdin(), selection=selection)

    def stdin(self) -> BinaryIO | None:
        """Standard input from its start, if that is a source."""
        return self._stdin.open() if self._stdin else None

    def outcome(self, read: ReadRecord) -> TransactionOutcome | None:
        """See EntrySource."""
        if read.record is None:
            return None
        return self._outcomes.of(read.segment, read.batch, read.record.offset)

    @property
    def outcomes(self) -> TransactionOutcomes:
        """The outcomes of all transactions."""
        return self._outcomes


class LiveSource:
    """The copy of a live topic, and with `follow` what comes after it; SourceError if the cluster fails."""

    def __init__(self, copied: FileSource, live: "LiveLogs", *, follow: bool) -> None:
        self.copied = copied
        self._live = live
        self.is_followed = follow

    def read(self, selection: Selection) -> Iterator[ReadRecord | Damage]:
        """See EntrySource; followed records all come, with no order but that of their coming."""
        from kgroup.net.admin.raw_logs import follow

        yield from self.copied.read(selection)
        if self.is_followed:
            yield from follow(self._live.cluster, self._live.ends)

    def outcome(self, read: ReadRecord) -> TransactionOutcome | None:
        """See EntrySource; of a followed record it is still to come."""
        if read.segment.base_offset is not None:
            return self.copied.outcome(read)
        return TransactionOutcome.PENDING if read.batch.transactional and not read.batch.control else None


def only_offsets(sources: Sources, first: int | None, last: int | None) -> Sources:
    """Leave out segments that lie wholly outside of the offsets `first` to `last`, by their names."""
    kept = []
    for segment, following in zip(sources.segments, [*sources.segments[1:], None], strict=True):
        is_followed = (
            following is not None
            and following.folder == segment.folder
            and segment.partition == following.partition
        )
        end = following.base_offset if following is not None and is_followed else None
        if first is not None and end is not None and end <= first:
            continue
        if last is not None and segment.base_offset is not None and segment.base_offset > last:
            continue
        kept.append(segment)
    return replace(sources, segments=tuple(kept))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # reading it says why
        return 0


def topic_names(log_dirs: Iterable[LogDir], topics_file: Path | None) -> dict[UUID, str]:
    """Topic id to name: from `topics_file`, partition.metadata, a recording, topics.json in a log directory.

    Raises InputError or SourceError for `topics_file`; damaged files that nobody named say nothing.
    """
    names: dict[UUID, str] = {}
    for log_dir in log_dirs:
        newest = newest_recorded(log_dir)
        if newest is not None:
            names |= {log.topic_id: log.topic for log in newest.logs() if log.topic_id is not None}
        beside = log_dir.path / _TOPICS_JSON
        if beside.is_file():
            names |= _names_in_file(beside, asked_for=False)
        for folder in log_dir.partitions:
            try:
                topic_id = folder.topic_id
            except SourceError:
                continue
            if topic_id is not None and folder.topic is not None:
                names[topic_id] = folder.topic
    return names | (_names_in_file(topics_file, asked_for=True) if topics_file else {})


def _names_in_file(path: Path, *, asked_for: bool) -> dict[UUID, str]:
    try:
        logs = read_log_ends_file(path).logs
    except KgroupError:
        if asked_for:
            raise
        return {}
    return {log.topic_id: log.topic for log in logs if log.topic_id is not None}
