"""A round that waits a session timeout for a member id that is never used."""

import pytest

from kgroup.history.timeline.model import Cause, CauseKind, Grade
from tests.history.group_log import GroupLog, member

K = CauseKind


def causes(
    *,
    waited: float = 10,
    others_waited: float | None = None,
    joins: bool = True,
    leaves: bool = False,
    moved: bool = False,
    protocol: str = "range",
    owners: int = 2,
    every: float = 2,
) -> tuple[Cause, ...]:
    """`a` and `b` commit until 40; the next round is stored `waited` seconds later."""
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", *([1] if owners == 2 else [])), protocol=protocol)
    log.commits(every, 40, every, *range(owners))
    if others_waited is not None:
        log.commit(40 + waited - others_waited, 1, 900)
    log.leader_epoch += moved
    after = [member("a", 0), *([] if leaves else [member("b", 1)]), *([member("c")] if joins else [])]
    log.generation(40 + waited, 2, *after, protocol=protocol)
    return log.timeline().generations[1].causes


def test_all_wait_for_a_member_that_lost_its_first_id() -> None:
    join, pending = causes()
    assert (join.kind, pending.kind, pending.grade) == (K.JOIN, K.PENDING_MEMBER, Grade.INFERRED)
    assert "none of the 2 members committed for 10s" in pending.evidence
    assert "session timeout of 10s" in pending.evidence


def test_with_nobody_joining_it_is_not_unexplained() -> None:
    (pending,) = causes(joins=False)
    assert pending.kind is K.PENDING_MEMBER


@pytest.mark.parametrize(
    ("round_", "is_pending"),
    [
        ({"waited": 8}, True),  # who stays hears of the round a heartbeat after it began
        ({"waited": 7.9}, False),
        ({"waited": 9.5, "joins": False}, True),
        ({"waited": 9.4, "joins": False}, False),
        ({"waited": 13.5}, True),
        ({"waited": 13.6}, False),
        ({"others_waited": 6}, True),  # it heard of the round a heartbeat later, and committed then
        ({"others_waited": 5.9}, False),
        ({"others_waited": 9, "joins": False}, True),
        ({"others_waited": 8.9, "joins": False}, False),
        ({"others_waited": 3}, False),  # one of them kept the others waiting
        ({"leaves": True}, False),
        ({"moved": True}, False),  # with another coordinator, and by its clock
        ({"protocol": "cooperative-sticky"}, False),  # they commit during a round
        ({"owners": 1}, False),  # it may just have been slow
        ({"every": 10}, False),  # no longer than its rhythm
    ],
)
def test_a_pending_member_takes_a_session_in_which_nobody_commits(
    round_: dict[str, object], is_pending: bool
) -> None:
    kinds = [cause.kind for cause in causes(**round_)]  # type: ignore[arg-type]
    assert (K.PENDING_MEMBER in kinds) is is_pending
