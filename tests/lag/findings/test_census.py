"""Large families of groups whose names a machine made up."""

from kgroup.history.groups.model import Group, GroupKind, GroupState
from kgroup.lag.findings.census import MANY, Family, counted, families, large, together


def empty(name, state=GroupState.EMPTY):
    return Group(group_id=name, kind=GroupKind.CLASSIC, state=state)


def test_names_that_differ_in_a_uuid_or_a_number_are_counted_together():
    uuids = [f"tail-{number:08x}-1111-4222-8333-0123456789ab" for number in range(MANY)]
    consoles = [f"console-consumer-{10_000 + number}" for number in range(MANY)]
    groups = {name: empty(name) for name in uuids} | dict.fromkeys(consoles)
    groups[uuids[0]] = empty(uuids[0], GroupState.STABLE)
    assert list(families(groups)) == [
        Family("console-consumer-*", MANY, MANY),
        Family("tail-*", MANY, MANY - 1),
    ]


def test_a_few_and_those_with_names_of_their_own_are_none():
    groups = {f"console-consumer-{10_000 + number}": None for number in range(MANY - 1)}
    groups |= {f"team-{number}": None for number in range(MANY)}
    assert not list(families(groups))


def test_families_that_are_counted_apart_are_large_together():
    names = [f"console-consumer-{10_000 + number}" for number in range(MANY)]
    groups = dict.fromkeys(names) | {names[0]: empty(names[0], GroupState.STABLE)}
    parts = [counted(dict(part)) for part in (list(groups.items())[:7], list(groups.items())[7:])]
    assert not any(list(large(part)) for part in parts)
    assert list(large(together(family for part in parts for family in part))) == list(families(groups))
