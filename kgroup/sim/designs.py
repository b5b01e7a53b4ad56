"""The designs a scenario may be played as: assignors, and the consumer of Kafka 0.8."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from kgroup.assignors.registry import CLIENT_ASSIGNORS
from kgroup.broker.storage import Storage
from kgroup.errors import InputError, nearest_or_all
from kgroup.group.member.settings import GroupProtocol
from kgroup.sim.scenario.protocols import with_consumer_protocol, with_migration
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.watch.result import Run
from kgroup.sim.world.world import run
from kgroup.sim.zookeeper.trace import ZookeeperEvent
from kgroup.sim.zookeeper.world import run_zookeeper

ZOOKEEPER: Final = "zookeeper"
CONSUMER: Final = "consumer"
"""All members speak the consumer protocol, with the scenario's sessions and intervals."""
MIGRATION: Final = "migration"
"""All begin classic; every other member restarts with the consumer protocol, and later back."""
_ALIASES: Final = {"eager": "range", "cooperative": "cooperative-sticky"}


def with_assignors(scenario: Scenario, assignors: tuple[str, ...]) -> Scenario:
    """The same with these assignors, in this order, at every member."""
    members = tuple(replace(member, assignors=assignors) for member in scenario.members)
    return replace(scenario, members=members)


def one_design(text: str) -> str:
    """A design's name, which may also be that of an assignor."""
    return _known(text.strip(), "--as")


def require_logs(design: str) -> None:
    """Raise InputError for a design whose brokers have no logs that --log-dir could keep."""
    if design == ZOOKEEPER:
        raise InputError("--log-dir: brokers of the design zookeeper have no logs to keep")


def _known(name: str, option: str) -> str:
    designs = [*_ALIASES, CONSUMER, MIGRATION, ZOOKEEPER, *CLIENT_ASSIGNORS]
    if name not in designs:
        raise InputError(f"{option}: there is no design '{name}': {nearest_or_all(name, designs)}")
    return name


def compared_designs(text: str) -> list[str]:
    """The names in `eager,cooperative,zookeeper`, which may also be those of assignors."""
    names = [_known(name.strip(), "--compare") for name in text.split(",")]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--compare: '{name}' is given twice")
    return names


def own_design(scenario: Scenario) -> str:
    """The design of a scenario unless another one is named: the assignors or the protocol of its members."""
    if any(member.switches_ms for member in scenario.members):
        return MIGRATION
    if all(member.protocol is GroupProtocol.CONSUMER for member in scenario.members):
        return CONSUMER
    return " and ".join(dict.fromkeys(",".join(member.assignors) for member in scenario.members))


_PROTOCOLS: Final[Mapping[str, Callable[[Scenario], Scenario]]] = {
    CONSUMER: with_consumer_protocol,
    MIGRATION: with_migration,
}


def play(
    scenario: Scenario,
    design: str,
    seed: int,
    *,
    storage: Storage | None = None,
    on_event: Callable[[ZookeeperEvent], None] | None = None,
    until_settled: bool = False,
) -> Run:
    """Play a scenario as one of `compared_designs`, or as its `own_design`.

    `until_settled`: not to the end of its time, if the checkers have seen all before.
    """
    if design == ZOOKEEPER:
        return run_zookeeper(scenario, seed, on_event=on_event)
    if design in _PROTOCOLS and design != own_design(scenario):
        scenario = _PROTOCOLS[design](scenario)
    assignor = _ALIASES.get(design, design)
    if assignor in CLIENT_ASSIGNORS and design != own_design(scenario):
        scenario = with_assignors(scenario, (assignor,))
    return run(scenario, seed, storage=storage, on_event=on_event, codec=False, until_settled=until_settled)
