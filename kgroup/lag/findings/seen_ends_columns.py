"""Conclusions from proven past log ends, on columns: the same that `seen_ends.py` draws for one partition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kgroup.lag.findings.own_log import LogProof
from kgroup.lag.status.columns import UNKNOWN, CommitColumns, Flags, Int64s
from kgroup.lag.status.window import LogEnd

_ROWS_AT_ONCE: Final = 2048
_LEAST: Final = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenColumns:
    """Log ends; row k has those from `starts[k]` up to `stops[k]`, by time. Timestamps are epoch ms.

    What lies beyond a log's end now is no proof, and is left out later.
    """

    offsets: Int64s
    timestamps: Int64s
    starts: Int64s
    stops: Int64s

    @classmethod
    def of(cls, ends: Sequence[Sequence[LogEnd]]) -> "SeenColumns":
        """The ends of each row, whose times must be known."""
        stops = np.cumsum([len(of_row) for of_row in ends], dtype=np.int64)
        return cls(
            offsets=np.array([end.offset for of_row in ends for end in of_row], np.int64),
            timestamps=np.array([end.timestamp or 0 for of_row in ends for end in of_row], np.int64),
            starts=np.concatenate([np.zeros(1, np.int64), stops])[:-1],
            stops=stops,
        )

    def only(self, rows: Flags) -> "SeenColumns":
        """The columns with the commits of these rows alone."""
        return SeenColumns(
            offsets=self.offsets,
            timestamps=self.timestamps,
            starts=self.starts,
            stops=np.where(rows, self.stops, self.starts),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenNumbers:
    """Each row's `unread_by` and `passed_until` for its last commit, UNKNOWN where these are None.

    From `begun_at` at `begun_ms` to `ended_at` at `ended_ms` the log went on in the time of its commits; both
    times are the same where that is unknown.
    """

    unread_by_ms: Int64s
    passed_until_ms: Int64s
    begun_at: Int64s
    begun_ms: Int64s
    ended_at: Int64s
    ended_ms: Int64s

    def written_per_s(self) -> list[float | None]:
        """The result of `written_per_s` for each row, over the time of its commits."""
        went_on = zip(
            self.begun_at.tolist(),
            self.begun_ms.tolist(),
            self.ended_at.tolist(),
            self.ended_ms.tolist(),
            strict=True,
        )
        return [
            (ended - begun) * 1000 / (ended_ms - begun_ms) if ended_ms > begun_ms else None
            for begun, begun_ms, ended, ended_ms in went_on
        ]

    def with_logs(self, proofs: Mapping[int, LogProof]) -> "SeenNumbers":
        """The same with what the own logs of some rows prove, given by the rows' places."""
        numbers = SeenNumbers(**{name: getattr(self, name).copy() for name in self.__slots__})
        for row, proof in proofs.items():
            unread_ms, passed_ms = proof.unread_by_ms, proof.passed_until_ms
            if unread_ms is not None:
                known_ms = numbers.unread_by_ms[row]
                numbers.unread_by_ms[row] = unread_ms if known_ms == UNKNOWN else min(unread_ms, known_ms)
            if passed_ms is not None:
                numbers.passed_until_ms[row] = max(passed_ms, numbers.passed_until_ms[row])
            if proof.went is not None:
                for name, number in proof.went._asdict().items():
                    getattr(numbers, name)[row] = number
        return numbers

    def put(self, rows: Int64s, others: "SeenNumbers") -> None:
        """Write what others say, one of them for each of these rows."""
        for name in self.__slots__:
            getattr(self, name)[rows] = getattr(others, name)


def seen_numbers(
    seen: SeenColumns, log_ends: Int64s, commits: CommitColumns, stops: Int64s, counts: Int64s
) -> SeenNumbers:
    """The numbers of rows whose logs end at `log_ends` now, and whose commits end before `stops`."""
    numbers = SeenNumbers(**{name: np.full(len(stops), UNKNOWN) for name in SeenNumbers.__slots__})
    having = np.flatnonzero((seen.stops > seen.starts) & (counts > 0))
    for start in range(0, len(having), _ROWS_AT_ONCE):
        rows = having[start : start + _ROWS_AT_ONCE]
        last, first = stops[rows] - 1, stops[rows] - counts[rows]
        numbers.put(
            rows,
            _look(
                *_matrix(seen, rows, log_ends[rows]),
                committed=commits.offsets[last],
                from_ms=commits.timestamps[first],
                to_ms=commits.timestamps[last],
            ),
        )
    return numbers


def _matrix(seen: SeenColumns, rows: Int64s, log_ends: Int64s) -> tuple[Int64s, Int64s, Flags]:
    """Offsets and times, a line for each row, and which of them count."""
    starts, stops = seen.starts[rows], seen.stops[rows]
    index = starts[:, None] + np.arange(int((stops - starts).max()))
    counts = index < stops[:, None]
    index = np.minimum(index, len(seen.offsets) - 1)
    offsets = seen.offsets[index]
    return offsets, seen.timestamps[index], counts & (offsets <= log_ends[:, None])


def _look(
    offsets: Int64s, times: Int64s, counts: Flags, *, committed: Int64s, from_ms: Int64s, to_ms: Int64s
) -> SeenNumbers:
    line = np.arange(len(offsets))
    beyond = counts & (offsets > committed[:, None])
    is_beyond = beyond.any(axis=1)
    # The furthest reader goes no faster than the writer: only who got further than anybody before counts.
    until = counts & (times <= to_ms[:, None])
    reached = np.maximum.accumulate(np.where(until, offsets, _LEAST), axis=1)
    until[:, 1:] &= offsets[:, 1:] > reached[:, :-1]
    before = until & (times <= from_ms[:, None])
    begin = np.where(before.any(axis=1), _last(before), _first(until))
    end = _last(until)
    any_reached = until.any(axis=1)
    return SeenNumbers(
        unread_by_ms=np.where(is_beyond, times[line, _first(beyond)], UNKNOWN),
        passed_until_ms=np.where(is_beyond, times[line, _last(beyond)], UNKNOWN),
        begun_at=np.where(any_reached, offsets[line, begin], UNKNOWN),
        begun_ms=np.where(any_reached, times[line, begin], UNKNOWN),
        ended_at=np.where(any_reached, offsets[line, end], UNKNOWN),
        ended_ms=np.where(any_reached, times[line, end], UNKNOWN),
    )


def _first(flags: Flags) -> Int64s:
    return np.asarray(flags.argmax(axis=1), np.int64)


def _last(flags: Flags) -> Int64s:
    last: Int64s = flags.shape[1] - 1 - _first(flags[:, ::-1])
    return last
