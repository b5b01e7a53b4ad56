"""Clients that left since nobody polled: what has to be known besides a silence that fits."""

import pytest

from kgroup.history.timeline.model import Cause, CauseKind, Grade
from tests.history.group_log import GroupLog, member

K = CauseKind
INTERVAL = 60


def slow(name: str = "slow", *partitions: int, session_ms: int = 10_000, **more: str) -> object:
    return member(
        name, *partitions, session_ms=session_ms, rebalance_ms=INTERVAL * 1_000, client="slow", **more
    )


def blocked(
    *,
    silent: float = INTERVAL + 1,
    back: str | None = "slow-2",
    waiting: int | None = None,
    idle: bool = False,
    session_ms: int = 10_000,
    round_s: int = 0,
) -> Cause:
    """`slow` commits every 2 s until 100 and is missing `silent` seconds later; `b` goes on.

    `b` is silent for as long as the round takes.
    """
    log = GroupLog()
    log.generation(0, 1, slow("slow", 0, session_ms=session_ms), member("b", 1))
    for at in range(2, 101, 2):
        log.commit(at, 0, 10 * (at // 6 * 6 if idle else at))
        log.commit(at, 1, 10 * at)
    gone = 100 + silent
    log.commits(102, gone - round_s, 2, 1)
    log.generation(gone, 2, member("b", 0, 1))
    if waiting is not None:
        log.commit(gone + 2, 0, 1_000 + waiting)
    if back is not None:
        log.generation(gone + 20, 3, slow(back, 0, session_ms=session_ms), member("b", 1))
    return log.timeline().generations[1].causes[0]


def test_a_client_that_comes_back_after_its_poll_interval_left_by_itself() -> None:
    cause = blocked()
    assert (cause.kind, cause.grade, cause.alternatives) == (K.POLL_INTERVAL_EXCEEDED, Grade.INFERRED, ())
    assert cause.member_ids == ("slow-id",)
    assert "every 2s, then nothing for 1m 1s, and its poll interval" in cause.evidence
    assert cause.evidence.endswith("the same client came back under a new id")
    assert cause.remedy is not None and "max.poll.interval.ms" in cause.remedy


def test_a_client_that_was_shut_down_with_nothing_to_read_looks_the_same() -> None:
    cause = blocked(back=None)
    assert (cause.kind, cause.grade) == (K.MEMBER_GONE, Grade.UNKNOWN)
    assert cause.alternatives == (K.POLL_INTERVAL_EXCEEDED, K.LEAVE)


@pytest.mark.parametrize(("waiting", "kind"), [(600, K.POLL_INTERVAL_EXCEEDED), (40, K.MEMBER_GONE)])
def test_unless_records_waited_for_the_next_reader(waiting: int, kind: CauseKind) -> None:
    assert blocked(back=None, waiting=waiting).kind is kind


def test_or_it_commits_even_when_it_has_read_nothing() -> None:
    cause = blocked(back=None, idle=True)
    assert cause.kind is K.POLL_INTERVAL_EXCEEDED
    assert cause.evidence.endswith("it commits even when it has read nothing")


@pytest.mark.parametrize("silent", [30, 90])
def test_another_silence_is_not_of_the_interval(silent: float) -> None:
    assert blocked(silent=silent).kind is K.MEMBER_GONE


def test_a_session_that_may_have_run_out_as_well_is_left_open() -> None:
    cause = blocked(session_ms=58_000)
    assert (cause.kind, cause.grade) == (K.MEMBER_GONE, Grade.UNKNOWN)
    assert cause.alternatives == (K.POLL_INTERVAL_EXCEEDED, K.SESSION_EXPIRED)


@pytest.mark.parametrize(("round_s", "kind"), [(0, K.POLL_INTERVAL_EXCEEDED), (14, K.MEMBER_GONE)])
def test_a_session_may_have_run_out_long_before_a_round_that_took_long(round_s: int, kind: CauseKind) -> None:
    cause = blocked(session_ms=40_000, round_s=round_s)
    assert cause.kind is kind
    assert cause.alternatives == ((K.POLL_INTERVAL_EXCEEDED, K.SESSION_EXPIRED) if round_s else ())


def test_a_session_that_is_longer_cannot_have_run_out() -> None:
    cause = blocked(session_ms=70_000)
    assert cause.kind is K.POLL_INTERVAL_EXCEEDED
    assert "session timeout 1m 10s, so it cannot have expired" in cause.evidence


@pytest.mark.parametrize(
    ("last_step", "waiting", "kind"),
    [
        (6, 640, K.POLL_INTERVAL_EXCEEDED),  # it read no more before its last commit, and records came
        (20, 640, K.MEMBER_GONE),  # killed between two commits, it may have been
        (15, 640, K.MEMBER_GONE),  # a little less than usual is nothing
        (6, 20, K.MEMBER_GONE),  # no more records came: it may have been killed while it was idle
        (6, None, K.MEMBER_GONE),
    ],
)
def test_a_client_that_commits_once_more_without_reading_is_alive(
    last_step: int, waiting: int | None, kind: CauseKind
) -> None:
    log = GroupLog()
    log.generation(0, 1, slow("slow", 0, session_ms=58_000), member("b", 1))
    log.commits(2, 98, 2, 0)
    log.commit(100, 0, 980 + last_step)
    log.commits(2, 161, 2, 1)
    log.generation(161, 2, member("b", 0, 1))
    if waiting is not None:
        log.commit(163, 0, 980 + last_step + waiting)
    if waiting == 20:
        # A supervisor starts it again: no proof of life either.
        log.generation(181, 3, slow("slow-2", 0, session_ms=58_000), member("b", 1))
    cause = log.timeline().generations[1].causes[0]
    assert cause.kind is kind
    assert ("committed once more after it had read its last" in cause.evidence) is (kind is not K.MEMBER_GONE)


def again_and_again(*silences: float, session_ms: int = 58_000, back: bool = True) -> list[CauseKind]:
    """A client that falls silent and comes back, once for each of these."""
    log = GroupLog()
    at, generation = 0.0, 1
    log.generation(at, generation, slow("slow-0", 0, session_ms=session_ms), member("b", 1))
    for number, silent in enumerate(silences, start=1):
        log.commits(at + 2, at + 100, 2, 0, 1)
        at += 100
        log.commits(at + 2, at + silent, 2, 1)
        at += silent
        log.generation(at, generation := generation + 1, member("b", 0, 1))
        at += 10
        name = f"slow-{number}"
        if back:
            joined = slow(name, 0, session_ms=session_ms)
        else:
            joined = member(name, 0, session_ms=session_ms, rebalance_ms=INTERVAL * 1_000)
        log.generation(at, generation := generation + 1, joined, member("b", 1))
    return [cause.kind for one in log.timeline().generations[1::2] for cause in one.causes]


def test_one_departure_that_is_certain_tells_of_others_of_the_same_client() -> None:
    # 55 s after a session of 58 s: it cannot have expired then, and did the same the other time.
    assert again_and_again(59, 61) == [K.MEMBER_GONE] * 2
    assert again_and_again(61, 58.5, session_ms=60_500) == [K.POLL_INTERVAL_EXCEEDED] * 2


def test_a_silence_that_reaches_the_interval_each_time_is_no_chance() -> None:
    # A session of 50 s, a rhythm of 2 s and a heartbeat's notice: half of such silences end before 60 s.
    some = [60.5, 61, 60.2]
    assert set(again_and_again(*some, session_ms=50_000)) == {K.MEMBER_GONE}
    assert set(again_and_again(*some, *some, *some, session_ms=50_000)) == {K.POLL_INTERVAL_EXCEEDED}
    assert set(again_and_again(*some, *some, 59.5, session_ms=50_000)) == {K.MEMBER_GONE}
    assert set(again_and_again(*some, *some, *some, session_ms=50_000, back=False)) == {K.MEMBER_GONE}


def test_members_that_share_a_name_do_not_tell_who_came_back() -> None:
    log = GroupLog()
    twin = member("twin", 2, client="slow")
    log.generation(0, 1, slow("slow", 0), member("b", 1), twin)
    log.commits(2, 100, 2, 0, 1, 2)
    log.commits(102, 161, 2, 1, 2)
    log.generation(161, 2, member("b", 0, 1), twin)
    log.generation(171, 3, slow("slow-2", 0), member("b", 1), twin)
    assert log.timeline().generations[1].causes[0].kind is K.MEMBER_GONE


def test_a_static_member_that_does_not_poll_is_expired() -> None:
    log = GroupLog()
    log.generation(0, 1, slow("slow", 0, instance="till-1"), member("b", 1))
    log.commits(2, 100, 2, 0, 1)
    log.commits(102, 111, 2, 1)
    log.generation(111, 2, member("b", 0, 1))
    cause = log.timeline().generations[1].causes[0]
    assert (cause.kind, cause.grade) == (K.SESSION_EXPIRED, Grade.INFERRED)
    assert "the static member was away for 11s" in cause.evidence
