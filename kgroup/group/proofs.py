"""The status of each partition of a group, by its own commits and by what is proven by looking at more.

The proofs are those of the findings (`standings.py`, `finding_pace.py`, `finding_absence.py`), so that status
and findings cannot contradict each other: STOP or STALL is what a finding accuses, and nothing else.
"""

from collections.abc import Iterator
from dataclasses import replace

from kgroup.group.finding_absence import is_abandoned
from kgroup.group.finding_model import GroupFacts, Place
from kgroup.group.finding_pace import growths
from kgroup.group.lag_rules import KgroupRules, LagRules
from kgroup.group.log_ends import TopicState
from kgroup.group.membership import GroupKind, GroupState
from kgroup.group.standings import read_partitions, standings
from kgroup.group.standstill import has_unread, standstill, usual_step
from kgroup.group.status import LagGrew, NoMembers, Proof, ReaderStandsStill, ReadInTurn, Verdict


def verdicts(facts: GroupFacts, rules: LagRules) -> dict[Place, Verdict]:
    """The status of each partition whose log end is known; proofs are for kgroup's own rules.

    What no member owns in a group that has some is judged by its own commits alone: who unsubscribes leaves
    offsets behind, and records wait for nobody there.
    """
    own_rules = rules == KgroupRules()
    proofs = _proofs(facts) if isinstance(rules, KgroupRules) else {}
    counts = {partition.place for partition in read_partitions(facts)}
    if is_abandoned(facts):
        counts = {partition.place for partition in facts.partitions}
    found: dict[Place, Verdict] = {}
    for partition in facts.partitions:
        row, window, place = partition.row, partition.window, partition.place
        if row.log_end_offset is None or row.topic_state in (TopicState.DELETED, TopicState.RECREATED):
            continue
        if place in proofs:
            window = replace(window, proof=proofs[place])
        if place not in counts and window.unread_by_ms is not None:
            window = replace(window, unread_by_ms=None)
        if window is partition.window and partition.verdict is not None and own_rules:
            found[place] = partition.verdict
        else:
            found[place] = rules.judge(window, row.log_end_offset, facts.now_ms)
    return found


def _proofs(facts: GroupFacts) -> dict[Place, Proof]:
    if facts.group.state is GroupState.EMPTY and facts.group.kind is not GroupKind.SIMPLE:
        return dict(_without_members(facts))
    found = standings(facts)
    proofs: dict[Place, Proof] = {}
    readers: dict[str | None, ReaderStandsStill] = {}
    for partition in read_partitions(facts):
        of_reader, member_id = found.of_reader(partition), partition.row.member_id
        if of_reader and has_unread(partition):
            if member_id not in readers:
                since_ms = max(one.still.since_ms for one in of_reader)
                readers[member_id] = ReaderStandsStill(partitions=len(of_reader), since_ms=since_ms)
            proofs[partition.place] = readers[member_id]
    for one in found.accused():
        place, proof = one.facts.place, one.still.proof
        if proof is not None:
            proofs[place] = proof
        else:
            proofs.pop(place, None)  # its own commits say it all, by patience
    for one in found.in_turn:
        proofs[one.facts.place] = ReadInTurn(since_ms=one.still.since_ms)
    for growth in growths(facts, found):
        grew = LagGrew(read_per_s=growth.read_per_s, written_per_s=growth.written_per_s)
        proofs |= {partition.place: grew for partition in growth.partitions}
    return proofs


def _without_members(facts: GroupFacts) -> Iterator[tuple[Place, Proof]]:
    """Commits have ceased, or may come back: a restart is no death."""
    step, is_dead = usual_step(facts.partitions), is_abandoned(facts)
    for partition in facts.partitions:
        if has_unread(partition):
            still = standstill(partition, step, facts.now_ms) if is_dead else None
            proof = still.proof if still is not None else None
            yield partition.place, proof or NoMembers(since_ms=facts.group.since_ms)
