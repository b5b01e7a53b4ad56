"""What a score says, on groups small enough to count by hand."""

from dataclasses import replace

from kgroup.assignors.model import Topic
from kgroup.assignors.planning.plan import PlanMember, assign_plan, new_plan
from kgroup.assignors.planning.score import score
from kgroup.assignors.registry import Protocol


def group():
    """a owns 0 and 1, b owns 2; partition 3 is new; c left, who had 4."""
    members = [
        PlanMember(member_id="a", topics=("t",), owned=(("t", 0), ("t", 1)), generation=1),
        PlanMember(member_id="b", topics=("t",), owned=(("t", 2),), generation=1),
    ]
    plan = new_plan(members, [Topic(name="t", partitions=5)], 1)
    return replace(plan, previous={**plan.previous, ("t", 4): "c"})


ANSWER = {"a": [("t", 0), ("t", 3)], "b": [("t", 1), ("t", 2), ("t", 4)]}


def test_kept_moved_and_revoked_partitions():
    scored = score(group(), ANSWER, Protocol.EAGER)
    assert (scored.partitions_min, scored.partitions_max, scored.spread) == (2, 3, 1)
    assert scored.kept == 2  # t-0 and t-2
    assert scored.moved == 2  # t-1 from a, t-4 from c, who left
    assert scored.revoked == 1  # t-1


def test_an_eager_rebalance_pauses_all_that_staying_members_have():
    assert score(group(), ANSWER, Protocol.EAGER).paused == 3


def test_other_rebalances_pause_only_what_is_taken_away():
    assert score(group(), ANSWER, Protocol.COOPERATIVE).paused == 1
    assert score(group(), ANSWER, Protocol.SERVER).paused == 1


def test_a_cooperative_assignor_withholds_what_its_owner_must_give_up_and_takes_a_second_rebalance():
    withheld = {"a": [("t", 0), ("t", 3)], "b": [("t", 2), ("t", 4)]}
    scored = score(group(), withheld, Protocol.COOPERATIVE)
    assert (scored.unassigned, scored.withheld, scored.rebalances) == (1, 1, 2)
    assert score(group(), ANSWER, Protocol.COOPERATIVE).rebalances == 1


def test_the_coordinators_assignors_need_no_rebalance():
    assert score(group(), ANSWER, Protocol.SERVER).rebalances == 0


def test_what_nobody_has_is_unassigned_and_only_wanted_topics_count():
    plan = replace(group(), topics=(*group().topics, Topic(name="unwanted", partitions=9)))
    assert score(plan, {"a": [("t", 0)], "b": []}, Protocol.EAGER).unassigned == 4


def test_rack_matches_count_only_where_both_racks_are_known():
    topic = Topic(name="t", partitions=3, replica_racks=(("x", "y"), ("y",), (None,)))
    members = [
        PlanMember(member_id="a", topics=("t",), rack_id="x"),
        PlanMember(member_id="b", topics=("t",)),
    ]
    scored = score(new_plan(members, [topic]), {"a": [("t", 0), ("t", 1), ("t", 2)], "b": []}, Protocol.EAGER)
    assert (scored.rack_matches, scored.rack_known) == (1, 2)


def test_an_empty_group_scores_nothing():
    empty = new_plan([], [Topic(name="t", partitions=2)])
    scored = score(empty, assign_plan("range", empty), Protocol.EAGER)
    assert (scored.partitions_min, scored.partitions_max, scored.unassigned) == (0, 0, 0)
