"""Rows as Arrow columns: the schema of commits, and blocks of rows -> record batches."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.scan.kernels.gather import Column, numbers, strings_at, topic_ids_at
from kgroup.scan.kernels.keys import (
    GROUP,
    GROUP_TAG,
    PARTITION,
    START,
    TOPIC,
    TOPIC_TAG,
    Keys,
    group_count,
    ids_with_tag,
    topic_count,
)
from kgroup.scan.kernels.rows import (
    COMMIT_TIMESTAMP,
    EXPIRE_TIMESTAMP,
    KEY_ID,
    KIND,
    LEADER_EPOCH,
    LOG_OFFSET,
    OFFSET,
    PRODUCER_ID,
    RECORD_TIMESTAMP,
    TEXT_POSITION,
    TEXT_SIZE,
    TOMBSTONE,
    TOPIC_ID_POSITION,
    VALUE_VERSION,
)
from kgroup.scan.reading.reader import RowBlock

COMMIT_SCHEMA: Final = pa.schema(
    [
        pa.field("offsets_partition", pa.int32(), nullable=False),
        pa.field("log_offset", pa.int64(), nullable=False),
        pa.field("record_timestamp", pa.int64(), nullable=False),
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("group", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("tombstone", pa.bool_(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("leader_epoch", pa.int32(), nullable=False),
        pa.field("metadata", pa.string(), nullable=False),
        pa.field("commit_timestamp", pa.int64(), nullable=False),
        pa.field("expire_timestamp", pa.int64(), nullable=False),
        pa.field("topic_id", pa.binary(16), nullable=True),
        pa.field("value_version", pa.int16(), nullable=False),
    ]
)
"""One commit or tombstone per row. Times are epoch ms. `producer_id` is -1 outside transactions.

What a record does not say is -1: `leader_epoch`, `expire_timestamp`, and of a tombstone `offset`,
`commit_timestamp` and `value_version` as well; its `metadata` is empty. `topic_id` is null where there
is none.
"""

# Above this many strings a batch gets a dictionary of its own, of the strings it uses.
_SHARED_DICTIONARY = 1 << 16


class Dictionaries:
    """The Arrow dictionaries of groups and topics, made again only when there are more of them."""

    def __init__(self) -> None:
        self._made: dict[int, Column] = {}

    def encode(self, keys: Keys, tag: int, numbers: NDArray[np.int64]) -> Column:
        """The groups or topics with these numbers as a column."""
        count = group_count(keys) if tag == GROUP_TAG else topic_count(keys)
        if count > _SHARED_DICTIONARY:
            used, places = np.unique(numbers, return_inverse=True)
            return _dictionary_array(places, _strings(keys, ids_with_tag(keys, tag)[used]))
        dictionary = self._made.get(tag)
        if dictionary is None or len(dictionary) != count:
            dictionary = self._made[tag] = _strings(keys, ids_with_tag(keys, tag))
        return _dictionary_array(numbers, dictionary)


def commits_of(
    block: RowBlock, keys: Keys, offsets_partition: int, columns: Sequence[str], dictionaries: Dictionaries
) -> pa.RecordBatch:
    """The commits and tombstones of a block, in log order; only the given columns of COMMIT_SCHEMA."""
    rows = block.rows
    chosen = np.flatnonzero(rows[KIND, : block.count] <= TOMBSTONE)
    count = len(chosen)

    def of_row(column: int, dtype: type[np.generic] = np.int64) -> NDArray[np.int64]:
        # A copy in any case: the block will be filled again.
        values: NDArray[np.int64] = rows[column, : block.count]
        if count == block.count:
            return values.astype(dtype)
        return values.take(chosen).astype(dtype, copy=False)

    def of_key(column: int) -> NDArray[np.int64]:
        values: NDArray[np.int64] = keys.strings[of_row(KEY_ID), column]
        return values

    values: dict[str, Callable[[], NDArray[np.generic] | Column]] = {
        "offsets_partition": lambda: np.full(count, offsets_partition, np.int32),
        "log_offset": lambda: of_row(LOG_OFFSET),
        "record_timestamp": lambda: of_row(RECORD_TIMESTAMP),
        "producer_id": lambda: of_row(PRODUCER_ID),
        "group": lambda: dictionaries.encode(keys, GROUP_TAG, of_key(GROUP)),
        "topic": lambda: dictionaries.encode(keys, TOPIC_TAG, of_key(TOPIC)),
        "partition": lambda: of_key(PARTITION).astype(np.int32),
        "tombstone": lambda: of_row(KIND) == TOMBSTONE,
        "offset": lambda: of_row(OFFSET),
        "leader_epoch": lambda: of_row(LEADER_EPOCH, np.int32),
        "metadata": lambda: strings_at(block.buffer, of_row(TEXT_POSITION), of_row(TEXT_SIZE)),
        "commit_timestamp": lambda: of_row(COMMIT_TIMESTAMP),
        "expire_timestamp": lambda: of_row(EXPIRE_TIMESTAMP),
        "topic_id": lambda: topic_ids_at(block.buffer, of_row(TOPIC_ID_POSITION)),
        "value_version": lambda: of_row(VALUE_VERSION, np.int16),
    }
    arrays = [values[name]() for name in columns]
    return pa.RecordBatch.from_arrays(
        [numbers(array) if isinstance(array, np.ndarray) else array for array in arrays],
        schema=schema_of(columns),
    )


def _strings(keys: Keys, ids: NDArray[np.int64]) -> Column:
    starts = keys.strings[ids, START]
    return strings_at(keys.arena, starts, keys.strings[ids + 1, START] - starts)


def schema_of(columns: Sequence[str]) -> pa.Schema:
    """COMMIT_SCHEMA with only these columns, in this order."""
    return pa.schema([COMMIT_SCHEMA.field(name) for name in columns])


def _dictionary_array(ids: NDArray[np.int64], dictionary: Column) -> Column:
    return pa.DictionaryArray.from_arrays(numbers(ids.astype(np.int32)), dictionary, safe=False)
