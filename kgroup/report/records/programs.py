"""Programs for `write_items`: how the kernel writes records and batches.

A program is the text of a sample, as the plain path makes it, with what differs from record to record cut
out of it. So there is one place that knows what a record looks like.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from kgroup.log.files.entries import ReadRecord
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.format.batch import Batch, LogRecord, TimestampType
from kgroup.log.format.compression import Codec
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, TransactionMarker, TransactionOutcome
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.report.emit import iso_time, to_json
from kgroup.report.records.record_json import batch_json
from kgroup.report.records.record_text import topic_id_text
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.records import Cell, Form, Head
from kgroup.scan.kernels.text import SLACK, Op

KEPT: Final = 0
"""The arena of texts that are kept for many blocks."""
OF_BLOCK: Final = 1
"""The arena of a block's own texts."""

Step = tuple[Op, int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a sample, and what comes in its place: a number, a text of some arena, or a metadata."""

    text: str
    op: Op
    column: int = 0
    arena: int = 0


@dataclass(frozen=True, slots=True)
class Programs:
    """The input of `write_items`: where each program begins, the steps of all, and their literals."""

    starts: NDArray[np.int64]
    steps: NDArray[np.int64]
    literals: Bytes


def programs_of(samples: Iterable[tuple[str, Sequence[Piece]]], quote: str = '\\"') -> Programs:
    """A program for each sample; its pieces are in it in this order. `quote` stands for a quotation mark."""
    marked = quote.encode()
    literals = bytearray(marked)
    starts, steps = [0], []

    def literal(text: str) -> None:
        encoded = text.encode("utf-8", "backslashreplace")
        if encoded:
            steps.append((Op.LITERAL, len(literals), len(encoded)))
            literals.extend(encoded)

    for text, pieces in samples:
        position = 0
        for piece in pieces:
            at = text.index(piece.text, position)
            literal(text[position:at])
            if piece.op is Op.METADATA:
                steps.append((piece.op, 0, len(marked)))
            else:
                steps.append((piece.op, piece.column, piece.arena))
            position = at + len(piece.text)
        literal(text[position:])
        starts.append(len(steps))
    flat = np.array(steps, np.int64).reshape(-1)
    return Programs(np.array(starts, np.int64), flat, np.frombuffer(literals + bytes(SLACK), np.uint8).copy())


def written_by_hand(end: str = "") -> tuple[str, Sequence[Piece]]:
    """The sample of an item whose text is made elsewhere."""
    return f"*{end}", [Piece("*", Op.TEXT, Cell.WHOLE_TEXT, OF_BLOCK)]


def csv_line(fields: Sequence[object]) -> str:
    """A line with its end."""
    line = StringIO()
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue()


# ---- samples ------------------------------------------------------------------------------------------

# Numbers that are found nowhere else in the text of a record.
_NUMBERS: Final = 7_310_000_000_000
_CELL_NUMBERS: Final = 1000
SAMPLE_SEGMENT: Final = SegmentFile(path="<segment>", topic=None, partition=_NUMBERS + 1, base_offset=None)
_KEY_BYTES: Final = 91_117
_VALUE_BYTES: Final = 93_139
_METADATA: Final = "<metadata>"
_KEY: Final = OffsetCommitKey(
    group="<group>", topic="<topic>", partition=_NUMBERS + _CELL_NUMBERS + Cell.PARTITION
)
_TOPIC_ID: Final = UUID(int=0x7C0FFEE << 64)
_MARKERS: Final = (Form.COMMITTED, Form.ABORTED)
_MARKER_BYTES: Final = (4, 6)
_FIRST_WITH_LEADER_EPOCH: Final = 3


def sample_batch(*, has_horizon: bool = False) -> Batch:
    """A batch each of whose numbers is `batch_number` of its column."""
    number = batch_number
    return Batch(
        position=number(Head.POSITION),
        size=number(Head.SIZE),
        magic=2,
        base_offset=number(Head.BASE_OFFSET),
        last_offset=number(Head.LAST_OFFSET),
        count=number(Head.COUNT),
        codec=Codec.NONE,
        timestamp_type=TimestampType.CREATE_TIME,
        max_timestamp_ms=number(Head.MAX_TIMESTAMP),
        crc=number(Head.CRC),
        producer_id=number(Head.PRODUCER_ID),
        producer_epoch=number(Head.PRODUCER_EPOCH),
        base_sequence=number(Head.BASE_SEQUENCE),
        leader_epoch=number(Head.LEADER_EPOCH),
        delete_horizon_ms=number(Head.DELETE_HORIZON) if has_horizon else None,
        records=tuple,
    )


def batch_number(column: Head) -> int:
    """The number that a sample has in this column."""
    return _NUMBERS + 100_000 + column


def batch_pieces(*, has_horizon: bool) -> list[Piece]:
    """The pieces of `batch_json(sample_batch())`. Words are texts that are kept, by the column's number."""

    def number(column: Head) -> Piece:
        return Piece(str(batch_number(column)), Op.INTEGER, column)

    def word(column: Head, text: str) -> Piece:
        return Piece(text, Op.TEXT, column, KEPT)

    pieces = [
        number(Head.POSITION),
        number(Head.SIZE),
        number(Head.BASE_OFFSET),
        number(Head.LAST_OFFSET),
        number(Head.COUNT),
        word(Head.CODEC, "none"),
        word(Head.LOG_APPEND_TIME, "CreateTime"),
        number(Head.MAX_TIMESTAMP),
        number(Head.CRC),
        word(Head.TRANSACTIONAL, "false"),
        word(Head.CONTROL, "false"),
        number(Head.PRODUCER_ID),
        number(Head.PRODUCER_EPOCH),
        number(Head.BASE_SEQUENCE),
        number(Head.LEADER_EPOCH),
    ]
    return [*pieces, *([number(Head.DELETE_HORIZON)] if has_horizon else [])]


def batch_words() -> dict[Head, list[str]]:
    """The words for each value of the columns that have words."""

    def shown(field: str, batch: Batch) -> str:
        value = batch_json(batch)[field]
        return value if isinstance(value, str) else to_json(value)

    sample = sample_batch()
    return {
        Head.CODEC: [shown("codec", replace(sample, codec=codec)) for codec in Codec],
        Head.LOG_APPEND_TIME: [
            shown("timestampType", replace(sample, timestamp_type=kind))
            for kind in (TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)
        ],
        Head.TRANSACTIONAL: [
            shown("transactional", replace(sample, transactional=value)) for value in (False, True)
        ],
        Head.CONTROL: [shown("control", replace(sample, control=value)) for value in (False, True)],
    }


def sample_read(form: Form) -> tuple[ReadRecord, TransactionOutcome | None]:
    """A record of this form, and the outcome of its transaction, if it can have one."""
    batch, is_marker = sample_batch(), form in _MARKERS
    key_bytes, value_bytes = _MARKER_BYTES if is_marker else (_KEY_BYTES, _VALUE_BYTES)
    record = LogRecord(
        _number(Cell.LOG_OFFSET),
        _number(Cell.TIMESTAMP),
        bytes(key_bytes),
        None if form is Form.TOMBSTONE else bytes(value_bytes),
    )
    if is_marker:
        marker = TransactionMarker(
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            committed=form is Form.COMMITTED,
            coordinator_epoch=_number(Cell.OFFSET),
        )
        return ReadRecord(SAMPLE_SEGMENT, batch, record, marker), None
    commit = OffsetCommitValue(
        offset=_number(Cell.OFFSET),
        leader_epoch=_number(Cell.LEADER_EPOCH),
        metadata=_METADATA,
        commit_timestamp=_number(Cell.COMMIT_TIMESTAMP),
        expire_timestamp=_number(Cell.EXPIRE_TIMESTAMP),
        topic_id=_TOPIC_ID if form is Form.COMMIT_4 else None,
    )
    entry = OffsetsEntry(RecordType.OFFSET_COMMIT, _KEY, None, None)
    if form is not Form.TOMBSTONE:
        entry = OffsetsEntry(RecordType.OFFSET_COMMIT, _KEY, commit, int(form))
    return ReadRecord(SAMPLE_SEGMENT, batch, record, entry), TransactionOutcome.COMMITTED


def place_pieces(place: str) -> list[Piece]:
    """The segment, of whose sample this is the text; offset and timestamp."""
    return [
        Piece(place, Op.TEXT, Cell.PLACE_TEXT),
        _integer(Cell.LOG_OFFSET),
        _integer(Cell.TIMESTAMP),
    ]


def size_pieces(form: Form) -> list[Piece]:
    """The sizes of key and value, where the form does not say them."""
    if form in _MARKERS:
        return []
    key = Piece(str(_KEY_BYTES), Op.INTEGER, Cell.KEY_SIZE)
    return [key] if form is Form.TOMBSTONE else [key, Piece(str(_VALUE_BYTES), Op.INTEGER, Cell.VALUE_SIZE)]


def group_piece() -> Piece:
    """The group of a commit or a tombstone, next to the key."""
    return Piece(_KEY.group, Op.TEXT, Cell.GROUP_FIELD_TEXT)


def key_pieces(shown: Callable[[str], str]) -> list[Piece]:
    """The key of a commit or a tombstone; `shown` is what becomes of the JSON of a name."""
    return [
        Piece(shown(to_json(_KEY.group)), Op.TEXT, Cell.GROUP_TEXT),
        Piece(shown(to_json(_KEY.topic)), Op.TEXT, Cell.TOPIC_TEXT),
        _integer(Cell.PARTITION),
    ]


def value_pieces(form: Form, shown: Callable[[str], str]) -> list[Piece]:
    """The pieces of a value, or of what a marker says."""
    if form in _MARKERS:
        return [_integer(Cell.OFFSET)]
    if form is Form.TOMBSTONE:
        return []
    topic_id = Piece(shown(topic_id_text(_TOPIC_ID, {})), Op.TEXT, Cell.TOPIC_ID_TEXT)
    return [
        _integer(Cell.OFFSET),
        *([_integer(Cell.LEADER_EPOCH)] if form >= _FIRST_WITH_LEADER_EPOCH else []),
        Piece(_METADATA, Op.METADATA),
        _integer(Cell.COMMIT_TIMESTAMP),
        *([_integer(Cell.EXPIRE_TIMESTAMP)] if form is Form.COMMIT_1 else []),
        *([topic_id] if form is Form.COMMIT_4 else []),
    ]


def transaction_pieces(form: Form, text: str) -> list[Piece]:
    """The pieces for the outcome of a transaction, which for most records is nothing."""
    return [] if form in _MARKERS else [Piece(text, Op.TEXT, Cell.TRANSACTION_TEXT)]


def batch_piece(shown: Callable[[str], str]) -> Piece:
    """The batch."""
    return Piece(shown(to_json(batch_json(sample_batch()))), Op.TEXT, Cell.BATCH, OF_BLOCK)


def table_pieces(
    form: Form, place_text: str, *, has_epoch: bool, has_metadata: bool, outcome: str, batch: str
) -> list[Piece]:
    """The pieces of a row of a table, of which these are texts."""
    place = [
        Piece(place_text, Op.TEXT, Cell.PLACE_TEXT),
        _integer(Cell.LOG_OFFSET),
        Piece(iso_time(_number(Cell.TIMESTAMP)), Op.TIME, Cell.TIMESTAMP),
    ]
    if form in _MARKERS:
        return [*place, Piece(batch, Op.TEXT, Cell.BATCH, OF_BLOCK)]
    is_commit = form is not Form.TOMBSTONE
    return [
        *place,
        group_piece(),
        Piece(_KEY.topic, Op.TEXT, Cell.TOPIC_TEXT),
        _integer(Cell.PARTITION),
        *([_integer(Cell.OFFSET)] if is_commit else []),
        *([_integer(Cell.LEADER_EPOCH)] if is_commit and has_epoch else []),
        *([Piece(_METADATA, Op.METADATA)] if is_commit and has_metadata else []),
        *transaction_pieces(form, outcome),
    ]


def _integer(column: Cell) -> Piece:
    return Piece(str(_number(column)), Op.INTEGER, column)


def _number(column: Cell) -> int:
    return _NUMBERS + _CELL_NUMBERS + column
