"""The answer to a Fetch in pieces: headers and fields apart from the records, which are not copied.

At each of its three levels the field that grows is the last one, and only tagged fields follow, of which a
node sends none. So each level is written with that field empty by kafka-python's codec, and then filled in.
"""

import struct
from typing import Any, Final

from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.schemas.fields.codecs import EncodeBufferPool

from kgroup.log.store.stretch import Stretch
from kgroup.wire.frames import Api
from kgroup.wire.response_encoder import unsigned_varint

_INT: Final = struct.Struct(">i")
_NO_TAGS: Final = b"\0"
_TOPIC: Final = FetchResponse.FetchableTopicResponse
_PARTITION: Final = _TOPIC.PartitionData
_Pieces = list[bytes | Stretch]


def encode_in_pieces(
    api: Api, body: Any, version: int, correlation_id: int
) -> tuple[bytes, tuple[bytes | Stretch, ...]]:
    """The frame of a FetchResponse: its beginning, with the length of all of it, and the rest.

    Partitions have a Stretch for their records, or what the codec takes. The body is empty afterwards.
    """
    flexible = api.is_flexible(version)
    topics, body.responses = body.responses, []
    pieces: _Pieces = [_filled(api.encode(body, version, correlation_id), len(topics), flexible)]
    for topic in topics:
        partitions, topic.partitions = topic.partitions, []
        pieces.append(_filled(_encoded(_TOPIC, topic, version, flexible), len(partitions), flexible))
        for partition in partitions:
            records = partition.records
            if not isinstance(records, Stretch):
                pieces.append(_encoded(_PARTITION, partition, version, flexible))
                continue
            partition.records = b""
            pieces.append(_filled(_encoded(_PARTITION, partition, version, flexible), records.size, flexible))
            pieces.append(records)
            _close(pieces, flexible)
        _close(pieces, flexible)
    _close(pieces, flexible)
    first, *rest = _joined(pieces)
    assert isinstance(first, bytes)
    size = len(first) + sum(piece.size if isinstance(piece, Stretch) else len(piece) for piece in rest)
    return _INT.pack(size - _INT.size) + first[_INT.size :], tuple(rest)


def _encoded(kind: Any, value: Any, version: int, flexible: bool) -> bytes:
    encode = kind._struct.array_of.compiled_encode_into(version, compact=flexible, tagged=flexible)
    with EncodeBufferPool.acquire() as out:
        encode(value, out)
        return bytes(out.result())


def _filled(encoded: bytes, size: int, flexible: bool) -> bytes:
    """The encoding up to and including its last field, written empty, which gets this size instead."""
    if not flexible:
        assert encoded.endswith(bytes(_INT.size))
        return encoded[: -_INT.size] + _INT.pack(size)
    empty = b"\1" + _NO_TAGS
    assert encoded.endswith(empty)
    return encoded[: -len(empty)] + unsigned_varint(size + 1)


def _close(pieces: _Pieces, flexible: bool) -> None:
    if flexible:
        pieces.append(_NO_TAGS)


def _joined(pieces: _Pieces) -> _Pieces:
    """Bytes that follow each other become one piece."""
    joined: _Pieces = []
    between = bytearray()
    for piece in pieces:
        if isinstance(piece, bytes):
            between += piece
        elif piece.size:
            joined += [bytes(between), piece]
            between.clear()
    if between:
        joined.append(bytes(between))
    return joined
