"""The commit keys of one offsets partition in order, and tables of rows that have them."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.scan.kernels.gather import Column, dtype_of, numbers
from kgroup.scan.kernels.keys import (
    COMMIT_TAG,
    GROUP,
    GROUP_TAG,
    PARTITION,
    TOPIC,
    TOPIC_TAG,
    Keys,
    ids_with_tag,
    key_count,
    string_bytes,
)
from kgroup.scan.reading.arrow import Dictionaries
from kgroup.scan.reading.order import ordered_by

Int64s = NDArray[np.int64]


class KeyOrder:
    """Keys by group, topic (by code point, as Python sorts) and partition."""

    def __init__(self, keys: Keys, offsets_partition: int) -> None:
        self._keys = keys
        self._offsets_partition = offsets_partition
        self._dictionaries = Dictionaries()

    @cached_property
    def _places(self) -> Int64s:
        keys = self._keys
        ids = ids_with_tag(keys, COMMIT_TAG)
        groups, topics = (_ranks(keys, tag) for tag in (GROUP_TAG, TOPIC_TAG))
        strings = keys.strings
        order = ordered_by(groups[strings[ids, GROUP]], topics[strings[ids, TOPIC]], strings[ids, PARTITION])
        places = np.zeros(key_count(keys), np.int64)
        places[ids[order]] = np.arange(len(ids))
        return places

    def places(self, key_ids: Int64s) -> Int64s:
        """Numbers that sort as the keys do."""
        return self._places[key_ids]

    def sorted(self, key_ids: Int64s) -> Int64s:
        """The ids in the order of their keys."""
        return key_ids[np.argsort(self.places(key_ids))]

    def table(self, key_ids: Int64s, columns: Mapping[str, Int64s], schema: pa.Schema) -> pa.Table:
        """A row for each id: `columns`, and of the key what else the schema has."""
        strings = self._keys.strings

        def column(field: "pa.Field[pa.DataType]") -> Column:
            match field.name:
                case "group":
                    return self._dictionaries.encode(self._keys, GROUP_TAG, strings[key_ids, GROUP])
                case "topic":
                    return self._dictionaries.encode(self._keys, TOPIC_TAG, strings[key_ids, TOPIC])
                case "partition":
                    values = strings[key_ids, PARTITION]
                case "offsets_partition":
                    values = np.full(len(key_ids), self._offsets_partition, np.int64)
                case name:
                    values = columns[name]
            return numbers(values.astype(dtype_of(field.type)))

        return pa.Table.from_arrays([column(field) for field in schema], schema=schema)


def _ranks(keys: Keys, tag: int) -> Int64s:
    """Each group's, or topic's, place among all names, by its number."""
    names = [string_bytes(keys, string).decode() for string in ids_with_tag(keys, tag).tolist()]
    ranks = np.empty(len(names), np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks
