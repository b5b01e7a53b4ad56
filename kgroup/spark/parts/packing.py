"""Named contents in one byte string, with the kind of the whole, its version and a checksum.

    magic "KGP1" | CRC-32 of what follows, little-endian | an Arrow IPC stream

The stream's schema has kind and version as metadata; its one batch has a row for each content: `name` and
`content`, which is an Arrow IPC stream again, of a table, or another such piece. The checksum is looked at
before anything else, as Arrow believes what it is given.
"""

from collections.abc import Mapping
from struct import Struct, error
from typing import Final, Literal
from zlib import crc32

import pyarrow as pa

from kgroup.errors import KgroupError

_MAGIC: Final = b"KGP1"
_FRAME: Final = Struct("<4sI")
_KIND: Final = b"kgroup.kind"
_VERSION: Final = b"kgroup.version"
_NAMES: list[tuple[str, pa.DataType]] = [("name", pa.string()), ("content", pa.binary())]


class DamagedPartError(KgroupError):
    """Bytes that hold no part, or one that this kgroup does not know; the message says which."""


def packed_contents(kind: str, version: int, contents: Mapping[str, bytes]) -> bytes:
    """Pack contents, which `unpacked_contents` gives back."""
    schema = pa.schema(_NAMES, metadata={_KIND: kind, _VERSION: str(version)})
    rows = [{"name": name, "content": content} for name, content in contents.items()]
    stream = _stream(pa.Table.from_pylist(rows, schema=schema))
    return _FRAME.pack(_MAGIC, crc32(stream)) + memoryview(stream)


def unpacked_contents(packed: bytes) -> tuple[str, int, dict[str, bytes]]:
    """The kind, its version and the contents. Raises DamagedPartError for bytes that are not whole."""
    try:
        magic, checksum = _FRAME.unpack_from(packed)
    except error:
        raise DamagedPartError(f"{len(packed)} bytes are not part of a log") from None
    stream = memoryview(packed)[_FRAME.size :]
    if magic != _MAGIC:
        raise DamagedPartError("the bytes are not part of a log")
    if checksum != crc32(stream):
        raise DamagedPartError("a part of a log is damaged: its checksum is wrong")
    table = unpacked_table(stream)
    metadata = table.schema.metadata or {}
    contents = {str(row["name"]): bytes(row["content"]) for row in table.to_pylist()}
    return metadata[_KIND].decode(), int(metadata[_VERSION]), contents


def packed_table(table: pa.Table) -> bytes:
    """A table as an Arrow stream; its columns are compressed one by one."""
    return _stream(table, compression="lz4").to_pybytes()


def unpacked_table(packed: bytes | memoryview) -> pa.Table:
    """The table of an Arrow stream."""
    with pa.ipc.open_stream(pa.py_buffer(packed)) as reader:
        return reader.read_all()


def _stream(table: pa.Table, compression: Literal["lz4"] | None = None) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()
