"""Where each group's rows stand in a table that is sorted by key, one offsets partition after the other."""

from itertools import pairwise

import pyarrow as pa

from kgroup.scan.reading.order import starts_of
from kgroup.scan.reading.taken import taken

GroupSpans = dict[str, list[slice]]
"""The rows of each group by its name: more than one run of them if its keys are in two offsets partitions.

It happens to groups from before the offsets topic had as many partitions as now.
"""


def group_spans(table: pa.Table) -> GroupSpans:
    """The spans of all groups; the table's groups have one dictionary."""
    starts = starts_of(table, ("offsets_partition", "group"))
    names = taken(table.select(["group"]), starts)["group"].to_pylist()
    spans: GroupSpans = {}
    for name, (start, stop) in zip(names, pairwise((*starts.tolist(), table.num_rows)), strict=True):
        spans.setdefault(str(name), []).append(slice(start, stop))
    return spans


def rows_within(table: pa.Table, span: slice) -> pa.Table:
    """The rows of one span."""
    return table.slice(span.start, span.stop - span.start)
