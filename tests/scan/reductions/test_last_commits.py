"""`last_commits`: the last commits per key that count, by the rule of Kafka 4.x."""

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.scan.reductions import last_commits as scan_last
from kgroup.scan.reductions.last_commits import Keep, counting, last_commits, last_part, merge_last, times_of
from kgroup.scan.reductions.scan import Slice
from tests.log.offsets_log import batch, commit, group_metadata, marker, tombstone, write

pytestmark = pytest.mark.usefixtures("each_tier")

PARTITION = 7
A, B = ("a", "t", 0), ("b", "t", 0)


def last(tmp_path, batches, slots=3, boundaries=()):
    path = write(tmp_path, batches, PARTITION)
    ends = [0, *boundaries, path.stat().st_size]
    slices = [Slice(path=path, offsets_partition=PARTITION, start=a, end=b) for a, b in pairwise(ends)]
    return last_commits(slices, slots)


def held(scanned):
    windows = defaultdict(list)
    for row in scanned.commits.to_pylist():
        windows[row["group"], row["topic"], row["partition"]].append(row["offset"])
    return dict(windows)


def test_the_last_ones_stay_in_log_order(tmp_path):
    batches = [batch(i, [commit(*(A if i % 3 else B), 100 - i)]) for i in range(9)]
    assert held(last(tmp_path, batches)) == {A: [95, 93, 92], B: [100, 97, 94]}


def test_a_tombstone_begins_anew(tmp_path):
    batches = [batch(0, [commit(*A, 1), commit(*B, 2), tombstone(*A), commit(*A, 3), tombstone(*B)])]
    assert held(last(tmp_path, batches)) == {A: [3]}


def test_commits_of_a_transaction_count_where_they_stand_once_it_is_committed(tmp_path):
    batches = [
        batch(0, [commit(*A, 1)], producer_id=5),
        batch(1, [commit(*A, 2)], producer_id=6),
        batch(2, [commit(*A, 3)]),
        marker(3, 5, committed=True),
        marker(4, 6, committed=False),
        batch(5, [commit(*A, 4)], producer_id=5),  # still open
    ]
    assert held(last(tmp_path, batches)) == {A: [1, 3]}


def test_a_tombstone_ends_what_a_transaction_wrote_before_it(tmp_path):
    batches = [
        batch(0, [commit(*A, 1)], producer_id=5),
        batch(1, [tombstone(*A)]),
        marker(2, 5, committed=True),
        batch(3, [commit(*A, 2)]),
    ]
    assert held(last(tmp_path, batches)) == {A: [2]}


def test_a_record_of_another_generation_is_a_change_of_membership(tmp_path):
    generations = [1, 1, 2, 1]
    batches = [batch(i, [group_metadata("a", generation)]) for i, generation in enumerate(generations)]
    assert last(tmp_path, batches).membership_changes == {(PARTITION, "a"): (0, 2, 3)}


def test_an_empty_log_holds_nothing(tmp_path):
    assert held(last(tmp_path, [])) == {}


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.sampled_from([A, B]), st.sampled_from([-1, -1, 5, 6])),
        st.tuples(st.just("tombstone"), st.sampled_from([A, B]), st.sampled_from([-1, 5])),
        st.tuples(st.just("marker"), st.booleans(), st.sampled_from([5, 6])),
    ),
    max_size=30,
)


def plainly(events, slots):
    """The same by going through the log one by one."""
    counting, open_ones, tombstones = defaultdict(dict), defaultdict(list), {}
    for at, (kind, subject, producer) in enumerate(events):
        if kind == "tombstone":
            tombstones[subject] = at
        elif kind == "marker":
            ended = open_ones.pop(producer, [])
            for begun, key in ended if subject else []:
                counting[key][begun] = begun
        elif producer >= 0:
            open_ones[producer].append((at, subject))
        else:
            counting[subject][at] = at
    windows = {
        key: [at for at in sorted(commits) if at > tombstones.get(key, -1)][-slots:]
        for key, commits in counting.items()
    }
    return {key: window for key, window in windows.items() if window}


@settings(max_examples=60)
@given(EVENTS, st.integers(1, 4), st.data())
def test_it_equals_going_through_one_by_one_however_it_is_cut(tmp_path_factory, events, slots, data):
    batches = []
    for at, (kind, subject, producer) in enumerate(events):
        if kind == "marker":
            batches.append(marker(at, producer, committed=subject))
        else:
            record = commit(*subject, at) if kind == "commit" else tombstone(*subject)
            batches.append(batch(at, [record], producer_id=producer))
    sizes = [sum(map(len, batches[:count])) for count in range(1, len(batches))]
    boundaries = sorted(data.draw(st.sets(st.sampled_from(sizes)))) if sizes else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_last, "_ROWS_AT_ONCE", data.draw(st.sampled_from([1, 4, 1000])))
        commits = last(tmp_path_factory.mktemp("log"), batches, slots, boundaries)
    assert held(commits) == plainly(events, slots)


@settings(max_examples=60)
@given(EVENTS, st.integers(1, 4), st.data())
def test_parts_that_are_read_apart_and_merged_in_any_grouping_leave_the_same(
    tmp_path_factory, events, slots, data
):
    batches = []
    for at, (kind, subject, producer) in enumerate(events):
        if kind == "marker":
            batches.append(marker(at, producer, committed=subject))
        else:
            record = commit(*subject, at) if kind == "commit" else tombstone(*subject)
            batches.append(batch(at, [record], producer_id=producer))
    path = write(tmp_path_factory.mktemp("log"), batches, PARTITION)
    ends = [sum(map(len, batches[:count])) for count in range(1, len(batches))]
    cuts = sorted(data.draw(st.sets(st.sampled_from(ends)))) if ends else []
    keep = Keep(slots=slots)
    parts = [
        last_part([Slice(path=path, offsets_partition=PARTITION, start=start, end=end)], keep)
        for start, end in pairwise([0, *cuts, path.stat().st_size])
    ]
    middle = data.draw(st.integers(0, len(parts)))
    merged = merge_last([merge_last(parts[:middle], keep), merge_last(parts[middle:], keep)], keep)
    assert held(counting(merged, keep)) == plainly(events, slots)


def test_a_generation_that_goes_on_in_the_next_part_has_not_changed_there(tmp_path):
    generations = [1, 2, 2, 3]
    path = write(
        tmp_path, [batch(i, [group_metadata("a", generation)]) for i, generation in enumerate(generations)], 7
    )
    keep = Keep(slots=1)
    parts = [last_part([part], keep) for part in slice_per_batch(path)]
    merged = counting(merge_last(parts, keep), keep)
    assert merged.membership_changes == {(PARTITION, "a"): (0, 1, 3)}
    assert merged == last_commits(slice_per_batch(path), 1)


def slice_per_batch(path):
    batches = [item for item in read_segment(path) if isinstance(item, Batch)]
    return [
        Slice(path=path, offsets_partition=PARTITION, start=item.position, end=item.position + item.size)
        for item in batches
    ]


def test_of_each_period_the_last_ones_stay_and_a_tombstone_ends_only_what_is_before_it_in_its_own(tmp_path):
    # Of `commit` the timestamp is the offset and 1; a tombstone's record is of 1000 ms and its log offset.
    batches = [
        batch(0, [commit(*A, 1), commit(*A, 2), commit(*A, 3)]),
        batch(3, [commit(*A, 1400), tombstone(*A), commit(*A, 1500)]),
    ]
    path = write(tmp_path, batches, PARTITION)
    keep = Keep(slots=2, period_ms=1000)
    commits = counting(last_part(slice_per_batch(path), keep), keep).commits
    rows = list(zip((times_of(commits) // 1000).tolist(), commits["offset"].to_pylist(), strict=True))
    assert rows == [(0, 2), (0, 3), (1, -1), (1, 1500)]


@settings(max_examples=60)
@given(
    commits=st.lists(
        st.tuples(st.sampled_from([A, B]), st.one_of(st.none(), st.integers(0, 3999))),
        min_size=1,
        max_size=30,
    ),
    slots=st.integers(1, 3),
    put_out=st.sampled_from([1, 1000]),
)
def test_periods_that_come_in_any_order_keep_their_last_ones(tmp_path_factory, commits, slots, put_out):
    batches = [
        batch(at, [tombstone(*key) if offset is None else commit(*key, offset)])
        for at, (key, offset) in enumerate(commits)
    ]
    path = write(tmp_path_factory.mktemp("log"), batches, PARTITION)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_last, "_PUT_OUT", put_out)
        whole = Slice(path=path, offsets_partition=PARTITION, start=0, end=path.stat().st_size)
        part = last_part([whole], Keep(slots=slots, period_ms=1000))
    kept = defaultdict(list)
    for at, (key, offset) in enumerate(commits):
        # Of `commit` the timestamp is the offset and 1; of a tombstone's record, 1000 and the log offset.
        of_period = kept[key, (1000 + at if offset is None else offset + 1) // 1000]
        if offset is None:
            of_period[:] = [at]
        else:
            first = 1 if of_period and commits[of_period[0]][1] is None else 0
            of_period[first:] = [*of_period[first:], at][-slots:]
    expected = [at for _, places in sorted(kept.items()) for at in places]
    assert part.settled["log_offset"].to_pylist() == expected


def test_a_partition_of_more_keys_than_there_was_room_for(tmp_path):
    few, many = range(10), range(5000)
    batches = [
        batch(0, [commit("a", "t", number, 0) for number in few]),
        batch(len(few), [commit("a", "t", number, 1) for number in many]),
    ]
    kept = held(last(tmp_path, batches, boundaries=[len(batches[0])]))
    assert kept == {("a", "t", number): [0, 1] if number in few else [1] for number in many}


def test_the_end_of_a_transaction_finds_its_place_among_many(tmp_path):
    batches = [
        batch(0, [commit(*A, 0)], producer_id=5),
        *(batch(at, [commit(*A, at)]) for at in range(1, 4)),
        batch(4, [commit(*A, 4)], producer_id=5),
        batch(5, [commit(*A, 5)]),
        marker(6, 5, committed=True),
    ]
    assert held(last(tmp_path, batches)) == {A: [3, 4, 5]}
