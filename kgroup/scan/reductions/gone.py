"""Forgets groups that are long deleted, as Kafka's log cleaner does with their tombstones.

A log that never ends has ever more of them: each console consumer is one. In a part that begins where the log
does a tombstone stands for nothing, as no part comes before it.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.keys import group_of
from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reductions.cut_groups import LEFT_OUT, cut_groups, with_rest
from kgroup.scan.reductions.newest import Newest

GONE_MS: Final = 86_400_000
"""The age at which a deleted group is forgotten: Kafka's default delete.retention.ms."""


def without_gone(part: Any) -> Any:
    """The part of a log from its beginning on, of whole groups, without those that `gone_groups` names.

    Parts are as in `cut_groups`; one without a `Newest` stays as it is.
    """
    newest = _newest_in(part)
    gone = gone_groups(newest) if newest is not None else set[str]()
    if not gone:
        return part
    (kept,) = cut_groups(part, lambda group: LEFT_OUT if group in gone else 0, 1)
    return with_rest(kept, part, is_first=True)


def gone_groups(newest: Newest) -> set[str]:
    """The groups of which nothing but tombstones is left, none less than GONE_MS older than the last record.

    A group with a record whose time is unknown stays, and one with an open transaction.
    """
    living = set[str]()
    last_ms: dict[str, int] = {}
    for rows in (newest.commits, newest.pending):
        names, codes, times, counts = _by_group(rows)
        is_living = counts | (rows is newest.pending)
        living |= {names[code] for code in np.unique(codes[is_living]).tolist()}
        last = np.full(len(names), -1, np.int64)
        np.maximum.at(last, codes, times)
        for name, time in zip(names, last.tolist(), strict=True):
            last_ms[name] = max(time, last_ms.get(name, time))
    for logged in newest.others:
        if isinstance(logged.entry, OffsetsEntry):
            group = group_of(logged.entry.key)
            last_ms[group] = max(logged.timestamp_ms, last_ms.get(group, -1))
            if logged.entry.value is not None:
                living.add(group)
    now_ms = max(last_ms.values(), default=0)
    return {group for group, time in last_ms.items() if group not in living and 0 <= time <= now_ms - GONE_MS}


def _by_group(rows: pa.Table) -> tuple[list[str], Any, Any, Any]:
    """The names of groups; by row the place among them, the record's time, and whether it is a commit."""
    if not rows.num_rows:
        none = np.empty(0, np.int64)
        return [], none, none, none.astype(np.bool_)
    rows = rows.unify_dictionaries().combine_chunks()
    groups = rows["group"].chunk(0)
    assert isinstance(groups, pa.DictionaryArray)
    counts = np.asarray(values_of(rows["value_version"]), np.int64) >= 0
    return (
        groups.dictionary.to_pylist(),
        values_of(rows["group"]),
        values_of(rows["record_timestamp"]),
        counts,
    )


def _newest_in(part: Any) -> Newest | None:
    if isinstance(part, Newest):
        return part
    found = (_newest_in(each) for each in part) if isinstance(part, tuple) else ()
    return next((each for each in found if each is not None), None)
