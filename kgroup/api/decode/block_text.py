"""The text and tables of `kgroup decode`, made from blocks."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from kgroup.api.decode.blocks import ChosenItems
from kgroup.api.decode.source import FileSource
from kgroup.log.files.entries import ReadRecord
from kgroup.log.format.batch import Damage
from kgroup.report.emit import Row
from kgroup.report.records.item_text import OUTCOMES, ItemText, Transactions
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.records import Cell, Head

if TYPE_CHECKING:
    import pyarrow as pa

    from kgroup.report.records.item_columns import ItemColumns


def block_texts(
    items: Iterable[ChosenItems | ReadRecord | Damage], source: FileSource, text: ItemText
) -> Iterator[bytes | Bytes]:
    """The lines of these records; each piece is good until the next is asked for."""
    for item in items:
        if isinstance(item, ChosenItems):
            of = item.of
            by_hand = {number: text.line(read, source.outcome(read)) for number, read in item.records.items()}
            outcomes = transactions(item, source)
            yield from text.write(of.segment, of.reader, of.block, item.items, outcomes, by_hand)
        else:
            outcome = None if isinstance(item, Damage) else source.outcome(item)
            yield text.line(item, outcome).encode("utf-8", "backslashreplace")


def block_tables(
    items: Iterable[ChosenItems | ReadRecord | Damage], source: FileSource, columns: "ItemColumns"
) -> "Iterator[pa.Table | Row]":
    """The same as tables, and as rows where a block has them only so."""
    for item in items:
        if isinstance(item, ChosenItems):
            of = item.of
            by_hand = {
                number: columns.flat(read, source.outcome(read)) for number, read in item.records.items()
            }
            outcomes = transactions(item, source)
            yield from columns.pieces(of.segment, of.reader, of.block, item.items, outcomes, by_hand)
        else:
            yield columns.flat(item, None if isinstance(item, Damage) else source.outcome(item))


def transactions(chosen: ChosenItems, source: FileSource) -> Transactions | None:
    """The outcome of each item's transaction; None if no item of the block is in one."""
    of = chosen.of
    heads, offsets = of.block.heads, of.block.cells[Cell.LOG_OFFSET, : of.block.count]
    is_open = (heads[Head.TRANSACTIONAL] == 1) & (heads[Head.CONTROL] == 0)
    if not is_open.any():
        return None
    outcomes = np.zeros(of.block.count, np.int64)
    ends = np.append(heads[Head.FIRST_ITEM, 1:], of.block.count)
    for batch in np.flatnonzero(is_open).tolist():
        first, end = int(heads[Head.FIRST_ITEM, batch]), int(ends[batch])
        producer_id = int(heads[Head.PRODUCER_ID, batch])
        of_batch = offsets[first:end].tolist()
        outcome = source.outcomes.of_all(of.segment, producer_id, min(of_batch), max(of_batch))
        if outcome is not None:
            outcomes[first:end] = OUTCOMES.index(outcome)
            continue
        for item, offset in enumerate(of_batch, first):
            outcome = source.outcomes.of_producer(of.segment, producer_id, offset)
            outcomes[item] = OUTCOMES.index(outcome)
    return outcomes
