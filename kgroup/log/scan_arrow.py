"""Rows as Arrow columns: the schema of commits, and blocks of rows -> record batches."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.log.scan_gather import strings_at, topic_ids_at
from kgroup.log.scan_keys import Keys, Strings, as_arrow, string_count
from kgroup.log.scan_reader import RowBlock
from kgroup.log.scan_rows import Kind

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
`commit_timestamp` and `value_version` as well; its `metadata` is empty. `topic_id` is null where there is none.
"""

Number = TypeVar("Number", bound=np.generic)

# Above this many strings a batch gets a dictionary of its own, of the strings it uses.
_SHARED_DICTIONARY = 1 << 16


class Dictionaries:
    """The Arrow dictionaries of groups and topics, made again only when there are more of them."""

    def __init__(self) -> None:
        self._made: dict[str, pa.Array] = {}

    def encode(self, name: str, strings: Strings, ids: NDArray[np.int32]) -> pa.DictionaryArray:
        """The strings with these ids as a column."""
        if string_count(strings) > _SHARED_DICTIONARY:
            used, ids = np.unique(ids, return_inverse=True)
            return _dictionary_array(ids.astype(np.int32), as_arrow(strings, used))
        dictionary = self._made.get(name)
        if dictionary is None or len(dictionary) != string_count(strings):
            dictionary = self._made[name] = as_arrow(strings)
        return _dictionary_array(ids, dictionary)


def commits_of(
    block: RowBlock, keys: Keys, offsets_partition: int, columns: Sequence[str], dictionaries: Dictionaries
) -> pa.RecordBatch:
    """The commits and tombstones of a block, in log order; only the given columns of COMMIT_SCHEMA."""
    rows = block.rows
    chosen = np.flatnonzero(rows.kind[: block.count] <= Kind.TOMBSTONE)

    def taken(column: NDArray[Number]) -> NDArray[Number]:
        # A copy either way: the block's arrays will be filled again.
        return column[: block.count].copy() if len(chosen) == block.count else column[chosen]

    key_ids = taken(rows.key_id)
    makers: dict[str, Callable[[], pa.Array]] = {
        "offsets_partition": lambda: pa.array(np.full(len(chosen), offsets_partition, np.int32)),
        "log_offset": lambda: pa.array(taken(rows.log_offset)),
        "record_timestamp": lambda: pa.array(taken(rows.record_timestamp)),
        "producer_id": lambda: pa.array(taken(rows.producer_id)),
        "group": lambda: dictionaries.encode("group", keys.groups, keys.group_ids[key_ids]),
        "topic": lambda: dictionaries.encode("topic", keys.topics, keys.topic_ids[key_ids]),
        "partition": lambda: pa.array(keys.partitions[key_ids]),
        "tombstone": lambda: pa.array(taken(rows.kind) == Kind.TOMBSTONE),
        "offset": lambda: pa.array(taken(rows.offset)),
        "leader_epoch": lambda: pa.array(taken(rows.leader_epoch)),
        "metadata": lambda: strings_at(block.buffer, taken(rows.text_position), taken(rows.text_size)),
        "commit_timestamp": lambda: pa.array(taken(rows.commit_timestamp)),
        "expire_timestamp": lambda: pa.array(taken(rows.expire_timestamp)),
        "topic_id": lambda: topic_ids_at(block.buffer, taken(rows.topic_id_position)),
        "value_version": lambda: pa.array(taken(rows.value_version)),
    }
    return pa.RecordBatch.from_arrays([makers[name]() for name in columns], schema=schema_of(columns))


def schema_of(columns: Sequence[str]) -> pa.Schema:
    """COMMIT_SCHEMA with only these columns, in this order."""
    return pa.schema([COMMIT_SCHEMA.field(name) for name in columns])


def _dictionary_array(ids: NDArray[np.int32], dictionary: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(ids), dictionary, safe=False)
