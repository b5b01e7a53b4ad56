"""The longest steps forward between two commits of a key that follow each other, anywhere in the log.

Found while commits are sorted for their last ones anyway. Commits in transactions are left out: when they
count is known only at their markers. A part of a log keeps the first commit of each key as well, since what
came before it may be in another part.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.scan.kernels.gather import no_rows, numbers, values_of
from kgroup.scan.reading.order import begins_of, ordered_by, ranks

KEPT: Final = 2
"""Steps of each key: the longest, and the one that it is longer than."""
UNKNOWN: Final = -1

_NAME: Final = pa.dictionary(pa.int32(), pa.string())
_FIELDS: list["pa.Field[Any]"] = [
    pa.field("group", _NAME, nullable=False),
    pa.field("topic", _NAME, nullable=False),
    *(
        pa.field(name, kind, nullable=False)
        for name, kind in (
            ("partition", pa.int32()),
            ("offsets_partition", pa.int32()),
            ("from_log_offset", pa.int64()),
            ("from_offset", pa.int64()),
            ("from_timestamp", pa.int64()),
            ("log_offset", pa.int64()),
            ("offset", pa.int64()),
            ("commit_timestamp", pa.int64()),
        )
    ),
]
LEAP_SCHEMA: Final = pa.schema(_FIELDS)
"""A step, sorted by key and log offset. `from_` is UNKNOWN for the first commit of a key in a part."""
_FROM: Final = ("log_offset", "offset", "commit_timestamp")


def no_leaps() -> pa.Table:
    """Of a log without commits."""
    return no_rows(LEAP_SCHEMA)


def leaps_of(rows: pa.Table, order: NDArray[np.int64]) -> pa.Table:
    """The longest steps among commits, and the first of each key, which `order` sorts by key and offset."""
    plain = (values_of(rows["producer_id"]) < 0)[order]
    order = order[plain]
    if not len(order):
        return no_leaps()
    keys = [values_of(rows[name])[order] for name in ("group", "topic", "partition", "offsets_partition")]
    offsets = values_of(rows["offset"])[order]
    removed = values_of(rows["value_version"])[order] < 0
    begins = begins_of(keys)
    step = np.zeros(len(order), np.int64)
    step[1:] = offsets[1:] - offsets[:-1]
    step[1:][begins[1:] | removed[1:] | removed[:-1]] = 0
    chosen = _longest(step, np.flatnonzero(begins))
    edges = np.flatnonzero(begins & ~removed)
    after = np.concatenate([edges, chosen])
    before = np.concatenate([np.full(len(edges), -1), chosen - 1])
    return _table(rows, order, before, after)


def merge_leaps(leaps: Iterable[pa.Table], lasts: Sequence[pa.Table] = ()) -> pa.Table:
    """The longest of several lots of steps.

    `lasts` are the commits that parts of a log keep, if these are parts: then the steps from one part to the
    next are looked at as well.
    """
    rows = _unified([no_leaps(), *leaps])
    if not rows.num_rows:
        return rows
    if len(lasts) > 1:
        is_first = values_of(rows["from_log_offset"]) == UNKNOWN
        rows = _unified([rows, _joined(rows.take(numbers(np.flatnonzero(is_first))), lasts)])
    known = values_of(rows["from_log_offset"]) != UNKNOWN
    keys = [ranks(rows["group"]), ranks(rows["topic"])]
    keys += [values_of(rows["partition"]), values_of(rows["offsets_partition"])]
    order = ordered_by(*keys, values_of(rows["log_offset"]), known.astype(np.int64))
    keys = [key[order] for key in keys]
    # Commits that were kept are met again when more of the log is read, and their steps with them.
    is_new = begins_of([*keys, values_of(rows["log_offset"])[order], known[order].astype(np.int64)])
    order, keys = order[is_new], [key[is_new] for key in keys]
    starts, known = np.flatnonzero(begins_of(keys)), known[order]
    step = np.where(known, (values_of(rows["offset"]) - values_of(rows["from_offset"]))[order], 0)
    kept = np.sort(np.concatenate([starts[~known[starts]], _longest(step, starts)]))
    return rows.take(numbers(order[kept])).combine_chunks()


def _longest(step: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the longest steps forward of each key are, in order; of equal ones the first."""
    sizes = np.diff(starts, append=len(step))
    left, chosen = step.copy(), []
    for _ in range(KEPT):
        most = np.maximum.reduceat(left, starts)
        is_most = (left == np.repeat(most, sizes)) & (left > 0)
        where = np.where(is_most, np.arange(len(left)), len(left))
        first = np.minimum.reduceat(where, starts)
        first = first[first < len(left)]
        chosen.append(first)
        left[first] = 0
    return np.sort(np.concatenate(chosen))


def _joined(firsts: pa.Table, lasts: Sequence[pa.Table]) -> pa.Table:
    """The steps from the last commit of a part to the first one of the next."""
    names = ["group", "topic", "partition", "offsets_partition", *_FROM]
    plain = [rows.take(numbers(np.flatnonzero(values_of(rows["producer_id"]) < 0))) for rows in lasts]
    rows = _unified([firsts.select(names), *(each.select(names) for each in plain)])
    is_first = np.arange(rows.num_rows) < firsts.num_rows
    removed = np.zeros(rows.num_rows, np.bool_)
    removed[firsts.num_rows :] = np.concatenate([values_of(each["value_version"]) < 0 for each in plain])
    keys = [ranks(rows["group"]), ranks(rows["topic"])]
    keys += [values_of(rows["partition"]), values_of(rows["offsets_partition"])]
    order = ordered_by(*keys, values_of(rows["log_offset"]), (~is_first).astype(np.int64))
    begins = begins_of([key[order] for key in keys])
    after = np.flatnonzero(is_first[order] & ~begins)
    after = after[~removed[order[after - 1]]]
    return _table(rows, order, after - 1, after)


def _unified(tables: Sequence[pa.Table]) -> pa.Table:
    """One table in one chunk, with one dictionary for each name."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _table(
    rows: pa.Table, order: NDArray[np.int64], before: NDArray[np.int64], after: NDArray[np.int64]
) -> pa.Table:
    at, previous = order[after], order[np.maximum(before, 0)]
    of_from = [numbers(np.where(before < 0, UNKNOWN, values_of(rows[name])[previous])) for name in _FROM]
    taken = rows.take(numbers(at))
    return pa.Table.from_arrays(
        [
            *(taken[name] for name in ("group", "topic", "partition", "offsets_partition")),
            *of_from,
            *(taken[name] for name in _FROM),
        ],
        schema=LEAP_SCHEMA,
    )
