"""`kgroup simulate`: play brokers and members on a virtual clock, with faults, and watch what happens."""

import gc
import re
from functools import partial
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
    Example("A scenario, explained step by step", "kgroup simulate c1-leaves-under-sticky --explain"),
    Example(
        "What the same faults cost under three designs",
        "kgroup simulate herd-effect --compare eager,cooperative,zookeeper",
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

    The coordinators and members of serve and join, with a network, clocks and faults that follow from a seed;
    status 3 if a checker finds a broken promise. -o jsonl has every event; in lanes, ! marks a fault.

    \b
    Faults; FOR is "for DURATION", X and Y are MEMBER, node-N or coordinator:
      join MEMBER, leave MEMBER             start X, kill X [FOR], restart X [FOR]
      pause X FOR                           cut X [from Y] FOR
      slow MEMBER by FACTOR FOR             skew X by [-]DURATION [FOR]
      subscribe MEMBER to TOPIC,... [FOR]   unsubscribe MEMBER [FOR]
      lose by PERCENT% FOR                  duplicate by PERCENT% FOR
      fail-appends TOPIC by PERCENT% FOR    lag-replicas TOPIC by DURATION FOR
      delay by DURATION FOR                 slow-disk node-N by DURATION FOR
      grow TOPIC to PARTITIONS              create TOPIC, move GROUP
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
        play_seeds(playing, seeds.count, seeds.jobs, partial(chosen_scenario, scenario, flags))
    elif shown.compare is not None:
        play_designs(playing, compared_designs(shown.compare))
    else:
        play_once(playing, kept.log_dir, kept.trace, as_trace=traceable.is_trace)


def _list(output: OutputOptions) -> None:
    from kgroup.api.simulate import scenario_abouts

    rows = ({"scenario": name, "about": about} for name, about in scenario_abouts().items())
    emit(rows, (Column(name="scenario"), Column(name="about")), output)
