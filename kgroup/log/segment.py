"""One `.log` file, or a stream of one: its batches in order, and where it is damaged.

Memory stays bounded whatever the file's size: what is held is a chunk, or one batch of at most `MAX_BATCH_BYTES`.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from kgroup.errors import DecodeError, SourceError
from kgroup.log.batch import Batch, Damage, LogRecord, decode_batch
from kgroup.log.legacy import decode_message
from kgroup.log.resync import LOOKED_AT, batch_size, looks_like_batch, possible_starts
from kgroup.log.window import SegmentWindow

# More than any broker takes in one request (socket.request.max.bytes, 100 MiB by default): a length beyond it is
# damage, not a batch to wait for.
MAX_BATCH_BYTES: Final = 128 * 1024 * 1024

_MAGIC_AT: Final = 16
_FRONT_SIZE: Final = 17
_SIZE_MIN: Final = 26  # a message of format 0 without key and value
_SEARCH_BYTES: Final = 256 * 1024


def read_segment(path: Path | str, *, start: int = 0, end: int | None = None) -> Iterator[Batch | Damage]:
    """The batches that begin at byte positions from `start` up to `end`, and the damage between them.

    `start` must be where a batch begins. Every healthy batch comes out, also those behind damage: the scan goes on
    at the next bytes that are a whole batch with the right CRC. A batch is healthy here if its CRC holds and its
    header can be true; whether its payload decodes is known only when `records()` is called (`read_records` asks).
    Raises SourceError if the file cannot be opened or read.
    """
    name = str(path)
    try:
        with Path(path).open("rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                yield from read_stream(file, name)
                return
            if status.st_size == 0 and not Path(path).with_suffix(".index").exists():
                # A broker's empty segment always has its index beside it, so this one was emptied since.
                yield Damage(segment=name, position=0, size=0, why="the file is empty")
            if start:
                file.seek(start)
            yield from _read(SegmentWindow(file, start, status.st_size), name, end)
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}") from error


def read_stream(stream: BinaryIO, name: str) -> Iterator[Batch | Damage]:
    """The same for bytes that can be read only once, from the start of a segment: standard input, a pipe."""
    try:
        yield from _read(SegmentWindow(stream, 0, None), name, None)
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}") from error


def read_records(
    items: Iterator[Batch | Damage], segment: str
) -> Iterator[tuple[Batch, list[LogRecord]] | Damage]:
    """Decode the records of every batch; one whose payload is not what its header says becomes Damage."""
    for item in items:
        if isinstance(item, Damage):
            yield item
            continue
        try:
            records = item.records()
        except DecodeError as error:
            yield Damage(segment=segment, position=item.position, size=item.size, why=_reason(error))
            continue
        yield item, records


def _read(window: SegmentWindow, segment: str, end: int | None) -> Iterator[Batch | Damage]:
    position = window.floor
    newest_offset = -1
    while (end is None or position < end) and window.take(position, 1):
        window.floor = position
        try:
            batch = _batch_at(window, position)
        except DecodeError as error:
            found, stopped_at, why = _pass_damage(window, position, end, _reason(error))
            yield Damage(segment=segment, position=position, size=stopped_at - position, why=why)
            position = stopped_at
            if found is None:
                continue
            batch = found
        if batch.base_offset <= newest_offset:
            why = f"offsets go back: {batch.base_offset} after {newest_offset}"
            yield Damage(segment=segment, position=position, size=0, why=why)
        newest_offset = batch.last_offset
        position += batch.size
        yield batch


def _batch_at(window: SegmentWindow, position: int) -> Batch:
    """The healthy batch at `position`, of any format. Raises DecodeError if there is none."""
    front = window.take(position, _FRONT_SIZE)
    if len(front) < _FRONT_SIZE:
        raise DecodeError("batch header", at=0, why=f"only {len(front)} bytes are left")
    size = batch_size(front)
    if size < _SIZE_MIN:
        raise DecodeError("batch length", at=8, why=f"{size - 12} is less than any batch has")
    magic = front[_MAGIC_AT]
    if magic > 2:
        signed = magic - 256 if magic > 127 else magic
        raise DecodeError("batch magic", at=_MAGIC_AT, why=f"{signed}, while 0, 1 and 2 are known")
    left = None if window.size is None else window.size - position
    if left is not None and size > left:
        raise DecodeError("batch length", at=8, why=f"{size} bytes, while {left} are left")
    if size > MAX_BATCH_BYTES:
        raise DecodeError("batch length", at=8, why=f"{size} bytes, more than any broker takes")
    raw = window.take(position, size)
    return decode_batch(raw, position) if magic == 2 else decode_message(raw, position)


def _pass_damage(
    window: SegmentWindow, position: int, end: int | None, why: str
) -> tuple[Batch | None, int, str]:
    """Go from a damaged batch at `position` to the next healthy one: that, where it begins, and what to report.

    Without one, None and the position to go on at: behind the damaged batch where its length can be trusted (so
    that each is reported by itself), else the end.
    """
    batch_end = _trusted_end(window, position)
    search_end = end if batch_end is None or (end is not None and end < batch_end) else batch_end
    found, stopped_at = _search(window, position + 1, search_end)
    if found is None and position == 0 and batch_end is None:
        why += "; no batch in the whole file"
    return found, stopped_at, why


def _trusted_end(window: SegmentWindow, position: int) -> int | None:
    """Where the damaged batch at `position` ends, if its header is possible and so is what lies there."""
    front = window.take(position, LOOKED_AT)
    if not looks_like_batch(front) or batch_size(front) > MAX_BATCH_BYTES:
        return None
    batch_end = position + batch_size(front)
    following = window.take(batch_end, LOOKED_AT)
    if not following:
        return batch_end if batch_end == window.size else None
    return batch_end if looks_like_batch(following) else None


def _search(window: SegmentWindow, position: int, end: int | None) -> tuple[Batch | None, int]:
    """The first healthy batch that begins from `position` up to `end`, and where; else None and the end."""
    while end is None or position < end:
        window.floor = position
        chunk = window.take(position, _SEARCH_BYTES + LOOKED_AT)
        if not chunk:
            break
        limit = min(len(chunk), _SEARCH_BYTES, _SEARCH_BYTES if end is None else end - position)
        for at in possible_starts(chunk, limit):
            try:
                batch = _batch_at(window, position + at)
            except DecodeError:
                continue
            return batch, batch.position
        position += limit
    return None, position


def _reason(error: DecodeError) -> str:
    return f"{error.field}: {error.why}"
