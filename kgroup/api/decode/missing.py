"""Groups and topics that `kgroup decode` was asked for and the log does not have: usually misspelt."""

from collections.abc import Iterator, Sequence

from kgroup.api.decode.filter import Filter
from kgroup.api.decode.source import EntrySource
from kgroup.api.names import nothing_matches, without_match
from kgroup.log.files.entries import ReadRecord
from kgroup.log.format.batch import Batch, LogRecord
from kgroup.protocol.records.codec import decode_key
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.keys import Key, OffsetCommitKey, group_of


class NamesShown:
    """The groups and topics of the records that were shown, so far as names were asked for."""

    def __init__(self, wanted: Filter) -> None:
        self._groups = wanted.groups or ()
        self._topics = tuple(topic for topic, _ in wanted.topics or ())
        self._seen_groups: set[str] = set()
        self._seen_topics: set[str] = set()

    @property
    def asks(self) -> bool:
        """Whether names were asked for."""
        return bool(self._groups or self._topics)

    def add(self, read: ReadRecord) -> None:
        """Remember what a record that is shown is about."""
        if isinstance(read.entry, OffsetsEntry):
            self.add_key(read.entry.key)

    def add_key(self, key: Key) -> None:
        """The same of its key."""
        self._seen_groups.add(group_of(key))
        if isinstance(key, OffsetCommitKey):
            self._seen_topics.add(key.topic)

    def missing(self, source: EntrySource) -> Iterator[str]:
        """Names that were asked for and are nowhere in the log, with the nearest ones that are.

        Reads the keys of the whole log, unless all was shown that was asked for.
        """
        groups = without_match(self._groups, self._seen_groups)
        topics = without_match(self._topics, self._seen_topics)
        if not groups and not topics:
            return
        there = _Names()
        for _ in source.read(there):
            pass
        for kind, patterns, names in (("group", groups, there.groups), ("topic", topics, there.topics)):
            if absent := without_match(patterns, names):
                yield nothing_matches(kind, absent, names)


class _Names:
    """Takes no record, but the names out of the keys of all."""

    def __init__(self) -> None:
        self.groups: set[str] = set()
        self.topics: set[str] = set()
        self._keys: set[bytes] = set()

    def wants_batch(self, batch: Batch) -> bool:
        """See kgroup.log.files.entries.Selection."""
        return not batch.control

    def choose(self, batch: Batch, records: Sequence[LogRecord]) -> list[LogRecord]:
        """See kgroup.log.files.entries.Selection."""
        new = {record.key for record in records if record.key is not None} - self._keys
        self._keys |= new
        for key in new:
            if (decoded := decode_key(key)) is not None:
                about = decoded[1]
                self.groups.add(group_of(about))
                if isinstance(about, OffsetCommitKey):
                    self.topics.add(about.topic)
        return []
