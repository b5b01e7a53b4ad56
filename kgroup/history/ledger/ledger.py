"""Makes a group's ledger from its records in log order: what it skipped, and what it read twice."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from kgroup.history.ledger.account import entries_of
from kgroup.history.ledger.model import Ledger, LogBounds
from kgroup.history.ledger.readings import GroupReadings
from kgroup.history.timeline.replay import of_groups
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap


def ledgers(
    entries: Iterable[LoggedEntry | OffsetGap], topic_names: Mapping[UUID, str], bounds: LogBounds
) -> dict[str, Ledger]:
    """The ledgers of all groups that the entries are of, by group id in order.

    Entries in log order, partition after partition, as for `timeline.replay.replay`.
    """
    readings = of_groups(entries, lambda group_id: GroupReadings(group_id, topic_names))
    return {group_id: ledger_of(each, bounds) for group_id, each in sorted(readings.items())}


def ledger_of(readings: GroupReadings, bounds: LogBounds) -> Ledger:
    """The ledger of one group, of which all records are in."""
    return Ledger(
        group_id=readings.group_id,
        entries=tuple(
            entry
            for _, of_partition in sorted(readings.partitions.items())
            for entry in entries_of(of_partition, bounds, has_had_members=readings.has_had_members)
        ),
        topics=frozenset(partition.topic for partition in readings.partitions),
        commits=readings.commits,
        is_cut=readings.is_cut,
    )
