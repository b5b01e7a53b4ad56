"""`kgroup simulate`: play brokers and members on a virtual clock, with faults, and look at what happens."""

import gc
import re
from typing import Annotated, Any, Final

import typer

from kgroup.cli.options.simulate import RULES, Flags, Kept, ScenarioName, Seeds, Shown
from kgroup.cli.shell.app import CommandHelp
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import check_options, given_options
from kgroup.cli.shell.options import Quiet, TraceableOutput
from kgroup.cli.shell.say import say
from kgroup.errors import InputError
from kgroup.report.emit import Column, OutputOptions, emit

EXAMPLES: Final = (
    Example(
        "Three members; one is killed, another comes",
        "kgroup simulate --members 3 --partitions 12 --assignor sticky --at 10s 'kill c1' --at 40s 'join c4'",
    ),
    Example("The scenarios that come with kgroup", "kgroup simulate --list"),
    Example("One of them, explained step by step", "kgroup simulate c1-leaves-under-sticky --explain"),
    Example(
        "What the same faults cost under three designs",
        "kgroup simulate herd-effect --compare eager,cooperative,zookeeper",
    ),
    Example(
        "The same with the consumer protocol, and with a migration to it and back",
        "kgroup simulate herd-effect --compare cooperative,consumer,migration",
    ),
    Example("Ten worlds full of trouble, with every promise checked", "kgroup simulate --seeds 10"),
    Example(
        "Real log files of what happened, for decode, replay and lag-report",
        'kgroup simulate gc-pause --log-dir "$(mktemp -d)"',
    ),
)
_ONLY_A_TIME: Final = re.compile(r"\S+")


class SimulateCommand(CommandHelp):
    """Takes `--at 10s 'kill c1'`, two words, as well as `--at '10s kill c1'`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the two words together: the click that typer brings has no repeated options of two values."""
        joined: list[str] = []
        words = iter(args)
        for word in words:
            joined.append(word)
            if word == "--at":
                time = next(words, None)
                if time is not None:
                    action = next(words, None) if _ONLY_A_TIME.fullmatch(time) else None
                    joined.append(time if action is None else f"{time} {action}")
        parsed: list[str] = super().parse_args(ctx, joined)
        return parsed


COMMAND_CLASS: Final = SimulateCommand


def simulate(
    *,
    context: typer.Context,
    scenario: ScenarioName = None,
    flags: Annotated[Flags, Bundle(Flags)],
    seeds: Annotated[Seeds, Bundle(Seeds)],
    shown: Annotated[Shown, Bundle(Shown)],
    traceable: TraceableOutput,
    kept: Annotated[Kept, Bundle(Kept)],
    quiet: Quiet = False,
) -> None:
    """Simulate brokers and members on a virtual clock.

    The same coordinators and members as in serve and join, with a network, clocks and faults that all
    follow from the seed: the same seed gives the same run. Checkers watch every run: no partition has two
    owners in a generation, acknowledged commits survive, dead members are out and living ones stay, no
    record is skipped, and once the faults are over every group settles. If one of them finds something, the
    status is 3.

    The output shows the generations, the states of each member over time (! marks a fault), who was given
    what, and what it cost. -o json has the same and ends with counts of seeds; -o jsonl has every event,
    with --seeds every run, and the counts at the end; csv and parquet have a line for each run. -o trace is
    for trace viewers: tracks of generations, members, what they read, requests, nodes and faults.

    \b
    Faults:
      join MEMBER                         start MEMBER or node-N
      leave MEMBER                        kill MEMBER or node-N [for DURATION]
      restart MEMBER or node-N [for DURATION]
      pause MEMBER or node-N for DURATION
      slow MEMBER by FACTOR for DURATION
      cut MEMBER or node-N [from OTHER] for DURATION
      lose by PERCENT% for DURATION       duplicate by PERCENT% for DURATION
      delay by DURATION for DURATION      slow-disk node-N by DURATION for DURATION
      skew MEMBER or node-N by [-]DURATION [for DURATION]
      grow TOPIC to PARTITIONS            create TOPIC
      subscribe MEMBER to TOPIC,... [for DURATION]
      unsubscribe MEMBER [for DURATION]   move GROUP
    coordinator is the node that coordinates the group; kgroup-scenario(5) explains each.
    """
    output = traceable.rows
    one_run = seeds.count is None and shown.compare is None and not shown.listing
    if traceable.is_trace and not one_run:
        raise InputError("-o trace is of a single run: leave out --seeds, --compare and --list")
    if shown.listing:
        _list(output)
        return
    check_options(RULES, given_options(context))
    # A world makes small values by the million and hardly any cycle: look for garbage less often.
    gc.set_threshold(50_000, 10, 10)
    from kgroup.api.simulate import SWARM, SWARMS
    from kgroup.cli.narrate.chosen_scenario import chosen_scenario
    from kgroup.cli.narrate.play import Playing, play_designs, play_once, play_seeds
    from kgroup.sim.designs import compared_designs, one_design
    from kgroup.sim.scenario.check import scenario_advice

    if scenario is None and seeds.count is not None and flags == Flags():
        scenario = SWARM
    chosen = chosen_scenario(scenario, flags, seeds.first)
    if not quiet:
        for line in scenario_advice(chosen):
            say(line)
    playing = Playing(
        name=chosen.name if scenario is None or scenario not in SWARMS else scenario,
        scenario=chosen,
        seed=seeds.first,
        output=output,
        quiet=quiet,
        explain=shown.explain,
        design=None if shown.design is None else one_design(shown.design),
    )
    if seeds.count is not None:
        play_seeds(playing, seeds.count, lambda seed: chosen_scenario(scenario, flags, seed))
    elif shown.compare is not None:
        play_designs(playing, compared_designs(shown.compare))
    else:
        play_once(playing, kept.log_dir, kept.trace, as_trace=traceable.is_trace)


def _list(output: OutputOptions) -> None:
    from kgroup.api.simulate import scenario_abouts

    rows = ({"scenario": name, "about": about} for name, about in scenario_abouts().items())
    emit(rows, (Column(name="scenario"), Column(name="about")), output)
