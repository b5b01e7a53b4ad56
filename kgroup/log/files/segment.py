"""One `.log` file, or a stream of one: its batches in order, and where it is damaged.

Memory stays bounded whatever the file holds: a read of a megabyte, or one batch of at most
`log.format.any_format.MAX_BATCH_BYTES`.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.resync import OVERLAP_BYTES, BatchSearch, TrialBytes
from kgroup.log.format.any_format import batch_at
from kgroup.log.format.batch import Batch, Damage, LogRecord
from kgroup.log.format.read_window import READ_BYTES, SegmentWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBefore:
    """State handed over by a reader that stopped at a position to the one that continues from there.

    `newest_offset` is the last offset of the last healthy batch, -1 without one; `after_batch` says that it
    ends right there. Readers of one part of a segment share `trials`.
    """

    newest_offset: int = -1
    after_batch: bool = False
    trials: TrialBytes = field(default_factory=TrialBytes)


def read_segment(
    path: Path | str,
    *,
    start: int = 0,
    end: int | None = None,
    read_bytes: int = READ_BYTES,
    before: ReadBefore | None = None,
) -> Iterator[Batch | Damage]:
    """The batches that begin at byte positions from `start` up to `end`, and the damage between them.

    `start` must be where a batch begins, or where another reader stopped that has read what is `before`.
    Every healthy batch comes out, also those behind damage: the scan continues at the next bytes that are a
    whole batch with the right CRC. A batch is healthy here if its CRC holds and its header can be true;
    whether its payload decodes is known only when `records()` is called (`read_records` does). A caller that
    wants only the first few sets `read_bytes`, the size of one read. Raises SourceError if the file cannot
    be opened or read.
    """
    name = str(path)
    try:
        with Path(path).open("rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                yield from read_stream(file, name)
                return
            if status.st_size == 0 and not Path(path).with_suffix(".index").exists():
                # A broker's empty segment always has its index next to it, so this one was emptied since.
                yield Damage(segment=name, position=0, size=0, why="the file is empty")
            before = before or ReadBefore(trials=TrialBytes(start))
            window_start = max(0, start - OVERLAP_BYTES) if before.after_batch else start
            if window_start:
                file.seek(window_start)
            window = SegmentWindow(file, window_start, status.st_size, read_bytes)
            yield from _read(window, name, start, end, before)
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}") from error


def read_among_others(
    path: Path | str, *, start: int = 0, end: int | None = None, before: ReadBefore | None = None
) -> Iterator[Batch | Damage]:
    """The same of one file of several: that it cannot be opened or read on is damage of the rest of it."""
    position = start
    try:
        for item in read_segment(path, start=start, end=end, before=before):
            position = item.position + item.size
            yield item
    except SourceError as error:
        why = str(error).removeprefix(f"{path}: ")
        left = max((end if end is not None else _size(Path(path))) - position, 0)
        yield Damage(segment=str(path), position=position, size=left, why=why)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_stream(stream: BinaryIO, name: str) -> Iterator[Batch | Damage]:
    """The same for bytes that can be read only once, from the start of a segment: standard input, a pipe."""
    try:
        yield from _read(SegmentWindow(stream, 0, None), name, 0, None, ReadBefore())
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}") from error


def read_records(
    items: Iterator[Batch | Damage], segment: str
) -> Iterator[tuple[Batch, Sequence[LogRecord]] | Damage]:
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
        del records  # before those of the next batch are there, which may be as large


def _read(
    window: SegmentWindow, segment: str, position: int, end: int | None, before: ReadBefore
) -> Iterator[Batch | Damage]:
    search = BatchSearch(window, end, before.trials)
    newest_offset, after_batch = before.newest_offset, before.after_batch
    while (end is None or position < end) and window.take(position, 1):
        window.floor = max(window.floor, position - OVERLAP_BYTES)
        try:
            batch = batch_at(window, position)
        except DecodeError as error:
            passed = search.pass_damage(position, _reason(error), after_batch=after_batch)
            yield Damage(segment=segment, position=passed.position, size=passed.size, why=passed.why)
            position = passed.position + passed.size
            after_batch = False
            if passed.batch is None:
                continue
            batch = passed.batch
        if batch.base_offset <= newest_offset:
            why = f"offsets go back: {batch.base_offset} after {newest_offset}"
            yield Damage(segment=segment, position=position, size=0, why=why)
        newest_offset = batch.last_offset
        position += batch.size
        after_batch = True
        yield batch


def _reason(error: DecodeError) -> str:
    return f"{error.field}: {error.why}"
