"""Who was in a group from when to when, and why they went."""

import pytest

from kgroup.history.timeline.model import Cause, CauseKind, Generation, Grade
from kgroup.history.what_if.stays import stays_of
from tests.history.group_log import GroupLog, member


def one_went(*causes: Cause) -> list[Generation]:
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.generation(50, 2, member("a", 0, 1))
    generations = list(log.timeline().generations)
    generations[1].causes = causes
    return generations


@pytest.mark.parametrize(
    ("grade", "departure"),
    [
        (Grade.RECORDED, CauseKind.SESSION_EXPIRED),
        (Grade.INFERRED, CauseKind.SESSION_EXPIRED),
        (Grade.UNKNOWN, CauseKind.MEMBER_GONE),
    ],
)
def test_what_the_log_leaves_open_stays_open(grade: Grade, departure: CauseKind) -> None:
    cause = Cause(kind=CauseKind.SESSION_EXPIRED, grade=grade, evidence="", member_ids=("b-id",))
    assert [stay.departure for stay in stays_of(one_went(cause))] == [None, departure]


def test_a_cause_that_is_anothers_says_nothing() -> None:
    cause = Cause(kind=CauseKind.SESSION_EXPIRED, grade=Grade.RECORDED, evidence="", member_ids=("a-id",))
    assert [stay.departure for stay in stays_of(one_went(cause))] == [None, CauseKind.MEMBER_GONE]


def test_a_client_id_that_several_have_goes_with_its_host() -> None:
    log = GroupLog()
    log.generation(
        0,
        1,
        member("a", 0, client="app", host="/h1"),
        member("b", 1, client="app", host="/h2"),
        member("c", 2),
    )
    assert [stay.process for stay in stays_of(log.timeline().generations)] == ["app@h1", "app@h2", "c"]


def test_a_static_member_that_comes_back_by_another_id_has_stayed() -> None:
    log = GroupLog()
    log.generation(0, 1, member("a", 0, instance="till"))
    log.generation(50, 2, member("a-again", 0, instance="till"))
    (stay,) = stays_of(log.timeline().generations)
    assert (stay.process, stay.first, stay.end) == ("till", 0, None)
    assert [each.member_id for each in stay.seen] == ["a-id", "a-again-id"]
