"""Habits of committing: the last offset instead of the next, 0, idle commits, too many and too few."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import FindingKind, Severity
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import ago

K = FindingKind
LEFT = frozenset({("orders", 0), ("orders", 1)})


def of_kind(group, kind):
    return [finding for finding in find(group, hygiene=True) if finding.kind is kind]


def idle(number, end, *, until=400, written=401, lag=1, **fields):
    """Committed 400 s ago, a second after the last record was written."""
    return partition(number, steadily(until, end - lag), end, seen=[(written, end)], **fields)


class TestLastOffset:
    def test_a_lag_of_1_wherever_nothing_is_written(self):
        group = replace(facts(idle(0, 500), idle(1, 300)), one_record_left=LEFT)
        (finding,) = of_kind(group, K.COMMITS_LAST_OFFSET)
        assert (finding.severity, finding.topic, finding.since_ms) == (Severity.HYGIENE, "orders", ago(400))
        assert finding.evidence == (
            "a lag of exactly 1 on all of 2 idle partitions (orders-0, orders-1): the committed offset is"
            " that of a record that was there before the commit, and none has come since"
        )

    def test_such_a_group_does_not_stand_still(self):
        group = facts(idle(0, 500), idle(1, 300))
        assert K.STOPPED_GROUP in {finding.kind for finding in find(group)}
        assert find(replace(group, one_record_left=LEFT)) == ()

    @pytest.mark.parametrize(
        ("why", "partitions", "left"),
        [
            ("a marker of a transaction is the last", (idle(0, 500), idle(1, 300)), {("orders", 0)}),
            ("another partition is read to its end", (idle(0, 500), idle(1, 300), idle(2, 90, lag=0)), LEFT),
            ("one alone may be its last record being processed", (idle(0, 500),), LEFT),
            ("the records came after the commits", (idle(0, 500), idle(1, 300)), set()),
            ("it has just been committed", (idle(0, 500, until=30), idle(1, 300, until=30)), LEFT),
            ("two are unread", (idle(0, 500, lag=2), idle(1, 300, lag=2)), LEFT),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_not(self, why, partitions, left):
        group = replace(facts(*partitions), one_record_left=frozenset(left))
        assert not of_kind(group, K.COMMITS_LAST_OFFSET), why

    @pytest.mark.parametrize(
        ("kind", "fires"), [(GroupKind.SIMPLE, True), (GroupKind.CLASSIC, False)], ids=["simple", "left"]
    )
    def test_of_groups_without_members_only_those_that_never_have_any(self, kind, fires):
        group = replace(facts(idle(0, 500), idle(1, 300)), one_record_left=LEFT)
        empty = replace(group, group=replace(group.group, state=GroupState.EMPTY, kind=kind, members=()))
        assert bool(of_kind(empty, K.COMMITS_LAST_OFFSET)) is fires

    def test_a_partition_in_which_nothing_ever_was_says_nothing_against_it(self):
        group = facts(idle(0, 500), idle(1, 300), partition(2, steadily(400, 0, step=0), 0))
        assert of_kind(replace(group, one_record_left=LEFT), K.COMMITS_LAST_OFFSET)

    def test_a_partition_that_goes_on_says_neither(self):
        busy = partition(2, steadily(1, 495), 500, seen=[(1, 500)])
        group = replace(facts(idle(0, 500), idle(1, 300), busy), one_record_left=LEFT)
        assert of_kind(group, K.COMMITS_LAST_OFFSET)


class TestZeros:
    @pytest.mark.parametrize(
        ("why", "of", "fires"),
        [
            ("the log begins after it", partition(0, [(5, 0)], 50, start=20), True),
            ("it had got further", partition(0, [(9, 30), (5, 0)], 50), True),
            ("it has just begun", partition(0, [(5, 0)], 50), False),
            ("nothing is there", partition(0, [(5, 0)], 0), False),
            ("nobody knows where the log begins", partition(0, [(5, 0)], 50, start=None), False),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_when(self, why, of, fires):
        assert bool(of_kind(facts(of), K.ZERO_OFFSETS)) is fires, why

    def test_one_is_named_and_of_several_their_number(self):
        first, second = (partition(number, [(5, 0)], 50, start=20) for number in range(2))
        (one,) = of_kind(facts(first), K.ZERO_OFFSETS)
        (two,) = of_kind(facts(first, second), K.ZERO_OFFSETS)
        assert (one.partition, one.numbers) == (0, {"partitions": 1})
        assert (two.partition, two.numbers) == (None, {"partitions": 2})


class TestIdle:
    def test_commits_that_say_the_same_while_nothing_is_written(self):
        group = facts(partition(0, steadily(1, 500, step=0, every=5), 500))
        (finding,) = of_kind(replace(group, reached_ms={("orders", 0): ago(600)}), K.IDLE_COMMITS)
        assert (finding.severity, finding.since_ms) == (Severity.HYGIENE, ago(600))
        assert finding.evidence == (
            "nothing to read for 10m 0s, yet it keeps committing: 17,280 a day at this rate on 1 partition"
        )

    def test_a_minute_without_anything_to_read_is_enough(self):
        group = facts(partition(0, steadily(1, 500, step=0, every=5), 500))
        assert of_kind(replace(group, reached_ms={("orders", 0): ago(60)}), K.IDLE_COMMITS)

    @pytest.mark.parametrize(
        ("why", "of", "since"),
        [
            ("a short rest", steadily(1, 500, step=0, every=5), 59),
            ("it reads", steadily(1, 500, step=1), 600),
            ("seldom", steadily(1, 500, step=0, every=11), 600),
            ("it does so no more", steadily(70, 500, step=0, every=5), 600),
            ("too few to tell", steadily(1, 500, step=0, every=5, commits=9), 600),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_not(self, why, of, since):
        group = replace(facts(partition(0, of, 500)), reached_ms={("orders", 0): ago(since)})
        assert not of_kind(group, K.IDLE_COMMITS), why


class TestTooOften:
    def test_a_commit_for_each_record(self):
        group = facts(partition(0, steadily(1, 500, step=1, every=0.05), 500))
        (finding,) = of_kind(group, K.COMMITS_TOO_OFTEN)
        assert finding.evidence == "20 commits/s on 1 partition, for 1 record each"

    @pytest.mark.parametrize(
        ("why", "of"),
        [
            ("each is for many records", steadily(1, 500, step=50, every=0.05)),
            ("a few a second", steadily(1, 500, step=1, every=0.5)),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_not(self, why, of):
        assert not of_kind(facts(partition(0, of, 500)), K.COMMITS_TOO_OFTEN), why


class TestTooSeldom:
    def test_minutes_apart_with_much_in_between(self):
        group = facts(partition(0, steadily(1, 50_000, step=5_000, every=600), 50_000))
        (finding,) = of_kind(group, K.COMMITS_TOO_SELDOM)
        assert finding.evidence == "a commit every 10m 0s on 1 partition: 5,000 records would be read again"

    @pytest.mark.parametrize(
        ("why", "of"),
        [
            ("little in between", steadily(1, 50_000, step=5, every=600)),
            ("within five minutes", steadily(1, 50_000, step=5_000, every=240)),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_not(self, why, of):
        assert not of_kind(facts(partition(0, of, 50_000)), K.COMMITS_TOO_SELDOM), why
