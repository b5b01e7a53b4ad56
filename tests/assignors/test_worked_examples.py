"""The worked examples of Kafka's documentation and the books, by name."""

from functools import partial

from kgroup.assignors.model import GroupMember
from kgroup.assignors.planning.plan import assign_plan
from kgroup.assignors.planning.rounds import run_rounds
from kgroup.assignors.registry import CLIENT_ASSIGNORS
from tests.assignors.groups import members, named, plan, topics


def ask(assignor, group, metadata):
    return named(CLIENT_ASSIGNORS[assignor].assign(group, metadata))


def test_range_two_members_two_topics_of_four_partitions():
    group = members(C0="t0 t1", C1="t0 t1")
    assert ask("range", group, topics(t0=4, t1=4)) == {
        "C0": "t0-0 t0-1 t1-0 t1-1",
        "C1": "t0-2 t0-3 t1-2 t1-3",
    }


def test_range_two_members_two_topics_of_three_partitions_is_uneven():
    group = members(C0="t0 t1", C1="t0 t1")
    assert ask("range", group, topics(t0=3, t1=3)) == {"C0": "t0-0 t0-1 t1-0 t1-1", "C1": "t0-2 t1-2"}


def test_range_grows_more_uneven_with_every_topic():
    group = members(C0="t0 t1 t2 t3", C1="t0 t1 t2 t3")
    answer = CLIENT_ASSIGNORS["range"].assign(group, topics(t0=3, t1=3, t2=3, t3=3))
    assert [len(answer["C0"]), len(answer["C1"])] == [8, 4]


def test_roundrobin_two_members_two_topics_of_three_partitions():
    group = members(C0="t0 t1", C1="t0 t1")
    assert ask("roundrobin", group, topics(t0=3, t1=3)) == {"C0": "t0-0 t0-2 t1-1", "C1": "t0-1 t1-0 t1-2"}


def test_roundrobin_with_uneven_subscriptions_is_not_optimal():
    group = members(C0="t0", C1="t0 t1", C2="t0 t1 t2")
    assert ask("roundrobin", group, topics(t0=1, t1=2, t2=3)) == {
        "C0": "t0-0",
        "C1": "t1-0",
        "C2": "t1-1 t2-0 t2-1 t2-2",
    }


def test_sticky_with_uneven_subscriptions_gives_t1_1_to_c1():
    group = members(C0="t0", C1="t0 t1", C2="t0 t1 t2")
    assert ask("sticky", group, topics(t0=1, t1=2, t2=3)) == {
        "C0": "t0-0",
        "C1": "t1-0 t1-1",
        "C2": "t2-0 t2-1 t2-2",
    }


def test_sticky_c1_leaves_and_the_others_keep_what_they_had_and_share_its_partitions():
    everything = "t0 t1 t2 t3"
    group = plan({"t0": 2, "t1": 2, "t2": 2, "t3": 2}, C0=everything, C1=everything, C2=everything)
    start, after = run_rounds(group, "sticky", ["leave C1"])
    assert named(start.assignment) == {
        "C0": "t0-0 t1-1 t3-0",
        "C1": "t0-1 t2-0 t3-1",
        "C2": "t1-0 t2-1",
    }
    # Old texts give t2-0 to C0 and t0-1 t3-1 to C2; Kafka 4.3.1 hands out in another order.
    assert named(after.assignment) == {
        "C0": "t0-0 t0-1 t1-1 t3-0",
        "C2": "t1-0 t2-0 t2-1 t3-1",
    }


def test_roundrobin_c1_leaves_and_almost_everything_moves():
    everything = "t0 t1 t2 t3"
    group = plan({"t0": 2, "t1": 2, "t2": 2, "t3": 2}, C0=everything, C1=everything, C2=everything)
    _, after = run_rounds(group, "roundrobin", ["leave C1"])
    assert after.score.moved == 5


def test_cooperative_sticky_takes_two_rebalances_where_something_moves():
    group = plan({"t0": 4}, C0="t0", C1="t0")
    start, revoking, final = run_rounds(group, "cooperative-sticky", ["join C2"])
    assert named(start.assignment) == {"C0": "t0-0 t0-2", "C1": "t0-1 t0-3"}
    assert named(revoking.assignment)["C2"] == ""
    assert revoking.score.withheld == revoking.score.paused == 1
    assert [len(final.assignment[member]) for member in ("C0", "C1", "C2")] in ([1, 2, 1], [2, 1, 1])


def test_eight_members_and_seven_partitions_leave_one_idle():
    group = plan({"t0": 7}, **{f"C{number}": "t0" for number in range(8)})
    for assignor in ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range"):
        sizes = sorted(len(partitions) for partitions in assign_plan(assignor, group).values())
        assert sizes == [0, 1, 1, 1, 1, 1, 1, 1]


def test_a_share_group_shares_partitions_where_there_are_more_members():
    group = plan({"t0": 2}, C0="t0", C1="t0", C2="t0", C3="t0")
    answer = assign_plan("simple", group)
    assert sorted(partition for partitions in answer.values() for partition in partitions) == [
        ("t0", 0),
        ("t0", 0),
        ("t0", 1),
        ("t0", 1),
    ]


def test_static_members_keep_their_place_under_range_whatever_their_member_ids():
    def restarted(first, second):
        from kgroup.assignors.model import GroupMember

        return [
            GroupMember(member_id=first, topics=("t0",), group_instance_id="I0"),
            GroupMember(member_id=second, topics=("t0",), group_instance_id="I1"),
        ]

    before = CLIENT_ASSIGNORS["range"].assign(restarted("M0", "M1"), topics(t0=4))
    after = CLIENT_ASSIGNORS["range"].assign(restarted("M3", "M2"), topics(t0=4))
    assert (before["M0"], before["M1"]) == (after["M3"], after["M2"])


def test_cooperative_sticky_hands_out_twice_what_stands_behind_a_partition_that_the_leader_does_not_know():
    """As the class of kafka-clients 4.3.1 answers: payments has grown to 10, and the leader has not heard."""
    both, members_of = ("orders", "payments"), partial(GroupMember, generation=4, user_data=b"\0\0\0\4")
    group = [
        members_of(
            member_id="c1", topics=both, owned_partitions=[("payments", number) for number in (0, 6, 9)]
        ),
        members_of(
            member_id="c2", topics=both, owned_partitions=[("orders", 1), ("payments", 2), ("payments", 7)]
        ),
        members_of(member_id="c3", topics=("orders",), owned_partitions=[("orders", 2)]),
        GroupMember(member_id="s3", topics=both, group_instance_id="s3"),
    ]
    answer = CLIENT_ASSIGNORS["cooperative-sticky"].assign(group, topics(orders=4, payments=9))
    assert {
        name: " ".join(f"{topic}-{number}" for topic, number in given) for name, given in answer.items()
    } == {
        "c1": "payments-0 payments-6 payments-9 payments-5",
        "c3": "orders-2 orders-0 orders-1 orders-2",
        "c2": "orders-1 payments-2 payments-7 payments-8",
        "s3": "payments-1 payments-3 payments-4 orders-3",
    }
