"""Obstacles that keep a broker from loading an offsets partition, or make it load only part of it."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The outcomes for a partition, best first."""

    LOADS = "loads"
    LOADS_LESS = "loads less"
    """Records that are there are passed over, cut off or replaced without a word to the groups."""
    FAILS = "fails"
    """Every request of its groups is answered NOT_COORDINATOR, until the log is repaired."""
    EMPTY = "loads nothing"
    """The coordinator of 3.x: the groups have no commits, and begin again by auto.offset.reset."""
    NO_START = "broker does not start"


class Why(StrEnum):
    """The kind of an obstacle."""

    ORDER = "order"
    """Records that are whole, in an order that this version cannot replay."""
    VERSION = "version"
    """A value of a version that this one cannot read."""
    UNREADABLE = "unreadable"
    """A record that no version can read."""
    DAMAGE = "damage"
    """Bytes that are no batch, or not the batch that was written."""
    IGNORED = "ignored"
    """A record type that this version does not know: passed over with a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One record or place in the bytes, and what it leads to.

    `offset` is None where no offset can be known; `segment` and `position` are filled in by who knows
    the files. `issue` is Kafka's ticket, if it is a bug of the version.
    """

    outcome: Outcome
    why: Why
    text: str
    offset: int | None = None
    group: str | None = None
    issue: str | None = None
    segment: str | None = None
    position: int | None = None
