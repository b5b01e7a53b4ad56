"""A record that stops each owner of its partition: who is told of it, and what is no record's fault."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Grade, Partition, Roster, TimelineMember
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import FindingKind
from tests.lag.facts import behind, facts, partition, steadily
from tests.lag.windows import ago

GOES_ON = [(175, 150), (60, 300), (1, 490)]
STANDS = steadily(180, 100)
HEALTHY = steadily(1, 495)
LATER = [(150, "a", "abc"), (100, "b", "bcd"), (50, "c", "cde")]
"""Seconds ago, who got the partition, and who was in the group: a and b went away."""


def rosters(rounds):
    return tuple(
        Roster(
            kind=GroupKind.CLASSIC,
            generation=number,
            at_ms=ago(seconds),
            offset=number,
            offsets_partition=0,
            leader_epoch=0,
            members=tuple(
                TimelineMember(
                    member_id=name,
                    client_id=f"pod-{name}",
                    owned=frozenset({Partition("orders", 0)} if name == owner else ()),
                )
                for name in members
            ),
        )
        for number, (seconds, owner, members) in enumerate(rounds)
    )


def group(rounds, *others, poisoned=None):
    stands = poisoned or partition(0, STANDS, 500, seen=GOES_ON, member="c")
    others = others or (partition(1, HEALTHY, 500, seen=GOES_ON, member="e"),)
    return replace(facts(stands, *others), rosters=rosters(rounds))


def kinds(facts):
    return [finding.kind.value for finding in find(facts)]


def test_what_is_said_of_it():
    (finding,) = find(group(LATER))
    assert finding.kind is FindingKind.POISON_RECORD
    assert (finding.topic, finding.partition, finding.member_id) == ("orders", 0, "c")
    assert finding.since_ms == ago(175)
    assert finding.grade is Grade.INFERRED
    assert finding.evidence == (
        "offset 100 has stayed committed for 2m 55s under 3 owners in turn (pod-a, pod-b,"
        " pod-c), of which 2 went away, while other partitions went on; 400 unread"
    )
    assert finding.numbers == {
        "committed_offset": 100,
        "owners": 3,
        "went_away": 2,
        "lag": 400,
        "standing_ms": 175_000,
    }
    assert "dead letter" in finding.try_this


# rounds of the group, its partitions besides the one that stands, and what is found
OTHER_STANDS = partition(1, steadily(180, 90), 500, seen=GOES_ON, member="e")
OTHER_READ = partition(1, steadily(180, 500), 500, member="e")
TABLE = {
    "a crash loop": (LATER, (), ["poison-record"]),
    "the owner from before the record came": (
        [(3000, "z", "za"), *LATER[:2], (50, "b", "bc")],
        (),
        ["poison-record"],
    ),
    "the members stay, and are well on others": (
        [(150, "e", "ce"), (100, "c", "ce"), (50, "e", "ce")],
        (
            partition(1, HEALTHY, 500, seen=GOES_ON, member="e"),
            partition(2, HEALTHY, 500, seen=GOES_ON, member="c"),
        ),
        ["poison-record"],
    ),
    "it changed hands once": (LATER[:2], (), ["stalled-member"]),
    "nothing is known of owners": ([], (), ["stalled-member"]),
    "it changed hands before": (
        [(seconds + 200, owner, members) for seconds, owner, members in LATER],
        (),
        ["stalled-member"],
    ),
    "the same owner in new generations": (
        [(seconds, "c", "ce") for seconds, _, _ in LATER],
        (),
        ["stalled-member"],
    ),
    "an owner that stayed and is not well elsewhere": (
        [(150, "a", "abc"), (100, "b", "abc"), (50, "c", "abc")],
        (),
        ["stalled-member"],
    ),
    "all that is unread stands": (LATER, (OTHER_STANDS,), ["stopped-group"]),
    "nothing else is unread": (LATER, (OTHER_READ,), ["poison-record?"]),
}


@pytest.mark.parametrize(("rounds", "others", "expected"), TABLE.values(), ids=TABLE)
def test_who_is_told(rounds, others, expected):
    found = find(group(rounds, *others))
    said = [one.kind.value + ("?" if one.grade is Grade.UNKNOWN else "") for one in found]
    assert said == expected


def test_who_got_the_partition_just_when_the_record_came_is_the_first_owner():
    (finding,) = find(group([(3000, "z", "za"), (175, "a", "abc"), *LATER[1:]]))
    assert finding.numbers["owners"] == 3


@pytest.mark.parametrize(("last", "is_well"), [(150, True), (151, False)])
def test_an_owner_is_well_that_commits_elsewhere_since_it_got_the_partition(last, is_well):
    before = partition(1, steadily(last, 495), 500, seen=GOES_ON, member="e")
    other = partition(2, HEALTHY, 500, seen=GOES_ON, member="c")
    rounds = [(150, "e", "ce"), (100, "c", "ce"), (50, "e", "ce")]
    assert ("poison-record" in kinds(group(rounds, before, other))) is is_well


@pytest.mark.parametrize("step", [0, 5])
def test_another_partition_goes_on_if_its_offset_moves(step):
    beside = partition(1, steadily(1, 495, step=step), 500, seen=GOES_ON, member="e")
    assert ("poison-record" in kinds(group(LATER, beside))) is bool(step)


def test_another_partition_goes_on_if_it_was_committed_after_the_record_came():
    def beside(last):
        return kinds(group(LATER, partition(1, steadily(last, 495), 500, seen=GOES_ON, member="e")))

    assert "poison-record" not in beside(175)
    assert "poison-record" in beside(174)


HEALTHY_PARTITIONS = {
    "its commits go on": partition(0, steadily(1, 100), 500, seen=GOES_ON, member="c"),
    "nothing is unread": partition(0, steadily(180, 500), 500, member="c"),
    "nothing is known to have waited": partition(0, STANDS, 500, member="c"),
    "it came a moment ago": partition(0, STANDS, 500, seen=[(44, 150)], member="c"),
    "it commits every minute": partition(0, steadily(170, 100, every=60), 500, seen=GOES_ON, member="c"),
    "it waits for a transaction": behind(partition(0, STANDS, 500, seen=GOES_ON, member="c")),
}


@pytest.mark.parametrize("one", HEALTHY_PARTITIONS.values(), ids=HEALTHY_PARTITIONS)
def test_who_is_not(one):
    assert "poison-record" not in kinds(group(LATER, poisoned=one))


def test_the_same_offset_committed_again_and_again_counts_from_the_first_time():
    again = [(200, 90), (190, 95), *((back, 100) for back in (180, 140, 100, 60, 20, 1))]
    repeats = partition(0, again, 500, seen=GOES_ON, member="c")
    (finding,) = find(group(LATER, poisoned=repeats))
    assert finding.kind is FindingKind.POISON_RECORD
    assert finding.numbers["standing_ms"] == 175_000


def test_one_more_member_does_not_help():
    """What a record stops is no lag that grows."""
    slow = partition(0, [*steadily(181, 95)[1:], (180, 100)], 2000, seen=[(240, 60), (175, 150)], member="c")
    assert kinds(group(LATER, poisoned=slow)) == ["poison-record"]


def together(number, offset, *, since=180, member="c"):
    """A partition that stands as `orders-0` does, with the same owners, since so many seconds."""
    return partition(
        number, [(since + 2 * back, offset) for back in range(9, -1, -1)], 500, seen=GOES_ON, member=member
    )


def shared(rounds, numbers):
    """The rosters of `rounds`, in which the owner has all of `numbers`."""
    return tuple(
        replace(
            roster,
            members=tuple(
                replace(m, owned=frozenset(Partition("orders", n) for n in numbers) if m.owned else m.owned)
                for m in roster.members
            ),
        )
        for roster in rosters(rounds)
    )


def test_partitions_that_stop_together_are_told_once_for_nobody_knows_whose_record_it_is():
    own = [together(0, 100), together(1, 70)]
    group_ = replace(
        facts(*own, partition(2, HEALTHY, 500, seen=GOES_ON, member="e")), rosters=shared(LATER, (0, 1))
    )
    (finding,) = find(group_)
    assert finding.kind is FindingKind.POISON_RECORD
    assert (finding.topic, finding.partition) == ("orders", None)
    assert finding.evidence.startswith("the offsets orders-0@100, orders-1@70 have stayed committed together")
    assert finding.evidence.endswith("a record at one of them ends the process before it commits any")
    assert (finding.numbers["partitions"], finding.numbers["committed_offset"]) == (2, None)


def test_the_one_that_stands_for_longer_is_the_one():
    """The others were handed to its owner later, and have stood since."""
    rounds = shared(LATER, (0,))
    late = tuple(
        replace(m, owned=m.owned | {Partition("orders", 1)} if m.owned else m.owned)
        for m in rounds[-1].members
    )
    rounds = (
        *rounds[:-1],
        replace(rounds[-1], members=late),
        *shared([(30, "d", "def"), (20, "g", "efg"), (10, "h", "efh")], (0, 1)),
    )
    own = [together(0, 100, member="h"), together(1, 70, since=49, member="h")]
    group_ = replace(facts(*own, partition(2, HEALTHY, 500, seen=GOES_ON, member="e")), rosters=rounds)
    (finding,) = find(group_)
    assert (finding.topic, finding.partition) == ("orders", 0)
    assert "offset 100 has stayed committed" in finding.evidence
    assert "ends before it commits anything that it owns besides" in finding.evidence
    assert finding.numbers["partitions"] == 2


def test_all_partitions_standing_together_is_a_standstill_of_the_group():
    own = [together(0, 100), together(1, 70)]
    assert kinds(replace(facts(*own), rosters=shared(LATER, (0, 1)))) == ["stopped-group"]
