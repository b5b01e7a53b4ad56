"""The four codecs of Kafka batches: `decompress`, `unpack_in_pieces` for large ones, and `compress`.

Kafka's own framings are handled here: snappy as a raw block (librdkafka) or in the blocks of snappy-java
("xerial"), and the lz4 frames of the message formats 0 and 1, whose header checksum Kafka got wrong (KIP-57).
"""

import mmap
import struct
import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Final, Literal

from kgroup.errors import DecodeError


class Codec(IntEnum):
    """Compression codec: the low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# Limits against payloads made to exhaust memory or time: no more than this comes out of one batch. Kafka
# itself has none; its brokers only limit the packed size (max.message.bytes, 1 MiB by default).
MAX_UNPACKED_BYTES: Final = 256 * 1024 * 1024
# What comes out of a larger batch is never held whole, but goes by in pieces.
WHOLE_BYTES: Final = 16 * 1024 * 1024
PIECE_BYTES: Final = 1024 * 1024

_SCRATCH_MIN: Final = 64 * 1024
_SCRATCH_MAX: Final = 4 * 1024 * 1024
_SCRATCH_RATIO: Final = 16

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK: Final = 32 * 1024
# A snappy copy makes at most 64 bytes out of 2.
_SNAPPY_RATIO_MAX: Final = 64

_GZIP_WBITS: Final = 31  # zlib's for a gzip header and trailer

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_BLOCK: Final = 64 * 1024
_LZ4_STORED: Final = 0x80000000


def decompress_small(codec: Codec, payload: bytes) -> bytes | None:
    """Unpack the payload of a batch; None if more than `WHOLE_BYTES` come out of it.

    Raises DecodeError if it is damaged.
    """
    if codec is Codec.NONE:
        return payload
    try:
        return decompress(codec, payload, bytes_max=WHOLE_BYTES)
    except DecodeError as error:
        # A codec does not tell damage from too little room: it is known by what comes out bit by bit.
        size = 0
        try:
            for piece in unpack_in_pieces(codec, payload):
                size += len(piece)
                if size > WHOLE_BYTES:
                    return None
        except DecodeError:
            pass
        raise error


def unpack_in_pieces(codec: Codec, payload: bytes) -> Iterator[bytes]:
    """The result of `decompress` in pieces of about `PIECE_BYTES`: no more than one of them is in memory.

    Only a block of snappy is unpacked as a whole. Raises DecodeError, maybe after some pieces.
    """
    pieces: Iterator[bytes]
    match codec:
        case Codec.NONE:
            pieces = (payload[at : at + PIECE_BYTES] for at in range(0, len(payload), PIECE_BYTES))
        case Codec.GZIP:
            pieces = _gzip_pieces(payload)
        case Codec.SNAPPY:
            blocks = _xerial_blocks(payload) if payload.startswith(_XERIAL_MAGIC) else iter([payload])
            limit = MAX_UNPACKED_BYTES
            pieces = (_unpack_snappy_block(block, payload, limit=limit) for block in blocks)
        case Codec.LZ4:
            pieces = _stream_pieces(codec, "lz4", payload)
        case Codec.ZSTD:
            pieces = _stream_pieces(codec, "zstd", payload)
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_UNPACKED_BYTES:
            raise _bad_payload(codec, payload, "more comes out of it")
        yield piece


def _gzip_pieces(payload: bytes) -> Iterator[bytes]:
    left = payload
    try:
        while left:  # a stream may have several members
            member = zlib.decompressobj(_GZIP_WBITS)
            while not member.eof:
                piece = member.decompress(left, PIECE_BYTES)
                left = member.unconsumed_tail
                if not piece and not left and not member.eof:
                    raise _bad_payload(Codec.GZIP, payload, "cut short")
                yield piece
            left = member.unused_data
    except zlib.error as error:
        raise _bad_payload(Codec.GZIP, payload, str(error)) from error


def _stream_pieces(codec: Codec, name: Literal["lz4", "zstd"], payload: bytes) -> Iterator[bytes]:
    import pyarrow as pa  # cramjam's decompressors take a frame as a whole

    try:
        with pa.CompressedInputStream(pa.BufferReader(payload), name) as stream:
            while piece := stream.read(PIECE_BYTES):
                yield piece
    except OSError as error:
        raise _bad_payload(codec, payload, str(error)) from error


def decompress(
    codec: Codec,
    payload: bytes,
    *,
    any_lz4_checksum: bool = False,
    bytes_max: int = MAX_UNPACKED_BYTES,
) -> bytes:
    """Unpack the payload of a batch, to at most `bytes_max`.

    `any_lz4_checksum` accepts any header checksum of an lz4 frame, as Kafka does below message format 2.
    Raises DecodeError if the payload is damaged or unpacks to more than the limit.
    """
    match codec:
        case Codec.NONE:
            return payload
        case Codec.GZIP:
            from cramjam import gzip

            return _unpack_into(codec, gzip.decompress_into, payload, bytes_max)
        case Codec.SNAPPY:
            return _unpack_snappy(payload, bytes_max)
        case Codec.LZ4:
            from cramjam import lz4

            framed = _with_right_checksum(payload) if any_lz4_checksum else payload
            return _unpack_into(codec, lz4.decompress_into, framed, bytes_max)
        case Codec.ZSTD:
            from cramjam import zstd

            return _unpack_into(codec, zstd.decompress_into, payload, bytes_max)


def compress(codec: Codec, payload: bytes) -> bytes:
    """Pack the records of a batch the way Kafka's Java producer frames them."""
    match codec:
        case Codec.NONE:
            return payload
        case Codec.GZIP:
            from cramjam import gzip

            return bytes(gzip.compress(payload))
        case Codec.SNAPPY:
            return _pack_xerial(payload)
        case Codec.LZ4:
            return _pack_lz4(payload)
        case Codec.ZSTD:
            from cramjam import zstd

            return bytes(zstd.compress(payload))


def _unpack_into(
    codec: Codec,
    decompress_into: Callable[[bytes, "bytearray | mmap.mmap"], int],
    payload: bytes,
    bytes_max: int,
) -> bytes:
    """Unpack into a buffer of a fixed size, so that a payload cannot take more memory than the limit."""
    from cramjam import DecompressionError

    scratch_size = max(_SCRATCH_MIN, _SCRATCH_RATIO * len(payload))
    if scratch_size <= _SCRATCH_MAX:
        scratch = bytearray(scratch_size)
        try:
            size = decompress_into(payload, scratch)
        except DecompressionError:
            pass  # damaged, or larger than the scratch: the wide buffer tells which
        else:
            return bytes(memoryview(scratch)[:size])
    # Anonymous pages take memory only once written, so the wide buffer costs what comes out of the payload.
    with mmap.mmap(-1, bytes_max) as wide:
        try:
            return wide[: decompress_into(payload, wide)]
        except DecompressionError as error:
            raise _bad_payload(codec, payload, str(error), bytes_max) from error


def _bad_payload(codec: Codec, payload: bytes, why: str, bytes_max: int = MAX_UNPACKED_BYTES) -> DecodeError:
    # Beyond WHOLE_BYTES, callers continue in pieces.
    limit_mib = (MAX_UNPACKED_BYTES if bytes_max == WHOLE_BYTES else bytes_max) // (1024 * 1024)
    return DecodeError(
        "batch payload",
        at=0,
        why=f"{len(payload)} bytes of {codec.name.lower()} do not unpack to {limit_mib} MiB or less ({why})",
    )


def _unpack_snappy(payload: bytes, bytes_max: int) -> bytes:
    if not payload.startswith(_XERIAL_MAGIC):
        return _unpack_snappy_block(payload, payload, limit=bytes_max)
    unpacked = bytearray()
    for block in _xerial_blocks(payload):
        unpacked += _unpack_snappy_block(block, payload, limit=bytes_max - len(unpacked))
    return bytes(unpacked)


def _unpack_snappy_block(block: bytes, payload: bytes, *, limit: int) -> bytes:
    from cramjam import DecompressionError, snappy

    try:
        claimed = snappy.decompress_raw_len(block)
        if claimed > min(limit, _SNAPPY_RATIO_MAX * len(block)):
            raise _bad_payload(Codec.SNAPPY, payload, f"a block of {len(block)} bytes claims {claimed}")
        return bytes(snappy.decompress_raw(block))
    except DecompressionError as error:
        raise _bad_payload(Codec.SNAPPY, payload, str(error)) from error


def _xerial_blocks(payload: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(payload):
        # snappy-java reads on through streams that were written one after another, each with its header.
        if payload.startswith(_XERIAL_MAGIC, at):
            at += len(_XERIAL_HEADER)
            if at > len(payload):
                raise _bad_payload(Codec.SNAPPY, payload, "the header is cut short")
            continue
        size = int.from_bytes(payload[at : at + 4], "big", signed=True)
        block = payload[at + 4 : at + 4 + max(size, 0)]
        if size <= 0 or len(block) < size:
            raise _bad_payload(Codec.SNAPPY, payload, f"block of {size} bytes at byte {at}")
        yield block
        at += 4 + size


def _pack_xerial(payload: bytes) -> bytes:
    from cramjam import snappy

    packed = bytearray(_XERIAL_HEADER)
    for at in range(0, len(payload), _XERIAL_BLOCK):
        block = bytes(snappy.compress_raw(payload[at : at + _XERIAL_BLOCK]))
        packed += len(block).to_bytes(4, "big") + block
    return bytes(packed)


def _pack_lz4(payload: bytes) -> bytes:
    """An lz4 frame of independent blocks of 64 KiB: the only kind that Kafka's Java reader takes."""
    from cramjam import lz4

    descriptor = b"\x60\x40"
    packed = bytearray(_LZ4_MAGIC + descriptor)
    packed.append(_header_checksum(descriptor))
    for at in range(0, len(payload), _LZ4_BLOCK):
        plain = payload[at : at + _LZ4_BLOCK]
        block = bytes(lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            packed += len(block).to_bytes(4, "little") + block
        else:
            packed += (len(plain) | _LZ4_STORED).to_bytes(4, "little") + plain
    return bytes(packed + bytes(4))


def _with_right_checksum(frame: bytes) -> bytes:
    """The same lz4 frame with the header checksum of the specification.

    Kafka's clients before 0.10 computed it over the frame's magic as well (KIP-57), so in message formats
    0 and 1 it says nothing and is replaced.
    """
    if len(frame) < 7 or not frame.startswith(_LZ4_MAGIC):
        return frame
    flags = frame[4]
    checksum_at = 6 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
    if checksum_at >= len(frame):
        return frame
    right = _header_checksum(frame[4:checksum_at])
    return frame[:checksum_at] + bytes([right]) + frame[checksum_at + 1 :]


def _header_checksum(descriptor: bytes) -> int:
    """The second byte of XXH32, seed 0, of a frame descriptor (2 to 14 bytes)."""
    prime2, prime3, prime4, prime5 = 2246822519, 3266489917, 668265263, 374761393
    prime1 = 2654435761
    mask = 0xFFFFFFFF
    digest = (prime5 + len(descriptor)) & mask
    words = len(descriptor) // 4 * 4
    for at in range(0, words, 4):
        word = int.from_bytes(descriptor[at : at + 4], "little")
        digest = (_rotate_left((digest + word * prime3) & mask, 17) * prime4) & mask
    for byte in descriptor[words:]:
        digest = (_rotate_left((digest + byte * prime5) & mask, 11) * prime1) & mask
    digest = ((digest ^ (digest >> 15)) * prime2) & mask
    digest = ((digest ^ (digest >> 13)) * prime3) & mask
    return ((digest ^ (digest >> 16)) >> 8) & 0xFF


def _rotate_left(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & 0xFFFFFFFF
