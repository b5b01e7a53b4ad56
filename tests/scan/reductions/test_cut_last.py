"""Parts of a log in pieces: merged piece by piece, the pieces are the log, each key in one of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.scan.reductions.cut_last import cut_last
from kgroup.scan.reductions.last_commits import Keep, last_part, merge_last
from kgroup.scan.reductions.scan import Slice
from tests.compat.captures import FIXTURES
from tests.log.offsets_log import batch, commit, group_metadata, marker, tombstone, write

KEEP = Keep(slots=3, period_ms=100)
COLUMNS = ("group", "topic", "partition", "offset", "log_offset", "value_version")


def parts_of(path):
    """The log cut behind each batch."""
    batches = [item for item in read_segment(path) if isinstance(item, Batch)]
    return [
        last_part(
            [Slice(path=path, offsets_partition=7, start=one.position, end=one.position + one.size)],
            KEEP,
        )
        for one in batches
    ]


def rows_of(part):
    return [tuple(row[name] for name in COLUMNS) for row in part.settled.to_pylist()]


@pytest.mark.parametrize("pieces", [1, 2, 5])
@pytest.mark.parametrize(
    "folder", ["1.1.1/lives/__consumer_offsets-48", "3.9.1/compacted/__consumer_offsets-11"]
)
def test_real_logs_with_transactions_that_are_cut_between_their_batches(folder, pieces):
    path = min((FIXTURES / folder).glob("*.log"))
    parts = parts_of(path)
    whole = merge_last(parts, KEEP)
    cut = [cut_last(part, pieces) for part in parts]
    merged = [merge_last([of_part[piece] for of_part in cut], KEEP) for piece in range(pieces)]
    assert sorted(row for part in merged for row in rows_of(part)) == sorted(rows_of(whole))
    assert sum(part.waiting.num_rows for part in merged) == whole.waiting.num_rows
    assert all(part.memberships == whole.memberships for part in merged)
    keys = [{row[:3] for row in rows_of(part)} for part in merged]
    assert sum(map(len, keys)) == len(set().union(*keys))
    assert pieces == 1 or sum(bool(of_piece) for of_piece in keys) > 1


GROUPS = st.sampled_from(["a", "b", "c"])
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["commit", "commit", "tombstone", "members", "committed", "aborted"]),
        GROUPS,
        st.sampled_from([-1, 5, 6]),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(EVENTS, st.integers(2, 4))
def test_any_log(tmp_path_factory, events, pieces):
    batches = []
    for offset, (kind, group, producer) in enumerate(events):
        match kind:
            case "commit":
                records = [commit(group, "t", offset % 3, offset * 40)]
                batches.append(batch(offset, records, producer_id=producer))
            case "tombstone":
                batches.append(batch(offset, [tombstone(group, "t", offset % 3)], producer_id=producer))
            case "members":
                batches.append(batch(offset, [group_metadata(group, offset // 4)]))
            case _:
                batches.append(marker(offset, max(producer, 5), committed=kind == "committed"))
    parts = parts_of(write(tmp_path_factory.mktemp("log"), batches))
    whole = merge_last(parts, KEEP)
    cut = [cut_last(part, pieces) for part in parts]
    merged = [merge_last([of_part[piece] for of_part in cut], KEEP) for piece in range(pieces)]
    assert sorted(row for part in merged for row in rows_of(part)) == sorted(rows_of(whole))
