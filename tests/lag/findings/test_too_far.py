"""When a commit is further than its reader can have read, and when it may have read it all."""

from dataclasses import replace

import pytest

from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.find import find
from kgroup.lag.findings.leap import Step
from kgroup.lag.findings.model import FindingKind
from kgroup.lag.findings.too_far import best_pace
from kgroup.lag.measures.log_ends import TopicState
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import ago


def step(began, lasts, offset, length, *, before=None, after=None, **more):
    """A step that begins some seconds ago and lasts for some, behind by `before` and then by `after`."""
    return Step(
        from_offset=offset,
        from_ms=ago(began),
        to_offset=offset + length,
        to_ms=ago(began - lasts),
        waiting_before=before,
        waiting_after=after,
        **more,
    )


NEARER = (
    step(3000, 5, 1_000, 200, before=5_000, after=4_900),
    step(2900, 5, 4_000, 200, before=3_000, after=2_900),
)
"""It was behind, came nearer at 40 a second, and had as much again to read: that is what it can do."""
LEAP = step(900, 10, 10_000, 5_000, before=4_900, after=20, membership_changes=1)
"""It was 4,900 behind, members changed, and 10 s later it is at the end: 500 a second."""
FIRST = step(900, 5, 0, 4_900, is_first=True)
"""So far lies its first commit, 5 s after the group was given the partition."""
CUT = step(900, 5, 10_000, 14_000, before=13_900, after=0, waiting_long=13_000)
"""It was behind for long, and went to the end in one step; nobody came or left."""
KEPT_UP = (step(3000, 5, 1_000, 100, before=0, after=0), step(2900, 5, 2_000, 100, before=0, after=0))


def with_steps(*steps, start=0, end=30_000, others=(), state=TopicState.EXISTS):
    """A group of one member with two partitions, the first of which took `steps`."""
    mine = partition(0, steadily(1, end - 5), end, start=start, state=state)
    other = partition(1, steadily(1, end - 5), end)
    return facts(replace(mine, steps=steps), replace(other, steps=others))


def skipped(group):
    return [finding for finding in find(group) if finding.kind is FindingKind.SKIPPED_RECORDS]


class TestLeap:
    def test_who_is_at_the_end_in_a_step_has_not_read_it(self):
        (finding,) = skipped(with_steps(LEAP, *NEARER))
        assert (finding.topic, finding.partition, finding.member_id) == ("orders", 0, "m1")
        assert (finding.grade, finding.since_ms) == (Grade.INFERRED, ago(890))
        assert finding.numbers == {
            "from_offset": 10_000,
            "to_offset": 15_000,
            "at_least": 3_400,
            "at_most": 5_000,
            "last_before_ms": ago(900),
            "per_s_at_most": 160.0,
            "cause": "leap",
        }
        assert finding.evidence == (
            "it was 4,900 behind at 10000, members changed, and 10s later it committed 15000, the log's"
            " end then: 3,400 offsets or more beyond what it can have read at its best pace, and up to 5,000"
            " passed over"
        )
        assert "auto.offset.reset" in finding.try_this

    def test_the_pace_may_be_that_of_another_partition(self):
        slower = (step(2000, 5, 3_000, 10, before=0, after=0), step(2100, 5, 2_000, 10, before=0, after=0))
        assert skipped(with_steps(LEAP, *slower, others=NEARER))

    @pytest.mark.parametrize(
        ("why", "group"),
        {
            "it only ever kept up: nobody knows how fast it is": with_steps(LEAP, *KEPT_UP),
            "it was held up: it never came nearer": with_steps(
                LEAP, *(replace(each, waiting_after=6_000) for each in NEARER)
            ),
            "it came nearer once": with_steps(LEAP, NEARER[0], replace(NEARER[1], waiting_after=6_000)),
            "it has read so fast": with_steps(
                LEAP, *(replace(each, to_ms=each.from_ms + 1_000) for each in NEARER)
            ),
            "another partition was read so fast": with_steps(
                LEAP, *NEARER, others=(replace(NEARER[0], to_ms=NEARER[0].from_ms + 1_000),)
            ),
            "it had the time": with_steps(replace(LEAP, from_ms=ago(940)), *NEARER),
            "it takes such steps, in more time": with_steps(
                LEAP, *NEARER, replace(NEARER[0], to_offset=2_250, to_ms=ago(2_500), waiting_after=0)
            ),
            "nobody came or left: it reads faster now": with_steps(
                replace(LEAP, membership_changes=0), *NEARER
            ),
            "it did not go to the end": with_steps(replace(LEAP, waiting_before=5_001), *NEARER),
            "nothing waited: it was written meanwhile": with_steps(replace(LEAP, waiting_before=0), *NEARER),
            "nobody knows what waited": with_steps(replace(LEAP, waiting_before=None), *NEARER),
            "there is one other step": with_steps(LEAP, NEARER[0], others=NEARER),
            "it is one fetch": with_steps(
                step(900, 0.01, 10_000, 99, before=90, after=0, membership_changes=1),
                *(replace(each, to_offset=each.from_offset + 5) for each in NEARER),
            ),
            "the topic is another one": with_steps(LEAP, *NEARER, state=TopicState.RECREATED),
            "the topic is not known": with_steps(LEAP, *NEARER, state=TopicState.UNKNOWN),
            "there are no steps": with_steps(),
        }.items(),
    )
    def test_nothing_is_skipped(self, why, group):
        assert skipped(group) == [], why

    def test_a_reader_of_many_partitions_may_have_given_one_all_its_time(self):
        many = [replace(partition(number, steadily(1, 995), 1_000)) for number in range(2, 20)]
        group = with_steps(LEAP, *NEARER)
        assert best_pace(group) == 160
        assert best_pace(replace(group, partitions=(*group.partitions, *many))) == 40 * 2 * 20


class TestFirstCommit:
    def test_a_first_commit_far_above_the_start_of_a_new_partition(self):
        (finding,) = skipped(with_steps(FIRST, *KEPT_UP, others=NEARER))
        assert (finding.numbers["cause"], finding.numbers["from_offset"]) == ("first-commit", 0)
        assert (finding.numbers["at_least"], finding.numbers["at_most"]) == (4_100, 4_900)
        assert finding.evidence == (
            "the topic grew, and 5s after the group was given the partition its first commit was 4900:"
            " 4,100 offsets or more beyond what it can have read at its best pace, and up to 4,900 passed"
            " over"
        )

    @pytest.mark.parametrize(
        ("why", "group"),
        {
            "nobody knows how fast it is": with_steps(FIRST, *KEPT_UP, others=KEPT_UP),
            "it had the time": with_steps(replace(FIRST, from_ms=ago(930)), *KEPT_UP, others=NEARER),
            "it may have read it in its first seconds": with_steps(
                replace(FIRST, to_offset=800), others=NEARER
            ),
        }.items(),
    )
    def test_nothing_is_skipped(self, why, group):
        assert skipped(group) == [], why


class TestOutOfRange:
    def test_who_was_behind_the_start_and_is_at_the_end(self):
        (finding,) = skipped(with_steps(CUT, *KEPT_UP, start=20_000))
        assert (finding.numbers["cause"], finding.grade) == ("out-of-range", Grade.INFERRED)
        assert (finding.numbers["at_least"], finding.numbers["at_most"]) == (10_000, 14_000)
        assert finding.evidence == (
            "it was 13,900 behind at 10000, and 5s later it committed 24000, the log's end then; no other"
            " step was longer than 100. The log begins at 20000: 10,000 offsets deleted, and up to 14,000"
            " passed over"
        )

    @pytest.mark.parametrize(
        ("why", "group"),
        {
            "the log has all of it": with_steps(CUT, *KEPT_UP, start=10_000),
            "the log begins at its end: readers have records deleted": with_steps(
                CUT, *KEPT_UP, start=24_000
            ),
            "the log begins behind it": with_steps(CUT, *KEPT_UP, start=25_000),
            "nobody knows where it begins": with_steps(CUT, *KEPT_UP, start=None),
            "the log holds more than was waiting": with_steps(CUT, *KEPT_UP, start=16_000),
            "all of it was written just before": with_steps(
                replace(CUT, waiting_long=100), *KEPT_UP, start=20_000
            ),
            "nobody knows whether it was": with_steps(
                replace(CUT, waiting_long=None), *KEPT_UP, start=20_000
            ),
            "it takes such steps": with_steps(
                CUT, *KEPT_UP, replace(KEPT_UP[0], to_offset=2_500), start=20_000
            ),
            "it was away, and reads as fast as ever": with_steps(
                replace(CUT, from_ms=ago(1_600)), *KEPT_UP, start=20_000
            ),
        }.items(),
    )
    def test_nothing_is_skipped(self, why, group):
        assert skipped(group) == [], why
