"""What replay makes of a group's records, and what it leaves open."""

import pytest

from kgroup.history.timeline.model import Cause, CauseKind, CommitGap, Generation, Grade, Partition
from tests.history.group_log import SESSION_MS, GroupLog, member

K = CauseKind


def causes(generation: Generation) -> list[tuple[CauseKind, Grade]]:
    return [(cause.kind, cause.grade) for cause in generation.causes]


def only(generation: Generation) -> Cause:
    (cause,) = generation.causes
    return cause


def test_the_first_members_join_a_group_without_members():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    (first,) = log.timeline().generations
    assert causes(first) == [(K.FIRST_JOIN, Grade.RECORDED)]
    assert [m.member_id for m in first.joined] == ["a-id"]


def test_a_member_joins_and_takes_over_a_partition():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.generation(5, 2, member("a", 0), member("b", 1))
    second = log.timeline().generations[1]
    assert causes(second) == [(K.JOIN, Grade.RECORDED)]
    assert second.moved.gained == {"b-id": (Partition("t", 1),)}
    assert second.moved.lost == {"a-id": (Partition("t", 1),)}
    assert (second.moved.moved, second.moved.kept) == (1, 1)
    assert second.since_previous_ms == 5_000


def test_a_member_that_committed_within_its_session_timeout_has_left():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.commits(1, 21, 2, 0, 1)
    log.generation(21 + SESSION_MS / 1000 - 1, 2, member("a", 0, 1))
    assert causes(log.timeline().generations[1]) == [(K.LEAVE, Grade.INFERRED)]


def gone_soon_after_a_round(log: GroupLog) -> CauseKind:
    """b and c are together in a round stored at 60 s, and b is in none at 64 s; it committed nothing."""
    log.generation(60, 2, member("b", 0), member("c", 1))
    log.generation(64, 3, member("c", 0, 1))
    (cause,) = [cause for cause in log.timeline().generations[-1].causes if "b-id" in cause.member_ids]
    return cause.kind


def test_a_member_that_is_gone_within_its_session_timeout_after_a_round_has_left():
    log = GroupLog()
    log.generation(55, 1, member("b", 0))
    assert gone_soon_after_a_round(log) is CauseKind.LEAVE
    log = GroupLog()
    log.generation(0, 1, member("c", 0, 1))
    log.commits(1, 57, 1, 0, 1)
    assert gone_soon_after_a_round(log) is CauseKind.LEAVE


def test_how_long_a_leader_took_is_unknown_and_a_member_may_have_expired_meanwhile():
    log = GroupLog()
    log.generation(0, 1, member("b", 0))
    assert gone_soon_after_a_round(log) is CauseKind.MEMBER_GONE


def test_a_transactional_commit_tells_nothing_of_the_round_as_it_is_taken_while_a_leader_is_waited_for():
    log = GroupLog()
    log.generation(0, 1, member("c", 0, 1))
    log.commit(57, 0, 5, producer=7)
    log.end_transaction(58, 7, committed=True)
    assert gone_soon_after_a_round(log) is CauseKind.MEMBER_GONE


def test_times_of_two_brokers_or_of_a_clock_that_was_set_back_do_not_compare():
    log = GroupLog()
    log.generation(55, 1, member("b", 0))
    log.leader_epoch = 1
    assert gone_soon_after_a_round(log) is CauseKind.MEMBER_GONE
    log = GroupLog()
    log.generation(61, 1, member("b", 0))
    assert gone_soon_after_a_round(log) is CauseKind.MEMBER_GONE


def test_a_member_that_falls_silent_for_its_session_timeout_expired():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.commits(1, 21, 2, 0, 1)
    log.commits(23, 32, 2, 0)
    log.generation(32, 2, member("a", 0, 1))
    cause = only(log.timeline().generations[1])
    assert (cause.kind, cause.grade, cause.member_ids) == (K.SESSION_EXPIRED, Grade.INFERRED, ("b-id",))
    assert "every 2s, then nothing for 11s" in cause.evidence
    assert cause.remedy is not None and "heartbeat.interval.ms" in cause.remedy


@pytest.mark.parametrize(
    ("last_commit", "gone"),
    [
        pytest.param(20.5, 32, id="a commit out of turn, as a closing client makes"),
        pytest.param(21, 60, id="silent for much longer than a session"),
    ],
)
def test_how_a_member_went_is_unknown_where_the_commits_do_not_tell(last_commit, gone):
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.commits(1, 20, 2, 1)
    log.commit(last_commit, 1, 900)
    log.generation(gone, 2, member("a", 0, 1))
    cause = only(log.timeline().generations[1])
    assert (cause.kind, cause.grade) == (K.MEMBER_GONE, Grade.UNKNOWN)
    assert K.SESSION_EXPIRED in cause.alternatives and K.LEAVE in cause.alternatives


def test_a_member_whose_offsets_stand_still_may_have_been_idle():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    for at in range(1, 22, 2):
        log.commit(at, 1, 5)
    log.generation(32, 2, member("a", 0, 1))
    assert causes(log.timeline().generations[1]) == [(K.MEMBER_GONE, Grade.UNKNOWN)]


def test_a_silent_member_may_have_left_long_before_where_a_round_came_to_nothing_between():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.commits(1, 21, 2, 0, 1)
    log.commits(23, 32, 2, 0)
    log.generation(32, 3, member("a", 0, 1))
    assert causes(log.timeline().generations[1]) == [(K.MEMBER_GONE, Grade.UNKNOWN)]


def test_commits_with_another_coordinator_are_by_another_clock():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.commits(1, 21, 2, 0, 1)
    log.leader_epoch = 1
    log.generation(22, 2, member("a", 0, 1))
    cause = only(log.timeline().generations[1])
    assert (cause.kind, cause.grade) == (K.MEMBER_GONE, Grade.UNKNOWN)
    assert "another coordinator, whose clock may differ" in cause.evidence


def test_a_long_round_may_have_dropped_a_member_that_still_committed():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.commits(700, 720, 2, 1)  # b alone goes on; a may have waited for it to rejoin
    log.generation(722, 2, member("a", 0, 1))
    cause = only(log.timeline().generations[1])
    assert cause.kind is K.MEMBER_GONE
    assert cause.alternatives == (K.LEAVE, K.REBALANCE_TIMEOUT)


def test_a_static_member_comes_back_without_a_round():
    log = GroupLog()
    log.generation(0, 1, member("old", 0, instance="rack1"), member("b", 1))
    log.generation(9, 1, member("new", 0, instance="rack1"), member("b", 1))
    timeline = log.timeline()
    assert len(timeline.generations) == 1
    (restart,) = timeline.occurrences
    assert (restart.cause.kind, restart.cause.grade) == (K.STATIC_RESTART, Grade.RECORDED)
    assert restart.cause.member_ids == ("old-id", "new-id")


def test_a_static_member_that_comes_back_to_another_coordinator_may_have_expired_with_the_first():
    log = GroupLog()
    log.generation(0, 1, member("old", 0, instance="rack1"), member("b", 1))
    log.leader_epoch = 1
    log.generation(9, 1, member("new", 0, instance="rack1"), member("b", 1))
    restart = log.timeline().occurrences[-1].cause
    assert (restart.kind, restart.grade) == (K.STATIC_RESTART, Grade.UNKNOWN)
    assert restart.alternatives == (K.STATIC_RESTART, K.SESSION_EXPIRED)


def test_a_static_member_that_comes_back_keeps_its_partitions():
    log = GroupLog()
    log.generation(0, 1, member("old", 0, instance="rack1"), member("b", 1))
    log.commits(1, 7, 2, 0)
    log.generation(9, 2, member("new", 0, instance="rack1"), member("b", 1))
    second = log.timeline().generations[1]
    assert causes(second) == [(K.STATIC_RESTART, Grade.RECORDED)]
    assert second.moved.moved == 0 and second.moved.kept == 2


def test_what_a_cooperative_member_gave_up_moves_when_the_next_round_hands_it_out():
    log = GroupLog()
    cooperative = "cooperative-sticky"
    log.generation(0, 1, member("a", 0, 1, 2), member("b", 3), protocol=cooperative)
    log.generation(9, 2, member("a", 0), member("b", 3), member("c"), protocol=cooperative)
    log.generation(10, 3, member("a", 0, 1), member("b", 3), member("c", 2), protocol=cooperative)
    _, revoked, handed_out = log.timeline().generations
    assert (revoked.moved.moved, revoked.moved.kept) == (0, 2)
    # Partition 1 went back to a, which had to stop it, but to nobody else.
    assert (handed_out.moved.moved, handed_out.moved.kept) == (1, 2)


def test_what_a_group_had_that_was_empty_in_between_did_not_move():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.generation(9, 2)
    log.generation(20, 3, member("b", 0, 1))
    assert [generation.moved.moved for generation in log.timeline().generations] == [0, 0, 0]


def test_a_static_member_with_another_id_after_a_long_round_may_have_expired_and_come_back():
    log = GroupLog()
    log.generation(0, 1, member("old", 0, instance="rack1"), member("b", 1))
    log.commits(1, 20, 1, 1)  # b goes on, and tells nothing of the other
    log.generation(21, 2, member("new", 0, instance="rack1"), member("b", 1))
    cause = only(log.timeline().generations[1])
    assert (cause.kind, cause.grade) == (K.STATIC_RESTART, Grade.UNKNOWN)
    assert cause.alternatives == (K.STATIC_RESTART, K.SESSION_EXPIRED)


def test_a_member_subscribes_to_something_else():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, topics=("t",)))
    log.generation(5, 2, member("a", 0, topics=("u",)))
    cause = only(log.timeline().generations[1])
    assert (cause.kind, cause.grade) == (K.SUBSCRIPTION_CHANGED, Grade.RECORDED)
    assert cause.evidence == "a subscribes to +u -t"


def test_a_topic_grew():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.generation(5, 2, member("a", 0, 1, 2, 3))
    cause = only(log.timeline().generations[1])
    assert (cause.kind, cause.grade) == (K.TOPIC_GREW, Grade.INFERRED)
    assert cause.evidence == "t: partitions 0 to 1 were assigned, now 0 to 3"


def test_partitions_that_nobody_owned_for_a_while_are_no_growth():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1, 2, 3))
    log.generation(5, 2, member("a", 0, 1), member("b"), protocol="cooperative-sticky")
    log.generation(6, 3, member("a", 0, 1), member("b", 2, 3), protocol="cooperative-sticky")
    assert K.TOPIC_GREW not in [kind for kind, _ in causes(log.timeline().generations[2])]


def test_the_second_round_of_a_cooperative_rebalance():
    log = GroupLog()
    protocol = "cooperative-sticky"
    log.generation(0, 1, member("a", 0, 1), protocol=protocol)
    log.generation(5, 2, member("a", 0), member("b"), protocol=protocol)
    log.generation(6, 3, member("a", 0), member("b", 1), protocol=protocol)
    assert causes(log.timeline().generations[2]) == [(K.COOPERATIVE_FOLLOW_UP, Grade.INFERRED)]


def test_members_agree_on_another_assignor():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.generation(5, 2, member("a", 0), protocol="sticky")
    assert causes(log.timeline().generations[1]) == [(K.ASSIGNOR_CHANGED, Grade.RECORDED)]


def test_a_round_that_changes_nothing_is_left_unexplained():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.generation(5, 4, member("a", 0))
    second = log.timeline().generations[1]
    assert second.unfinished == 2
    assert causes(second) == [(K.UNEXPLAINED, Grade.UNKNOWN)]
    assert "2 generations between ended without an assignment" in only(second).evidence


def test_the_coordinator_moved():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.leader_epoch = 3
    log.commit(1, 0, 7)
    (moved,) = log.timeline().occurrences
    assert (moved.cause.kind, moved.cause.grade) == (K.COORDINATOR_MOVED, Grade.RECORDED)


def test_commits_pause_around_a_round():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.commits(1, 9, 2, 0, 1)
    log.generation(10, 2, member("a", 0), member("b", 1))
    log.commit(11, 0, 120)
    log.commit(17, 1, 120)
    assert sorted(log.timeline().generations[1].gaps) == [
        CommitGap(Partition("t", 0), 9_000, 11_000),
        CommitGap(Partition("t", 1), 9_000, 17_000),
    ]


def test_commits_of_an_aborted_transaction_do_not_count():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(1, 0, 99, producer=7)
    log.end_transaction(2, 7, committed=False)
    log.commit(3, 0, 100, producer=7)
    log.end_transaction(4, 7, committed=True)
    timeline = log.timeline()
    assert timeline.commits == 1
    assert [occurrence.cause.kind for occurrence in timeline.occurrences] == [K.TRANSACTION_ABORTED]


def test_offsets_that_change_in_an_empty_group_were_reset_from_outside():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.commits(1, 5, 2, 0, 1)
    log.generation(6, 2)
    log.commit(9, 0, 0)
    log.commit(9, 1, 0)
    (reset,) = log.timeline().occurrences
    assert (reset.cause.kind, reset.cause.grade) == (K.OFFSET_RESET, Grade.RECORDED)
    assert reset.partitions == (Partition("t", 0), Partition("t", 1))


def test_a_member_commits_backwards():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(1, 0, 50)
    log.commit(2, 0, 20)
    (rewind,) = log.timeline().occurrences
    assert rewind.cause.kind is K.REWIND and rewind.cause.member_ids == ("a-id",)
    assert rewind.cause.evidence == "committed backwards: t-0: 50 to 20"


def test_a_group_that_is_gone_within_a_minute_was_deleted():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(1, 0, 5)
    log.generation(2, 2)
    log.remove_commit(30, 0, "t")
    log.remove_commit(30, 0, "u")
    log.remove_group(30)
    (removed,) = log.timeline().occurrences
    assert (removed.cause.kind, removed.cause.grade) == (K.GROUP_DELETED, Grade.INFERRED)


def test_a_group_that_is_gone_after_a_minute_may_have_expired():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(1, 0, 5)
    log.generation(2, 2)
    log.remove_commit(90, 0)
    log.remove_group(90)
    (removed,) = log.timeline().occurrences
    assert (removed.cause.kind, removed.cause.grade) == (K.GROUP_REMOVED, Grade.UNKNOWN)
    assert {K.GROUP_DELETED, K.GROUP_EXPIRED} <= set(removed.cause.alternatives)


def test_offsets_that_go_while_their_topic_is_subscribed_went_with_the_topic():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(1, 0, 5)
    log.remove_commit(20, 0)
    log.commit(21, 1, 5)
    (removed,) = log.timeline().occurrences
    assert (removed.cause.kind, removed.cause.grade) == (K.TOPIC_DELETED, Grade.INFERRED)


def test_commits_without_any_record_of_a_group():
    log = GroupLog()
    log.commits(0, 10, 2, 0)
    timeline = log.timeline()
    assert timeline.generations == []
    assert [occurrence.cause.kind for occurrence in timeline.occurrences] == [K.NO_MEMBERSHIP]


class TestAGapInTheLog:
    def test_an_absent_commit_is_no_silence(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0), member("b", 1))
        log.commits(1, 21, 2, 0, 1)
        log.gap()
        log.generation(32, 2, member("a", 0, 1))
        second = log.timeline().generations[1]
        assert second.cut
        assert causes(second) == [(K.MEMBER_GONE, Grade.UNKNOWN)]

    def test_generations_that_are_gone_are_marked(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0), member("b", 1))
        log.commits(1, 21, 2, 0, 1)
        log.gap()
        log.generation(23, 9, member("a", 0, 1))
        assert causes(log.timeline().generations[1]) == [
            (K.HISTORY_CUT, Grade.UNKNOWN),
            (K.MEMBER_GONE, Grade.UNKNOWN),
        ]

    def test_who_is_there_first_behind_a_gap_need_not_have_joined_then(self):
        log = GroupLog()
        log.gap()
        log.generation(0, 9, member("a", 0))
        assert causes(log.timeline().generations[0]) == [(K.HISTORY_CUT, Grade.UNKNOWN)]

    def test_a_gap_behind_all_that_a_group_has_is_one_of_its_log_too(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0))
        assert not log.timeline().is_cut
        log.gap()
        assert log.timeline().is_cut

    def test_generation_1_is_the_first_wherever_it_stands(self):
        log = GroupLog()
        log.gap()
        log.generation(0, 1, member("a", 0))
        assert causes(log.timeline().generations[0]) == [(K.FIRST_JOIN, Grade.RECORDED)]

    def test_behind_a_gap_a_group_without_members_may_have_had_some(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0))
        log.generation(2, 2)
        log.gap()
        log.commit(9, 0, 5)
        assert log.timeline().occurrences == []


def test_a_gap_in_the_commits_is_of_the_round_in_which_it_began():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commits(1, 10, 1, 0)
    log.generation(11, 2, member("a", 0), member("b", 1))
    log.generation(12, 3, member("a", 0), member("b", 1), member("c", 2))
    log.commit(20, 0, 500)
    first, second, third = log.timeline().generations
    assert [gap.length_ms for gap in second.gaps] == [10_000]
    assert first.gaps == third.gaps == []


def test_a_group_that_was_removed_and_made_anew_has_no_offsets_of_before():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(1, 0, 1000)
    log.generation(2, 2)
    log.remove_commit(1000, 0)
    log.remove_group(1000)
    log.generation(2000, 1, member("b", 0))
    log.commit(2001, 0, 5)
    assert len(log.timeline().occurrences) == 1


def test_a_generation_begins_when_it_was_formed_whoever_comes_back_into_it():
    log = GroupLog()
    log.generation(0, 1, member("i1", 0, instance="i"))
    begun_ms = log.timeline().generations[0].roster.at_ms
    log.generation(50, 1, member("i2", 0, instance="i"))
    [generation] = log.timeline().generations
    assert generation.roster.at_ms == begun_ms
    assert [each.member_id for each in generation.roster.members] == ["i2-id"]
