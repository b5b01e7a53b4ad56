"""Whatever a member's rhythm, timeouts and silence: what is never said of how it went."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.history.timeline.model import Cause, CauseKind, Grade
from tests.history.group_log import GroupLog, member

K = CauseKind
GONE = (K.LEAVE, K.SESSION_EXPIRED, K.POLL_INTERVAL_EXCEEDED, K.REBALANCE_TIMEOUT, K.MEMBER_GONE)


@st.composite
def lives(draw: st.DrawFn) -> tuple[Cause, float, float, float, list[float]]:
    """A member's departure with its silence, session, poll interval and commit intervals, all in seconds."""
    session = draw(st.integers(6, 60))
    interval = draw(st.integers(6, 400))
    every = draw(st.lists(st.floats(0.3, 20), min_size=0, max_size=20))
    silent = draw(
        st.one_of(st.floats(0, 500), *(st.floats(max(0, at - 5), at + 25) for at in (session, interval)))
    )
    log = GroupLog()
    slow = member("slow", 0, session_ms=session * 1_000, rebalance_ms=interval * 1_000)
    log.generation(0, 1, slow, member("b", 1))
    at, offset = draw(st.floats(1, 500)), 0
    for pause in every:
        at += pause
        offset += draw(st.sampled_from((0, 1, 50, 50, 50)))
        log.commit(at, 0, offset)
    gone = at + silent
    if draw(st.booleans()):
        log.commit(gone - draw(st.floats(0.1, 10)), 1, 5)
    log.generation(gone, 2, *([member("b", 0, 1)] if draw(st.booleans()) else []))
    if draw(st.booleans()):
        log.commit(gone + draw(st.floats(1, 30)), 0, offset + draw(st.integers(0, 100_000)))
    if draw(st.booleans()):
        again = member("slow-2", 0, client="slow", session_ms=session * 1_000, rebalance_ms=interval * 1_000)
        log.generation(gone + draw(st.floats(1, 900)), 3, again, member("b", 1))
    causes = log.timeline().generations[1].causes
    (cause,) = (cause for cause in causes if "slow-id" in cause.member_ids)
    return cause, silent, session, interval, every


@settings(max_examples=400)
@given(lives())
def test_a_cause_never_contradicts_the_timeouts_in_the_record(
    life: tuple[Cause, float, float, float, list[float]],
) -> None:
    cause, silent, session, interval, every = life
    assert cause.kind in GONE
    assert (cause.grade is Grade.UNKNOWN) is (cause.kind is K.MEMBER_GONE)
    assert bool(cause.alternatives) is (cause.kind is K.MEMBER_GONE)
    slack = 0.002
    if cause.kind is K.SESSION_EXPIRED:
        assert len(every) >= 4
        assert session - slack <= silent <= session * 4 / 3 + max(every) + 1.5 + slack
        assert silent > max(every[-3:]) - slack
    if cause.kind is K.POLL_INTERVAL_EXCEEDED:
        assert len(every) >= 4
        assert silent >= interval - max(every) - slack
        assert (
            "; it commits even" in cause.evidence
            or "waited" in cause.evidence
            or "came back" in cause.evidence
        )
    if cause.kind is K.LEAVE and len(every) >= 4:
        assert silent < session + slack
