"""The time since a partition that stands still got its owner, where that explains the standstill.

A partition that changed hands right after its last commit, and was never committed by its new owner, was not
taken up by that owner's client after the rebalance: no record is to blame.
"""

from itertools import pairwise
from typing import Final

from kgroup.history.timeline.model import Partition, Roster
from kgroup.lag.findings.group_standstill import Standing
from kgroup.lag.findings.model import GroupFacts
from kgroup.lag.findings.standstill import broken_after_ms
from kgroup.lag.status.window_evidence import SHORTEST_MS

_TRY: Final = (
    "The member never started on what it was given in that rebalance. Look in its log around that time for"
    " onPartitionsAssigned, for a listener that fails or pauses, and for a client version with a known"
    " cooperative rebalancing bug. Restarting the member makes it ask again. "
)


def changed_hands(facts: GroupFacts, stopped: Standing) -> Roster | None:
    """The generation that gave the partition to who owns it, if the last commit lies just before it."""
    partition = stopped.facts
    place = Partition(*partition.topic_partition)
    timed = [roster for roster in facts.rosters if roster.at_ms is not None]
    given: Roster | None = None
    for before, after in pairwise(timed):
        owner, old = after.owner_of(place), before.owner_of(place)
        is_next = after.generation == before.generation + 1
        if (owner and owner.member_id) != (old and old.member_id):
            given = after if owner is not None and is_next else None
    if given is None or given.at_ms is None:
        return None
    owner = given.owner_of(place)
    if owner is None or owner.member_id != partition.row.member_id:
        return None
    longest_ms = partition.longest_interval_ms
    limit_ms = SHORTEST_MS if longest_ms is None else broken_after_ms(longest_ms)
    return given if 0 <= given.at_ms - partition.last_ms <= limit_ms else None


def handover_text(given: Roster | None) -> str:
    """The same in words, to be put behind others."""
    if given is None:
        return ""
    return (
        f"; it changed hands in generation {given.generation} right after, and has not been committed since"
    )


def handover_remedy(given: Roster | None, remedy: str) -> str:
    """The remedy to try first, then the rest."""
    return remedy if given is None else _TRY + remedy
