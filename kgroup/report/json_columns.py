"""Arrow columns as JSON, column by column: the same text that `to_json` makes row by row."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import compute

from kgroup.report.emit import to_json

if TYPE_CHECKING:
    ArrowColumn = pa.Array[Any]
else:
    ArrowColumn = pa.Array

_join: Any = compute.binary_join_element_wise  # typed for arrays only, it takes scalars among them


def json_objects(fields: Mapping[str, ArrowColumn], rows: int) -> ArrowColumn:
    """An object for each of `rows` rows; the fields are JSON already, as `json_values` makes it."""
    if not fields:
        return pa.repeat(pa.scalar("{}"), rows)
    pieces: list[ArrowColumn | str] = []
    for name, values in fields.items():
        pieces += [f"{', ' if pieces else '{'}{to_json(name)}: ", values]
    objects: ArrowColumn = _join(*pieces, "}", "")
    return objects


def json_values(column: ArrowColumn) -> ArrowColumn:
    """Numbers, booleans or texts as JSON, null where they are unknown."""
    if isinstance(column, pa.DictionaryArray):
        texts = json_values(column.dictionary).take(column.indices)
    elif pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        texts = column.cast(pa.string())
    else:
        plain = column.to_pylist()
        texts = pa.array([None if value is None else to_json(value) for value in plain], pa.string())
    return texts.fill_null("null")
