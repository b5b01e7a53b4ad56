"""A batch at a position, whatever its message format."""

from typing import Final

from kgroup.errors import DecodeError
from kgroup.log.format.batch import Batch, decode_batch
from kgroup.log.format.header_guess import SMALLEST_BATCH, batch_size
from kgroup.log.format.legacy import decode_message
from kgroup.log.format.read_window import SegmentWindow

# More than any broker takes in one request (socket.request.max.bytes, 100 MiB by default), so a
# length beyond it is damage and not a batch to wait for. It bounds what is held in memory.
MAX_BATCH_BYTES: Final = 128 * 1024 * 1024

_FRONT_BYTES: Final = 17
_MAGIC_AT: Final = 16


def batch_at(window: SegmentWindow, position: int) -> Batch:
    """The batch at `position`. Raises DecodeError if there is no batch there, or its CRC is wrong."""
    front = window.take(position, _FRONT_BYTES)
    if len(front) < _FRONT_BYTES:
        raise DecodeError("batch header", at=0, why=f"cut short after {len(front)} bytes")
    size = batch_size(front)
    if size < SMALLEST_BATCH:
        raise DecodeError("batch length", at=8, why=f"{size - 12} is less than any batch has")
    magic = front[_MAGIC_AT]
    if magic > 2:
        signed = magic - 256 if magic > 127 else magic
        raise DecodeError("batch magic", at=_MAGIC_AT, why=f"{signed}, while 0, 1 and 2 are known")
    left = None if window.size is None else window.size - position
    if left is not None and size > left:
        raise DecodeError("batch length", at=8, why=f"a batch of {size} bytes is cut short after {left}")
    if size > MAX_BATCH_BYTES:
        raise DecodeError("batch length", at=8, why=f"{size} bytes are more than any broker takes")
    raw = window.take(position, size)
    return decode_batch(raw, position) if magic == 2 else decode_message(raw, position)
