"""Whether a reset of offsets now is accepted, and would stay: by members, transactions and other commits."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.lag.findings.model import OpenCommit
from kgroup.lag.findings.reset import ResetVerdict, reset_safety
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import NOW, ago


def left(since, commits, **more):
    """A group whose last member left so many seconds ago; the commits are as `partition` takes them."""
    return facts(partition(0, commits, 500, member=None), since=since, **more)


def test_members_are_named_and_have_to_stop_first() -> None:
    safety = reset_safety(
        facts(partition(0, steadily(1, 90), 100, member="m1"), partition(1, [], 5, member="m2"))
    )
    assert safety.verdict is ResetVerdict.REFUSED
    assert safety.why.startswith("2 members (m1, m2): ")
    assert "static" not in safety.why


def test_a_static_member_stays_for_its_session_timeout() -> None:
    group = facts(partition(0, steadily(1, 90), 100, member="m1"))
    static = tuple(replace(member, instance_id="till-1") for member in group.group.members)
    safety = reset_safety(replace(group, group=replace(group.group, members=static)))
    assert safety.verdict is ResetVerdict.REFUSED
    assert "(till-1)" in safety.why
    assert "session timeout" in safety.why


@pytest.mark.parametrize(
    ("state_now", "verdict"),
    [
        (None, ResetVerdict.SAFE),
        ("Empty", ResetVerdict.SAFE),
        ("Dead", ResetVerdict.SAFE),
        ("PreparingRebalance", ResetVerdict.REFUSED),
        ("CompletingRebalance", ResetVerdict.REFUSED),
        ("Stable", ResetVerdict.REFUSED),
    ],
)
def test_members_that_are_joining_are_in_no_log(state_now, verdict) -> None:
    safety = reset_safety(left(600, steadily(601, 90)), state_now)
    assert safety.verdict is verdict
    assert (f"says {state_now}" in safety.why) is (verdict is ResetVerdict.REFUSED)


def test_a_group_that_was_left_long_ago_is_safe() -> None:
    safety = reset_safety(left(3600, steadily(3601, 90)))
    assert safety.verdict is ResetVerdict.SAFE
    assert safety.why.startswith("no members for 1h 0m, and nobody commits.")


@pytest.mark.parametrize(("since", "said"), [(59, True), (60, False)])
def test_within_a_minute_it_may_be_a_restart(since, said) -> None:
    safety = reset_safety(left(since, steadily(since + 1, 90)))
    assert safety.verdict is ResetVerdict.SAFE
    assert ("restart" in safety.why) is said


def test_an_open_transaction_may_commit_again() -> None:
    pending = OpenCommit(topic="orders", partition=0, offset=95, timestamp=ago(40), producer_id=7)
    safety = reset_safety(left(600, steadily(601, 90), open_commits=(pending,)))
    assert safety.verdict is ResetVerdict.UNSAFE
    assert "40s ago" in safety.why


@pytest.mark.parametrize(
    ("kind", "since", "commits", "verdict"),
    [
        # Commits go on after the last member left: somebody assigns its partitions itself.
        (GroupKind.CLASSIC, 600, steadily(2, 90), ResetVerdict.UNSAFE),
        # One commit after that is what an admin's reset looks like.
        (GroupKind.CLASSIC, 10, [*steadily(20, 90, commits=9), (2, 0)], ResetVerdict.SAFE),
        # Committed by members that were there.
        (GroupKind.CLASSIC, 100, steadily(101, 90), ResetVerdict.SAFE),
        # A group that never had a member.
        (GroupKind.SIMPLE, None, steadily(2, 90), ResetVerdict.UNSAFE),
        (GroupKind.SIMPLE, None, [(2, 90)], ResetVerdict.SAFE),
        # Its reader has been silent for five minutes, and for longer.
        (GroupKind.SIMPLE, None, steadily(300, 90), ResetVerdict.UNSAFE),
        (GroupKind.SIMPLE, None, steadily(301, 90), ResetVerdict.SAFE),
    ],
)
def test_a_reader_without_membership_commits_over_a_reset(kind, since, commits, verdict) -> None:
    assert reset_safety(left(since, commits, kind=kind)).verdict is verdict


def test_a_share_groups_progress_is_elsewhere() -> None:
    safety = reset_safety(facts(partition(0, [], 5), kind=GroupKind.SHARE))
    assert safety.verdict is ResetVerdict.UNKNOWN


def test_the_present_is_that_of_the_facts() -> None:
    assert left(600, steadily(2, 90)).now_ms == NOW


def test_it_says_how_long_ago_somebody_committed_without_membership() -> None:
    safety = reset_safety(left(600, steadily(5, 90)))
    assert safety.verdict is ResetVerdict.UNSAFE
    assert "1 partition keeps being committed, last 5s ago" in safety.why


def test_who_has_no_name_is_called_by_the_id() -> None:
    group = facts(partition(0, steadily(1, 90), 100, member="m1"))
    nameless = tuple(replace(member, client_id="", instance_id=None) for member in group.group.members)
    safety = reset_safety(replace(group, group=replace(group.group, members=nameless)))
    assert safety.why.startswith(f"1 member ({group.group.members[0].member_id}): ")
