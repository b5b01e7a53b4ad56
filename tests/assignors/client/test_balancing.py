"""The general sticky balancing: its two ways of asking whether a group is balanced agree."""

from hypothesis import given
from hypothesis import strategies as st

from kgroup.assignors.client.leader_view import leader_view
from kgroup.assignors.client.sticky_claims import Claim, settle
from kgroup.assignors.client.sticky_general import Balancer, GeneralGroup
from kgroup.assignors.client.sticky_racks import sticky_racks
from kgroup.assignors.model import GroupMember, Topic

topic_names = ["t0", "t1", "t2"]


@given(data=st.data(), counts=st.lists(st.integers(1, 6), min_size=3, max_size=3))
def test_a_look_at_each_topic_says_the_same_as_one_at_each_partition(data, counts):
    subscriptions = data.draw(
        st.lists(st.lists(st.sampled_from(topic_names), min_size=1, unique=True), min_size=2, max_size=5)
    )
    members = [GroupMember(member_id=f"m{i}", topics=tuple(names)) for i, names in enumerate(subscriptions)]
    topics = [Topic(name=name, partitions=count) for name, count in zip(topic_names, counts, strict=True)]
    view = leader_view(members, topics)
    ownership = settle(view, {m.member_id: Claim(partitions=(), generation=None) for m in view.members})
    group = GeneralGroup(view, ownership, sticky_racks(view))
    for partition in group.everything:
        owner = data.draw(st.sampled_from(group.takers[partition[0]]))
        group.held[owner].append(partition)
        group.owner[partition] = owner
    balancer = Balancer(group)
    assert balancer._regular
    sizes = sorted(map(len, group.held.values()))
    nearly_even = sizes[0] >= sizes[-1] - 1
    one_by_one = nearly_even or balancer._find_balanced_one_by_one()
    assert balancer.is_balanced() == one_by_one
