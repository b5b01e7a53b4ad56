"""The lines of `kafka-consumer-groups --list`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kgroup.assignors.java_order import string_order

_LEAST_WIDTH: Final = 15
_BESIDE: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A group of the list; type and state as Kafka's enums spell them."""

    group_id: str
    group_type: str
    state: str


def in_order(listings: Iterable[Listing]) -> list[Listing]:
    """The listings in the order of the admin client's HashMap, given in that of the answers."""
    by_id = {listing.group_id: listing for listing in listings}
    return [by_id[group_id] for group_id in string_order(by_id)]


def list_lines(listings: Iterable[Listing], *, with_type: bool, with_state: bool) -> Iterator[str]:
    """A line for each group, below a heading if there is more than names."""
    listed = in_order(listings)
    if not with_type and not with_state:
        yield from (listing.group_id for listing in listed)
        return
    width = max((len(listing.group_id) for listing in listed), default=0)
    width = max(width, _LEAST_WIDTH) + _BESIDE
    rows = [("GROUP", "TYPE", "STATE")]
    rows += [(listing.group_id, listing.group_type, listing.state) for listing in listed]
    for group_id, group_type, state in rows:
        line = f"{group_id:<{width}}"
        line += f" {group_type:<20}" if with_type else ""
        line += f" {state:<20}" if with_state else ""
        yield line
