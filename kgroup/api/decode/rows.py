"""The rows that `kgroup decode` shows, in each format."""

from collections.abc import Iterable, Iterator

from kgroup.api.decode.source import EntrySource
from kgroup.log.files.entries import ReadRecord
from kgroup.log.format.batch import Damage
from kgroup.report.emit import Row, to_json
from kgroup.report.records.entry_json import TopicNames
from kgroup.report.records.entry_text import table_row
from kgroup.report.records.record_json import damage_json, group_of_record
from kgroup.report.records.record_text import RecordText


def json_texts(items: Iterable[ReadRecord | Damage], source: EntrySource, names: TopicNames) -> Iterator[str]:
    """A JSON object for each."""
    text = RecordText(names)
    for item in items:
        if isinstance(item, Damage):
            yield to_json(damage_json(item))
        else:
            yield text.line(item, source.outcome(item))


def arrow_rows(items: Iterable[ReadRecord | Damage], source: EntrySource, names: TopicNames) -> Iterator[Row]:
    """The same fields in the columns of Arrow."""
    from kgroup.report.records.item_columns import record_row

    for item in items:
        yield record_row(item, None if isinstance(item, Damage) else source.outcome(item), names)


def csv_rows(items: Iterable[ReadRecord | Damage], source: EntrySource, names: TopicNames) -> Iterator[Row]:
    """The same fields for CSV, and the group whatever the key calls it."""
    text = RecordText(names)
    for item in items:
        if isinstance(item, Damage):
            yield damage_json(item)
        else:
            yield {**text.flat(item, source.outcome(item)), "group": group_of_record(item)}


def table_rows(items: Iterable[ReadRecord | Damage], source: EntrySource, names: TopicNames) -> Iterator[Row]:
    """A few words for each record; damage is reported on standard error."""
    return (table_row(item, source.outcome(item), names) for item in items if not isinstance(item, Damage))
