"""The rows of `lag-report --windows`: from commits and past log ends to Arrow batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kgroup.lag.status.columns import RULES, STATUSES, Flags, Int64s
from kgroup.lag.status.history import LagHistory, LoggedCommits, PastLogEnds, WindowsOfTime, lag_history
from kgroup.lag.status.numbers import Numbers, RuleNumbers
from kgroup.lag.status.rule_sets import LagRules
from kgroup.log.topics.past_ends import PastEnds
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.json_columns import json_objects, json_values
from kgroup.report.lag.history_columns import COLUMNS
from kgroup.scan.kernels.gather import numbers, values_of
from kgroup.scan.reductions.keyed_rows import CommitKey, KeyedCommits, KeyedRows

if TYPE_CHECKING:
    ArrowColumn = pa.Array[Any]
else:
    ArrowColumn = pa.Array

_ROWS_AT_ONCE: Final = 1 << 16


class AskedEnds:
    """Past log ends as rows ask for them; `unknown` are the partitions without any."""

    def __init__(self, find: Callable[[str, int], PastEnds]) -> None:
        self._find = find
        self.unknown: set[TopicPartition] = set()

    def of(self, keys: Sequence[CommitKey]) -> PastLogEnds:
        """The past ends of each key's log."""
        ends_of_keys = [self._find(key.topic, key.partition) for key in keys]
        for key, ends in zip(keys, ends_of_keys, strict=True):
            if not (ends.at >= 0).any():
                self.unknown.add((key.topic, key.partition))
        return PastLogEnds(
            np.stack([ends.at for ends in ends_of_keys]), np.array([ends.now for ends in ends_of_keys])
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The settings that all rows are made with."""

    windows: WindowsOfTime
    slots: int
    rules: LagRules
    only_lagging: bool

    def rows(self, commits: KeyedCommits, ends: AskedEnds) -> Iterator[KeyedRows]:
        """The rows of all keys, some ten thousand at a time; they lack the columns that `with_keys` adds."""
        if len(self.windows) == 0:
            return
        keys_max = max(_ROWS_AT_ONCE // (len(self.windows) + 1), 1)
        for block in commits.blocks(keys_max):
            logged = _logged(block, commits)
            history = lag_history(logged, self.windows, self.slots, ends.of(block.keys), self.rules)
            rows = KeyedRows(
                block.keys, np.bincount(history.keys, minlength=len(block.keys)), self._table(history)
            )
            yield _where(rows, history.keys, history.lags > 0) if self.only_lagging else rows

    def _table(self, history: LagHistory) -> pa.Table:
        start_ms = history.windows * self.windows.length_ms
        end_ms = self.windows.ends_ms()[history.windows - self.windows.first]
        return pa.table(
            {
                "window_start": numbers(start_ms),
                "window_end": numbers(end_ms),
                "current_offset": numbers(history.current_offsets),
                "progress": _column(history.progress),
                "log_end_offset": _known(history.log_end_offsets),
                "lag": _known(history.lags),
                "status": _named(history.statuses, [status.value for status in STATUSES]),
                "rule": _named(history.rules, [rule.value for rule in RULES]),
                "evidence": _evidence(history.numbers, len(history.keys)),
            }
        )


def with_keys(keyed: KeyedRows) -> pa.RecordBatch:
    """All columns; the rows are in the order of the keys, and of each key in that of windows."""
    columns = {name: keyed.rows[name].combine_chunks() for name in keyed.rows.schema.names}
    for name, values in (
        ("group", [key.group for key in keyed.keys]),
        ("topic", [key.topic for key in keyed.keys]),
    ):
        unique = sorted(set(values))
        index_of = {value: number for number, value in enumerate(unique)}
        indices = np.array([index_of[value] for value in values], np.int32)
        columns[name] = pa.DictionaryArray.from_arrays(
            numbers(np.repeat(indices, keyed.counts)), pa.array(unique, pa.string())
        )
    for name, places in (
        ("partition", [key.partition for key in keyed.keys]),
        ("offsets_partition", [key.offsets_partition for key in keyed.keys]),
    ):
        columns[name] = numbers(np.repeat(np.array(places, np.int64), keyed.counts))
    return pa.RecordBatch.from_pydict({column.name: columns[column.name] for column in COLUMNS})


def batches_of(keyed: Iterable[KeyedRows]) -> Iterator[pa.RecordBatch]:
    """The same for many, in batches of some ten thousand rows."""
    for rows in keyed:
        whole = with_keys(rows)
        for start in range(0, whole.num_rows, _ROWS_AT_ONCE):
            yield whole.slice(start, _ROWS_AT_ONCE)


def _logged(block: KeyedRows, commits: KeyedCommits) -> LoggedCommits:
    rows = block.rows
    changes = commits.membership_changes
    return LoggedCommits(
        starts=np.concatenate([[0], np.cumsum(block.counts)]),
        offsets=values_of(rows["offset"]),
        timestamps=values_of(rows["timestamp"]),
        orders=values_of(rows["log_offset"]),
        is_tombstone=np.array(rows["is_tombstone"].to_numpy(), np.bool_),
        membership_changes=[
            np.array(changes.get((key.offsets_partition, key.group), ()), np.int64) for key in block.keys
        ],
    )


def _where(rows: KeyedRows, keys: Int64s, chosen: Flags) -> KeyedRows:
    counts = np.bincount(keys[chosen], minlength=len(rows.keys))
    return KeyedRows(rows.keys, counts, rows.rows.take(numbers(np.flatnonzero(chosen))))


def _column(column: Numbers) -> ArrowColumn:
    values = numbers(np.ascontiguousarray(column.values))
    return values if column.known is None else _only_where(column.known, values)


def _known(values: Int64s) -> ArrowColumn:
    """Null where it is UNKNOWN."""
    return _only_where(values >= 0, numbers(values))


def _named(places: "np.ndarray[Any, np.dtype[np.int8]]", names: Sequence[str]) -> ArrowColumn:
    return pa.DictionaryArray.from_arrays(
        _only_where(places >= 0, numbers(places)), pa.array(names, pa.string())
    )


def _only_where(known: Flags, values: ArrowColumn) -> ArrowColumn:
    bitmap = numbers(np.ascontiguousarray(known)).buffers()[1]
    return pa.Array.from_buffers(values.type, len(values), [bitmap, *values.buffers()[1:]])


def _evidence(verdicts: Sequence[RuleNumbers], rows: int) -> ArrowColumn:
    """The numbers of each row's verdict as JSON, null without a verdict."""
    texts: list[Any] = [pa.array([], pa.string())]
    index, size = np.full(rows, -1, np.int64), 0
    for of_rule in verdicts:
        fields = {name: json_values(_column(values)) for name, values in of_rule.fields.items()}
        texts.append(json_objects(fields, len(of_rule.rows)))
        index[of_rule.rows] = np.arange(size, size + len(of_rule.rows))
        size += len(of_rule.rows)
    taken: ArrowColumn = pa.concat_arrays(texts).take(_known(index))
    return taken
