import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.history.reenactment.score import score
from kgroup.history.timeline.model import Cause, CauseKind, Generation, Grade, Moved, Roster, TimelineMember

JOIN, LEAVE = CauseKind.JOIN, CauseKind.LEAVE


def generation(joined="", left="", cause=JOIN, moved=0, member_id="id"):
    def members(names):
        return tuple(TimelineMember(member_id=f"{name}-{member_id}", client_id=name) for name in names)

    return Generation(
        roster=Roster(
            kind=GroupKind.CLASSIC, generation=1, at_ms=0, offset=0, offsets_partition=0, leader_epoch=0
        ),
        joined=members(joined),
        left=members(left),
        causes=(Cause(kind=cause, grade=Grade.RECORDED, evidence=member_id),),
        moved=Moved({}, {}, moved, 0),
    )


A, B, GONE = generation("a"), generation("b", moved=2), generation(left="a", cause=LEAVE, moved=1)


@pytest.mark.parametrize(
    ("again", "agreeing", "moved", "share"),
    [
        ([A, B, GONE], 3, 3, 1.0),
        ([A, B], 2, 2, 2 / 3),
        ([A, A, B, GONE], 3, 3, 3 / 4),
        ([B, A, GONE], 2, 2, 2 / 3),
        ([generation("a", member_id="another"), B, GONE], 3, 3, 1.0),
        ([A, generation("b", moved=3), GONE], 3, 2, 1.0),
        ([A, B, generation(left="a", cause=CauseKind.MEMBER_GONE, moved=1)], 2, 2, 2 / 3),
        ([A, generation("c", moved=2), GONE], 2, 2, 2 / 3),
        ([], 0, 0, 0.0),
    ],
)
def test_generations_agree_in_order_by_client_ids_and_causes(again, agreeing, moved, share):
    made = score([A, B, GONE], again)
    assert (made.agreeing, made.moved, made.share) == (agreeing, moved, share)


def test_of_equal_ways_the_one_with_more_equal_moves_counts():
    assert score([generation("a", moved=1)], [generation("a"), generation("a", moved=1)]).moved == 1


def test_two_empty_histories_are_the_same():
    assert score([], []).share == 1.0
