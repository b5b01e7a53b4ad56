"""The assignment judged: what nobody owns, uneven shares, mixed subscriptions, members without work."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import Group, GroupKind, GroupState, Member, OwnedPartition
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import FindingKind, GroupFacts, KnownPartition, Severity
from tests.lag.facts import partition, steadily
from tests.lag.windows import NOW, ago

K = FindingKind


def member(name, topics, owned, **fields):
    """`owned` is like "orders:0,1 bills:2"; `topics` like "orders bills"."""
    places = [place.split(":") for place in owned.split()]
    return Member(
        member_id=f"{name}-id",
        instance_id=None,
        client_id=name,
        client_host="/h",
        subscribed=tuple(topics.split()),
        owned=tuple(OwnedPartition(topic, int(number)) for topic, of in places for number in of.split(",")),
        **fields,
    )


def settled(*members, since=3600, protocol="range", kind=GroupKind.CLASSIC, rows=(), **known):
    return GroupFacts(
        group=Group(
            group_id="g",
            kind=kind,
            state=GroupState.STABLE if members else GroupState.EMPTY,
            protocol_type="consumer",
            protocol=protocol,
            members=members,
            since_ms=ago(since),
        ),
        partitions=rows,
        now_ms=NOW,
        **known,
    )


def known(number, *, topic="orders", since: int | None = 3600, seen=None, unread: int | None = 7):
    return KnownPartition(
        topic=topic,
        partition=number,
        since_ms=None if since is None else ago(since),
        seen_ms=None if seen is None else ago(seen),
        unread=unread,
    )


def of_kind(group, kind, *, hygiene=True):
    return [finding for finding in find(group, hygiene=hygiene) if finding.kind is kind]


TWO = (member("c1", "orders", "orders:0"), member("c2", "orders", "orders:1"))


class TestUnowned:
    def test_a_partition_that_the_last_rebalance_left_out(self):
        (finding,) = of_kind(settled(*TWO, unowned=(known(2),)), K.UNOWNED_PARTITION, hygiene=False)
        assert (finding.topic, finding.partition, finding.severity) == ("orders", 2, Severity.TROUBLE)
        assert (finding.grade, finding.since_ms) == (Grade.INFERRED, ago(3600))
        assert finding.evidence == (
            "1 partition of a subscribed topic (orders-2) with none of 2 members for 1h 0m; 7 records there"
            " that the group has not read"
        )

    def test_one_finding_names_all_of_a_topic(self):
        left_out = (known(0, topic="bills"), known(2), known(3, unread=None))
        first, second = of_kind(settled(*TWO, unowned=left_out), K.UNOWNED_PARTITION)
        assert (first.topic, first.partition) == ("bills", 0)
        assert (second.topic, second.partition, second.numbers["partitions"]) == ("orders", None, 2)

    @pytest.mark.parametrize(
        ("why", "group", "fires"),
        [
            ("longer than metadata may be old", settled(*TWO, unowned=(known(2, since=301),)), True),
            ("not yet", settled(*TWO, unowned=(known(2, since=299),)), False),
            ("its age is unknown", settled(*TWO, unowned=(known(2, since=None),)), False),
            ("left out a minute ago, known long before", settled(*TWO, since=60, unowned=(known(2),)), True),
            ("just left out", settled(*TWO, since=40, unowned=(known(2),)), False),
            ("new when it was left out", settled(*TWO, since=60, unowned=(known(2, since=350),)), False),
            (
                "on its way to another member",
                settled(*TWO, since=60, protocol="cooperative-sticky", unowned=(known(2),)),
                False,
            ),
            (
                "too long on its way",
                settled(*TWO, since=301, protocol="cooperative-sticky", unowned=(known(2),)),
                True,
            ),
            ("seen after that", settled(*TWO, unowned=(known(2, seen=5),)), True),
            (
                "of an earlier topic, perhaps",
                settled(*TWO, unowned=(known(2, since=9000, seen=4000),)),
                False,
            ),
            ("nobody is there", settled(unowned=(known(2),)), False),
            ("streams hand out tasks", settled(*TWO, protocol="stream", unowned=(known(2),)), False),
            ("a member that cannot be read", settled(*TWO, replace(TWO[0], subscribed=None)), False),
            (
                "the broker assigns",
                settled(*TWO, kind=GroupKind.CONSUMER, protocol=None, unowned=(known(2),)),
                True,
            ),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_when(self, why, group, fires):
        assert bool(of_kind(group, K.UNOWNED_PARTITION)) is fires, why

    def test_an_assignor_of_ones_own_may_mean_it(self):
        (finding,) = of_kind(settled(*TWO, protocol="mine", unowned=(known(2),)), K.UNOWNED_PARTITION)
        assert finding.grade is Grade.UNKNOWN
        assert finding.evidence.endswith("; the assignor 'mine' is none of Kafka's")

    def test_a_group_that_is_between_two_assignments_is_left_alone(self):
        group = settled(*TWO, unowned=(known(2),))
        moving = replace(group, group=replace(group.group, state=GroupState.RECONCILING))
        assert not of_kind(moving, K.UNOWNED_PARTITION)

    def test_it_says_for_how_long_and_how_much_is_unread_there(self):
        (some,) = of_kind(settled(*TWO, unowned=(known(2), known(3, unread=None))), K.UNOWNED_PARTITION)
        (none,) = of_kind(settled(*TWO, unowned=(known(2, unread=None),)), K.UNOWNED_PARTITION)
        assert some.numbers == {"partitions": 2, "unowned_ms": 3_600_000, "unread": 7}
        assert none.numbers == {"partitions": 1, "unowned_ms": 3_600_000, "unread": None}

    def test_known_for_as_long_as_metadata_may_be_old_when_it_was_left_out(self):
        at_once = settled(*TWO, since=60, unowned=(known(2, since=360),))
        assert of_kind(at_once, K.UNOWNED_PARTITION)


class TestUneven:
    def test_range_gives_the_first_member_of_every_small_topic_all_of_it(self):
        topics = "a b c d"
        group = settled(member("c1", topics, "a:0 b:0 c:0 d:0"), member("c2", topics, ""))
        (finding,) = of_kind(group, K.UNEVEN_ASSIGNMENT)
        assert (finding.severity, finding.topic, finding.member_id) == (Severity.HYGIENE, None, "c1-id")
        assert finding.evidence == (
            "2 members with one subscription have 0 to 4 partitions each under 'range' for 1h 0m;"
            " 'roundrobin' would give 2; 'range' from the start: 0 to 4"
        )
        assert finding.numbers["better_assignor"] == "roundrobin"

    def test_its_own_assignor_would_have_done_better(self):
        group = settled(member("c1", "a", "a:0,1,2"), member("c2", "a", "a:3"))
        (finding,) = of_kind(group, K.UNEVEN_ASSIGNMENT)
        assert finding.evidence.endswith("'range' would give 2")

    def test_all_of_one_topic_with_one_member(self):
        group = settled(
            member("c1", "a b", "a:0,1,2"), member("c2", "a b", "b:0,1,2"), protocol="cooperative-sticky"
        )
        (finding,) = of_kind(group, K.UNEVEN_ASSIGNMENT)
        assert finding.topic == "a"
        assert finding.evidence.startswith(
            "2 members with one subscription have 0 to 3 partitions of 'a' each"
        )

    def test_a_partition_for_each_member_is_enough_to_share(self):
        group = settled(
            member("c1", "a b", "a:0,1"), member("c2", "a b", "b:0,1"), protocol="cooperative-sticky"
        )
        assert [finding.topic for finding in of_kind(group, K.UNEVEN_ASSIGNMENT)] == ["a"]

    @pytest.mark.parametrize(
        ("why", "group"),
        [
            (
                "one more where it does not divide",
                settled(member("c1", "a", "a:0,1"), member("c2", "a", "a:2")),
            ),
            ("more members than partitions", settled(*TWO, member("c3", "orders", ""))),
            ("one member alone", settled(member("c1", "a b", "a:0,1,2 b:0"))),
            (
                "who asks for more gets more",
                settled(member("c1", "a b", "a:0,1 b:0,1,2,3"), member("c2", "a", "a:2,3")),
            ),
            (
                "it has only just begun",
                settled(member("c1", "a", "a:0,1,2"), member("c2", "a", "a:3"), since=40),
            ),
            (
                "nobody owns anything",
                settled(member("c1", "a b", ""), member("c2", "a b", "")),
            ),
            (
                "a topic with fewer partitions than members",
                settled(
                    member("c1", "a b", "a:0,1 b:0"),
                    member("c2", "a b", "b:1,2,3"),
                    member("c3", "a b", "b:4,5"),
                    protocol="cooperative-sticky",
                ),
            ),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_not(self, why, group):
        assert not of_kind(group, K.UNEVEN_ASSIGNMENT), why

    def test_it_is_trouble_once_only_the_busiest_falls_behind(self):
        lagging = [
            partition(
                number,
                steadily(1, 500, step=20, every=5),
                2000,
                seen=[(60, 100), (40, 700), (1, 1900)],
                member="c1-id",
                topic="a",
            )
            for number in range(3)
        ]
        keeps_up = partition(3, steadily(1, 500), 500, member="c2-id", topic="a")
        members = member("c1", "a", "a:0,1,2"), member("c2", "a", "a:3")
        group = replace(settled(*members, rows=(*lagging, keeps_up)), usual_step=20)
        (finding,) = of_kind(group, K.UNEVEN_ASSIGNMENT, hygiene=False)
        assert finding.severity is Severity.TROUBLE
        assert finding.evidence.endswith(
            "only the one with the most falls behind: 4,500 unread, 0 with all others"
        )
        assert not of_kind(settled(*members), K.UNEVEN_ASSIGNMENT, hygiene=False)
        assert not of_kind(group, K.LAG_GROWING), "the shares say why"

    def test_a_lag_that_others_have_too_is_told_besides(self):
        def lagging(number, owner):
            seen = [(60, 100), (40, 700), (1, 1900)]
            commits = steadily(1, 500, step=20, every=5)
            return partition(number, commits, 2000, seen=seen, member=owner, topic="a")

        rows = [lagging(number, "c1-id") for number in range(3)] + [lagging(3, "c2-id")]
        members = member("c1", "a", "a:0,1,2"), member("c2", "a", "a:3")
        group = replace(settled(*members, rows=tuple(rows)), usual_step=20)
        assert of_kind(group, K.LAG_GROWING)
        assert not of_kind(group, K.UNEVEN_ASSIGNMENT, hygiene=False)


class TestMixed:
    def test_two_applications(self):
        group = settled(member("billing-1", "bills", "bills:0"), member("shop-1", "orders", "orders:0"))
        (finding,) = of_kind(group, K.MIXED_SUBSCRIPTIONS, hygiene=False)
        assert (finding.severity, finding.grade) == (Severity.TROUBLE, Grade.INFERRED)
        assert finding.evidence == (
            "2 subscriptions with no topic in common for 1h 0m: bills by billing-1, orders by shop-1"
        )

    def test_after_five_minutes_it_is_no_step_of_a_rollout(self):
        members = member("billing-1", "bills", "bills:0"), member("shop-1", "orders", "orders:0")
        assert of_kind(settled(*members, since=300), K.MIXED_SUBSCRIPTIONS)

    @pytest.mark.parametrize(
        ("why", "members"),
        [
            (
                "listeners of one application",
                (member("consumer-g-1", "bills", "bills:0"), member("consumer-g-2", "orders", "orders:0")),
            ),
            (
                "an application that asks for one topic more",
                (member("old-1", "bills", "bills:0"), member("new-1", "bills orders", "orders:0")),
            ),
            (
                "clients without a name",
                (member("", "bills", "bills:0"), member("shop", "orders", "orders:0")),
            ),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_what_may_be_meant_is_hygiene(self, why, members):
        (finding,) = of_kind(settled(*members), K.MIXED_SUBSCRIPTIONS)
        assert finding.severity is Severity.HYGIENE, why
        assert not of_kind(settled(*members), K.MIXED_SUBSCRIPTIONS, hygiene=False)

    @pytest.mark.parametrize(
        ("why", "group"),
        [
            ("all ask for the same", settled(*TWO)),
            (
                "a step of a rollout",
                settled(member("old", "bills", "bills:0"), member("new", "orders", "orders:0"), since=299),
            ),
            (
                "one asks by a pattern",
                settled(
                    member("a", "bills", "bills:0"),
                    member("b", "", "orders:0", subscribed_regex="ord.*"),
                    kind=GroupKind.CONSUMER,
                    protocol=None,
                ),
            ),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_not(self, why, group):
        assert not of_kind(group, K.MIXED_SUBSCRIPTIONS), why


class TestUseless:
    def test_more_members_than_partitions(self):
        group = settled(*TWO, member("c3", "orders", ""))
        (finding,) = of_kind(group, K.USELESS_MEMBERS)
        assert (finding.severity, finding.grade) == (Severity.HYGIENE, Grade.RECORDED)
        assert (
            finding.evidence == "1 member of 3 (c3) without a partition for 1h 0m: only 2 partitions to share"
        )
        assert not of_kind(group, K.USELESS_MEMBERS, hygiene=False)

    @pytest.mark.parametrize(
        ("why", "group"),
        [
            ("each has something", settled(*TWO)),
            ("a restart", settled(*TWO, member("c3", "orders", ""), since=40)),
            (
                "there is something that nobody has",
                settled(*TWO, member("c3", "orders", ""), unowned=(known(2),)),
            ),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_not(self, why, group):
        assert not of_kind(group, K.USELESS_MEMBERS), why

    def test_after_45_seconds_it_is_no_restart(self):
        assert of_kind(settled(*TWO, member("c3", "orders", ""), since=45), K.USELESS_MEMBERS)

    def test_one_is_named_and_of_several_their_number(self):
        group = settled(*TWO, member("c3", "orders", ""))
        (one,) = of_kind(group, K.USELESS_MEMBERS)
        more = replace(group, group=replace(group.group, members=(*group.group.members, SPARE)))
        (two,) = of_kind(more, K.USELESS_MEMBERS)
        assert (one.member_id, one.numbers["idle_members"]) == ("c3-id", 1)
        assert (two.member_id, two.numbers["idle_members"]) == (None, 2)

    def test_shares_that_range_left_uneven_are_not_for_want_of_partitions(self):
        group = settled(member("c1", "a b c", "a:0 b:0 c:0"), member("c2", "a b c", ""))
        assert not of_kind(group, K.USELESS_MEMBERS)
        assert of_kind(group, K.UNEVEN_ASSIGNMENT)


SPARE = member("c4", "orders", "")
FAULTY = {
    K.UNOWNED_PARTITION: settled(*TWO, unowned=(known(2),)),
    K.UNEVEN_ASSIGNMENT: settled(member("c1", "a", "a:0,1,2"), member("c2", "a", "a:3")),
    K.MIXED_SUBSCRIPTIONS: settled(
        member("billing-1", "bills", "bills:0"), member("shop-1", "orders", "orders:0")
    ),
    K.USELESS_MEMBERS: settled(*TWO, SPARE),
}


class TestWhatCannotBeJudged:
    @pytest.mark.parametrize("kind", FAULTY)
    @pytest.mark.parametrize(
        ("why", "changes"),
        [
            ("it is between two assignments", {"state": GroupState.RECONCILING}),
            ("its members are no consumers", {"protocol_type": "connect"}),
            ("they hand out tasks", {"protocol": "stream"}),
            ("they share partitions", {"kind": GroupKind.SHARE}),
            ("nobody knows since when it is so", {"since_ms": None}),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_a_group(self, kind, why, changes):
        group = FAULTY[kind]
        assert of_kind(group, kind)
        assert not of_kind(replace(group, group=replace(group.group, **changes)), kind), why

    @pytest.mark.parametrize("kind", FAULTY)
    @pytest.mark.parametrize("changes", [{"subscribed": None}, {"notes": ("unreadable",)}], ids=str)
    def test_a_member(self, kind, changes):
        group = FAULTY[kind]
        first, *others = group.group.members
        torn = replace(group.group, members=(replace(first, **changes), *others))
        assert not of_kind(replace(group, group=torn), kind)
