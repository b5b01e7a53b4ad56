"""`--list`: the consumer groups, by state and type."""

from typing import TYPE_CHECKING, Final

from kgroup.cli.compat.given import Given, ToolUsageError
from kgroup.report.compat.listing import Listing, list_lines

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster

# In the order in which the tool names them.
_STATES: Final = (
    "Reconciling",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Stable",
    "Empty",
    "Dead",
)
_TYPES: Final = ("Consumer", "Classic")
_UNKNOWN: Final = "Unknown"


def run(given: Given, cluster: "Cluster") -> None:
    """Print the list."""
    from kgroup.net.admin.group_listing import list_groups

    types = _chosen(given, "type", _TYPES, "types")
    states = _chosen(given, "state", _STATES, "state")
    listings = (
        Listing(
            group_id=group.group_id,
            group_type=group.kind.value.capitalize() if group.kind is not None else _UNKNOWN,
            state=group.state or _UNKNOWN,
        )
        for group in list_groups(cluster).values()
        if group.is_of_consumers
    )
    chosen = [
        listing
        for listing in listings
        if (not types or listing.group_type in types) and (not states or listing.state in states)
    ]
    for line in list_lines(chosen, with_type=given.has("type"), with_state=given.has("state")):
        print(line)


def _chosen(given: Given, option: str, known: tuple[str, ...], noun: str) -> set[str]:
    """The values that were asked for, in any case of letters; empty means all."""
    value = given.one(option)
    if not value:
        return set()
    by_lower = {name.lower(): name for name in known}
    asked = [each.strip().lower() for each in value.split(",")]
    if any(each not in by_lower for each in asked):
        raise ToolUsageError(f"Invalid {noun} list '{value}'. Valid {option}s are: {', '.join(known)}")
    return {by_lower[each] for each in asked}
