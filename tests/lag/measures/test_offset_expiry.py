"""When a broker may delete a committed offset: KIP-211, and the same as `serve`'s own coordinator does it."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import GroupKind, GroupState, Member
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import FindingKind
from kgroup.lag.measures.offset_expiry import RETENTION_MS, expiry
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import NOW, ago

DAY = 86_400
COMMITTED = 2 * DAY  # seconds ago
RETENTION = RETENTION_MS // 1000


def row(**changes):
    return partition(0, steadily(COMMITTED, 100), 100, member=None).row._replace(**changes)


def group(kind=GroupKind.CLASSIC, state=GroupState.EMPTY, since=DAY, **changes):
    empty = facts(partition(0, steadily(COMMITTED, 100), 100, member=None)).group
    return replace(empty, kind=kind, state=state, since_ms=ago(since), protocol_type="consumer", **changes)


def member(**changes):
    return replace(Member(member_id="m", instance_id=None, client_id="m", client_host="/h"), **changes)


def stable(**changes):
    return group(state=GroupState.STABLE, members=(member(**changes),))


def test_time_runs_from_when_the_group_turned_empty():
    assert expiry(group(), row(), RETENTION_MS) == (ago(DAY), ago(DAY - RETENTION))


def test_without_membership_it_runs_from_the_commit():
    assert expiry(group(kind=GroupKind.SIMPLE), row(), RETENTION_MS) == (
        ago(COMMITTED),
        ago(COMMITTED - RETENTION),
    )


def test_a_commit_that_says_when_it_expires():
    assert expiry(group(), row(expire_timestamp=NOW), RETENTION_MS) == (ago(COMMITTED), NOW)


@pytest.mark.parametrize(
    "reading",
    [
        stable(subscribed=("orders",)),
        stable(subscribed=None),
        stable(subscribed=("left",), subscribed_regex="ord.*"),
        group(state=GroupState.RECONCILING, members=(member(subscribed=("left",)),)),
        replace(stable(subscribed=("left",)), protocol_type="connect"),
    ],
)
def test_nothing_expires_that_a_member_may_be_reading(reading):
    assert expiry(reading, row(), RETENTION_MS) is None


def test_a_topic_that_no_member_subscribes_to_any_more():
    assert expiry(stable(subscribed=("left",)), row(), RETENTION_MS) == (
        ago(COMMITTED),
        ago(COMMITTED - RETENTION),
    )


def test_no_commit_cannot_expire():
    assert expiry(group(), row(current_offset=None), RETENTION_MS) is None


@pytest.mark.parametrize(
    ("empty_for", "retention", "is_news"),
    [
        (RETENTION - DAY - 1, RETENTION, False),
        (RETENTION - DAY + 1, RETENTION, True),
        (RETENTION + 1, RETENTION, False),  # it is still there: retention must be longer than was said
        (DAY // 2, DAY, False),  # half of a day is left, and more than a quarter of its time
        (DAY * 4 // 5, DAY, True),
    ],
)
def test_it_is_news_in_the_last_day_and_the_last_quarter(empty_for, retention, is_news):
    one = replace(
        facts(partition(0, steadily(empty_for + 1, 100), 100, member=None), since=empty_for),
        retention_ms=retention * 1000,
    )
    expiring = [finding for finding in find(one) if finding.kind is FindingKind.OFFSETS_EXPIRE]
    assert bool(expiring) is is_news
    for finding in expiring:
        assert finding.numbers["expires_ms"] == ago(empty_for - retention)
