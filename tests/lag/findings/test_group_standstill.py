"""Whether the rest of a group goes on while some of its partitions stand still."""

import pytest

from kgroup.lag.findings.group_standstill import standings
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import ago

# Its ten commits are half a minute apart, and the last of them is 400 s ago.
STANDS = partition(0, steadily(400, 100, every=30), 500, seen=[(390, 150)])


@pytest.mark.parametrize(
    ("later", "goes_on"), [(29, False), (57, False), (60, False), (61, True), (399, True)]
)
def test_another_commit_says_so_if_it_comes_two_usual_intervals_later(later, goes_on):
    """Sooner it may be from the same round of commits, or the one after."""
    found = standings(facts(STANDS, partition(1, steadily(400 - later, 500), 500)))
    assert bool(found.group) is not goes_on


@pytest.mark.parametrize(("came", "since"), [(350, 350), (450, 400)], ids=["later", "before"])
def test_nobody_stands_still_before_there_is_a_record_to_read(came, since):
    waits = partition(0, [(400, 100)], 500, seen=[(came, 150)])
    assert standings(facts(waits)).group[0].still.since_ms == ago(since)


def test_a_single_commit_has_no_interval():
    once = partition(0, [(400, 100)], 500, seen=[(390, 150)])
    assert not standings(facts(once, partition(1, steadily(399, 500), 500))).group
