"""The scenario that a command line asks for: shipped, from a file, or from flags; and how it is played."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kgroup.assignors.registry import CLIENT_ASSIGNORS
from kgroup.cli.options.simulate import OF_A_SCENARIO, Flags
from kgroup.cli.shell.option_checks import check_options
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError, nearest_or_all
from kgroup.sim.designs import with_assignors
from kgroup.sim.scenario.actions import parse_fault
from kgroup.sim.scenario.check import check_scenario
from kgroup.sim.scenario.file import load_scenario
from kgroup.sim.scenario.keys import MEMBERS_MAX
from kgroup.sim.scenario.scenario import Fault, FaultKind, Scenario, SimMember, SimTopic
from kgroup.sim.swarm import draw_scenario

QUICK_MEMBERS: Final = 3
QUICK_PARTITIONS: Final = 12
QUICK_RATE: Final = 10.0
QUICK_TOPIC: Final = "t"
_AFTER_LAST_FAULT_MS: Final = 60_000
SWARM: Final = "swarm"
SWARM_ABOUT: Final = "A small world full of trouble, another one for each seed."


def chosen_scenario(name: str | None, flags: Flags, seed: int) -> Scenario:
    """The scenario for this seed; only SWARM has another one for each.

    Raises InputError or SourceError that says what makes no sense.
    """
    faults = tuple(_faults(flags.at or ()))
    if name is None:
        scenario = _from_flags(flags, faults)
    else:
        check_options(
            OF_A_SCENARIO,
            {
                "--members": flags.members is not None,
                "--partitions": flags.partitions is not None,
                "--rate": flags.rate is not None,
                "SCENARIO": name,
            },
        )
        scenario = draw_scenario(seed) if name == SWARM else load_scenario(name)
        scenario = replace(scenario, faults=(*scenario.faults, *faults))
        if flags.nodes is not None:
            scenario = replace(scenario, nodes=flags.nodes)
    if flags.duration is not None:
        scenario = replace(scenario, duration_ms=parse_length(flags.duration, "--for"))
    if flags.assignors:
        scenario = with_assignors(scenario, tuple(_known_assignor(name) for name in flags.assignors))
    if name is None or flags.at or flags.nodes or flags.duration:
        check_scenario(scenario)
    return scenario


def _faults(at: Sequence[str]) -> list[Fault]:
    faults = []
    for given in at:
        time, _, action = given.strip().partition(" ")
        if not action:
            raise InputError(f"--at {given}: when, and then what? --at 10s 'kill c1'")
        try:
            faults.append(parse_fault(time, action))
        except InputError as error:
            raise InputError(f"--at: {error}") from None
    return faults


def _from_flags(flags: Flags, faults: tuple[Fault, ...]) -> Scenario:
    names = _names(flags.members)
    later = [fault.target for fault in faults if fault.kind is FaultKind.START]
    late = [name for name in dict.fromkeys(later) if name not in names and not name.startswith("node-")]
    topics = (QUICK_TOPIC,)
    members = [SimMember(name=name, topics=topics) for name in names]
    members += [SimMember(name=name, topics=topics, start_ms=None) for name in late]
    last_ms = max((fault.at_ms + (fault.duration_ms or 0) for fault in faults), default=0)
    topic = SimTopic(
        name=QUICK_TOPIC,
        partitions=flags.partitions or QUICK_PARTITIONS,
        records_per_s=QUICK_RATE if flags.rate is None else flags.rate,
    )
    return Scenario(
        name="quick",
        duration_ms=last_ms + _AFTER_LAST_FAULT_MS,
        settle_ms=_AFTER_LAST_FAULT_MS,
        nodes=flags.nodes or 3,
        topics=(topic,),
        members=tuple(members),
        faults=faults,
    )


def _names(members: str | None) -> list[str]:
    if members is None:
        members = str(QUICK_MEMBERS)
    if members.isascii() and members.isdigit():
        count = int(members) if len(members) < 10 else MEMBERS_MAX + 1
        if not 1 <= count <= MEMBERS_MAX:
            raise InputError(f"--members {members}: from 1 to {MEMBERS_MAX}")
        return [f"c{number}" for number in range(1, count + 1)]
    return members.split(",")


def _known_assignor(name: str) -> str:
    if name in CLIENT_ASSIGNORS:
        return name
    raise InputError(f"unknown assignor '{name}': {nearest_or_all(name, CLIENT_ASSIGNORS)}")


# ---- designs --------------------------------------------------------------------------------------
