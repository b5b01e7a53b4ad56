"""`kgroup simulate`: play brokers and members on a virtual clock, with faults, and look at what happens."""

import gc
import re
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from kgroup.cli.shell.app import CommandHelp
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Output, Quiet
from kgroup.cli.shell.section import Section
from kgroup.errors import InputError
from kgroup.report.emit import Column, OutputFormat, OutputOptions, emit

EXAMPLES: Final = (
    Example(
        "Three members; one is killed, another comes",
        "kgroup simulate --members 3 --partitions 12 --assignor sticky --at 10s 'kill c1' --at 40s 'join c4'",
    ),
    Example("The scenarios that come with kgroup", "kgroup simulate --list"),
    Example("One of them, told step by step", "kgroup simulate c1-leaves-under-sticky --explain"),
    Example(
        "What the same faults cost under three designs",
        "kgroup simulate herd-effect --compare eager,cooperative,zookeeper",
    ),
    Example("Ten worlds full of trouble, with every promise checked", "kgroup simulate --seeds 10"),
    Example(
        "Real log files of what happened, for decode, replay and lag-report",
        'kgroup simulate gc-pause --log-dir "$(mktemp -d)"',
    ),
)
_SEEDS_MAX: Final = 1_000_000
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
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO",
            help="A scenario that comes with kgroup (--list), or a file: kgroup-scenario(5).",
            show_default=False,
        ),
    ] = None,
    members: Annotated[
        str | None,
        typer.Option(
            "--members",
            metavar="NAME,... | N",
            help="Without SCENARIO: the members, or how many: c1 to cN. By default 3.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions",
            metavar="N",
            min=1,
            max=10_000,
            help="Without SCENARIO: the partitions of the topic t. By default 12.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            metavar="R",
            min=0,
            max=1e6,
            help="Without SCENARIO: records per second that come in. By default 10.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            metavar="N",
            min=1,
            max=100,
            help="Brokers. By default 3.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    assignors: Annotated[
        list[str] | None,
        typer.Option(
            "--assignor",
            metavar="NAME",
            help="range, roundrobin, sticky or cooperative-sticky for all members, in order of preference;"
            " repeatable.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="TIME FAULT",
            help="A fault, so long after the start: 10s 'kill c1'; repeatable. The faults are above.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="DURATION",
            help="How long to play before the faults end. By default the scenario's, or a minute more than"
            " the last --at.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            min=0,
            help="What chance is drawn from.",
            rich_help_panel=Section.SETUP,
        ),
    ] = 0,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            metavar="N",
            min=1,
            max=_SEEDS_MAX,
            help="Play N seeds, from --seed on, and only check them; without SCENARIO the swarm, which is"
            " another small world for each seed.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    list_: Annotated[
        bool,
        typer.Option(
            "--list",
            help="List the scenarios that come with kgroup.",
            rich_help_panel=Section.SHOWN,
        ),
    ] = False,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="DESIGN,...",
            help="Play it as each of these, side by side: eager (range), cooperative (cooperative-sticky),"
            " zookeeper (Kafka 0.8's consumer), or assignors.",
            show_default=False,
            rich_help_panel=Section.SHOWN,
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Tell every step, and why it is taken, before the result.",
            rich_help_panel=Section.SHOWN,
        ),
    ] = False,
    output: Output,
    log_dir: Annotated[
        Path | None,
        typer.Option(
            "--log-dir",
            metavar="DIR",
            help="Keep the brokers' logs as real segment files in this new or empty folder.",
            show_default=False,
            rich_help_panel=Section.OUTPUT,
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Write every event to FILE as JSON lines.",
            show_default=False,
            rich_help_panel=Section.OUTPUT,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Play brokers and members on a virtual clock.

    The same coordinators and members as in serve and join, with a network, clocks and faults that all follow
    from the seed: the same seed gives the same run. Checkers watch every run: no partition with two owners
    in a generation, acknowledged commits survive, generations only grow, no record is skipped, and once the
    faults are over every group settles. If one of them finds something, the status is 3.

    Shown are the generations, the states of each member over time (! marks a fault), who was given what, and
    what it cost. -o json has the same and ends with counts of seeds; -o jsonl has every event, with --seeds
    every run, and the counts at the end; csv and parquet have a line for each run.

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
      grow TOPIC to PARTITIONS            move GROUP
    coordinator is the node that coordinates the group; kgroup-scenario(5) explains each.
    """
    if list_:
        _list(output)
        return
    for option, given in (
        ("--compare", compare),
        ("--explain", explain),
        ("--log-dir", log_dir),
        ("--trace", trace),
    ):
        if given and seeds is not None:
            raise InputError(f"{option} is for a single seed: leave out --seeds, and give --seed")
        if given and compare is not None and option in ("--log-dir", "--trace"):
            raise InputError(f"{option} is for a single run: leave out --compare")
    if explain and output.format is not OutputFormat.TABLE:
        raise InputError(
            f"--explain is text: leave out -o {output.format.value}; --trace FILE has the events"
        )
    # A world makes small values by the million and hardly any cycle: look for garbage less often.
    gc.set_threshold(50_000, 10, 10)
    from kgroup.cli.narrate.chosen_scenario import SWARM, Flags, chosen_scenario
    from kgroup.cli.narrate.play import Playing, play_designs, play_once, play_seeds
    from kgroup.sim.designs import compared_designs

    flags = Flags(
        members=members,
        partitions=partitions,
        rate=rate,
        nodes=nodes,
        assignors=assignors or (),
        at=at or (),
        duration=duration,
    )
    if scenario is None and seeds is not None and flags == Flags():
        scenario = SWARM
    chosen = chosen_scenario(scenario, flags, seed)
    playing = Playing(
        name=SWARM if scenario == SWARM else chosen.name,
        scenario=chosen,
        seed=seed,
        output=output,
        quiet=quiet,
        explain=explain,
    )
    if seeds is not None:
        play_seeds(playing, seeds, lambda seed: chosen_scenario(scenario, flags, seed))
    elif compare is not None:
        play_designs(playing, compared_designs(compare))
    else:
        play_once(playing, log_dir, trace)


def _list(output: OutputOptions) -> None:
    from kgroup.cli.narrate.chosen_scenario import SWARM, SWARM_ABOUT
    from kgroup.sim.scenario.file import load_shipped, shipped_names

    abouts = {SWARM: SWARM_ABOUT, **{name: load_shipped(name).about for name in shipped_names()}}
    rows = ({"scenario": name, "about": about} for name, about in sorted(abouts.items()))
    emit(rows, (Column(name="scenario"), Column(name="about")), output)
