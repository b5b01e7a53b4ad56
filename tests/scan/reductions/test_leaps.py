"""The longest steps between commits, against the plain list of them; a log read in parts has the same."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.scan.reductions import last_commits as scan_last
from kgroup.scan.reductions.last_commits import Keep, counting, last_part, merge_last
from kgroup.scan.reductions.leaps import KEPT, UNKNOWN
from kgroup.scan.reductions.scan import Slice
from tests.log.offsets_log import batch, commit, marker, tombstone, write

pytestmark = pytest.mark.usefixtures("each_tier")

PARTITION = 7
A, B = ("a", "t", 0), ("b", "t", 0)


def longest(commits):
    """The longest steps of each key by hand: (key, from, to), of equal ones the first."""
    steps = {}
    last = {}
    for key, offset in commits:
        if offset is not None and last.get(key) is not None and offset > last[key]:
            steps.setdefault(key, []).append((last[key], offset))
        last[key] = offset
    chosen = []
    for key, of_key in sorted(steps.items()):
        order = sorted(range(len(of_key)), key=lambda place: (of_key[place][0] - of_key[place][1], place))
        chosen += [(key, *of_key[place]) for place in sorted(order[:KEPT])]
    return chosen


def found(scanned):
    return steps_in(scanned.longest)


def steps_in(table):
    return [
        ((row["group"], row["topic"], row["partition"]), row["from_offset"], row["offset"])
        for row in sorted(table.to_pylist(), key=lambda row: (row["group"], row["log_offset"]))
        if row["from_log_offset"] != UNKNOWN
    ]


def moved_last(commits):
    """The last step of each key that moved it, by hand."""
    moves, last = {}, {}
    for key, offset in commits:
        if None not in (offset, last.get(key)) and offset != last[key]:
            moves[key] = (key, last[key], offset)
        last[key] = offset
    return [moves[key] for key in sorted(moves)]


def written(tmp_path, commits):
    batches = [
        batch(place, [tombstone(*key) if offset is None else commit(*key, offset)])
        for place, (key, offset) in enumerate(commits)
    ]
    return write(tmp_path, batches, PARTITION), batches


def parts_of(path, ends, keep):
    return [
        last_part([Slice(path=path, offsets_partition=PARTITION, start=start, end=end)], keep)
        for start, end in pairwise(ends)
    ]


COMMITS = st.lists(
    st.tuples(st.sampled_from([A, B]), st.one_of(st.none(), st.integers(0, 12))), min_size=1, max_size=25
)


@settings(deadline=None)
@given(commits=COMMITS, cuts=st.lists(st.integers(0, 25), max_size=3), often=st.booleans())
def test_a_log_in_parts_has_the_steps_of_the_whole(tmp_path_factory, commits, cuts, often):
    path, batches = written(tmp_path_factory.mktemp("log"), commits)
    sizes = [0]
    for each in batches:
        sizes.append(sizes[-1] + len(each))
    ends = sorted({0, path.stat().st_size, *(sizes[min(cut, len(batches))] for cut in cuts)})
    keep = Keep(slots=1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scan_last, "_ROWS_AT_ONCE", 1 if often else 500_000)
        merged = merge_last(parts_of(path, ends, keep), keep)
    assert found(counting(merged, keep)) == longest(commits)
    assert steps_in(counting(merged, keep).moves) == moved_last(commits)


def test_commits_in_transactions_are_left_out(tmp_path):
    path = write(
        tmp_path,
        [
            batch(0, [commit(*A, 1)]),
            batch(1, [commit(*A, 500)], producer_id=4),
            marker(2, 4, committed=True),
            batch(3, [commit(*A, 3)]),
        ],
        PARTITION,
    )
    (part,) = parts_of(path, [0, path.stat().st_size], Keep(slots=3))
    assert found(counting(part, Keep(slots=3))) == [(A, 1, 3)]


@pytest.mark.parametrize("cut", range(1, 9))
@pytest.mark.parametrize("slots", [1, 3])
def test_wherever_a_log_is_cut_the_step_over_the_cut_is_seen(tmp_path, cut, slots):
    commits = [(A, 1), (A, 3), (A, 30), (A, 31), (B, 5), (B, 60), (A, 50), (A, 51), (A, 90)]
    path, batches = written(tmp_path, commits)
    keep, place = Keep(slots=slots), sum(map(len, batches[:cut]))
    merged = merge_last(parts_of(path, [0, place, path.stat().st_size], keep), keep)
    assert found(counting(merged, keep)) == longest(commits)
    assert steps_in(counting(merged, keep).moves) == [(A, 51, 90), (B, 5, 60)]
    assert len(longest(commits)) == KEPT + 1, "two of the seven are left out"


def test_the_last_step_is_the_one_that_moved_though_it_is_short_or_goes_back(tmp_path):
    commits = [(A, 0), (A, 10), (A, 30), (A, 60), (A, 100), (A, 99), (A, 99), (A, 99), (B, 7), (B, 7)]
    path, _ = written(tmp_path, commits)
    (part,) = parts_of(path, [0, path.stat().st_size], Keep(slots=3))
    counted = counting(part, Keep(slots=3))
    assert steps_in(counted.moves) == [(A, 100, 99)], "b has never moved"
    assert (A, 100, 99) not in found(counted)


def test_records_that_are_met_again_are_no_steps(tmp_path):
    commits = [(A, 0), (A, 10), (A, 30), (A, 60), (A, 100), (A, 150)]
    path, _ = written(tmp_path, commits)
    whole = Slice(path=path, offsets_partition=PARTITION, start=0, end=path.stat().st_size)
    counted = counting(last_part([whole, whole], Keep(slots=3)), Keep(slots=3))
    assert found(counted) == longest(commits)
    assert steps_in(counted.moves) == moved_last(commits)


@settings(deadline=None)
@given(commits=COMMITS, cuts=st.lists(st.integers(0, 25), max_size=3))
def test_without_longest_steps_the_last_moves_are_the_same(tmp_path_factory, commits, cuts):
    path, batches = written(tmp_path_factory.mktemp("log"), commits)
    sizes = list(accumulate(map(len, batches), initial=0))
    ends = sorted({0, path.stat().st_size, *(sizes[min(cut, len(batches))] for cut in cuts)})
    keep = Keep(slots=1, longest=0)
    counted = counting(merge_last(parts_of(path, ends, keep), keep), keep)
    assert steps_in(counted.moves) == moved_last(commits)
    assert not counted.longest.num_rows
