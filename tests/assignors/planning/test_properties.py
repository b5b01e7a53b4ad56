"""What holds for every group, whatever its members, topics and history.

A drawn group is for all assignors of which something holds: to draw one takes longer than to assign.
"""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from kgroup.assignors.model import AssignorError, Topic
from kgroup.assignors.planning.flaws import plan_flaws
from kgroup.assignors.planning.plan import PlanMember, assign_plan, new_plan
from kgroup.assignors.planning.rounds import run_rounds
from kgroup.assignors.planning.score import score
from kgroup.assignors.registry import ASSIGNORS

EXCLUSIVE = [name for name, entry in ASSIGNORS.items() if not entry.shares]
STICKY = ["sticky", "cooperative-sticky", "uniform"]
BALANCED_IF_EQUAL = ["roundrobin", "sticky", "cooperative-sticky", "uniform"]

names = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x1F600, exclude_categories=("Cs",)), min_size=1, max_size=5
)
counts = st.integers(1, 12)


@st.composite
def plans(draw, *, equal=None, racks=False):
    """A new group. `equal`: whether all members subscribe to the same topics; None is either."""
    topic_names = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    rack = st.sampled_from(["a", "b", None]) if racks else st.none()
    metadata = []
    for name in topic_names:
        count = draw(counts)
        replicas = draw(st.lists(st.tuples(rack, rack), min_size=count, max_size=count)) if racks else ()
        metadata.append(Topic(name=name, partitions=count, replica_racks=tuple(replicas)))
    member_ids = draw(st.lists(names, min_size=1, max_size=7, unique=True))
    same = draw(st.booleans()) if equal is None else equal
    subscription = st.lists(st.sampled_from(topic_names), min_size=1, max_size=4, unique=True).map(tuple)
    shared = draw(subscription)
    return new_plan(
        [
            PlanMember(
                member_id=member_id,
                topics=shared if same else draw(subscription),
                rack_id=draw(rack),
                group_instance_id=draw(st.none() | st.just(f"i-{member_id}")),
            )
            for member_id in member_ids
        ],
        metadata,
    )


def settled(plan, assignor):
    """The group after a first assignment, with nothing withheld."""
    *_, last = run_rounds(plan, assignor, [])
    return last.plan.after(last.assignment)


@given(plan=plans(racks=True))
def test_every_partition_of_a_subscribed_topic_has_exactly_one_owner_who_wants_it(plan):
    for assignor in EXCLUSIVE:
        assert plan_flaws(assignor, plan, assign_plan(assignor, plan)) == [], assignor


@given(plan=plans())
def test_simple_gives_every_partition_to_somebody_who_wants_it_and_no_member_one_twice(plan):
    answer = assign_plan("simple", plan)
    assert plan_flaws("simple", plan, answer) == []
    assert all(len(set(partitions)) == len(partitions) for partitions in answer.values())


@given(plan=plans(racks=True), data=st.data())
def test_the_same_holds_after_somebody_left(plan, data):
    assume(len(plan.members) > 1)
    leaver = data.draw(st.sampled_from(plan.members)).member_id
    for assignor in EXCLUSIVE:
        after = without(leaver, settled(plan, assignor))
        assert plan_flaws(assignor, after, assign_plan(assignor, after)) == [], assignor


def without(leaver, group):
    rest = tuple(m for m in group.members if m.member_id != leaver)
    assert len(rest) == len(group.members) - 1
    return replace(group, members=rest)


@given(plan=plans(equal=True, racks=True))
def test_with_equal_subscriptions_no_two_members_differ_by_more_than_one_partition(plan):
    for assignor in BALANCED_IF_EQUAL:
        sizes = [len(partitions) for partitions in assign_plan(assignor, plan).values()]
        assert max(sizes) - min(sizes) <= 1, assignor


@given(plan=plans(racks=True))
def test_range_gives_subscribers_of_a_topic_shares_that_differ_by_one_at_most(plan):
    for assignor in ("range", "server-range"):
        answer = assign_plan(assignor, plan)
        for topic in plan.topics:
            takers = [member.member_id for member in plan.members if topic.name in member.topics]
            shares = [sum(name == topic.name for name, _ in answer[member_id]) for member_id in takers]
            assert not shares or max(shares) - min(shares) <= 1, assignor


@given(plan=plans(equal=False))
def test_a_sticky_assignment_cannot_be_improved_by_moving_one_partition(plan):
    for assignor in ("sticky", "cooperative-sticky"):
        answer = assign_plan(assignor, plan)
        for owner, partitions in answer.items():
            for topic, _ in partitions:
                takers = [m.member_id for m in plan.members if topic in m.topics]
                assert all(len(answer[taker]) + 1 >= len(answer[owner]) for taker in takers), assignor


@given(plan=plans())
def test_an_unchanged_group_keeps_its_assignment(plan):
    for assignor in STICKY:
        group = settled(plan, assignor)
        again = {member: set(partitions) for member, partitions in assign_plan(assignor, group).items()}
        assert {m.member_id: set(m.owned) for m in group.members} == again, assignor


@given(plan=plans(equal=True), data=st.data())
def test_one_leaver_moves_only_its_own_partitions(plan, data):
    assume(len(plan.members) > 1)
    leaver = data.draw(st.sampled_from(plan.members)).member_id
    for assignor in STICKY:
        rest = without(leaver, settled(plan, assignor))
        after = assign_plan(assignor, rest)
        assert all(set(m.owned) <= set(after[m.member_id]) for m in rest.members), assignor


@given(plan=plans(), data=st.data())
def test_cooperative_sticky_never_gives_a_partition_to_one_while_another_still_owns_it(plan, data):
    group = settled(plan, "cooperative-sticky")
    newcomer = PlanMember(member_id="newcomer ", topics=data.draw(st.sampled_from(group.members)).topics)
    grown = replace(group, members=(*group.members, newcomer))
    owner = {partition: m.member_id for m in grown.members for partition in m.owned}
    answer = assign_plan("cooperative-sticky", grown)
    assert all(owner.get(p, member) == member for member, partitions in answer.items() for p in partitions)


@given(plan=plans(racks=True), data=st.data())
def test_the_order_of_topics_in_the_input_changes_nothing(plan, data):
    shuffled = replace(plan, topics=tuple(data.draw(st.permutations(plan.topics))))
    for assignor in ASSIGNORS:
        assert assign_plan(assignor, shuffled) == assign_plan(assignor, plan), assignor


@given(plan=plans(racks=True), data=st.data())
def test_the_order_of_members_in_the_input_changes_nobodys_partitions(plan, data):
    """Java's map order depends on it only where two ids share a place, and here that decides nothing."""
    shuffled = replace(plan, members=tuple(data.draw(st.permutations(plan.members))))
    for assignor in ("range", "roundrobin", "sticky", "cooperative-sticky", "server-range"):
        first, second = (
            {member: set(partitions) for member, partitions in assign_plan(assignor, each).items()}
            for each in (plan, shuffled)
        )
        assert first == second, assignor


@given(plan=plans(racks=True), data=st.data())
def test_any_claims_whatsoever_get_an_answer_or_kafkas_exception(plan, data):
    claims = st.lists(
        st.tuples(st.sampled_from([topic.name for topic in plan.topics]), st.integers(0, 14)),
        unique=True,
        max_size=15,
    )
    claimed = [
        replace(member, owned=tuple(data.draw(claims)), generation=data.draw(st.integers(-1, 3)))
        for member in plan.members
    ]
    for assignor in ASSIGNORS:
        try:
            answer = assign_plan(assignor, replace(plan, members=tuple(claimed)))
        except AssignorError as error:
            assert error.java_class.startswith(("java.", "org.apache.kafka.")), assignor
        else:
            assert answer.keys() == {member.member_id for member in plan.members}, assignor


@given(plan=plans(racks=True))
def test_scores_add_up(plan):
    wanted = {name for member in plan.members for name in member.topics}
    total = sum(topic.partitions for topic in plan.topics if topic.name in wanted)
    for assignor, entry in ASSIGNORS.items():
        answer = assign_plan(assignor, plan)
        scored = score(plan, answer, entry.protocol)
        assigned = {partition for partitions in answer.values() for partition in partitions}
        assert scored.unassigned == total - len(assigned), assignor
        assert scored.rack_matches <= scored.rack_known, assignor
        assert (scored.kept, scored.moved, scored.revoked, scored.paused) == (0, 0, 0, 0), assignor
