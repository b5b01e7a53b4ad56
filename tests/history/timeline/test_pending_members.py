"""A round that waits a session timeout for a member id that is never used."""

from collections.abc import Sequence

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
    number: int = 2,
    restarted: bool = False,
    cut: bool = False,
    others: Sequence[tuple[float, int]] | None = None,
) -> tuple[Cause, ...]:
    """`a` and `b` commit until 40, `b` as in `others` (seconds, offset) if given; the next round is stored
    `waited` seconds later.
    """
    log = GroupLog()
    owner = [1] if owners == 2 else []
    log.generation(
        0, 1, member("a", 0, instance="i" if restarted else None), member("b", *owner), protocol=protocol
    )
    log.commits(every, 40, every, *range(owners if others is None else 1))
    for at, offset in others or ():
        log.commit(at, 1, offset)
    if others_waited is not None:
        log.commit(40 + waited - others_waited, 1, 900)
    log.leader_epoch += moved
    if cut:
        log.gap()
    first = member("a2", 0, instance="i") if restarted else member("a", 0)
    after = [first, *([] if leaves else [member("b", 1)]), *([member("c")] if joins else [])]
    log.generation(40 + waited, number, *after, protocol=protocol)
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
        ({"waited": 7.999}, False),
        ({"waited": 9.5, "joins": False}, True),
        ({"waited": 9.499, "joins": False}, False),
        ({"waited": 13.5}, True),
        ({"waited": 13.501}, False),
        ({"others_waited": 6}, True),  # it heard of the round a heartbeat later, and committed then
        ({"others_waited": 5.999}, False),
        ({"others_waited": 9, "joins": False}, True),
        ({"others_waited": 8.999, "joins": False}, False),
        ({"others_waited": 3}, False),  # one of them kept the others waiting
        ({"leaves": True}, False),
        ({"moved": True}, False),  # with another coordinator, and by its clock
        ({"protocol": "cooperative-sticky"}, False),  # they commit during a round
        ({"owners": 1}, False),  # it may just have been slow
        ({"every": 10}, False),  # no longer than its rhythm
        ({"every": 8, "waited": 9.5}, False),
        ({"every": 8, "waited": 9.501}, True),
        ({"number": 3}, False),  # a round before it was not finished, and took its time
        ({"restarted": True}, False),  # a static member came back, which may have been what they waited for
        ({"cut": True}, False),
        ({"others": [(34, 6), (36, 7), (38, 7), (40, 7)]}, False),  # there may have been nothing to commit
        ({"others": [(32, 6), (34, 7), (36, 7), (38, 7), (40, 7)]}, True),  # it commits by the clock
        ({"others": [(34, 5), (36, 6), (38, 7), (40, 8)]}, True),
        ({"others": [(36, 6), (38, 7), (40, 8)]}, False),  # too few to know a rhythm of
        ({"others": []}, False),  # it was silent all along
    ],
)
def test_a_pending_member_takes_a_session_in_which_nobody_commits(
    round_: dict[str, object], is_pending: bool
) -> None:
    kinds = [cause.kind for cause in causes(**round_)]  # type: ignore[arg-type]
    assert (K.PENDING_MEMBER in kinds) is is_pending
