"""Why a generation began, rule by rule, from two rosters and no more."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.causes import (
    assignor_change,
    cooperative_follow_up,
    joins,
    member_changes,
    moves,
    rejoined_after_a_move,
    subscription_changes,
    topic_growth,
)
from kgroup.history.timeline.commits import CommitTrack, silence_of, usual_interval_ms
from kgroup.history.timeline.departures import Evidence, why_gone
from kgroup.history.timeline.generations import begun, finish_round
from kgroup.history.timeline.model import CauseKind, Generation, Grade, Partition, Roster, TimelineMember
from kgroup.history.timeline.removals import why_group_removed, why_offsets_removed

K = CauseKind
P0, P1, P2, Q0 = Partition("t", 0), Partition("t", 1), Partition("t", 2), Partition("u", 0)


def member(name: str, *owned: Partition, topics: str = "t", **more: object) -> TimelineMember:
    settings: dict[str, object] = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000} | more
    return TimelineMember(
        member_id=name,
        client_id=f"client-{name}",
        subscribed=frozenset(topics.split(",")),
        owned=frozenset(owned),
        **settings,  # type: ignore[arg-type]
    )


def roster(
    *members: TimelineMember,
    generation: int = 1,
    at_ms: int | None = 0,
    offset: int = 0,
    protocol: str | None = "range",
    leader: str | None = None,
    kind: GroupKind = GroupKind.CLASSIC,
) -> Roster:
    return Roster(
        kind=kind,
        generation=generation,
        at_ms=at_ms,
        offset=offset,
        offsets_partition=0,
        leader_epoch=0,
        protocol_type="consumer",
        protocol=protocol,
        leader=leader,
        members=members,
    )


# ---- the same members --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "has_moved"),
    [
        ({"leader_epoch": 1}, True),
        ({"leader_epoch": 0}, False),
        ({"leader_epoch": None}, False),
        ({"leader_epoch": 1, "offsets_partition": 1}, False),
    ],
    ids=["another-epoch", "the-same", "unknown", "of-another-partition"],
)
def test_members_join_again_with_another_coordinator(now: dict[str, int | None], has_moved: bool) -> None:
    """Leader epochs are counted by each partition for itself."""
    before = roster(member("a"))
    after = replace(roster(member("a"), generation=2), **now)  # type: ignore[arg-type]
    cause = rejoined_after_a_move(before, after)
    assert (cause is not None) is has_moved
    assert cause is None or cause.kind is K.COORDINATOR_MOVED


# ---- who came and went ------------------------------------------------------------------------------


def test_a_static_member_under_a_new_id_is_the_same_one() -> None:
    before = roster(member("a"), member("i-1", instance_id="i"), member("j-1", instance_id="j"))
    now = roster(member("b"), member("i-2", instance_id="i"), member("k-1", instance_id="k"))
    joined, left, replaced = member_changes(before, now)
    assert [each.member_id for each in joined] == ["b", "k-1"]
    assert [each.member_id for each in left] == ["a", "j-1"]
    assert replaced == (("i-1", "i-2"),)


@pytest.mark.parametrize(
    ("previous", "kind"),
    [
        (None, K.FIRST_JOIN),
        (roster(), K.FIRST_JOIN),
        (roster(member("b")), K.JOIN),
    ],
)
def test_whoever_joins_a_group_without_members_disturbs_nobody(previous: Roster | None, kind: K) -> None:
    [cause] = joins([member("a")], previous)
    assert (cause.kind, cause.member_ids) == (kind, ("a",))
    assert (cause.remedy is not None) == (kind is K.JOIN)


def test_nobody_joined_is_no_cause() -> None:
    assert joins([], roster(member("a"))) == []


# ---- what moved -------------------------------------------------------------------------------------


def test_partitions_stay_move_and_come_up() -> None:
    before = roster(member("a", P0, P1), member("b", Q0))
    now = roster(member("a", P0), member("b", P1, Q0, P2))
    moved = moves(before, now, ())
    assert moved.gained == {"b": (P1, P2)}
    assert moved.lost == {"a": (P1,)}
    assert (moved.moved, moved.kept) == (1, 2)


def test_a_static_member_that_came_back_keeps_its_partitions() -> None:
    moved = moves(roster(member("i-1", P0)), roster(member("i-2", P0)), [("i-1", "i-2")])
    assert (moved.moved, moved.kept) == (0, 1)


@pytest.mark.parametrize(("to", "count"), [("b", 1), ("a", 0)])
def test_what_a_cooperative_round_took_away_moves_when_another_gets_it(to: str, count: int) -> None:
    earlier = roster(member("a", P0, P1), member("b"))
    previous = roster(member("a", P0), member("b"))
    owners = {"a": [P0], "b": []}
    owners[to].append(P1)
    now = roster(member("a", *owners["a"]), member("b", *owners["b"]))
    assert moves(previous, now, (), earlier).moved == count


# ---- what they want ---------------------------------------------------------------------------------


def test_another_pattern_over_the_same_topics_is_a_change() -> None:
    [cause] = subscription_changes(roster(member("a", regex="t.*")), roster(member("a", regex="t+")))
    assert (cause.kind, cause.evidence) == (K.SUBSCRIPTION_CHANGED, "client-a subscribes to another pattern")


def test_topics_more_and_fewer() -> None:
    [cause] = subscription_changes(roster(member("a", topics="t,u")), roster(member("a", topics="t,v,w")))
    assert cause.evidence == "client-a subscribes to +v +w -u"
    assert subscription_changes(roster(member("a")), roster(member("a"), member("b", topics="x"))) == []


@pytest.mark.parametrize(
    ("previous", "current", "changed"),
    [
        (roster(member("a")), roster(member("a"), protocol="sticky"), True),
        (roster(member("a")), roster(member("a")), False),
        (roster(protocol=None), roster(member("a"), protocol="sticky"), False),
        (roster(member("a")), roster(protocol=None), False),
        (roster(member("a"), kind=GroupKind.CONSUMER), roster(member("a"), protocol="sticky"), False),
    ],
)
def test_an_assignor_changes_under_members_of_the_classic_protocol(
    previous: Roster, current: Roster, changed: bool
) -> None:
    assert [each.kind for each in assignor_change(previous, current)] == [K.ASSIGNOR_CHANGED] * changed


@pytest.mark.parametrize(
    ("before", "now", "known", "grew"),
    [
        ([P0, P1], [P0, P1, P2], 2, True),
        ([P0, P1], [P0, P1], 2, False),
        ([P0, P1], [P0, P2], 2, False),
        ([P0], [P0, P1, P2], 2, False),  # a hole before
        ([P0, P1], [P0, P1, Partition("t", 3)], 2, False),  # a hole now
        ([], [P0, P1], 0, False),  # subscribed to for the first time
        ([P0, P1], [P0, P1, P2], 3, False),  # it has had three before
    ],
)
def test_a_topic_grows_from_one_whole_assignment_to_the_next(
    before: list[Partition], now: list[Partition], known: int, grew: bool
) -> None:
    causes = topic_growth(roster(member("a", *before)), roster(member("a", *now)), {"t": known})
    assert [each.kind for each in causes] == [K.TOPIC_GREW] * grew


@pytest.mark.parametrize(
    ("protocol", "previous_protocol", "follows"),
    [
        ("cooperative-sticky", "cooperative-sticky", True),
        ("sticky", "sticky", False),
        ("cooperative-sticky", "sticky", False),
    ],
)
def test_only_a_cooperative_round_has_a_second_one(
    protocol: str, previous_protocol: str, follows: bool
) -> None:
    before = roster(member("a", P0, P1), protocol=previous_protocol)
    previous = roster(member("a", P0), protocol=previous_protocol)
    now = roster(member("a", P0), member("b", P1), protocol=protocol)
    kinds = [each.kind for each in cooperative_follow_up(before, previous, now)]
    assert kinds == [K.COOPERATIVE_FOLLOW_UP] * follows
    assert cooperative_follow_up(None, previous, now) == []


# ---- a generation -----------------------------------------------------------------------------------


def of(previous: Roster | None, current: Roster, *, cut: bool = False) -> Generation:
    return begun(current, previous, Evidence(tracks={}, cut=cut), {}, last_began_ms=previous.at_ms)


def test_generations_between_that_nobody_finished_are_counted() -> None:
    assert of(roster(member("a")), roster(member("a"), generation=2)).unfinished == 0
    assert of(roster(member("a")), roster(member("a"), generation=5)).unfinished == 3
    assert of(roster(member("a"), generation=5), roster(member("a"), generation=2)).unfinished == 0


def test_a_leader_changes_while_there_are_members() -> None:
    before = roster(member("a"), member("b"), leader="a")
    assert of(before, roster(member("b"), leader="b", generation=2)).leader_changed
    assert not of(before, roster(member("a"), leader="a", generation=2)).leader_changed
    assert not of(before, roster(leader=None, generation=2)).leader_changed


def test_a_member_that_is_gone_owes_nothing_any_more() -> None:
    unrevoked = {"a": 5, "b": 6}
    previous = roster(member("a"), member("b"))
    begun(
        roster(member("b"), generation=2),
        previous,
        Evidence(tracks={}),
        unrevoked,
        last_began_ms=previous.at_ms,
    )
    assert unrevoked == {"b": 6}


def test_a_topic_has_as_many_partitions_as_it_ever_had() -> None:
    known = {"t": 3}
    finish_round([Generation(roster=roster(member("a", P0, P1, Q0)))], known)
    assert known == {"t": 3, "u": 1}


# ---- how members went -------------------------------------------------------------------------------


def commits(*times_ms: int, advance: int = 1) -> CommitTrack:
    track = CommitTrack(times_ms[0], 0, 50)
    for number, at_ms in enumerate(times_ms[1:], start=1):
        track.add(at_ms, number * advance, 50 + number, -1, 4)
    return track


STEADY = commits(0, 2_000, 4_000, 6_000, 8_000)


def gone(quiet_ms: int, track: CommitTrack = STEADY, **evidence: object) -> K:
    before = roster(member("a", P0), member("b", P1), offset=10)
    now = roster(member("b", P0, P1), generation=2, at_ms=track.at_ms + quiet_ms, offset=99)
    known = Evidence(tracks={P0: track}, **evidence)  # type: ignore[arg-type]
    return why_gone(before.members[0], before, now, known).kind


def test_whoever_was_quiet_for_just_its_session_has_expired_and_a_moment_less_has_not() -> None:
    assert gone(10_000) is K.SESSION_EXPIRED
    assert gone(9_999) is not K.SESSION_EXPIRED
    assert gone(10_000 + 2_000 + 3_333 + 1_500) is K.SESSION_EXPIRED
    assert gone(10_000 + 2_000 + 3_333 + 1_501) is K.MEMBER_GONE


def test_behind_a_gap_in_the_log_nobody_has_expired() -> None:
    """The commits that a member made meanwhile may be what is missing."""
    assert gone(10_000, cut=True) is K.MEMBER_GONE


def test_a_rhythm_takes_four_commits_that_all_move_forward() -> None:
    assert gone(10_000, commits(0, 2_000, 4_000, 6_000)) is K.SESSION_EXPIRED
    assert gone(10_000, commits(0, 2_000, 4_000)) is K.MEMBER_GONE
    standing = commits(0, 2_000, 4_000, 6_000, 8_000)
    standing.advances[-1] = False
    assert gone(10_000, standing) is K.MEMBER_GONE


def test_a_members_last_commit_is_the_last_of_all_its_partitions() -> None:
    tracks = {P0: commits(0, 2_000, 4_000, 6_000), P1: commits(0, 3_000, 6_000, 9_000)}
    silence = silence_of(tracks, [P0, P1], 10)
    assert silence is not None
    assert (silence.last_ms, silence.usual_ms, silence.in_rhythm) == (9_000, 3_000, True)
    assert silence_of(tracks, [P0, P1], 53) is None  # what came before the record is the last owner's


def test_the_usual_interval_is_the_median_of_three_or_more() -> None:
    assert usual_interval_ms({P0: commits(0, 1_000, 3_000, 9_000)}, [P0, P1]) == 2_000
    assert usual_interval_ms({P0: commits(0, 1_000, 3_000)}, [P0]) is None


@pytest.mark.parametrize(
    ("since_ms", "longest_ms", "left"),
    [(9_999, 60_000, True), (10_000, 60_000, False), (5_000, 4_000, False)],
)
def test_whoever_is_gone_before_any_timeout_can_have_run_out_has_left(
    since_ms: int, longest_ms: int, left: bool
) -> None:
    before = roster(member("a", P0, rebalance_timeout_ms=longest_ms))
    now = roster(member("b"), generation=2, at_ms=since_ms)
    cause = why_gone(before.members[0], before, now, Evidence(tracks={}, together_after_ms=0))
    assert (cause.kind is K.LEAVE) == left


# ---- what was removed -------------------------------------------------------------------------------


def expiring(at_ms: int) -> CommitTrack:
    return CommitTrack(0, 5, 50, expire_timestamp_ms=at_ms)


def test_offsets_expired_if_the_time_of_each_had_come() -> None:
    both = {P0: expiring(500_000), P1: expiring(600_000)}
    assert why_offsets_removed(600_000, (P0, P1), both, None).kind is K.OFFSETS_EXPIRED
    assert why_offsets_removed(599_999, (P0, P1), both, None).kind is K.OFFSETS_REMOVED


@pytest.mark.parametrize(("owned", "may_be_cleaned_up"), [((P0,), False), ((), True)])
def test_a_group_without_offsets_may_be_cleaned_up_at_once(
    owned: tuple[Partition, ...], may_be_cleaned_up: bool
) -> None:
    tracks = {P0: CommitTrack(0, 5, 50, value_version=3)}
    cause = why_group_removed(10_000, 0, owned, tracks)
    assert (K.GROUP_EXPIRED in cause.alternatives) is may_be_cleaned_up


@pytest.mark.parametrize(
    ("topics", "kind"), [("t,u", K.TOPIC_DELETED), ("t", K.OFFSETS_REMOVED), ("v", K.OFFSETS_REMOVED)]
)
def test_only_topics_that_a_member_reads_lose_their_offsets_by_being_deleted(topics: str, kind: K) -> None:
    tracks = {P0: CommitTrack(0, 5, 50), Q0: CommitTrack(0, 5, 51)}
    assert why_offsets_removed(10_000, (P0, Q0), tracks, roster(member("a", topics=topics))).kind is kind


@pytest.mark.parametrize(("after_ms", "grade"), [(59_999, Grade.INFERRED), (60_000, Grade.UNKNOWN)])
def test_a_group_that_is_gone_within_a_minute_was_deleted(after_ms: int, grade: Grade) -> None:
    tracks = {P0: CommitTrack(0, 5, 50, value_version=4)}
    assert why_group_removed(after_ms, 0, (P0,), tracks).grade is grade
