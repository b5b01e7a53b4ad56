"""What-ifs for advice: played where that is cheap, with both sides as numbers."""

from typing import Final

from kgroup.errors import KgroupError
from kgroup.history.timeline.model import Timeline
from kgroup.history.what_if.changes import Changes
from kgroup.history.what_if.what_if import Comparison, what_if

_PARTITIONS_MAX: Final = 500_000
"""Of all generations together: beyond that a what-if takes minutes, and is asked for by itself."""


def played(timeline: Timeline, changes: Changes) -> Comparison | None:
    """The comparison; None for a group that cannot be played again, or is too large for a glance."""
    owned = sum(len(m.owned) for each in timeline.generations for m in each.roster.members)
    if owned > _PARTITIONS_MAX:
        return None
    try:
        return what_if(timeline, changes)
    except KgroupError:
        return None


def numbers(comparison: Comparison) -> dict[str, int | float | str | None]:
    """Both sides."""
    return {
        f"{side}_{name}": value
        for side, outcome in (("recorded", comparison.recorded), ("supposed", comparison.supposed))
        for name, value in (
            ("rebalances", outcome.rebalances),
            ("moved", outcome.moved),
            ("members_stopped", outcome.members_stopped),
            ("unread_partition_ms", outcome.unread_ms),
            ("spread", outcome.spread),
        )
    }


def saved_text(comparison: Comparison) -> str:
    """The effect of the change: `rebalances 51 -> 3, moves of partitions 50 -> 2, ...`."""
    before, after = comparison.recorded, comparison.supposed
    parts = [
        f"rebalances {before.rebalances} -> {after.rebalances}",
        f"moves of partitions {before.moved} -> {after.moved}",
        f"stops of members {before.members_stopped} -> {after.members_stopped}",
    ]
    if before.unread_ms and after.unread_ms is not None:
        parts.append(f"unread {minutes_text(before.unread_ms)} -> {minutes_text(after.unread_ms)}")
    return ", ".join(parts)


def minutes_text(partition_ms: int) -> str:
    """Time summed over partitions: `12.5 partition-min`, or seconds below one."""
    if partition_ms < 60_000:
        return f"{partition_ms / 1000:.1f} partition-s"
    return f"{partition_ms / 60_000:,.1f} partition-min"
