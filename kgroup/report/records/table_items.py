"""Blocks of records as the rows of a table, cell by cell; `report.table_text` lays them out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgroup.log.files.entries import ReadRecord
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import OffsetsEntry, TransactionOutcome
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.report.emit import Kind, Row, cell
from kgroup.report.records.columns import TABLE_COLUMNS
from kgroup.report.records.entry_text import table_row
from kgroup.report.records.item_text import ItemText
from kgroup.report.records.programs import (
    SAMPLE_SEGMENT,
    Piece,
    Programs,
    batch_number,
    programs_of,
    sample_read,
    table_pieces,
    written_by_hand,
)
from kgroup.report.table import printable_name
from kgroup.report.table_text import CELL_END, ROW_END
from kgroup.scan.kernels.records import Cell, Form, Head, Table
from kgroup.scan.kernels.text import Op

_WITH_EPOCH: Final = 1
_WITH_METADATA: Final = 2
_VARIANTS: Final = 4


class TableItems(ItemText):
    """A row in TABLE_COLUMNS for each record; damage is reported on standard error."""

    def line(self, item: ReadRecord | Damage, outcome: TransactionOutcome | None) -> str:
        """See ItemText."""
        if isinstance(item, Damage):
            return ""
        return _cells(table_row(item, outcome, self._names))

    def _shown_json(self, text: str) -> str:
        return text

    def _inside_json(self, text: str) -> str:
        return ""  # topic ids are in no table

    def _batch_sample(self, has_horizon: bool) -> tuple[str, Sequence[Piece]]:
        return _PRODUCER, [
            Piece(str(batch_number(head)), Op.INTEGER, head)
            for head in (Head.PRODUCER_ID, Head.PRODUCER_EPOCH)
        ]

    def _which(self, cells: Table) -> NDArray[np.int64]:
        forms = cells[Cell.FORM]
        has_epoch, has_metadata = cells[Cell.LEADER_EPOCH] >= 0, cells[Cell.TEXT_SIZE] > 0
        variants = _WITH_EPOCH * has_epoch + _WITH_METADATA * has_metadata
        which: NDArray[np.int64] = np.where(forms < Form.TOMBSTONE, forms + len(Form) * variants, forms)
        return which

    def _name_text(self, name: str) -> str:
        return printable_name(name)

    def _group_field(self, group: str) -> str:
        return cell(group, _kind("group"))

    def _outcome_text(self, outcome: TransactionOutcome) -> str:
        return _outcome_text(outcome)

    def _place_text(self, segment: SegmentFile) -> str:
        return cell(segment.partition, _kind("partition"))

    def _programs(self) -> Programs:
        return programs_of(_samples(self._place_text(SAMPLE_SEGMENT)), quote='"')


def _samples(place_text: str) -> Iterator[tuple[str, Sequence[Piece]]]:
    """All forms, as often as there are variants of commits."""
    for variant, form in product(range(_VARIANTS), Form):
        if form >= Form.OTHER:
            yield written_by_hand()
            continue
        read, outcome = sample_read(form)
        has_epoch, has_metadata = variant & _WITH_EPOCH > 0, variant & _WITH_METADATA > 0
        if isinstance(read.entry, OffsetsEntry) and isinstance(read.entry.value, OffsetCommitValue):
            value = read.entry.value if has_epoch else replace(read.entry.value, leader_epoch=-1)
            value = value if has_metadata else replace(value, metadata="")
            read = read._replace(entry=read.entry._replace(value=value))
        pieces = table_pieces(
            form,
            place_text,
            has_epoch=has_epoch,
            has_metadata=has_metadata,
            outcome=_outcome_text(TransactionOutcome.COMMITTED),
            batch=_PRODUCER,
        )
        yield _cells(table_row(read, outcome, {})), pieces


def _cells(row: Row) -> str:
    return CELL_END.join(cell(row.get(column.name), column.kind) for column in TABLE_COLUMNS) + ROW_END


def _outcome_text(outcome: TransactionOutcome) -> str:
    return f" [{outcome.value}]"


def _kind(name: str) -> Kind:
    return next(column.kind for column in TABLE_COLUMNS if column.name == name)


_PRODUCER: Final = f"producer {batch_number(Head.PRODUCER_ID)}, epoch {batch_number(Head.PRODUCER_EPOCH)}"
