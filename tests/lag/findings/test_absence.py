"""Offsets that are about to expire: of which the user is warned, and of which not."""

from dataclasses import replace

import pytest

from kgroup.lag.findings.absence import expiring
from kgroup.lag.measures.log_ends import TopicState
from tests.lag.facts import facts, partition
from tests.lag.windows import ago

HOUR_MS = 3_600_000


def empty(since, *, state=TopicState.EXISTS, retention_ms=7 * 24 * HOUR_MS):
    """A group without members for `since` seconds, whose offsets are kept so long since then."""
    group = facts(partition(0, [(since + 10, 100)], 500, member=None, state=state), since=since)
    return replace(group, retention_ms=retention_ms)


@pytest.mark.parametrize(
    ("left_s", "is_soon"),
    [(86_401, False), (86_400, True), (60, True), (0, False), (-60, False)],
    ids=["more-than-a-day", "a-day", "a-minute", "due", "overdue"],
)
def test_of_seven_days_the_last_one_is_news(left_s, is_soon):
    found = list(expiring(empty(7 * 86_400 - left_s)))
    assert bool(found) is is_soon
    if found:
        assert found[0].numbers["expires_ms"] == ago(-left_s)


@pytest.mark.parametrize(("left_s", "is_soon"), [(901, False), (900, True)])
def test_of_an_hour_its_last_quarter_is(left_s, is_soon):
    assert bool(list(expiring(empty(3600 - left_s, retention_ms=HOUR_MS)))) is is_soon


@pytest.mark.parametrize(
    ("state", "is_told"),
    [
        (TopicState.EXISTS, True),
        (TopicState.UNKNOWN, True),
        (TopicState.NOT_AUTHORIZED, True),
        (TopicState.DELETED, False),
        (TopicState.RECREATED, False),
    ],
)
def test_offsets_of_a_topic_that_is_gone_are_no_loss(state, is_told):
    assert bool(list(expiring(empty(7 * 86_400 - 60, state=state)))) is is_told


@pytest.mark.parametrize(("subscribed", "expires"), [("orders", False), ("returns", True)])
def test_with_members_only_what_none_of_them_reads_expires(subscribed, expires):
    group = facts(partition(0, [(7 * 86_400 - 60, 100)], 500))
    members = tuple(replace(member, subscribed=(subscribed,)) for member in group.group.members)
    assert bool(list(expiring(replace(group, group=replace(group.group, members=members))))) is expires
