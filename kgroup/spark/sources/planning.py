"""The segments a query must read: by its groups, its offsets partitions and its times.

Kafka keeps a group on the offsets partition that its id's hash gives, if one knows how many there are. Files
do not say. So unless an option does, the number is concluded from groups that are in the log, and where they
do not agree on it, nothing is passed over.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kgroup.errors import SourceError
from kgroup.log.files.index import read_offset_index, read_time_index
from kgroup.log.files.log_dir import UNKNOWN_PARTITION, parse_folder_name
from kgroup.log.files.segment import read_records, read_segment
from kgroup.log.files.sources import Sources, one_replica_each, open_sources
from kgroup.log.format.batch import Damage
from kgroup.protocol.group_hash import OFFSETS_TOPIC, HashRule, partition_for
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import OffsetsEntry, Undecodable
from kgroup.protocol.records.keys import group_of
from kgroup.spark.remote import Likeness, RemoteLogs, open_remote
from kgroup.spark.sources.filters import Condition, not_before_ms, values_asked
from kgroup.spark.sources.options import OnDamage
from kgroup.spark.storage import Storage, is_uri

if TYPE_CHECKING:
    from kgroup.log.files.log_dir import SegmentFile
    from kgroup.scan.reductions.scan import Slice

_SAMPLED: Final = 8
_ENTRIES: Final = 64
_FEW_BYTES: Final = 64 * 1024
_AGREEING: Final = 3
"""As many groups on their partitions by chance: one in 50 to the third."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLogs:
    """Logs below the paths of a query, each partition once; `remote` says for what they stand."""

    sources: Sources
    remote: RemoteLogs | None = None

    @property
    def likenesses(self) -> tuple[Likeness, ...]:
        """The folders that are likenesses of URIs."""
        return () if self.remote is None else self.remote.likenesses


@contextmanager
def found_logs(paths: Sequence[str], storage: Storage) -> Iterator[FoundLogs]:
    """Find them. Raises SourceError for a path that cannot be read or holds no offsets topic."""
    if any(map(is_uri, paths)):
        with open_remote(paths, storage) as remote:
            yield FoundLogs(sources=remote.sources, remote=remote)
    else:
        yield FoundLogs(sources=one_replica_each(open_sources(paths)))


def of_partitions(found: FoundLogs, conditions: Sequence[Condition], count: int | None) -> Sources:
    """The sources without the offsets partitions that cannot have what the conditions ask for.

    `count` is the number of partitions: 0 if it is not to be asked for, None if it is to be found out.
    """
    sources = found.sources
    numbers = values_asked(conditions, "offsets_partition")
    if numbers is not None:
        sources = _kept(sources, numbers)
    groups = values_asked(conditions, "group")
    if groups is None or count == 0:
        return sources
    if count is None:
        count = partition_count(found)
    if count is None:
        return sources
    return _kept(sources, {partition_for(group, count) for group in groups})


def partition_count(found: FoundLogs) -> int | None:
    """The partition count of the offsets topic by the groups in it; None if they do not show it.

    Tried are Kafka's default and the number of the last partition that is there.
    """
    last = max((segment.partition for segment in found.sources), default=-1)
    if last < 0:
        return None
    sampled = list(_sampled_groups(found))
    for count in sorted({HashRule.KAFKA.default_partitions, last + 1}):
        agreeing = {group for partition, group in sampled if partition_for(group, count) == partition}
        if count > last and len(agreeing) >= _AGREEING and len(agreeing) == len(sampled):
            return count
    return None


def late_enough(parts: Sequence["Slice"], conditions: Sequence[Condition], *, is_last: bool) -> "list[Slice]":
    """Those slices of a segment that can have records as late as the conditions ask.

    By its `.timeindex`, as a broker answers for a time: it says up to where no record is later than a time,
    for the whole of a segment once another one follows. Where there is none, all is read.
    """
    since_ms = not_before_ms(conditions, "record_timestamp")
    if since_ms is None or not parts:
        return list(parts)
    start = _start_of(parts[0].path, parts[-1].end, since_ms, is_last=is_last)
    return [replace(part, start=max(part.start, start)) for part in parts if part.end > start or not start]


def _start_of(segment: Path, size: int, since_ms: int, *, is_last: bool) -> int:
    """The start of a batch before which all are earlier; the size if all are."""
    if not segment.stem.isdigit():
        return 0
    try:
        times = read_time_index(segment.with_suffix(".timeindex"), int(segment.stem))
        offsets = read_offset_index(segment.with_suffix(".index"), int(segment.stem))
    except SourceError:
        return 0
    if not len(times) or times.problem() or offsets.problem(size):
        return 0
    if not is_last and times[len(times) - 1].timestamp_ms < since_ms:
        return size
    return offsets.position_before(times.offset_before(since_ms))


def whole_segments(sources: Sources) -> dict[int, list["SegmentFile"]]:
    """Segments in log order, by offsets partition."""
    return {partition: list(each) for partition, each in groupby(sources, lambda segment: segment.partition)}


def refuse_unread(found: FoundLogs, sources: Sources, damage: OnDamage) -> None:
    """Raises SourceError for a folder of these that could not be listed, unless damage is to be skipped."""
    unread = next((f"{each.path}: not read: {each.why}" for each in sources.skipped if each.failed), None)
    if unread is not None and damage is OnDamage.FAIL:
        named = unread if found.remote is None else found.remote.named_in(unread)
        raise SourceError(f"{named}; option damage=skip goes on without it")


def _kept(sources: Sources, partitions: "set[int] | frozenset[int]") -> Sources:
    """The sources of these partitions, and those of an unknown partition."""
    wanted = {*partitions, UNKNOWN_PARTITION}
    kept = tuple(each for each in sources if each.partition in wanted)
    skipped = tuple(each for each in sources.skipped if _partition_of(each.path) in wanted)
    return replace(sources, segments=kept, skipped=skipped)


def _partition_of(path: str) -> int:
    topic, partition, _ = parse_folder_name(Path(path).name)
    return partition if topic == OFFSETS_TOPIC else UNKNOWN_PARTITION


def _sampled_groups(found: FoundLogs) -> Iterator[tuple[int, str]]:
    """Offsets partition and group of the first records of some partitions, from the first to the last."""
    firsts = [segments[0] for segments in whole_segments(found.sources).values()]
    step = max(len(firsts) // _SAMPLED, 1)
    for segment in firsts[::-step]:
        groups = {
            group_of(entry.key)
            for entry in islice(_entries(found, segment), _ENTRIES)
            if isinstance(entry, OffsetsEntry)
        }
        yield from ((segment.partition, group) for group in groups)


def _entries(found: FoundLogs, segment: "SegmentFile") -> Iterator[OffsetsEntry | Undecodable]:
    """Entries of healthy batches at the beginning of a segment, read only as far as they are taken."""
    name = segment.path if found.remote is None else found.remote.named_in(segment.path)
    if found.remote is not None and is_uri(name):
        batches = found.remote.batches(name)
    else:
        batches = read_segment(name, read_bytes=_FEW_BYTES)
    for item in read_records(batches, name):
        if isinstance(item, Damage) or item[0].control:
            continue
        for record in item[1]:
            yield decode_entry(record.key, record.value)
