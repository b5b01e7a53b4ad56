"""What a log says of the time before its end: how far anybody had got, and rebalances in a row."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.scan.reductions import history as scan_history
from kgroup.scan.reductions.history import PERIOD_MS, merge_histories, read_history
from kgroup.scan.reductions.scan import Slice
from tests.log.offsets_log import batch, commit, group_metadata, marker, tombstone, write

pytestmark = pytest.mark.usefixtures("each_tier")

PARTITION = 7
TIME = st.builds(lambda period, ms: period * PERIOD_MS + ms, st.integers(0, 5), st.integers(0, 2))


def history(tmp_path, batches, boundaries=()):
    path = write(tmp_path, batches, PARTITION)
    ends = [0, *boundaries, path.stat().st_size]
    slices = [Slice(path=path, offsets_partition=PARTITION, start=a, end=b) for a, b in pairwise(ends)]
    return read_history(slices)


def reach(past):
    return [tuple(row.values()) for row in past.reach.to_pylist()]


def generations(past, group="g"):
    entries = [record.logged().entry for record in past.rounds.get((PARTITION, group), ())]
    return [entry.value.generation for entry in entries if isinstance(entry, OffsetsEntry)]


def furthest(commits, periods):
    """Of (topic, partition, offset) the furthest of each of the newest periods; it was made a ms later."""
    for topic, partition in sorted({(topic, partition) for topic, partition, _ in commits}):
        of_partition = sorted(
            offset for *topic_partition, offset in commits if topic_partition == [topic, partition]
        )
        by_period = {(offset + 1) // PERIOD_MS: offset for offset in of_partition}
        for offset in list(by_period.values())[-periods:]:
            yield topic, partition, offset, offset + 1


def newest_of_each(commits, periods):
    """Of (offset, time) the furthest of each of the newest periods, and of equal ones the first in time."""
    by_period = {}
    for offset, time in commits:
        by_period.setdefault(time // PERIOD_MS, []).append((offset, -time))
    furthest_of = [max(by_period[period]) for period in sorted(by_period)[-periods:]]
    return [(offset, -time) for offset, time in furthest_of]


class TestReach:
    """`offsets_log.commit` commits an offset one ms after so many ms."""

    def test_the_furthest_commit_of_any_group_in_each_period(self, tmp_path):
        records = [
            commit("slow", "t", 0, 3),
            commit("fast", "t", 0, PERIOD_MS - 2),
            commit("slow", "t", 0, 5),
            commit("fast", "t", 0, PERIOD_MS + 7),
            commit("fast", "t", 1, 2),
            commit("fast", "s", 1, 1),
        ]
        assert reach(history(tmp_path, [batch(0, records)])) == [
            ("s", 1, 1, 2),
            ("t", 0, PERIOD_MS - 2, PERIOD_MS - 1),
            ("t", 0, PERIOD_MS + 7, PERIOD_MS + 8),
            ("t", 1, 2, 3),
        ]

    def test_tombstones_and_transactions_prove_nothing(self, tmp_path):
        batches = [
            batch(0, [commit("g", "t", 0, 3), tombstone("g", "t", 0)]),
            batch(2, [commit("g", "t", 0, 4)], producer_id=5),
            marker(3, 5, committed=True),
        ]
        assert reach(history(tmp_path, batches)) == [("t", 0, 3, 4)]

    def test_the_newest_periods_are_kept(self, tmp_path, monkeypatch):
        monkeypatch.setattr(scan_history, "_PERIODS", 2)
        records = [commit("g", "t", 0, number * PERIOD_MS) for number in range(5)]
        assert [row[2] for row in reach(history(tmp_path, [batch(0, records)]))] == [
            3 * PERIOD_MS,
            4 * PERIOD_MS,
        ]

    @given(
        commits=st.lists(
            st.tuples(st.sampled_from("ab"), st.integers(0, 5 * PERIOD_MS)), min_size=1, max_size=12
        ),
        cut=st.integers(0, 12),
    )
    def test_parts_put_together_are_the_whole(self, tmp_path_factory, commits, cut):
        tmp_path = tmp_path_factory.mktemp("log")
        records = [commit("g", topic, 0, offset) for topic, offset in commits]
        whole = history(tmp_path, [batch(0, records)])
        parts = [history(tmp_path, [batch(0, part)]) for part in (records[:cut], records[cut:]) if part]
        assert reach(merge_histories(parts)) == reach(whole)

    @given(
        commits=st.lists(
            st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 5 * PERIOD_MS)), max_size=20
        )
    )
    def test_what_is_too_old_when_it_comes_changes_nothing(self, tmp_path_factory, commits):
        batches = [batch(at, [commit("g", *one)]) for at, one in enumerate(commits)]
        boundaries = [sum(map(len, batches[:count])) for count in range(1, len(batches))]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scan_history, "_PERIODS", 2)
            read = history(tmp_path_factory.mktemp("log"), batches, boundaries)
        assert reach(read) == list(furthest(commits, 2))

    @given(
        commits=st.lists(
            st.tuples(st.integers(0, 1), st.sampled_from("aab"), st.integers(0, 3), TIME), min_size=4
        ),
        periods=st.integers(1, 3),
    )
    def test_offsets_partitions_put_together_in_any_order_of_times(self, tmp_path_factory, commits, periods):
        folder = tmp_path_factory.mktemp("logs")
        slices = []
        for offsets_partition in sorted({one for one, *_ in commits}):
            records = [
                commit("g", topic, 0, offset, at_ms=time)
                for one, topic, offset, time in commits
                if one == offsets_partition
            ]
            path = write(folder, [batch(0, records)], offsets_partition)
            slices.append(
                Slice(path=path, offsets_partition=offsets_partition, start=0, end=path.stat().st_size)
            )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scan_history, "_PERIODS", periods)
            read = read_history(slices)
        assert reach(read) == [
            (topic, 0, offset, time)
            for topic in "ab"
            for offset, time in newest_of_each([one[2:] for one in commits if one[1] == topic], periods)
        ]

    def test_there_is_room_for_any_number_of_partitions_and_periods(self, tmp_path):
        # Every partition is far into its periods when the next ones come.
        commits = [
            ("t", partition, period * PERIOD_MS + partition)
            for first in range(0, 600, 200)
            for period in range(20)
            for partition in range(first, first + 200)
        ]
        read = history(tmp_path, [batch(0, [commit("g", *one) for one in commits])])
        assert reach(read) == list(furthest(commits, 64))
        assert reach(merge_histories([read])) == reach(read)

    def test_an_empty_log(self, tmp_path):
        read = history(tmp_path, [])
        assert (reach(read), read.rounds) == ([], {})
        assert reach(merge_histories([])) == []


class TestRounds:
    """`offsets_log.batch` gives a record a timestamp of its offset and a second."""

    def written(self, tmp_path, times):
        return history(
            tmp_path, [batch(time, [group_metadata("g", number)]) for number, time in enumerate(times)]
        )

    def test_the_first_run_the_last_and_the_last_long_one(self, tmp_path, monkeypatch):
        monkeypatch.setattr(scan_history, "_NEWEST", 0)
        long_runs = [*range(1_000_000, 1_000_009), *range(2_000_000, 2_000_010)]
        times = [0, 100_000, *long_runs, 3_000_000, 4_000_000]
        read = self.written(tmp_path, times)
        assert generations(read) == [0, *range(11, 21), 22]

    def test_the_newest_records_however_far_apart(self, tmp_path, monkeypatch):
        monkeypatch.setattr(scan_history, "_NEWEST", 4)
        times = [0, *range(1_000_000, 1_000_003), 2_000_000, 2_000_001, 3_000_000, 4_000_000]
        assert generations(self.written(tmp_path, times)) == [0, *range(4, 8)]

    @pytest.mark.parametrize("cut", [1, 3, 5, 7])
    def test_the_newest_records_of_parts_are_those_of_the_whole(self, tmp_path, monkeypatch, cut):
        monkeypatch.setattr(scan_history, "_NEWEST", 4)
        times = [0, *range(1_000_000, 1_000_003), 2_000_000, 2_000_001, 3_000_000, 4_000_000]
        parts = [
            history(
                tmp_path / str(number),
                [batch(time, [group_metadata("g", times.index(time))]) for time in part],
            )
            for number, part in enumerate((times[:cut], times[cut:]))
        ]
        assert generations(merge_histories(parts)) == [0, *range(4, 8)]

    def test_a_run_is_bounded(self, tmp_path, monkeypatch):
        monkeypatch.setattr(scan_history, "_RUN_MAX", 5)
        assert generations(self.written(tmp_path, range(100))) == list(range(95, 100))

    @pytest.mark.parametrize("cut", [1, 8, 12])
    def test_a_run_goes_on_in_the_next_part(self, tmp_path, cut):
        times = [*range(12), 1_000_000]
        parts = [self.written(tmp_path, part) for part in (times[:cut], times[cut:])]
        assert len(generations(merge_histories(parts))) == 13
