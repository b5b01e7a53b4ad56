"""The rows that `kgroup decode` shows, in each format."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from kgroup.api.decode.filter import Filter
from kgroup.api.decode.missing import NamesShown
from kgroup.api.decode.problems import Problems
from kgroup.api.decode.selection import Preselection
from kgroup.api.decode.source import EntrySource
from kgroup.history.groups.newest import NewestEntries
from kgroup.log.files.entries import ReadRecord, to_logged_entry
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import OffsetsEntry, Undecodable
from kgroup.protocol.records.keys import group_of
from kgroup.protocol.records.oddities import oddities
from kgroup.report.emit import Row, to_json
from kgroup.report.records.entry_json import TopicNames
from kgroup.report.records.entry_text import entry_text
from kgroup.report.records.record_json import damage_json
from kgroup.report.records.record_text import RecordText


def chosen(
    source: EntrySource,
    wanted: Filter,
    *,
    latest: bool,
    problems: Problems,
    shown: NamesShown,
    advance: Callable[[int], None],
) -> Iterator[ReadRecord | Damage]:
    """The records that are `wanted`, or only the newest of each key, and the damage between them.

    `advance` is told the size of each batch that is behind; with `latest` all are read twice.
    """
    kept = _offsets_that_count(source, wanted, advance) if latest else None
    for item in source.read(Preselection(wanted, advance)):
        if isinstance(item, Damage):
            problems.add_damage(item)
            yield item
            continue
        if isinstance(item.entry, Undecodable):
            problems.add_undecodable(item, item.entry.why)
        if wanted.wants(item) and (kept is None or _place(item) in kept):
            if isinstance(item.entry, OffsetsEntry) and (odd := oddities(item.entry)):
                problems.add_odd(item, odd)
            problems.shown += 1
            shown.add(item)
            yield item


def json_texts(items: Iterable[ReadRecord | Damage], source: EntrySource, names: TopicNames) -> Iterator[str]:
    """A JSON object for each."""
    text = RecordText(names)
    for item in items:
        if isinstance(item, Damage):
            yield to_json(damage_json(item))
        else:
            yield text.line(item, source.outcome(item))


def flat_rows(items: Iterable[ReadRecord | Damage], source: EntrySource, names: TopicNames) -> Iterator[Row]:
    """The same fields for CSV and Parquet, and the group whatever the key calls it."""
    text = RecordText(names)
    for item in items:
        if isinstance(item, Damage):
            yield damage_json(item)
        else:
            yield {**text.flat(item, source.outcome(item)), "group": _group(item)}


def table_rows(items: Iterable[ReadRecord | Damage], source: EntrySource, names: TopicNames) -> Iterator[Row]:
    """A few words for each record; damage is told on standard error."""
    return (_table_row(source, item, names) for item in items if not isinstance(item, Damage))


def _table_row(source: EntrySource, read: ReadRecord, names: TopicNames) -> Row:
    row: dict[str, object] = {"partition": read.segment.partition}
    if read.record is None or read.entry is None:
        batch = read.batch
        what = f"the cleaner took all of offsets {batch.base_offset} to {batch.last_offset}"
        return {**row, "offset": batch.base_offset, "what": what}
    outcome = source.outcome(read)
    what = entry_text(read.entry, names)
    return {
        **row,
        "offset": read.record.offset,
        "timestamp": read.record.timestamp_ms if read.record.timestamp_ms >= 0 else None,
        "group": _group(read),
        "what": f"{what} [{outcome.value}]" if outcome is not None else what,
    }


def _group(read: ReadRecord) -> str | None:
    return group_of(read.entry.key) if isinstance(read.entry, OffsetsEntry) else None


def _offsets_that_count(
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
