"""Finds the next healthy batch after damage in a segment."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from kgroup.errors import DecodeError
from kgroup.log.format.any_format import MAX_BATCH_BYTES, batch_at
from kgroup.log.format.batch import Batch
from kgroup.log.format.header_guess import (
    HEADER_BYTES,
    SMALLEST_BATCH,
    batch_size,
    looks_like_batch,
    possible_starts,
)
from kgroup.log.format.read_window import SegmentWindow

_CHUNK_BYTES: Final = 256 * 1024
_ZEROS: Final = bytes(_CHUNK_BYTES + HEADER_BYTES)

# Bytes made to look like batches could ask for a CRC over megabytes at every position. Of real logs and of
# noise a search tries far less than this: so much at once, and so many times the bytes read so far.
_FREE_TRIAL_BYTES: Final = 256 * 1024 * 1024
_TRIAL_RATIO: Final = 32


# Where bytes are lost from the end of a batch, it may still be whole with the first bytes of the next one,
# both being zeros as a rule. More than this many are not equal by chance.
OVERLAP_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedDamage:
    """The `size` damaged bytes at `position`, why they are damaged, and the healthy batch behind them.

    `batch` is None where the segment (or the part of it that is read) ends, or where the next batch begins
    at a position known from the damaged one's length and has yet to be read.
    """

    position: int
    size: int
    why: str
    batch: Batch | None


class TrialBytes:
    """The bytes of a segment, or of its part from `start` on, that have been tried as batches so far."""

    def __init__(self, start: int = 0) -> None:
        self._start = start
        self._tried = 0

    def allow(self, position: int, size: int) -> bool:
        """Whether `size` more bytes may be tried at `position`; they count if so."""
        if self._tried + size > _FREE_TRIAL_BYTES + _TRIAL_RATIO * (position - self._start):
            return False
        self._tried += size
        return True


class BatchSearch:
    """Finds the next healthy batch; one search goes through a segment with its reader."""

    def __init__(self, window: SegmentWindow, end: int | None, trials: TrialBytes) -> None:
        """Batches must begin before byte position `end` (None: the end of the segment)."""
        self._window = window
        self._end = end
        self._trials = trials
        self._untried = 0
        self._only_zeros = False
        self._starts: list[int] = []
        self._looked_from = self._looked_to = 0

    def pass_damage(self, position: int, why: str, *, after_batch: bool) -> PassedDamage:
        """Continue from `position`, where there is no healthy batch for the reason `why`.

        `after_batch`: a healthy batch ends there.
        """
        self._untried = 0
        if after_batch and (overlapping := self._overlapping(position)) is not None:
            missing = position - overlapping.position
            why = f"{missing} bytes are missing: the batch before ends inside this one"
            return PassedDamage(position=overlapping.position, size=0, why=why, batch=overlapping)
        self._only_zeros = self._window.take(position, 1) == b"\0"
        batch_end = self._trusted_end(position)
        ends = [end for end in (batch_end, self._end) if end is not None]
        batch, stopped_at = self._search(position + 1, min(ends, default=None))
        if self._only_zeros and stopped_at - position >= SMALLEST_BATCH:
            why = f"{stopped_at - position} zero bytes"
        elif position == 0 and batch is None and batch_end is None and stopped_at == self._window.size:
            why += "; no batch in the whole file"
        if self._untried:
            why += f"; too much in it looks like a batch, {self._untried} places were not tried"
        return PassedDamage(position=position, size=stopped_at - position, why=why, batch=batch)

    def _overlapping(self, position: int) -> Batch | None:
        for start in range(max(0, position - OVERLAP_BYTES), position):
            batch = self._try(start)
            if batch is not None:
                return batch
        return None

    def _trusted_end(self, position: int) -> int | None:
        """The end of the damaged batch, if its header is possible and another follows it, or nothing.

        So each of several damaged batches is reported by itself.
        """
        if not looks_like_batch(self._window, position):
            return None
        size = batch_size(self._window.take(position, HEADER_BYTES))
        if size > MAX_BATCH_BYTES:
            return None
        batch_end = position + size
        if self._window.take(batch_end, 1):
            return batch_end if looks_like_batch(self._window, batch_end) else None
        return batch_end if batch_end == self._window.size else None

    def _search(self, position: int, end: int | None) -> tuple[Batch | None, int]:
        """The first healthy batch that begins before `end`, and where; without one, None and the end."""
        while end is None or position < end:
            self._window.floor = position
            looked_to = self._look_ahead(position)
            limit = looked_to if end is None else min(looked_to, end)
            if limit == position:
                break
            for start in self._starts[bisect_left(self._starts, position) : bisect_left(self._starts, limit)]:
                batch = self._try(start)
                if batch is not None:
                    self._pass_over(position, start)
                    return batch, start
            self._pass_over(position, limit)
            position = limit
        return None, position

    def _look_ahead(self, position: int) -> int:
        """Have the possible starts of batches from `position` on, up to the position that is returned.

        They are kept for the next search: where every batch is damaged, each has a short one.
        """
        if not self._looked_from <= position < self._looked_to:
            chunk = self._window.take(position, _CHUNK_BYTES + HEADER_BYTES)
            size = min(len(chunk), _CHUNK_BYTES)
            self._looked_from, self._looked_to = position, position + size
            zeros = chunk == _ZEROS[: len(chunk)]
            self._starts = [] if zeros else [position + at for at in possible_starts(chunk, size)]
        return self._looked_to

    def _pass_over(self, position: int, end: int) -> None:
        if self._only_zeros:
            self._only_zeros = self._window.take(position, end - position) == _ZEROS[: end - position]

    def _try(self, position: int) -> Batch | None:
        header = self._window.take(position, SMALLEST_BATCH)
        if len(header) < SMALLEST_BATCH:
            return None
        size = batch_size(header)
        if self._window.size is not None and size > self._window.size - position:
            return None
        if size > MAX_BATCH_BYTES or not looks_like_batch(self._window, position):
            return None
        if not self._trials.allow(position, size):
            self._untried += 1
            return None
        try:
            return batch_at(self._window, position)
        except DecodeError:
            return None
