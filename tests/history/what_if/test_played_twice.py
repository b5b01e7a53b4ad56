"""What-if of one protocol beside the simulator, which plays the same comings and goings by the other."""

import pytest

from kgroup.assignors.registry import Protocol
from kgroup.history.what_if.changes import Changes
from kgroup.history.what_if.what_if import what_if
from kgroup.sim.scenario.protocols import with_consumer_protocol
from tests.history.what_if.played_twice import drawn_plan, play, renamed, supposed_moves

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_protocols_give_each_partition_the_owners_that_the_other_ones_log_foretells(seed):
    plan = drawn_plan(seed)
    classic, as_classic = play(plan, seed)
    consumer, as_consumer = play(with_consumer_protocol(plan), seed)
    for timeline, recorded, changes, other in (
        (classic, as_classic, Changes(protocol=Protocol.SERVER), as_consumer),
        (consumer, as_consumer, Changes(classic=True), as_classic),
    ):
        supposed = what_if(renamed(timeline, recorded, other), changes).supposed
        assert supposed_moves(supposed, other) == other.moves


def test_partitions_of_these_plans_change_owners():
    """Or the plans above would say nothing."""
    _, played = play(with_consumer_protocol(drawn_plan(0)), 0)
    assert played.moves
