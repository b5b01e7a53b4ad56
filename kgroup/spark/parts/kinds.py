"""The kinds of values that executors pass on: `pack` turns one into bytes, `unpack` turns it back.

A kind whose tables change, or what they mean, gets another version; bytes of other versions are refused.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from kgroup.scan.reductions.history import History
from kgroup.scan.reductions.keyed_rows import KeyedCommits, KeyedRows
from kgroup.scan.reductions.last_commits import LastPart
from kgroup.scan.reductions.newest import Newest
from kgroup.spark.parts import keyed, reduced
from kgroup.spark.parts.packing import (
    DamagedPartError,
    packed_contents,
    packed_table,
    unpacked_contents,
    unpacked_table,
)


@dataclass(frozen=True, slots=True)
class Note:
    """A message from an executor, next to its rows, in JSON's types."""

    value: Any


@dataclass(frozen=True, slots=True)
class _Kind:
    """Values of one class. `schemas` are of its tables by name, None for one that may have any."""

    name: str
    version: int
    schemas: Mapping[str, pa.Schema | None]
    tables: Callable[[Any], reduced.Tables]
    value: Callable[[reduced.Tables], Any]


_KINDS: Final[Mapping[type, _Kind]] = {
    Newest: _Kind("newest", 1, reduced.NEWEST_TABLES, reduced.newest_tables, reduced.newest_of),
    LastPart: _Kind("last-commits", 1, reduced.LAST_TABLES, reduced.last_tables, reduced.last_of),
    History: _Kind("history", 1, reduced.HISTORY_TABLES, reduced.history_tables, reduced.history_of),
    KeyedRows: _Kind("keyed-rows", 1, keyed.ROWS_TABLES, keyed.rows_tables, keyed.rows_of),
    KeyedCommits: _Kind("keyed-commits", 1, keyed.COMMITS_TABLES, keyed.commits_tables, keyed.commits_of),
}
_BY_NAME: Final = {kind.name: kind for kind in _KINDS.values()}

# Without tables of their own: several parts side by side, as `Both` leaves them, plain values and notes.
_BOTH: Final = "both"
_JSON: Final = "json"
_NOTE: Final = "note"
_PLAIN_VERSION: Final = 1


def pack(value: Any) -> bytes:
    """The bytes of what a reduction leaves, of keyed rows, a tuple of such, a note, or what JSON has."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        tables = kind.tables(value)
        return packed_contents(
            kind.name, kind.version, {name: packed_table(table) for name, table in tables.items()}
        )
    if isinstance(value, tuple):
        parts = {str(number): pack(part) for number, part in enumerate(value)}
        return packed_contents(_BOTH, _PLAIN_VERSION, parts)
    name, plain = (_NOTE, value.value) if isinstance(value, Note) else (_JSON, value)
    return packed_contents(name, _PLAIN_VERSION, {_JSON: json.dumps(plain).encode()})


def unpack(packed: bytes) -> Any:
    """The value in bytes that `pack` made. Raises DamagedPartError for others, and for other versions."""
    name, version, contents = unpacked_contents(packed)
    kind = _BY_NAME.get(name)
    known_version = _PLAIN_VERSION if kind is None else kind.version
    if (kind is None and name not in (_BOTH, _JSON, _NOTE)) or version != known_version:
        raise DamagedPartError(
            f"a part of a log is of a form that this kgroup does not know: {name} {version}"
        )
    if kind is not None:
        return kind.value(_tables(kind, contents))
    if name == _BOTH:
        return tuple(map(unpack, contents.values()))
    value = json.loads(contents[_JSON])
    return Note(value) if name == _NOTE else value


def _tables(kind: _Kind, contents: Mapping[str, bytes]) -> reduced.Tables:
    if contents.keys() != kind.schemas.keys():
        raise DamagedPartError(f"a part of a log has other tables than {kind.name} {kind.version}")
    tables = {name: unpacked_table(content) for name, content in contents.items()}
    for name, schema in kind.schemas.items():
        if schema is not None and tables[name].schema != schema:
            raise DamagedPartError(
                f"a part of a log has other columns in {name} than {kind.name} {kind.version}"
            )
    return tables
