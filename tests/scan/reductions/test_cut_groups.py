"""Parts of a log in pieces of whole groups: together they are the log, and each group is in one of them."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.scan.reductions.cut_groups import LEFT_OUT, cut_by_hash, cut_groups, of_no_group
from kgroup.scan.reductions.history import merge_histories, read_history
from kgroup.scan.reductions.last_commits import Keep, last_part, merge_last
from kgroup.scan.reductions.newest import merge, newest
from kgroup.scan.reductions.scan import Slice
from tests.compat.captures import FIXTURES
from tests.log.offsets_log import batch, commit, group_metadata, marker, tombstone, write

KEEP = Keep(slots=3)
NAMES = ("commits", "pending", "settled", "waiting", "leaps")


def parts_of(path):
    """The log cut behind each batch."""
    items = list(read_segment(path))
    cuts = sorted({0, *(item.position + item.size for item in items if isinstance(item, Batch))})
    cuts = [*cuts[:-1], path.stat().st_size]
    slices = [Slice(path=path, offsets_partition=7, start=start, end=end) for start, end in pairwise(cuts)]
    return [((newest([one]), last_part([one], KEEP)), read_history([one])) for one in slices]


def merged(parts):
    parts = list(parts)
    return (
        (merge(part[0][0] for part in parts), merge_last((part[0][1] for part in parts), KEEP)),
        merge_histories(part[1] for part in parts),
    )


def rows_of(part):
    """All that is of groups, by table."""
    (records, last), history = part
    tables = (records.commits, records.pending, last.settled, last.waiting, last.leaps)
    rows = {name: table.to_pylist() for name, table in zip(NAMES, tables, strict=True)}
    return {
        **{name: sorted(of_table, key=repr) for name, of_table in rows.items()},
        "others": sorted(map(repr, records.others)),
        "memberships": sorted(last.memberships.items()),
        "rounds": sorted(map(repr, history.rounds.items())),
    }


def together(parts):
    of_parts = [rows_of(part) for part in parts]
    return {name: sorted((row for rows in of_parts for row in rows[name]), key=repr) for name in of_parts[0]}


def groups_in(part):
    (records, _), _ = part
    return {row["group"] for row in records.commits.to_pylist()}


def check(parts, pieces):
    """As executors do it: pieces by hash of each part are merged, then cut by ranges of groups."""
    whole = merged(parts)
    by_hash = [cut_by_hash(part, pieces) for part in parts]
    hashed = [merged(of_part[number] for of_part in by_hash) for number in range(pieces)]
    assert together(hashed) == together([whole])
    assert hashed[0][1].reach.equals(whole[1].reach)
    assert not any(part[1].reach.num_rows for part in hashed[1:])
    assert [sum(part[0][0].records for part in hashed), hashed[0][0][0].damage] == [
        whole[0][0].records,
        whole[0][0].damage,
    ]
    by_range = [cut_groups(part, lambda group: int(group >= "b"), 2) for part in hashed]
    ranged = [merged(of_part[number] for of_part in by_range) for number in range(2)]
    rest = of_no_group(whole[0][0])
    of_groups = together(ranged)
    of_groups["others"] = sorted([*of_groups["others"], *map(repr, rest.others)], key=repr)
    assert of_groups == together([whole])
    assert not groups_in(ranged[0]) & groups_in(ranged[1])
    assert all(group < "b" for group in groups_in(ranged[0]))


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize(
    "folder",
    [
        "1.1.1/lives/__consumer_offsets-48",
        "3.9.1/compacted/__consumer_offsets-11",
        "damaged/short-value/__consumer_offsets-5",
    ],
)
def test_real_logs_that_are_cut_between_their_batches(folder, pieces):
    path = min((FIXTURES / folder).glob("*.log"))
    check(parts_of(path), pieces)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["commit", "commit", "tombstone", "members", "committed", "aborted"]),
        st.sampled_from(["a", "b", "d"]),  # of both pieces, if there are two
        st.sampled_from([-1, 5, 6]),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
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
    if batches:
        check(parts_of(write(tmp_path_factory.mktemp("log"), batches)), pieces)


def test_a_transaction_that_is_open_stays_so_whatever_its_producer_ended_before(tmp_path):
    batches = [marker(0, 5, committed=True)]
    batches += [
        batch(offset, [commit(group, "t", 0, offset)], producer_id=5)
        for offset, group in enumerate("abd", start=1)
    ]
    parts = parts_of(write(tmp_path, batches))
    assert {row["group"] for row in merged(parts)[0][0].pending.to_pylist()} == {"a", "b", "d"}
    check(parts, 2)


def test_groups_that_nobody_wants_are_in_no_piece(tmp_path):
    path = write(
        tmp_path, [batch(0, [commit("a", "t", 0, 1), commit("b", "t", 0, 1), group_metadata("b", 1)])]
    )
    (part,) = parts_of(path)
    (piece,) = cut_groups(part, lambda group: 0 if group == "a" else LEFT_OUT, 1)
    assert groups_in(piece) == {"a"}
    (records, last), history = piece
    assert (records.others, last.memberships, history.rounds) == ((), {}, {})


def test_what_could_not_be_read_is_told_by_one_piece(tmp_path):
    path = write(tmp_path, [batch(0, [commit(f"g{number}", "t", 0, 1) for number in range(20)])])
    part = last_part([Slice(path=path, offsets_partition=7, start=0, end=path.stat().st_size)], KEEP)
    part = replace(part, problems=("a folder that cannot be listed",))
    assert [piece.problems for piece in cut_by_hash(part, 3)] == [part.problems, (), ()]
