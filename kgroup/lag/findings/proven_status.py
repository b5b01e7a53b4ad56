"""The status of each partition of a group, by its own commits and by what other sources prove.

The proofs are those of the findings (`group_standstill.py`, `pace.py`, `absence.py`), so that status
and findings cannot contradict each other: STOP or STALL is what a finding accuses, and nothing else.
"""

from collections.abc import Iterator
from dataclasses import replace

from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.lag.findings.absence import is_abandoned
from kgroup.lag.findings.group_standstill import Standings, are_read, read_partitions, standings
from kgroup.lag.findings.model import GroupFacts, PartitionFacts
from kgroup.lag.findings.pace import growths
from kgroup.lag.findings.standstill import has_unread, standstill
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.status.model import (
    BehindTransaction,
    Judged,
    LagGrew,
    NoMembers,
    Proof,
    ReaderStandsStill,
    ReadInTurn,
)
from kgroup.lag.status.rule_sets import KgroupRules, LagRules
from kgroup.lag.status.window import CommitWindow
from kgroup.protocol.topic_partition import TopicPartition


def judged_one_by_one(facts: GroupFacts, rules: LagRules) -> list[Judged | None]:
    """The status of each partition whose log end is known; each must have its window."""
    proofs = proofs_of(facts, rules)
    return [
        _judged(
            partition, partition.window, proofs.get(partition.topic_partition), is_waited_for, facts, rules
        )
        for partition, is_waited_for in zip(facts.partitions, are_waited_for(facts), strict=True)
    ]


def _judged(
    partition: PartitionFacts,
    window: CommitWindow | None,
    proof: Proof | None,
    is_waited_for: bool,
    facts: GroupFacts,
    rules: LagRules,
) -> Judged | None:
    end = judged_end(partition)
    if end is None:
        return None
    assert window is not None
    window = replace(window, proof=proof, unread_by_ms=window.unread_by_ms if is_waited_for else None)
    verdict = rules.judge(window, end, facts.now_ms)
    return Judged(verdict.status, verdict.rule, verdict.numbers())


def judged_end(partition: PartitionFacts) -> int | None:
    """The log end that a status goes by, None where there is none to go by."""
    row = partition.row
    return None if row.topic_state in (TopicState.DELETED, TopicState.RECREATED) else row.log_end_offset


def are_waited_for(facts: GroupFacts) -> list[bool]:
    """Whether the records of each partition have a reader to wait for.

    What no member owns in a group that has some is judged by its own commits alone: who unsubscribes leaves
    offsets behind, and records wait for nobody there.
    """
    return [True] * len(facts.partitions) if is_abandoned(facts) else are_read(facts)


def proofs_of(facts: GroupFacts, rules: LagRules) -> dict[TopicPartition, Proof]:
    """Proofs about a group's partitions from the rest of the group, for kgroup's own rules."""
    if not isinstance(rules, KgroupRules):
        return {}
    if facts.group.state is GroupState.EMPTY and facts.group.kind is not GroupKind.SIMPLE:
        return dict(_without_members(facts))
    standing = standings(facts)
    if len(standing.group) == len(facts.partitions):  # nothing else is there to be proven
        return {
            stopped.facts.topic_partition: stopped.still.proof
            for stopped in standing.group
            if stopped.still.proof is not None
        }
    proofs: dict[TopicPartition, Proof] = {}
    readers: dict[str | None, ReaderStandsStill] = {}
    for partition in read_partitions(facts) if standing.group or standing.members else ():
        of_reader, member_id = standing.of_reader(partition), partition.row.member_id
        if of_reader and has_unread(partition):
            if member_id not in readers:
                since_ms = max(stopped.still.since_ms for stopped in of_reader)
                readers[member_id] = ReaderStandsStill(partitions=len(of_reader), since_ms=since_ms)
            proofs[partition.topic_partition] = readers[member_id]
    for stopped in standing.accused():
        topic_partition, proof = stopped.facts.topic_partition, stopped.still.proof
        if proof is not None:
            proofs[topic_partition] = proof
        else:
            proofs.pop(topic_partition, None)  # its own commits say it all, by patience
    for stopped in standing.in_turn:
        proofs[stopped.facts.topic_partition] = ReadInTurn(since_ms=stopped.still.since_ms)
    proofs |= _behind_transactions(standing)
    for growth in growths(facts, standing):
        grew = LagGrew(read_per_s=growth.read_per_s, written_per_s=growth.written_per_s)
        proofs |= {partition.topic_partition: grew for partition in growth.partitions}
    return proofs


def _behind_transactions(standing: Standings) -> dict[TopicPartition, Proof]:
    return {
        partition.topic_partition: BehindTransaction(
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            first_offset=transaction.first_offset,
            since_ms=transaction.since_ms,
        )
        for partition in standing.blocked
        if (transaction := partition.open_transaction) is not None
    }


def _without_members(facts: GroupFacts) -> Iterator[tuple[TopicPartition, Proof]]:
    """Commits have ceased, or may come back: a restart is no death."""
    step, is_dead = facts.usual_step, is_abandoned(facts)
    for partition in facts.partitions:
        if has_unread(partition):
            still = standstill(partition, step, facts.now_ms) if is_dead else None
            proof = still.proof if still is not None else None
            yield partition.topic_partition, proof or NoMembers(since_ms=facts.group.since_ms)
