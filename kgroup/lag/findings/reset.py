"""Whether a group's offsets can be set from outside now, and whether they would stay.

An admin's commit comes without a member id. A coordinator takes it only while the group is empty: else it
answers UNKNOWN_MEMBER_ID (Kafka 4.3, `validateOffsetCommit` of `ClassicGroup` and `ConsumerGroup`).
Who reads without membership is no obstacle to it, and commits over it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind
from kgroup.lag.findings.model import GroupFacts, PartitionFacts
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.patience import PATIENCE_MS

RESTART_MS: Final = 60_000
"""Members that went away for a restart are back within this time, as a rule."""


class ResetVerdict(StrEnum):
    """The outcome of a reset."""

    SAFE = "safe"
    """Accepted, and nobody is seen who would commit over it."""
    UNSAFE = "not safe"
    """Accepted, and it may not stay."""
    REFUSED = "refused"
    """The coordinator refuses it."""
    UNKNOWN = "unknown"
    """The group's offsets are not in the offsets topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetSafety:
    """A verdict, why, and what to do first."""

    verdict: ResetVerdict
    why: str


def reset_safety(facts: GroupFacts, state_now: str | None = None) -> ResetSafety:
    """The outcome of a reset of this group's offsets at `facts.now_ms`.

    `state_now` is the state that its coordinator says, None where nobody was asked: that members are joining
    is in no log.
    """
    group = facts.group
    if group.kind is GroupKind.SHARE:
        return ResetSafety(
            verdict=ResetVerdict.UNKNOWN, why="a share group's progress is in __share_group_state"
        )
    if group.members or state_now not in (None, "Empty", "Dead"):
        return ResetSafety(verdict=ResetVerdict.REFUSED, why=_why_refused(facts, state_now))
    if facts.open_commits:
        since_ms = min(commit.timestamp for commit in facts.open_commits)
        return ResetSafety(
            verdict=ResetVerdict.UNSAFE,
            why=f"a transaction that began to commit offsets {lasting(facts.now_ms - since_ms)} ago has not"
            " ended: its producer may commit again, and readers of stable offsets wait for it. Let it end"
            " first.",
        )
    active = [partition for partition in facts.partitions if _commits_without_membership(partition, facts)]
    if active:
        ago = lasting(facts.now_ms - max(partition.last_ms for partition in active))
        kept = "1 partition keeps" if len(active) == 1 else f"{counted(len(active), 'partition')} keep"
        return ResetSafety(
            verdict=ResetVerdict.UNSAFE,
            why=f"the group has no members, yet {kept} being committed,"
            f" last {ago} ago: a consumer that assigns its own partitions would overwrite the reset. Stop it"
            " first.",
        )
    return ResetSafety(verdict=ResetVerdict.SAFE, why=_why_safe(facts))


def _why_refused(facts: GroupFacts, state_now: str | None) -> str:
    members = facts.group.members
    if not members:
        return (
            f"its coordinator says {state_now}: members are joining, and offsets can be reset only while a"
            " group is empty. Stop its consumers first."
        )
    names = [member.instance_id or member.client_id or member.member_id for member in members]
    static = (
        " A static member stays for its session timeout after it stops."
        if any(member.instance_id for member in members)
        else ""
    )
    return (
        f"{counted(len(members), 'member')} ({listed(names)}): offsets can be reset only while a group is"
        f" empty. Stop its consumers first.{static}"
    )


def _commits_without_membership(partition: PartitionFacts, facts: GroupFacts) -> bool:
    """Whether it was committed more than once since the group is empty, and lately: one commit is a reset."""
    since_ms = facts.group.since_ms
    return (
        partition.commits > 1
        and (since_ms is None or partition.first_ms > since_ms)
        and partition.last_ms > partition.first_ms
        and facts.now_ms - partition.last_ms <= PATIENCE_MS
    )


def _why_safe(facts: GroupFacts) -> str:
    since_ms = facts.group.since_ms
    if since_ms is None:
        return "the group has no members, and nobody commits. Keep its consumers stopped until it is done."
    for_ms = facts.now_ms - since_ms
    restarting = ", which may be a restart: make sure that nobody comes back" if for_ms < RESTART_MS else ""
    return (
        f"no members for {lasting(max(for_ms, 0))}{restarting}, and nobody commits. Keep its consumers"
        " stopped until it is done."
    )
