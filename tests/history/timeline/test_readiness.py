"""Epochs of groups whose broker assigns that begin without anybody coming or going."""

from pathlib import Path

import pytest

from kgroup.api.opened import open_logs
from kgroup.api.replay import replay
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline import causes
from kgroup.history.timeline.model import CauseKind, Grade, Partition, Roster

K = CauseKind
LIVES = Path(__file__).parents[3] / "fixtures" / "4.3.1" / "lives"
P0, P1 = Partition("t", 0), Partition("t", 1)


def roster(
    kind: GroupKind = GroupKind.CONSUMER,
    *,
    metadata_hash: int = 7,
    topology: int = -1,
    state: frozenset[Partition] = frozenset(),
) -> Roster:
    return Roster(
        kind=kind,
        generation=2,
        at_ms=1,
        offset=1,
        offsets_partition=0,
        leader_epoch=0,
        metadata_hash=metadata_hash,
        validated_topology=topology,
        share_state=state,
    )


def cause_of(before: Roster, now: Roster) -> CauseKind | None:
    cause = causes.readiness(before, now)
    assert cause is None or cause.grade is Grade.RECORDED
    return cause.kind if cause else None


def test_share_state_that_was_set_up_since_is_the_cause():
    before, now = (roster(GroupKind.SHARE, state=state) for state in (frozenset({P0}), frozenset({P0, P1})))
    assert cause_of(before, now) is K.SHARE_STATE_READY
    assert cause_of(now, now) is cause_of(now, before) is None


def test_a_topology_that_is_complete_now_is_the_cause_and_one_that_misses_topics_again_is_not():
    before, now = (roster(GroupKind.STREAMS, topology=topology) for topology in (-1, 0))
    assert cause_of(before, now) is K.TOPOLOGY_READY
    assert cause_of(now, now) is cause_of(now, before) is None


@pytest.mark.parametrize(
    ("before", "now", "cause"),
    [(7, 8, K.METADATA_CHANGED), (7, 0, K.METADATA_CHANGED), (7, 7, None), (0, 8, None)],
)
def test_another_hash_is_a_cause_unless_there_was_none_before(
    before: int, now: int, cause: CauseKind | None
) -> None:
    """Brokers before 4.1 wrote none: the first one says nothing of a change."""
    assert cause_of(roster(metadata_hash=before), roster(metadata_hash=now)) is cause


def test_a_group_that_changed_its_kind_has_nothing_to_compare():
    assert cause_of(roster(GroupKind.CLASSIC, metadata_hash=7), roster(metadata_hash=8)) is None


@pytest.mark.parametrize(
    ("group", "epoch", "cause"),
    [
        # The record of the epoch comes right after the one that has its topic among those initialized.
        ("share-queue", 4, K.SHARE_STATE_READY),
        # Its epoch record is the first with a validated topology.
        ("flow-tally", 4, K.TOPOLOGY_READY),
    ],
)
def test_a_brokers_log_says_what_its_groups_waited_for(group: str, epoch: int, cause: CauseKind) -> None:
    (generation,) = (
        each
        for each in replay(open_logs(LIVES), [group])[group].generations
        if each.roster.generation == epoch
    )
    assert [(each.kind, each.grade) for each in generation.causes] == [(cause, Grade.RECORDED)]
