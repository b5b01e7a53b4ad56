"""Blocks of records as text: JSON lines, CSV and table rows, byte for byte as the plain path makes them.

The kernel writes what nearly all records are, commits and what ends transactions; the text for a group, a
topic or a batch is made once. Anything else comes as records and goes through `RecordText`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from kgroup.log.files.entries import ReadRecord
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import TransactionOutcome
from kgroup.report.emit import Column, JsonText, Row, csv_field, csv_text, to_json
from kgroup.report.records.columns import COLUMNS
from kgroup.report.records.entry_json import TopicNames
from kgroup.report.records.programs import (
    SAMPLE_SEGMENT,
    Piece,
    Programs,
    batch_piece,
    batch_pieces,
    batch_words,
    csv_line,
    group_piece,
    key_pieces,
    place_pieces,
    programs_of,
    sample_batch,
    sample_read,
    size_pieces,
    transaction_pieces,
    value_pieces,
    written_by_hand,
)
from kgroup.report.records.record_json import batch_json, damage_json, group_of_record, place_json
from kgroup.report.records.record_text import RecordText
from kgroup.report.records.text_arena import EMPTY, TextArena, TextNumbers
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.keys import (
    GROUP,
    GROUP_TAG,
    PARTITION,
    TOPIC,
    TOPIC_TAG,
    Keys,
    ids_with_tag,
    string_bytes,
)
from kgroup.scan.kernels.records import Cell, Form, Head, Table
from kgroup.scan.kernels.text import SLACK, write_items
from kgroup.scan.reading.records import RecordBlock, RecordReader

_OUT_BYTES: Final = 4 << 20
_PENDING, _COMMITTED, _ABORTED = TransactionOutcome
Outcomes = Callable[[int, int], TransactionOutcome]
"""How the transaction of a producer's record at an offset ended."""
Transactions = NDArray[np.int64]
"""For each item what `OUTCOMES` has at this place."""
OUTCOMES: Final = (None, *TransactionOutcome)


class ItemText(ABC):
    """Writes blocks of one format; one serves a whole run. `end` is what a record ends with."""

    def __init__(self, names: TopicNames, end: str = "\n") -> None:
        self._names = names
        self._end = end
        self._plain = RecordText(names)
        self._segment: SegmentFile | None = None
        self._reader: RecordReader | None = None
        self._batch_programs = programs_of(map(self._batch_sample, (False, True)))
        self._item_programs = self._programs()
        self._out: Bytes = np.empty(_OUT_BYTES, np.uint8)
        self._batch_out: Bytes = np.empty(1 << 20, np.uint8)

    # ---- what a format is ---------------------------------------------------------------------------

    @abstractmethod
    def line(self, item: ReadRecord | Damage, outcome: TransactionOutcome | None) -> str:
        """A record or damaged place by the plain path, with its end."""

    @abstractmethod
    def _shown_json(self, text: str) -> str:
        """A whole field of JSON."""

    @abstractmethod
    def _programs(self) -> Programs:
        """The programs of all forms, by their numbers."""

    @abstractmethod
    def _place_text(self, segment: SegmentFile) -> str:
        """The text for the segment of a record."""

    def _inside_json(self, text: str) -> str:
        """A part of such a field."""
        return text

    def _batch_sample(self, has_horizon: bool) -> tuple[str, Sequence[Piece]]:
        """The text for a batch."""
        text = self._shown_json(to_json(batch_json(sample_batch(has_horizon=has_horizon))))
        return text, batch_pieces(has_horizon=has_horizon)

    def _which(self, cells: Table) -> NDArray[np.int64]:
        """The program of each item."""
        forms: NDArray[np.int64] = cells[Cell.FORM]
        return forms

    def _name_text(self, name: str) -> str:
        """The text for a group or a topic in the key of a commit or a tombstone."""
        return self._inside_json(to_json(name))

    def _group_field(self, group: str) -> str:
        """The text for the group next to the key."""
        return ""

    # ---- blocks -------------------------------------------------------------------------------------

    def write(
        self,
        segment: SegmentFile,
        reader: RecordReader,
        block: RecordBlock,
        items: NDArray[np.int64],
        transactions: Transactions | None,
        by_hand: Mapping[int, str],
    ) -> Iterator[Bytes]:
        """The text of these items of a block, in pieces that are good until the next is asked for.

        `by_hand` has what `line` says of those that are of form OTHER or EMPTY_BATCH.
        """
        self._begin(segment, reader)
        cells = block.cells
        self._number_texts(reader, cells, items)
        cells[Cell.PLACE_TEXT, : block.count] = self._place
        cells[Cell.TRANSACTION_TEXT, : block.count] = EMPTY
        if transactions is not None:
            cells[Cell.TRANSACTION_TEXT, : block.count] = self._outcome_texts[transactions]
        texts, spans = self._block_texts(block, items, by_hand)
        programs, kept, which = self._item_programs, self._kept, self._which(cells)
        ends = np.empty(len(items), np.int64)
        item = 0
        while item < len(items):
            end, at = write_items(
                items,
                item,
                cells,
                which,
                programs.starts,
                programs.steps,
                programs.literals,
                kept.texts,
                kept.spans,
                texts,
                spans,
                block.buffer,
                self._out,
                0,
                ends,
            )
            if end == item:  # one that is larger than all that there was before
                self._out = np.empty(2 * len(self._out), np.uint8)
                continue
            item = end
            yield self._out[:at]

    def _begin(self, segment: SegmentFile, reader: RecordReader) -> None:
        if reader is not self._reader:
            self._reader, self._segment = reader, None
            self._kept = TextArena()
            self._groups, self._group_fields = TextNumbers(), TextNumbers()
            self._topics, self._topic_ids = TextNumbers(), TextNumbers()
            self._topic_ids.put(0, EMPTY)
            self._words = {
                column: np.array([self._kept.add(word) for word in words], np.int64)
                for column, words in batch_words().items()
            }
            texts = [self._kept.add(self._outcome_text(outcome)) for outcome in TransactionOutcome]
            self._outcome_texts = np.array([EMPTY, *texts], np.int64)
        if segment is not self._segment:
            self._segment = segment
            self._place = self._kept.add(self._place_text(segment))

    @abstractmethod
    def _outcome_text(self, outcome: TransactionOutcome) -> str:
        """The text for the outcome of a record's transaction."""

    def _number_texts(self, reader: RecordReader, cells: Table, items: NDArray[np.int64]) -> None:
        """Fill the columns of partitions and of the texts of groups, topics and topic ids."""
        kept, strings = self._kept, reader.keys.strings
        plain = items[cells[Cell.FORM].take(items) <= Form.TOMBSTONE]
        key_ids = cells[Cell.KEY_ID].take(plain)
        groups, topics = strings[key_ids, GROUP], strings[key_ids, TOPIC]
        for number, group in _names(reader.keys, GROUP_TAG, self._groups.missing(groups)):
            self._groups.put(number, kept.add(self._name_text(group)))
            self._group_fields.put(number, kept.add(self._group_field(group)))
        for number, topic in _names(reader.keys, TOPIC_TAG, self._topics.missing(topics)):
            self._topics.put(number, kept.add(self._name_text(topic)))
        topic_ids = cells[Cell.TOPIC_ID].take(plain)
        for number in self._topic_ids.missing(topic_ids):
            topic_id = UUID(bytes=string_bytes(reader.topic_ids, number - 1))
            self._topic_ids.put(number, kept.add(self._inside_json(self._plain.topic_id(topic_id))))
        cells[Cell.PARTITION, plain] = strings[key_ids, PARTITION]
        cells[Cell.GROUP_TEXT, plain] = self._groups.of(groups)
        cells[Cell.GROUP_FIELD_TEXT, plain] = self._group_fields.of(groups)
        cells[Cell.TOPIC_TEXT, plain] = self._topics.of(topics)
        cells[Cell.TOPIC_ID_TEXT, plain] = self._topic_ids.of(topic_ids)

    def _block_texts(
        self, block: RecordBlock, items: NDArray[np.int64], by_hand: Mapping[int, str]
    ) -> tuple[Bytes, NDArray[np.int64]]:
        """The texts of the batches of the items, by their numbers, and behind them those made by hand."""
        cells, batches = block.cells, block.heads.shape[1]
        spans = np.zeros(2 * (batches + len(by_hand)), np.int64)
        self._write_batches(block, np.unique(cells[Cell.BATCH].take(items)), spans)
        used = int(spans.max(initial=0))
        encoded = [text.encode("utf-8", "backslashreplace") for text in by_hand.values()]
        if encoded:
            joined = b"".join(encoded) + bytes(SLACK)
            self._batch_out = np.concatenate([self._batch_out[:used], np.frombuffer(joined, np.uint8)])
            ends = used + np.cumsum([len(text) for text in encoded])
            spans[2 * batches + 1 :: 2] = ends
            spans[2 * batches :: 2] = np.concatenate([np.array([used]), ends[:-1]])
            cells[Cell.WHOLE_TEXT, list(by_hand)] = np.arange(batches, batches + len(encoded))
        return self._batch_out, spans

    def _write_batches(
        self, block: RecordBlock, numbers: NDArray[np.int64], spans: NDArray[np.int64]
    ) -> None:
        heads, programs, kept = block.heads.copy(), self._batch_programs, self._kept
        for column, words in self._words.items():
            heads[column] = words[heads[column]]
        ends = np.empty(len(numbers), np.int64)
        batch = at = 0
        while batch < len(numbers):
            batch, at = write_items(
                numbers,
                batch,
                heads,
                heads[Head.HAS_HORIZON],
                programs.starts,
                programs.steps,
                programs.literals,
                kept.texts,
                kept.spans,
                kept.texts,
                kept.spans,
                block.buffer,
                self._batch_out,
                at,
                ends,
            )
            if batch < len(numbers):
                self._batch_out = np.concatenate([self._batch_out, np.empty_like(self._batch_out)])
        spans[2 * numbers + 1] = ends
        spans[2 * numbers[1:]] = ends[:-1]


class JsonItems(ItemText):
    """A line of JSON for each record and damaged place."""

    def line(self, item: ReadRecord | Damage, outcome: TransactionOutcome | None) -> str:
        """See ItemText."""
        text = to_json(damage_json(item)) if isinstance(item, Damage) else self._plain.line(item, outcome)
        return to_json(JsonText(text)) + self._end

    def _shown_json(self, text: str) -> str:
        return text

    def _outcome_text(self, outcome: TransactionOutcome) -> str:
        return f', "transaction": {to_json(outcome.value)}'

    def _place_text(self, segment: SegmentFile) -> str:
        return to_json(place_json(segment))[1:-1]

    def _programs(self) -> Programs:
        samples = []
        for form in list(Form)[: Form.OTHER]:
            read, outcome = sample_read(form)
            pieces = [
                *place_pieces(self._place_text(SAMPLE_SEGMENT)),
                *size_pieces(form),
                *(key_pieces(self._inside_json) if form <= Form.TOMBSTONE else []),
                *value_pieces(form, self._inside_json),
                *transaction_pieces(form, self._outcome_text(_COMMITTED)),
                batch_piece(self._shown_json),
            ]
            samples.append((self.line(read, outcome), pieces))
        return programs_of([*samples, written_by_hand(), written_by_hand()])


class CsvItems(ItemText):
    """A line of CSV, in COLUMNS, for each record and damaged place."""

    def line(self, item: ReadRecord | Damage, outcome: TransactionOutcome | None) -> str:
        """See ItemText."""
        if isinstance(item, Damage):
            row: Row = damage_json(item)
        else:
            row = {**self._plain.flat(item, outcome), "group": group_of_record(item)}
        return csv_line([csv_field(row.get(column.name), column.kind) for column in COLUMNS])

    def _shown_json(self, text: str) -> str:
        return csv_text(text)

    def _inside_json(self, text: str) -> str:
        return text.replace('"', '""')

    def _group_field(self, group: str) -> str:
        return csv_text(csv_field(group, _column("group").kind))

    def _outcome_text(self, outcome: TransactionOutcome) -> str:
        return outcome.value

    def _place_text(self, segment: SegmentFile) -> str:
        fields = [csv_field(value, _column(name).kind) for name, value in place_json(segment).items()]
        return csv_line(fields).removesuffix("\n")

    def _programs(self) -> Programs:
        samples: list[tuple[str, Sequence[Piece]]] = []
        for form in list(Form)[: Form.OTHER]:
            read, outcome = sample_read(form)
            is_keyed = form <= Form.TOMBSTONE
            pieces = [
                *place_pieces(self._place_text(SAMPLE_SEGMENT)),
                *([group_piece(), *key_pieces(self._inside_json)] if is_keyed else []),
                *(value_pieces(form, self._inside_json) if is_keyed else []),
                *transaction_pieces(form, self._outcome_text(_COMMITTED)),
                batch_piece(self._shown_json),
            ]
            samples.append((self.line(read, outcome), pieces))
        return programs_of([*samples, written_by_hand(), written_by_hand()], quote='\\""')


def _names(keys: Keys, tag: int, numbers: list[int]) -> Iterator[tuple[int, str]]:
    """The groups or topics of these numbers."""
    if numbers:
        ids = ids_with_tag(keys, tag)
        for number in numbers:
            yield number, string_bytes(keys, int(ids[number])).decode()


def _column(name: str) -> Column:
    return next(column for column in COLUMNS if column.name == name)
