"""Batches of a partition sent by its leader: the whole ones that continue the recording, and the gaps.

Offsets of a log follow each other without a gap when they are written. Where they do not any more, its
cleaner has been there first, or somebody deleted records; what is missing then is gone for good.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple

from kgroup.errors import DecodeError
from kgroup.log.format.batch_header import BatchHeader, check_batch

# What all formats have in common: offset, length of what follows, 4 bytes, magic.
_FRAME: Final = Struct(">qi4xb")
_LAST_OFFSET_DELTA: Final = Struct(">i")
_LAST_OFFSET_DELTA_AT: Final = 23
_SMALLEST: Final = 14  # of what follows the length: a message of format 0 without key and value

COMPACTED: Final = "the cleaner had taken them out before they were fetched"
DELETED: Final = "they had been deleted before they were fetched"


class Gap(NamedTuple):
    """Offsets that are not in the recording, from the first to the last of them, and why."""

    first_offset: int
    last_offset: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Runs of batches to append, as they were sent, each with its headers; and the gaps among them.

    `next_offset` is where to fetch from next.
    """

    runs: Sequence[tuple[bytes, Sequence[BatchHeader]]]
    gaps: Sequence[Gap]
    next_offset: int


def whole_batches_from(position: int, sent: bytes) -> Fetched:
    """Read what was sent for offset `position`: up to the last whole batch, as a leader cuts at bytes.

    A batch that is damaged, overlaps the one before, or is in a format of before Kafka 0.11 cannot be
    recorded, and becomes a gap.
    """
    runs: list[tuple[bytes, list[BatchHeader]]] = []
    gaps: list[Gap] = []
    run: list[BatchHeader] = []
    run_start, next_offset = 0, position
    for start, end, last in _frames(sent):
        header, why = _read(sent, start, next_offset)
        if header is None:
            if run:
                runs.append((sent[run_start:start], run))
            run, run_start = [], end
            if why:
                gaps.append(Gap(next_offset, max(last, next_offset), why))
                next_offset = max(last, next_offset) + 1
            continue
        if header.base_offset > next_offset:
            gaps.append(Gap(next_offset, header.base_offset - 1, COMPACTED))
        if header.records <= header.last_offset_delta:
            gaps.append(Gap(header.base_offset, header.last_offset, COMPACTED))
        run.append(header)
        next_offset = header.last_offset + 1
    if run:
        size = sum(header.size for header in run)
        runs.append((sent[run_start : run_start + size], run))
    return Fetched(runs=runs, gaps=list(joined(gaps)), next_offset=next_offset)


def joined(gaps: Sequence[Gap]) -> Iterator[Gap]:
    """One gap for each reason, from its first offset to its last: there can be many between few batches."""
    for why in dict.fromkeys(gap.why for gap in gaps):
        of_why = [gap for gap in gaps if gap.why == why]
        yield Gap(of_why[0].first_offset, of_why[-1].last_offset, why)


def behind(gaps: Sequence[Gap], end_offset: int) -> Iterator[Gap]:
    """The gaps no older than the recording, which began when the log ended at `end_offset`."""
    for gap in gaps:
        if gap.last_offset >= end_offset:
            yield gap._replace(first_offset=max(gap.first_offset, end_offset))


def _frames(sent: bytes) -> Iterator[tuple[int, int, int]]:
    """The begin, end and last offset of each whole batch, as far as its header can be believed."""
    start = 0
    while start + _FRAME.size <= len(sent):
        offset, length, magic = _FRAME.unpack_from(sent, start)
        end = start + 12 + length
        if length < _SMALLEST or end > len(sent):
            return
        if magic >= 2 and length >= _LAST_OFFSET_DELTA_AT:
            offset += max(_LAST_OFFSET_DELTA.unpack_from(sent, start + _LAST_OFFSET_DELTA_AT)[0], 0)
        yield start, end, offset
        start = end


def _read(sent: bytes, start: int, next_offset: int) -> tuple[BatchHeader | None, str | None]:
    """The header of a batch that can be recorded; None and why not, or None twice if it is there already."""
    try:
        header = check_batch(sent, start)
    except DecodeError as error:
        return None, f"the leader sent no batch that can be recorded: {error.field}: {error.why}"
    if header.last_offset < next_offset:
        return None, None
    if header.base_offset < next_offset:
        return None, f"the leader sent a batch from {header.base_offset} on, which overlaps the one before"
    return header, None
