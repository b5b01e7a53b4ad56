"""The scenario a command line names: a shipped one, a file, or flags."""

from collections.abc import Sequence
from dataclasses import replace

from kgroup.api.simulate import (
    QUICK_MEMBERS,
    QUICK_NODES,
    QUICK_PARTITIONS,
    QUICK_RATE,
    named_scenario,
    quick_scenario,
    with_known_assignors,
)
from kgroup.cli.options.simulate import OF_A_SCENARIO, Flags
from kgroup.cli.shell.option_checks import check_options
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError
from kgroup.sim.scenario.actions import parse_fault
from kgroup.sim.scenario.check import check_scenario
from kgroup.sim.scenario.keys import MEMBERS_MAX
from kgroup.sim.scenario.scenario import Fault, Scenario


def chosen_scenario(name: str | None, flags: Flags, seed: int) -> Scenario:
    """The scenario for this seed; only SWARMS have another one for each.

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
        scenario = named_scenario(name, seed)
        scenario = replace(scenario, faults=(*scenario.faults, *faults))
        if flags.nodes is not None:
            scenario = replace(scenario, nodes=flags.nodes)
    if flags.duration is not None:
        scenario = replace(scenario, duration_ms=parse_length(flags.duration, "--for"))
    if flags.assignors:
        scenario = with_known_assignors(scenario, flags.assignors)
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
    return quick_scenario(
        _names(flags.members),
        faults,
        partitions=flags.partitions or QUICK_PARTITIONS,
        records_per_s=QUICK_RATE if flags.rate is None else flags.rate,
        nodes=flags.nodes or QUICK_NODES,
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
