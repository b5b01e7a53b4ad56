"""Worlds full of trouble, drawn from seeds: no promise may be broken in any of them.

100 seeds of the classic protocol by default, a third as many of the consumer protocol and of migrations,
and three times as many before a merge; `pytest tests/sim/test_swarm.py --swarm-seeds 10000` is the size for a
night.
"""

import pytest

from kgroup.sim.scenario.scenario import FaultKind
from kgroup.sim.swarm import Swarm, draw_scenario, run_seed
from kgroup.sim.watch.result import Violation

_BATCH = 25


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "first_seed" in metafunc.fixturenames:
        seeds = metafunc.config.getoption("--swarm-seeds")
        metafunc.parametrize(
            ("swarm", "first_seed"),
            [
                pytest.param(swarm, seed, id=f"{swarm}-{seed}")
                for swarm in Swarm
                for seed in range(0, seeds if swarm is Swarm.CLASSIC else seeds // 3, _BATCH)
            ],
        )


def test_no_seed_breaks_a_promise(swarm: Swarm, first_seed: int) -> None:
    broken: dict[int, tuple[Violation, ...]] = {}
    for seed in range(first_seed, first_seed + _BATCH):
        violations = run_seed(seed, swarm).violations
        if violations:
            broken[seed] = violations
    assert not broken, f"{swarm}, seed={next(iter(broken))}"


@pytest.mark.parametrize("seed", [7184, 9060, 10171, 50440, 54816, 207920, 255214, 255709, 301304])
def test_a_seed_that_broke_a_promise_once_does_not_again(seed: int) -> None:
    assert run_seed(seed, more=False).violations == ()


@pytest.mark.parametrize(
    ("swarm", "seed", "more"),
    [
        pytest.param(Swarm.CONSUMER, 190, False, id="claims-less-than-it-may-take"),
        pytest.param(Swarm.MIGRATION, 30, False, id="empty-then-classic"),
        pytest.param(Swarm.MIGRATION, 2145, False, id="up-and-down-within-a-second"),
        pytest.param(Swarm.CONSUMER, 620818, True, id="searches-in-the-ms-of-a-lost-heartbeat"),
        pytest.param(Swarm.CONSUMER, 621105, True, id="joins-before-its-leave-is-answered"),
    ],
)
def test_a_seed_of_the_other_swarms_that_broke_a_promise_once_does_not_again(
    swarm: Swarm, seed: int, more: bool
) -> None:
    assert run_seed(seed, swarm, more=more).violations == ()


def test_the_swarm_knows_every_kind_of_trouble() -> None:
    """Over 50 seeds; a fault that no seed draws would test nothing."""
    scenarios = [draw_scenario(seed) for seed in range(50)]
    chaoses = [chaos for each in scenarios for chaos in (each.chaos, each.more_chaos) if chaos is not None]
    drawn = {kind for chaos in chaoses for kind in chaos.kinds}
    assert drawn == set(FaultKind) - {FaultKind.START, FaultKind.LEAVE, FaultKind.CREATE}
    for some in (
        [each.strangers for each in scenarios],
        [each.producers for each in scenarios],
        ["offsets.retention.minutes" in each.properties for each in scenarios],
        ["group.max.size" in each.properties for each in scenarios],
        [any(topic.start_ms for topic in each.topics) for each in scenarios],
        [any(member.pattern for member in each.members) for each in scenarios],
        [each.more_chaos for each in scenarios],
    ):
        assert 2 <= sum(map(bool, some)) < len(scenarios)


def test_what_a_seed_meant_before_more_trouble_was_drawn_is_a_part_of_what_it_means() -> None:
    for seed in range(20):
        before, now = draw_scenario(seed, more=False), draw_scenario(seed)
        assert (now.chaos, now.properties, now.strangers) == (
            before.chaos,
            before.properties,
            before.strangers,
        )
        assert now.topics[: len(before.topics)] == before.topics


def test_a_seed_draws_the_same_scenario_each_time() -> None:
    assert draw_scenario(7) == draw_scenario(7)
    assert draw_scenario(7) != draw_scenario(8)
