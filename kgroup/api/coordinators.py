"""Groups of a log by the offsets partition that they are in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoggedGroups:
    """By group the offsets partition that it stands in; what was not to be read, and what could not be."""

    partitions: Mapping[str, int]
    skipped: Sequence[str] = ()
    problems: Sequence[str] = ()


def groups_in_logs(paths: Sequence[str]) -> LoggedGroups:
    """Every group that still has state in these logs, sorted."""
    from kgroup.history.groups.newest import NewestEntries
    from kgroup.log.files.damage_text import damage_text, undecodable_text
    from kgroup.log.files.entries import read_entries
    from kgroup.log.files.sources import one_replica_each, open_sources
    from kgroup.log.format.batch import Damage
    from kgroup.protocol.records.entries import OffsetsEntry, Undecodable
    from kgroup.protocol.records.keys import group_of

    sources = one_replica_each(open_sources(paths))
    problems: list[str] = []
    newest = NewestEntries()
    for item in read_entries(sources):
        if isinstance(item, Damage):
            problems.append(damage_text(item))
            continue
        if isinstance(item.entry, Undecodable):
            problems.append(undecodable_text(item, item.entry))
        newest.add(item)
    alive = (logged for entries in (newest.commits(), newest.others()) for logged in entries)
    found = {
        group_of(logged.entry.key): logged.partition
        for logged in alive
        if isinstance(logged.entry, OffsetsEntry)
    }
    skipped = [f"{skipped.path}: not read: {skipped.why}" for skipped in sources.skipped]
    return LoggedGroups(dict(sorted(found.items())), skipped, problems)
