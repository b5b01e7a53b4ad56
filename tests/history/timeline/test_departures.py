"""Why a member is gone: one row per rule, from its timeouts and its last commits."""

from collections import deque

import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.commits import CommitTrack
from kgroup.history.timeline.departures import Evidence, why_gone
from kgroup.history.timeline.model import CauseKind, Grade, Partition, Roster, TimelineMember

K = CauseKind
P0, P1 = Partition("t", 0), Partition("t", 1)
EVERY_MS = 2_000


def member(name: str, *owned: Partition, session_ms: int | None = 10_000, **more: object) -> TimelineMember:
    return TimelineMember(
        member_id=name,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=60_000,
        owned=frozenset(owned),
        **more,  # type: ignore[arg-type]
    )


def roster(
    at_ms: int | None,
    *members: TimelineMember,
    kind: GroupKind = GroupKind.CLASSIC,
    protocol: str | None = "range",
) -> Roster:
    return Roster(
        kind=kind,
        generation=1,
        at_ms=at_ms,
        offset=0,
        offsets_partition=0,
        leader_epoch=0,
        protocol_type="consumer",
        protocol=protocol,
        leader=None,
        members=members,
    )


def commits_until(last_ms: int) -> CommitTrack:
    """Steady commits, moving forward."""
    return CommitTrack(
        at_ms=last_ms,
        offset=100,
        log_offset=50,
        intervals_ms=deque([EVERY_MS] * 5),
        advances=deque([True] * 5),
    )


A, B = member("a", P0), member("b", P1)


# ---- groups whose broker assigns: their session timeout is in no log --------------------------------


def gone_from_a_consumer_group(last_commit_ms: int, gone_ms: int, *, cut: bool = False) -> tuple[K, Grade]:
    gone = member("a", P0, session_ms=None)
    kind = GroupKind.CONSUMER
    cause = why_gone(
        gone,
        roster(0, gone, B, kind=kind),
        roster(gone_ms, B, kind=kind),
        Evidence(tracks={P0: commits_until(last_commit_ms)}, cut=cut),
    )
    return cause.kind, cause.grade


@pytest.mark.parametrize(
    ("quiet_ms", "cause"),
    [
        (4_000, (K.LEAVE, Grade.INFERRED)),  # no broker expires anybody so soon
        (4_001, (K.MEMBER_GONE, Grade.UNKNOWN)),
        (44_999, (K.MEMBER_GONE, Grade.UNKNOWN)),
        (45_000, (K.SESSION_EXPIRED, Grade.INFERRED)),  # the default of group.consumer.session.timeout.ms
        (63_500, (K.SESSION_EXPIRED, Grade.INFERRED)),  # and a commit, a third of a session, a heartbeat
        (63_501, (K.MEMBER_GONE, Grade.UNKNOWN)),
    ],
)
def test_a_session_that_no_log_tells_is_taken_for_the_default_one(
    quiet_ms: int, cause: tuple[K, Grade]
) -> None:
    assert gone_from_a_consumer_group(100_000, 100_000 + quiet_ms) == cause


def test_behind_a_gap_in_the_log_the_same_silence_tells_nothing() -> None:
    assert gone_from_a_consumer_group(100_000, 150_000, cut=True) == (K.MEMBER_GONE, Grade.UNKNOWN)


@pytest.mark.parametrize(
    ("waited_ms", "kind"),
    [(59_999, K.MEMBER_GONE), (60_000, K.REBALANCE_TIMEOUT), (70_000, K.REBALANCE_TIMEOUT)],
)
def test_a_member_that_owed_partitions_for_a_rebalance_timeout_was_thrown_out(
    waited_ms: int, kind: K
) -> None:
    gone = member("a", P0, session_ms=None)
    cause = why_gone(
        gone,
        roster(0, gone, B, kind=GroupKind.CONSUMER),
        roster(200_000, B, kind=GroupKind.CONSUMER),
        Evidence(tracks={}),
        unrevoked_since_ms=200_000 - waited_ms,
    )
    assert cause.kind is kind
    if kind is K.REBALANCE_TIMEOUT:
        assert "its rebalance timeout is 1m 0s" in cause.evidence


# ---- classic groups: left, or dropped because it did not rejoin -------------------------------------


def alive_shortly_before(
    *,
    round_ms: int,
    protocol: str = "range",
    others_last_commit_ms: int | None = None,
    instance: str | None = None,
) -> tuple[K, Grade, str]:
    """`a` committed a second before it was gone; `b` stayed."""
    gone = member("a", P0, instance_id=instance)
    tracks = {P0: commits_until(round_ms - 1_000)}
    if others_last_commit_ms is not None:
        tracks[P1] = commits_until(others_last_commit_ms)
    cause = why_gone(
        gone,
        roster(0, gone, B, protocol=protocol),
        roster(round_ms, B, protocol=protocol),
        Evidence(tracks=tracks),
    )
    return cause.kind, cause.grade, cause.evidence


def test_a_round_shorter_than_any_rebalance_timeout_drops_nobody() -> None:
    kind, grade, why = alive_shortly_before(round_ms=59_999)
    assert (kind, grade) == (K.LEAVE, Grade.INFERRED)
    assert "left by itself or was removed by an admin" in why


def test_a_static_member_does_not_leave_by_itself() -> None:
    kind, _, why = alive_shortly_before(round_ms=59_999, instance="till-1")
    assert kind is K.LEAVE
    assert why.startswith("a LeaveGroup took the static member out")


def test_a_round_that_may_have_been_long_may_have_dropped_the_member() -> None:
    assert alive_shortly_before(round_ms=100_000)[:2] == (K.MEMBER_GONE, Grade.UNKNOWN)


def test_who_stays_stops_committing_soon_after_an_eager_round_begins() -> None:
    # b noticed the round within a commit and a session of its own: the round was shorter than 60 s.
    noticed_ms = EVERY_MS + 10_000
    short = 100_000 - (60_000 - noticed_ms) + 1
    assert alive_shortly_before(round_ms=100_000, others_last_commit_ms=short)[0] is K.LEAVE
    assert alive_shortly_before(round_ms=100_000, others_last_commit_ms=short - 1)[0] is K.MEMBER_GONE


def test_cooperative_members_go_on_committing_so_that_this_tells_nothing() -> None:
    cause = alive_shortly_before(
        round_ms=100_000, others_last_commit_ms=99_000, protocol="cooperative-sticky"
    )
    assert cause[0] is K.MEMBER_GONE


def test_a_lone_member_has_nobody_to_wait_for() -> None:
    cause = why_gone(A, roster(0, A), roster(100_000), Evidence(tracks={P0: commits_until(99_000)}))
    assert (cause.kind, cause.grade) == (K.LEAVE, Grade.INFERRED)


def test_where_no_time_is_logged_nothing_can_be_said() -> None:
    cause = why_gone(A, roster(0, A, B), roster(None, B), Evidence(tracks={P0: commits_until(99_000)}))
    assert (cause.kind, cause.grade) == (K.MEMBER_GONE, Grade.UNKNOWN)
    without_start = why_gone(
        A, roster(None, A, B), roster(100_000, B), Evidence(tracks={P0: commits_until(99_000)})
    )
    assert (without_start.kind, without_start.grade) == (K.MEMBER_GONE, Grade.UNKNOWN)


def test_a_member_that_owned_nothing_left_no_trace() -> None:
    idle = member("idle")
    cause = why_gone(idle, roster(0, A, idle), roster(100_000, A), Evidence(tracks={}))
    assert (cause.kind, cause.grade) == (K.MEMBER_GONE, Grade.UNKNOWN)
    assert "it owned no partitions" in cause.evidence


def test_a_round_that_was_put_together_less_than_a_session_ago_is_a_sign_of_life() -> None:
    for after_ms, kind in ((9_999, K.LEAVE), (10_000, K.MEMBER_GONE)):
        evidence = Evidence(tracks={}, together_after_ms=100_000)
        current = roster(100_000 + after_ms, B)
        assert why_gone(A, roster(101_000, A, B), current, evidence).kind is kind
    # When it was put together is not always known.
    assert why_gone(A, roster(101_000, A, B), roster(101_001, B), Evidence(tracks={})).kind is K.MEMBER_GONE


def test_a_session_begins_anew_with_each_round_and_has_to_end_after_it() -> None:
    for after_ms, kind in ((9_999, K.LEAVE), (10_000, K.MEMBER_GONE)):
        evidence = Evidence(tracks={}, together_after_ms=0)
        assert why_gone(A, roster(5_000, A, B), roster(after_ms, B), evidence).kind is kind
    # When the members of the last round were together is unknown, however late its record is.
    assert why_gone(A, roster(5_000, A, B), roster(6_000, B), Evidence(tracks={})).kind is K.MEMBER_GONE


def test_the_last_commit_with_another_coordinator_is_by_another_clock() -> None:
    tracks = {P0: commits_until(99_000)}
    same, other = (Evidence(tracks=tracks, clock_from=offset) for offset in (50, 51))
    assert why_gone(A, roster(60_000, A, B), roster(100_000, B), same).kind is K.LEAVE
    assert why_gone(A, roster(60_000, A, B), roster(100_000, B), other).kind is K.MEMBER_GONE


A_SECOND_BEFORE, A_SESSION_BEFORE = 99_000, 90_000


@pytest.mark.parametrize(
    ("others", "kind"),
    [
        (A_SECOND_BEFORE, K.LEAVE),
        (A_SESSION_BEFORE + 1, K.LEAVE),
        (A_SESSION_BEFORE, K.MEMBER_GONE),  # that one may have waited for the other to be dropped
        (None, K.MEMBER_GONE),  # nothing is known of it
    ],
)
def test_of_members_that_all_were_just_heard_of_none_was_dropped(others: int | None, kind: CauseKind) -> None:
    tracks = {P0: commits_until(A_SECOND_BEFORE)}
    if others is not None:
        tracks[P1] = commits_until(others)
    assert why_gone(A, roster(0, A, B), roster(100_000), Evidence(tracks=tracks)).kind is kind
