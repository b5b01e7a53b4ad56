"""The records that match a filter, or only the newest of each key among them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from kgroup.api.decode.filter import Filter
from kgroup.api.decode.missing import NamesShown
from kgroup.api.decode.problems import Problems
from kgroup.api.decode.selection import Preselection
from kgroup.api.decode.source import EntrySource
from kgroup.history.groups.newest import NewestEntries
from kgroup.log.files.entries import ReadRecord, to_logged_entry
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import OffsetsEntry, Undecodable
from kgroup.protocol.records.keys import Key
from kgroup.protocol.records.oddities import oddities


@dataclass(frozen=True, slots=True)
class Choice:
    """The `wanted` records, and those found so far: `problems` and names are added to.

    `kept` are the partitions and offsets of the records that count, None if all do.
    """

    wanted: Filter
    kept: set[tuple[int, int]] | None
    problems: Problems
    shown: NamesShown

    def of(self, items: Iterable[ReadRecord | Damage]) -> Iterator[ReadRecord | Damage]:
        """The records that are chosen, and all damage."""
        problems, wanted, kept = self.problems, self.wanted, self.kept
        takes_all, asks_names = wanted.takes_all, self.shown.asks
        for item in items:
            if isinstance(item, Damage):
                problems.add_damage(item)
                yield item
                continue
            if isinstance(item.entry, Undecodable):
                problems.add_undecodable(item, item.entry.why)
            if (takes_all or wanted.wants(item)) and (kept is None or _place(item) in kept):
                if isinstance(item.entry, OffsetsEntry) and (odd := oddities(item.entry)):
                    problems.add_odd(item, odd)
                problems.shown += 1
                if asks_names:
                    self.shown.add(item)
                yield item

    def add_plain(self, count: int, keys: Iterable[Key]) -> None:
        """Count records that were chosen elsewhere; nothing is wrong with them. `keys` are what they say."""
        self.problems.shown += count
        for key in keys:
            self.shown.add_key(key)


def offsets_that_count(
    source: EntrySource, wanted: Filter, advance: Callable[[int], None]
) -> set[tuple[int, int]]:
    """Partition and offset of the newest record of each key, where `wanted` ends the log."""
    # What came before the time or offset asked for, and deletions, decide what is left of it.
    history = replace(wanted, since_ms=None, first_offset=None, tombstones=False)
    newest = NewestEntries()
    for item in source.read(Preselection(history, advance)):
        if isinstance(item, Damage) or item.record is None or item.entry is None:
            continue
        if wanted.is_before_end(item):
            newest.add(to_logged_entry(item.segment.partition, item.batch, item.record, item.entry))
    kept = {(logged.partition, logged.offset) for logged in newest.commits()}
    return kept | {(logged.partition, logged.offset) for logged in newest.others()}


def _place(read: ReadRecord) -> tuple[int, int]:
    return read.segment.partition, -1 if read.record is None else read.record.offset
