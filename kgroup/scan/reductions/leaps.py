"""Steps between two commits of a key that follow each other: the longest forward, and the last that moved it.

The first are found anywhere in the log; the last says since when the key has been where it is. They are found
while commits are sorted for their last ones anyway. Commits in transactions are left out: when they count is
known only at their markers. A part of a log keeps the first commit of each key as well, since what came
before it may be in another part.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.scan.kernels.gather import no_rows, numbers, values_of
from kgroup.scan.kernels.last_rows import (
    EDGE,
    HAS_EDGE,
    HAS_MOVE,
    LONG_STEPS,
    LONGEST,
    STEP_COLUMNS,
    TO,
    LastRows,
)
from kgroup.scan.reading.order import begins_of, ordered_by, ranks, starts_of
from kgroup.scan.reading.taken import taken
from kgroup.scan.reductions.key_order import KeyOrder

KEPT: Final = LONGEST
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
"""A step, sorted by offsets partition, key and log offset; `from_` is UNKNOWN for a key's first commit."""
_FROM: Final = ("log_offset", "offset", "commit_timestamp")
_NUMBERS: Final = ("from_log_offset", "from_offset", "from_timestamp", *_FROM)


def no_leaps() -> pa.Table:
    """The leaps of a log without commits: none."""
    return no_rows(LEAP_SCHEMA)


def leaps_of(kept: LastRows, keyed: KeyOrder) -> pa.Table:
    """The longest steps among commits, the last one of each key that moved it, and the first of each key."""
    heads = kept.heads
    edges, moved = (np.flatnonzero(heads[:, column]) for column in (HAS_EDGE, HAS_MOVE))
    found = [_steps_of(moved, kept.moves[moved])]
    for rank in range(len(kept.longest)):
        long = np.flatnonzero(heads[:, LONG_STEPS] > rank)
        found.append(_steps_of(long, kept.longest[rank, long]))
    first = np.full((len(edges), STEP_COLUMNS), UNKNOWN, np.int64)
    first[:, TO:] = heads[edges, EDGE : EDGE + len(_FROM)]
    steps = np.concatenate([*found, _steps_of(edges, first)])
    if not len(steps):
        return no_leaps()
    places = keyed.places(steps[:, 0])
    order = ordered_by(places, steps[:, 1 + TO])
    order = order[begins_of([places[order], steps[order, 1 + TO]])]  # the last one may be a longest one
    return keyed.table(
        steps[order, 0], {name: steps[order, 1 + column] for column, name in enumerate(_NUMBERS)}, LEAP_SCHEMA
    )


def _steps_of(key_ids: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([key_ids[:, None], steps], axis=1)


def merge_leaps(leaps: Iterable[pa.Table], lasts: Sequence[pa.Table] = (), longest: int = KEPT) -> pa.Table:
    """The same of several lots of steps, with so many of the longest ones of each key.

    `lasts` are the commits that parts of a log keep, if these are parts: then the steps from one part to the
    next are looked at as well.
    """
    leaps = sorted((each for each in leaps if each.num_rows), key=lambda each: _partitions(each)[0])
    rows = pa.concat_tables([no_leaps(), *leaps]).unify_dictionaries()
    if all(_partitions(one)[1] < _partitions(other)[0] for one, other in pairwise(leaps)):
        return rows  # of other offsets partitions, so none has a key of another
    if len(lasts) > 1:
        is_first = values_of(rows["from_log_offset"]) == UNKNOWN
        rows = _unified([rows, _joined(taken(rows, np.flatnonzero(is_first)), lasts)])
    known = values_of(rows["from_log_offset"]) != UNKNOWN
    keys = [values_of(rows["offsets_partition"]), ranks(rows["group"]), ranks(rows["topic"])]
    keys.append(values_of(rows["partition"]))
    order = ordered_by(*keys, values_of(rows["log_offset"]), known.astype(np.int64))
    keys = [key[order] for key in keys]
    # Commits that were kept are met again when more of the log is read, and their steps with them.
    is_new = begins_of([*keys, values_of(rows["log_offset"])[order], known[order].astype(np.int64)])
    order, keys = order[is_new], [key[is_new] for key in keys]
    starts, known = np.flatnonzero(begins_of(keys)), known[order]
    step = np.where(known, (values_of(rows["offset"]) - values_of(rows["from_offset"]))[order], 0)
    kept = _are_longest(step, starts, longest)
    kept[_last_moves(step, starts)] = True
    kept[starts[~known[starts]]] = True
    return taken(rows, order[kept])


def longest_steps(leaps: pa.Table, longest: int = KEPT) -> pa.Table:
    """So many of the longest steps forward of each key, and its first commit; nothing where none are kept.

    A step that only moved a key last is left out.
    """
    if not leaps.num_rows or not longest:
        return no_leaps()
    step, starts = _steps(leaps)
    known = values_of(leaps["from_log_offset"]) != UNKNOWN
    return taken(leaps, np.flatnonzero(~known | _are_longest(step, starts, longest)))


def last_moves(leaps: pa.Table) -> pa.Table:
    """The last step of each key that moved it, forward or back; of keys that never moved there is none.

    A commit after a deletion counts as no move.
    """
    if not leaps.num_rows:
        return leaps
    step, starts = _steps(leaps)
    return taken(leaps, _last_moves(step, starts))


def of_offsets_partitions(leaps: pa.Table) -> Iterator[pa.Table]:
    """The steps of one offsets partition after the other: what is made of them takes the memory of one."""
    for start, stop in pairwise((*starts_of(leaps, ("offsets_partition",)).tolist(), leaps.num_rows)):
        yield leaps.slice(start, stop - start)


def _steps(leaps: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each row's step, 0 for a first commit, and where the rows of each key begin."""
    keys = [values_of(leaps["offsets_partition"]), ranks(leaps["group"]), ranks(leaps["topic"])]
    keys.append(values_of(leaps["partition"]))
    known = values_of(leaps["from_log_offset"]) != UNKNOWN
    step = np.where(known, values_of(leaps["offset"]) - values_of(leaps["from_offset"]), 0)
    return step, np.flatnonzero(begins_of(keys))


def _partitions(leaps: pa.Table) -> tuple[int, int]:
    """The least and the greatest offsets partition."""
    partitions = values_of(leaps["offsets_partition"])
    return int(partitions.min()), int(partitions.max())


def _are_longest(step: NDArray[np.int64], starts: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Whether each step is one of so many of its key's longest ones forward; the first of equal ones."""
    number = len(step)
    # One number of a step and its place, so that the greatest has both. What has no room is far from real.
    ranked = np.clip(step, 0, np.iinfo(np.int64).max // number - 1)
    ranked *= number
    ranked += np.arange(number - 1, -1, -1)
    chosen = np.zeros(number, np.bool_)
    for _ in range(count):
        place = number - 1 - np.maximum.reduceat(ranked, starts) % number
        chosen[place[step[place] > 0]] = True
        ranked[place] = -1
    return chosen


def _last_moves(step: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index of each key's last step that moved it, in order."""
    last = np.maximum.reduceat(np.where(step != 0, np.arange(len(step)), -1), starts)
    return last[last >= 0]


def _joined(firsts: pa.Table, lasts: Sequence[pa.Table]) -> pa.Table:
    """The steps from the last commit of a part to the first one of the next."""
    names = ["group", "topic", "partition", "offsets_partition", *_FROM]
    plain = [taken(rows, np.flatnonzero(values_of(rows["producer_id"]) < 0)) for rows in lasts]
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
    rows_after = taken(rows, at)
    return pa.Table.from_arrays(
        [
            *(rows_after[name] for name in ("group", "topic", "partition", "offsets_partition")),
            *of_from,
            *(rows_after[name] for name in _FROM),
        ],
        schema=LEAP_SCHEMA,
    )
