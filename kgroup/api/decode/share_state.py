"""Every record of `__share_group_state`, where share groups keep how far they are (KIP-932)."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from kgroup.api.decode.filter import CONTROL, EMPTY_BATCH, UNDECODED, Filter, type_name_of
from kgroup.api.decode.problems import Problems
from kgroup.api.decode.source import only_offsets, topic_names
from kgroup.api.names import matches_any, nothing_matches, without_match
from kgroup.api.opened import not_read
from kgroup.errors import SourceError
from kgroup.log.files.log_dir import parse_folder_name
from kgroup.log.files.sources import Sources, one_replica_each, open_sources
from kgroup.log.format.batch import Damage
from kgroup.log.topics.share_state import ShareRecord, read_share_records
from kgroup.protocol.records.entries import Undecodable
from kgroup.protocol.share_state import SHARE_STATE_TOPIC, ShareSnapshotValue, ShareStateKey
from kgroup.report.emit import Row, to_json
from kgroup.report.records.entry_json import TopicNames
from kgroup.report.records.record_json import damage_json
from kgroup.report.records.share_records import (
    share_csv_row,
    share_record_json,
    share_table_row,
    topic_of,
)

Hear = Callable[[str], None]
_Place = tuple[int, int]
"""Partition of the topic, and offset."""


def are_share_state(paths: Iterable[str]) -> bool:
    """Whether one of the paths is a folder of `__share_group_state`, or a segment in one."""
    return any(_topic_of(Path(path)) == SHARE_STATE_TOPIC for path in paths)


def _topic_of(path: Path) -> str | None:
    folder = path.absolute().parent if path.suffix == ".log" else path.absolute()
    return parse_folder_name(folder.name)[0]


class DecodedShareState:
    """Records that can be iterated over any number of times: each pass reads the logs again.

    `remarks` say which files are not read, and why. `counts` are of the newest pass, and complete at its end.
    """

    def __init__(
        self, sources: Sources, wanted: Filter, *, latest: bool, names: TopicNames, hear: Hear
    ) -> None:
        self._sources = sources
        self._wanted = wanted
        self._latest = latest
        self._names = names
        self._hear = hear
        self.counts = Problems(hear)
        self.remarks = tuple(not_read(sources.skipped))

    def records(self) -> Iterator[ShareRecord | Damage]:
        """The records that are wanted, and all damage."""
        self.counts = problems = Problems(self._hear)
        groups: set[str] = set()
        topics: set[str] = set()
        kept = self._that_count() if self._latest else None
        for item in read_share_records(self._sources):
            if isinstance(item, Damage):
                problems.add_damage(item)
                yield item
                continue
            read, entry = item
            if isinstance(read.entry, Undecodable):
                problems.add_undecodable(read, read.entry.why)
            if entry is not None:
                groups.add(entry.key.group_id)
                topics.add(topic_of(entry.key, self._names))
            if not self._wants(item) or (kept is not None and _place(item) not in kept):
                continue
            if entry is not None and entry.notes:
                problems.add_odd(read, entry.notes)
            problems.shown += 1
            yield item
        asked = tuple(topic for topic, _ in self._wanted.topics or ())
        for kind, patterns, there in (("group", self._wanted.groups or (), groups), ("topic", asked, topics)):
            if absent := without_match(patterns, there):
                problems.missing.append(nothing_matches(kind, absent, there))

    def _that_count(self) -> set[_Place]:
        """The newest snapshot of each partition and the updates since, where the filter ends the log."""
        state: dict[ShareStateKey, set[_Place]] = {}
        for item in read_share_records(self._sources):
            if isinstance(item, Damage) or item.entry is None or not self._wanted.is_before_end(item.read):
                continue
            key, value = item.entry.key, item.entry.value
            if value is None:
                state.pop(key, None)
            elif isinstance(value, ShareSnapshotValue):
                state[key] = {_place(item)}
            else:
                state.setdefault(key, set()).add(_place(item))
        return set().union(*state.values())

    def _wants(self, item: ShareRecord) -> bool:
        wanted, (read, entry) = self._wanted, item
        if not replace(wanted, groups=None, topics=None, types=None, tombstones=False).wants(read):
            return False
        if wanted.types is not None and _type_name(item) not in wanted.types:
            return False
        if wanted.tombstones and (entry is None or entry.value is not None):
            return False
        if wanted.groups is None and wanted.topics is None:
            return True
        return entry is not None and self._is_about(entry.key)

    def _is_about(self, key: ShareStateKey) -> bool:
        wanted = self._wanted
        if wanted.groups is not None and not matches_any(key.group_id, wanted.groups):
            return False
        name = topic_of(key, self._names)
        return wanted.topics is None or any(
            fnmatchcase(name, topic) and (partitions is None or key.partition in partitions)
            for topic, partitions in wanted.topics
        )

    def table_rows(self) -> Iterator[Row]:
        """A few words for each record; damage is among the problems."""
        for item in self.records():
            if not isinstance(item, Damage):
                yield share_table_row(item, self._names)

    def json_texts(self) -> Iterator[str]:
        """A JSON object for each record and damaged place."""
        for item in self.records():
            if isinstance(item, Damage):
                yield to_json(damage_json(item))
            else:
                yield to_json(share_record_json(item, self._names))

    def csv_rows(self) -> Iterator[Row]:
        """The same fields in columns."""
        for item in self.records():
            yield damage_json(item) if isinstance(item, Damage) else share_csv_row(item, self._names)


def decode_share_state(
    paths: Iterable[str],
    wanted: Filter,
    *,
    partitions: Collection[int] | None = None,
    latest: bool = False,
    topics_file: Path | None = None,
    hear: Hear,
) -> DecodedShareState:
    """The records of `__share_group_state`, as `decode_wanted` has those of the offsets topic.

    `wanted.topics` are those that share groups read, by the names that are known of their ids. `latest` keeps
    what makes up the state: of each partition the newest snapshot and the updates since. `hear` is called
    with each problem when it is met. Raises SourceError, naming the path, for one that holds nothing of it.
    """
    sources = open_sources(paths, topic=SHARE_STATE_TOPIC)
    if partitions is not None:
        kept = tuple(segment for segment in sources.segments if segment.partition in partitions)
        if not kept:
            there = ", ".join(map(str, sorted({segment.partition for segment in sources.segments})))
            asked = ", ".join(map(str, partitions))
            raise SourceError(f"no segments of partition {asked} here, only of {there}")
        sources = replace(sources, segments=kept)
    names = topic_names(sources.log_dirs, topics_file)
    if latest:
        sources = one_replica_each(sources)
    else:
        sources = only_offsets(sources, wanted.first_offset, wanted.last_offset)
    return DecodedShareState(sources, wanted, latest=latest, names=names, hear=hear)


def _type_name(item: ShareRecord) -> str:
    if item.entry is not None:
        return type_name_of(item.entry.type)
    if item.read.record is None:
        return EMPTY_BATCH
    return UNDECODED if isinstance(item.read.entry, Undecodable) else CONTROL


def _place(item: ShareRecord) -> _Place:
    return item.read.segment.partition, -1 if item.read.record is None else item.read.record.offset
