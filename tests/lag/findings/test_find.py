"""What is found wrong with a group, what is not, and what each finding says."""

from dataclasses import replace

import pytest

from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Grade, Pattern
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import FindingKind, OpenCommit, Severity
from kgroup.lag.measures.log_ends import TopicState
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import ago

K = FindingKind
GOES_ON = [(110, 150), (60, 300), (1, 490)]  # somebody read on to 490 while others stand still
STANDSTILLS = {K.STOPPED_GROUP, K.STALLED_MEMBER, K.STALLED_PARTITION}
HEALTHY = steadily(1, 495)


def kinds(group):
    return [finding.kind for finding in find(group)]


def only(group):
    (finding,) = find(group)
    return finding


class TestStandstill:
    def test_a_group_that_stops_committing_while_others_read_on_has_stopped(self):
        finding = only(
            facts(
                partition(0, steadily(120, 100), 500, seen=GOES_ON),
                partition(1, steadily(118, 100), 500, seen=GOES_ON, member="m2"),
            )
        )
        assert finding.kind is K.STOPPED_GROUP
        assert (finding.topic, finding.partition, finding.member_id) == ("orders", None, None)
        assert finding.since_ms == ago(110)  # there has surely been something to read
        assert finding.grade is Grade.INFERRED
        assert finding.evidence == (
            "2 live members; no commit after offset 100 for 1m 49s while the log kept growing, before that"
            " at least one every 2s; 800 unread on 2 partitions"
        )
        assert finding.numbers["total_lag"] == 800
        assert "thread dump" in finding.try_this

    @pytest.mark.parametrize(
        ("why", "healthy"),
        {
            "it reads on": partition(0, HEALTHY, 500, seen=GOES_ON),
            "nothing is unread": partition(0, steadily(120, 500), 500, seen=[(1, 500)]),
            "what is unread is the tail of what it reads at once": partition(
                0, steadily(120, 460), 500, seen=[(110, 470), (1, 490)]
            ),
            "it has been silent for less than a session lasts": partition(
                0, steadily(44, 100), 500, seen=GOES_ON
            ),
            "it commits seldom": partition(0, steadily(120, 100, every=20), 500, seen=GOES_ON),
            "nobody else has been there: the records may have come just now": partition(
                0, steadily(120, 100), 500
            ),
            "others fell silent when it did": partition(0, steadily(120, 100), 500, seen=[(119, 480)]),
            "too few commits for a rhythm": partition(0, steadily(120, 100, commits=3), 500, seen=GOES_ON),
            "the topic is gone": partition(
                0, steadily(120, 100), 500, seen=GOES_ON, state=TopicState.RECREATED
            ),
        }.items(),
    )
    def test_no_standstill(self, why, healthy):
        assert not STANDSTILLS & set(kinds(facts(healthy))), why

    def test_one_unread_record_is_enough_after_the_patience_of_five_minutes(self):
        assert kinds(facts(partition(0, steadily(301, 100), 101, seen=[(301, 101)]))) == [K.STOPPED_GROUP]
        assert kinds(facts(partition(0, steadily(299, 100), 101, seen=[(299, 101)]))) == []

    def test_the_same_offset_again_and_again_with_something_to_read(self):
        finding = only(facts(partition(0, steadily(1, 100, step=0, every=40), 101, seen=[(400, 101)])))
        assert finding.kind is K.STOPPED_GROUP
        assert finding.evidence == (
            "1 live member; offset 100 committed again and again for 6m 1s; 1 unread on 1 partition"
        )

    def test_the_same_offset_again_and_again_at_the_logs_end_is_idle(self):
        assert kinds(facts(partition(0, steadily(1, 100, step=0, every=40), 100, seen=[(1, 100)]))) == []

    def test_one_partition_under_a_member_that_goes_on(self):
        finding = only(
            facts(
                partition(0, HEALTHY, 500, seen=GOES_ON),
                partition(1, steadily(120, 100), 500, seen=GOES_ON),
                partition(2, HEALTHY, 500, seen=GOES_ON, member="m2"),
            )
        )
        assert finding.kind is K.STALLED_PARTITION
        assert (finding.topic, finding.partition, finding.member_id) == ("orders", 1, "m1")
        assert finding.evidence.endswith("400 unread; other partitions were committed for 1m 59s more")

    def test_a_member_of_which_all_stands_still_while_others_go_on(self):
        finding = only(
            facts(
                partition(0, steadily(120, 100), 500, seen=GOES_ON),
                partition(1, steadily(120, 100), 500, seen=GOES_ON),
                partition(2, HEALTHY, 500, seen=GOES_ON, member="m2"),
            )
        )
        assert finding.kind is K.STALLED_MEMBER
        assert (finding.member_id, finding.partition) == ("m1", None)
        assert "orders-0, orders-1" in finding.evidence

    def test_partitions_that_wait_behind_a_slow_members_other_ones_do_not_stand_still(self):
        slow = facts(
            partition(0, steadily(120, 100), 500, seen=GOES_ON),
            partition(1, steadily(1, 100), 500, seen=GOES_ON),
        )
        assert K.STALLED_PARTITION not in kinds(slow)
        assert K.STALLED_MEMBER not in kinds(slow)

    def test_all_members_are_silent_and_of_some_it_is_not_proven_yet(self):
        finding = only(
            facts(
                partition(0, steadily(120, 100), 500, seen=GOES_ON),
                partition(1, steadily(120, 100), 500, seen=[(90, 480)], member="m2"),
            )
        )
        assert finding.kind is K.STOPPED_GROUP

    def test_without_membership_nobody_can_be_named(self):
        finding = only(
            facts(partition(0, steadily(120, 100), 500, seen=GOES_ON, member=None), kind=GroupKind.SIMPLE)
        )
        assert finding.kind is K.STOPPED_GROUP
        assert finding.evidence.startswith("commits without membership; ")

    def test_partitions_that_no_member_owns_are_nobodys_fault(self):
        group = facts(
            partition(0, HEALTHY, 500, seen=GOES_ON),
            partition(0, steadily(120, 100), 500, seen=GOES_ON, member=None, topic="left"),
        )
        assert kinds(group) == []


class TestAbsence:
    def test_records_wait_for_a_group_that_all_have_left(self):
        finding = only(
            facts(
                partition(0, steadily(120, 100), 500, member=None),
                partition(1, steadily(120, 500), 500, member=None),
                since=119,
            )
        )
        assert (finding.kind, finding.grade) == (K.DEAD_WITH_LAG, Grade.RECORDED)
        assert finding.since_ms == ago(119)
        assert finding.evidence == "no members for 1m 59s; 400 unread on 1 partition"

    def test_nothing_waits_for_it(self):
        group = facts(partition(0, steadily(120, 500), 500, member=None), since=119)
        (finding,) = find(group, hygiene=True)
        assert (finding.kind, finding.severity) == (K.EMPTY_GROUP, Severity.HYGIENE)
        assert finding.evidence == "no members for 1m 59s; nothing unread"
        assert kinds(group) == []

    def test_a_restart_is_no_death(self):
        assert kinds(facts(partition(0, steadily(40, 100), 500, member=None), since=39)) == []

    @pytest.mark.parametrize(("owned_for", "grade"), [(59, None), (61, Grade.UNKNOWN), (301, Grade.INFERRED)])
    def test_a_member_that_never_commits(self, owned_for, grade):
        findings = find(facts(partition(0, [], 500), partition(1, [], 0), since=owned_for))
        assert [(finding.kind, finding.grade) for finding in findings] == (
            [(K.NEVER_COMMITS, grade)] if grade else []
        )
        for finding in findings:
            assert (finding.partition, finding.member_id) == (0, "m1")
            assert finding.evidence.startswith(
                "has owned 1 of its 2 partitions (orders-0) with 500 offsets for "
            )
            assert finding.evidence.endswith(" and committed none of them")

    def test_nothing_left_to_read_is_nothing_to_commit(self):
        assert kinds(facts(partition(0, [], 500, start=500))) == []


class TestCommits:
    def test_a_rewind_that_has_not_come_up_again(self):
        finding = only(facts(partition(0, [(40, 480), (30, 490), (20, 100), (10, 110)], 500)))
        assert (finding.kind, finding.since_ms) == (K.REWOUND, ago(20))
        assert finding.evidence == (
            "the committed offset went back from 490 to 100, with no change of members or generation:"
            " 390 offsets to read again"
        )

    def test_two_that_commit_in_turn(self):
        turns = [(60, 100), (50, 300), (40, 105), (30, 305), (20, 110), (10, 310)]
        finding = only(facts(partition(0, turns, 310)))
        assert finding.kind is K.ZOMBIE_COMMITS
        assert finding.numbers["turns"] == 2
        assert (finding.numbers["from_offset"], finding.numbers["to_offset"]) == (305, 110)

    def test_one_that_goes_back_step_by_step_is_no_two(self):
        steps = [(40, 480), (30, 490), (20, 300), (15, 200), (10, 100)]
        assert kinds(facts(partition(0, steps, 500))) == [K.REWOUND]

    def test_one_reset_that_was_made_up_for_is_neither(self):
        assert kinds(facts(partition(0, [(40, 490), (30, 100), (20, 300), (10, 500)], 500))) == []

    def test_a_transaction_that_outlives_every_timeout(self):
        commits = [
            OpenCommit(topic="orders", partition=number, offset=9, timestamp=ago(901), producer_id=7)
            for number in (0, 1)
        ]
        finding = only(facts(partition(0, HEALTHY, 495), open_commits=tuple(commits)))
        assert finding.kind is K.HANGING_TRANSACTION
        assert finding.grade is Grade.INFERRED
        assert finding.numbers["producer_id"] == 7
        assert "orders-0, orders-1" in finding.evidence

    @pytest.mark.parametrize(
        ("places", "topic", "number", "said"),
        [
            ([("orders", 3)], "orders", 3, "offsets of orders-3 in"),
            ([("orders", 3), ("orders", 3)], "orders", 3, "offsets of orders-3 in"),
            ([("orders", 3), ("orders", 4)], "orders", None, "offsets of orders-3, orders-4 in"),
            ([("bills", 1), ("orders", 3), ("bills", 0)], None, None, "3 partitions of bills, orders in"),
        ],
    )
    def test_a_hanging_transaction_names_what_its_offsets_are_of(self, places, topic, number, said):
        commits = [
            OpenCommit(topic=each, partition=partition, offset=9, timestamp=ago(901), producer_id=7)
            for each, partition in places
        ]
        finding = only(facts(partition(0, HEALTHY, 495), open_commits=tuple(commits)))
        assert (finding.topic, finding.partition) == (topic, number)
        assert finding.numbers["partitions"] == len(set(places))
        assert said in finding.evidence

    @pytest.mark.parametrize(
        ("open_for", "grade"), [(69, None), (71, Grade.UNKNOWN), (900, Grade.UNKNOWN), (901, Grade.INFERRED)]
    )
    def test_a_transaction_that_outlives_the_default_timeout_may_be_meant_to(self, open_for, grade):
        commit = OpenCommit(topic="orders", partition=2, offset=9, timestamp=ago(open_for), producer_id=8)
        findings = find(facts(partition(0, HEALTHY, 495), open_commits=(commit,)))
        assert [finding.grade for finding in findings] == ([] if grade is None else [grade])

    def test_of_a_producers_commits_the_oldest_counts(self):
        commits = [
            OpenCommit(topic="orders", partition=number, offset=9, timestamp=ago(100 - number), producer_id=8)
            for number in (0, 99)
        ]
        finding = only(facts(partition(0, HEALTHY, 495), open_commits=tuple(commits)))
        assert finding.numbers["open_ms"] == 100_000
        assert "orders-0, orders-99" in finding.evidence

    @pytest.mark.parametrize(
        ("why", "open_for", "number", "expected"),
        [
            ("its offsets lie in it", 901, 0, [K.HANGING_TRANSACTION]),
            ("its producer may still end it", 899, 0, [K.STOPPED_GROUP, K.HANGING_TRANSACTION]),
            ("another partition's lie in it", 901, 1, [K.STOPPED_GROUP, K.HANGING_TRANSACTION]),
            ("it was committed after that", 990, 0, [K.STOPPED_GROUP, K.HANGING_TRANSACTION]),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_a_group_whose_offsets_hang_has_not_stopped_by_itself(self, why, open_for, number, expected):
        silent = partition(0, steadily(950, 100), 500, seen=[(900, 150), (1, 490)])
        commit = OpenCommit(
            topic="orders", partition=number, offset=110, timestamp=ago(open_for), producer_id=7
        )
        findings = find(facts(silent, open_commits=(commit,)))
        assert [finding.kind for finding in findings] == expected, why
        is_held = "nothing is committed there since, 400 unread" in findings[-1].evidence
        assert is_held is (len(expected) == 1), why


FAST = [(20, 300), (10, 400), (1, 490)]  # ten records a second


class TestPace:
    def test_a_group_that_reads_less_than_is_written(self):
        finding = only(facts(partition(0, steadily(1, 100), 500, seen=FAST)))
        assert finding.kind is K.LAG_GROWING
        assert finding.evidence == "reads 2.5/s, 10.0/s are written; 400 unread on 1 partition"
        assert finding.numbers["silent_ms"] is None

    def test_a_partition_that_keeps_up_is_no_part_of_it(self):
        slow = [partition(number, steadily(1, 100), 500, seen=FAST) for number in (0, 1)]
        keeps_up = partition(2, steadily(1, 490, step=20), 510, seen=FAST)
        finding = only(facts(*slow, keeps_up))
        assert finding.kind is K.LAG_GROWING
        assert finding.evidence == "reads 5.0/s, 20.0/s are written; 800 unread on 2 partitions"

    @pytest.mark.parametrize(("step", "grows"), [(18, False), (17, True)])
    def test_who_reads_nine_tenths_of_what_is_written_keeps_pace(self, step, grows):
        """Both are rates of a few commits, which are rough: 9.0 and 8.5 a second of 10."""
        seen = [(20, 500), (10, 600), (1, 690)]
        group = facts(partition(0, steadily(1, 300, step=step), 700, seen=seen))
        assert kinds(group) == ([K.LAG_GROWING] if grows else [])

    @pytest.mark.parametrize(("every", "grows"), [(0.5, False), (0.6, True)])
    def test_commits_of_less_than_five_seconds_give_no_rate(self, every, grows):
        group = facts(partition(0, steadily(1, 100, step=1, every=every), 500, seen=FAST))
        assert kinds(group) == ([K.LAG_GROWING] if grows else [])

    def test_one_that_does_not_move_makes_no_topic_slow(self):
        """What stands still is another finding, once it is proven; until then nobody reads slowly."""
        stands = partition(0, steadily(1, 100, step=0), 900, seen=FAST)
        keeps_up = partition(1, steadily(1, 490, step=20), 510, seen=FAST)
        assert kinds(facts(stands, keeps_up)) == []

    def test_the_pace_is_that_up_to_now(self):
        """Five a second, every eight seconds, and nothing for 77 s in which the log went on."""
        silent = partition(
            0, steadily(78, 500, step=40, every=8), 2000, seen=[(150, 140), (78, 600), (1, 1990)]
        )
        finding = only(facts(silent))
        assert finding.kind is K.LAG_GROWING
        assert finding.evidence.startswith("reads 2.6/s (nothing for 1m 17s), ")
        assert finding.numbers["read_per_s"] == 2.553
        assert finding.numbers["silent_ms"] == 77_000

    def test_a_pause_as_long_as_others_counts_for_nothing(self):
        """Commits every 20 s, the last one 19 s ago: the next is not late."""
        seldom = partition(
            0, steadily(19, 500, step=40, every=20), 941, seen=[(200, 140), (19, 540), (1, 941)]
        )
        assert kinds(facts(seldom)) == []

    def test_a_group_that_no_longer_commits_is_not_slow(self):
        assert kinds(facts(partition(0, steadily(120, 100, commits=3), 500, seen=GOES_ON))) == []

    def test_a_group_that_keeps_pace_however_far_behind(self):
        assert kinds(facts(partition(0, steadily(1, 100, step=20), 500, seen=FAST))) == []


def storm(ended):
    return Pattern(
        name="rebalance-storm",
        from_ms=ago(ended + 60),
        to_ms=ago(ended),
        first_generation=1,
        last_generation=40,
        member_ids=("m1",),
        evidence="40 rebalances",
        remedy="stop it",
    )


def test_a_storm_is_news_for_an_hour():
    finding = only(facts(partition(0, HEALTHY, 495), patterns=(storm(100),)))
    assert (finding.kind, finding.since_ms, finding.try_this) == (K.REBALANCE_STORM, ago(160), "stop it")
    assert finding.evidence == "40 rebalances; the last one 1m 40s ago"
    assert kinds(facts(partition(0, HEALTHY, 495), patterns=(storm(3601),))) == []


@pytest.mark.parametrize("kind", [K.MEMBERS_OSCILLATE, K.INSTANCE_ID_DUEL])
@pytest.mark.parametrize("grade", [Grade.INFERRED, Grade.UNKNOWN])
def test_patterns_of_members_are_news_for_an_hour_and_as_sure_as_the_pattern(kind, grade):
    pattern = replace(storm(100), name=kind.value, grade=grade, member_ids=("m1", "m2"))
    finding = only(facts(partition(0, HEALTHY, 495), patterns=(pattern,)))
    assert (finding.kind, finding.grade, finding.member_id, finding.since_ms) == (kind, grade, None, ago(160))
    over = replace(pattern, to_ms=ago(3601))
    assert kinds(facts(partition(0, HEALTHY, 495), patterns=(over,))) == []


def test_other_patterns_are_for_replay_alone():
    pattern = replace(storm(100), name="flapping-member")
    assert kinds(facts(partition(0, HEALTHY, 495), patterns=(pattern,))) == []


def test_the_worst_comes_first_then_by_place():
    group = facts(
        partition(0, HEALTHY, 500, seen=GOES_ON),
        partition(2, steadily(120, 100), 500, seen=GOES_ON),
        partition(1, steadily(120, 100), 500, seen=GOES_ON),
        patterns=(storm(1),),
    )
    assert [(finding.kind, finding.partition) for finding in find(group)] == [
        (K.STALLED_PARTITION, 1),
        (K.STALLED_PARTITION, 2),
        (K.REBALANCE_STORM, None),
    ]


def test_a_group_of_which_nothing_is_known():
    assert kinds(facts()) == []


def test_a_group_that_all_have_left_a_moment_ago_is_not_slow():
    left = partition(0, steadily(1, 100), 500, seen=FAST, member=None)
    assert kinds(facts(left, since=1)) == []


# since when (seconds ago) it has stood at the offset, by when a record waited, and what is found
REPEATED = {
    "for a minute, as older commits show": ((60, 60), ["stalled-partition"]),
    "just as long as a standstill takes": ((45, 60), ["stalled-partition"]),
    "less than a standstill takes": ((44, 60), []),
    "the record came later": ((600, 60), []),
    "the record came later, and that is long ago": ((600, 301), ["stalled-partition"]),
    "nobody knows since when": ((None, 60), []),
    "nobody knows what waited": ((600, None), []),
}


@pytest.mark.parametrize(("since", "said"), REPEATED.values(), ids=REPEATED)
def test_a_group_that_commits_every_second_stands_still_by_all_of_its_commits(since, said):
    stood, waited = since
    still = replace(
        partition(0, steadily(0, 100, step=0, every=1), 500),
        stood_since_ms=None if stood is None else ago(stood),
        unread_by_ms=None if waited is None else ago(waited),
    )
    goes_on = partition(1, steadily(0, 500, every=1), 500)
    found = find(facts(still, goes_on))
    assert [finding.kind.value for finding in found] == said
    if said:
        longest = min(stood, waited)
        assert found[0].since_ms == ago(longest)
        assert found[0].numbers["told_by"] == "repeats"
        assert f"offset 100 committed again and again for {lasting(longest * 1000)}" in found[0].evidence
