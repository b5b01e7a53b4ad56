"""The options of `simulate`: the scenario, the seeds, and the views and files of the result."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.cli.shell.complete_lists import complete_client_assignors, complete_scenarios
from kgroup.cli.shell.option_checks import Clash, Needs, Rule
from kgroup.cli.shell.options import new_file
from kgroup.cli.shell.section import Section, option

_SEEDS_MAX: Final = 1_000_000
_JOBS_MAX: Final = 256

RULES: Final[tuple[Rule, ...]] = (
    Clash(
        options={"--as", "--compare", "--explain", "--log-dir", "--trace"},
        others={"--seeds"},
        why="{option} is for a single seed: leave out --seeds, and give --seed",
    ),
    Clash(
        options={"--as", "--log-dir", "--trace"},
        others={"--compare"},
        why="{option} is for a single run: leave out --compare; --as DESIGN plays one design",
    ),
    Needs(options={"--jobs"}, one_of={"--seeds"}, why="--jobs is for many seeds: give --seeds N too"),
    Clash(
        options={"--explain"},
        others={"--format"},
        why="--explain is text: leave out -o {value}; --trace FILE has the events",
    ),
)

OF_A_SCENARIO: Final[tuple[Rule, ...]] = (
    Clash(
        options={"--members", "--partitions", "--rate"},
        others={"SCENARIO"},
        why="{option}: the scenario '{value}' already sets that",
    ),
)

ScenarioName = Annotated[
    str | None,
    typer.Argument(
        metavar="SCENARIO",
        help="One of --list or a file, kgroup-scenario(5); without it --members, --partitions and --rate"
        " count.",
        show_default=False,
        autocompletion=complete_scenarios,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """The flags that describe the scenario; None or empty: not given."""

    members: Annotated[
        str | None,
        option(
            "--members",
            metavar="NAME,... | N",
            help="Members, or how many (c1 to cN). Default: 3.",
            section=Section.SETUP,
        ),
    ] = None
    partitions: Annotated[
        int | None,
        option(
            "--partitions",
            metavar="N",
            min=1,
            max=10_000,
            help="Partitions of topic t. Default: 12.",
            section=Section.SETUP,
        ),
    ] = None
    rate: Annotated[
        float | None,
        option(
            "--rate",
            metavar="R",
            min=0,
            max=1e6,
            help="Records per second. Default: 10.",
            section=Section.SETUP,
        ),
    ] = None
    nodes: Annotated[
        int | None,
        option("--nodes", metavar="N", min=1, max=100, help="Brokers. Default: 3.", section=Section.SETUP),
    ] = None
    assignors: Annotated[
        list[str] | None,
        option(
            "--assignor",
            metavar="NAME",
            help="For all members, in order of preference; repeatable.",
            section=Section.SETUP,
            autocompletion=complete_client_assignors,
        ),
    ] = None
    at: Annotated[
        list[str] | None,
        option(
            "--at",
            metavar="TIME FAULT",
            help="Inject a fault at a time: 10s 'kill c1'; repeatable.",
            section=Section.SETUP,
        ),
    ] = None
    duration: Annotated[
        str | None,
        option(
            "--for",
            metavar="DURATION",
            help="How long to run before faults end.",
            section=Section.SETUP,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeds:
    """The first seed to play, and the number of seeds; None: only that one, shown in full."""

    first: Annotated[
        int,
        option(
            "--seed",
            metavar="N",
            min=0,
            help="Random seed.",
            section=Section.SETUP,
            show_default=True,
        ),
    ] = 0
    count: Annotated[
        int | None,
        option(
            "--seeds",
            metavar="N",
            min=1,
            max=_SEEDS_MAX,
            help="Only check N seeds, from --seed on.",
            section=Section.SETUP,
        ),
    ] = None
    jobs: Annotated[
        int | None,
        option(
            "--jobs",
            metavar="N",
            min=1,
            max=_JOBS_MAX,
            help="Processes for --seeds (all cores).",
            section=Section.SETUP,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The options under "What to show"."""

    listing: Annotated[
        bool, option("--list", help="List the scenarios that come with kgroup.", section=Section.SHOWN)
    ] = False
    compare: Annotated[
        str | None,
        option(
            "--compare",
            metavar="DESIGN,...",
            help="Run it with each: eager, cooperative, consumer (KIP-848),"
            " migration, zookeeper, or assignors.",
            section=Section.SHOWN,
        ),
    ] = None
    design: Annotated[
        str | None,
        option(
            "--as",
            metavar="DESIGN",
            help="Run it with one of these, and show that run.",
            section=Section.SHOWN,
        ),
    ] = None
    explain: Annotated[
        bool,
        option(
            "--explain",
            help="Print every step, and the reason, before the result.",
            section=Section.SHOWN,
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Files written in addition to the result."""

    log_dir: Annotated[
        Path | None,
        option(
            "--log-dir",
            metavar="DIR",
            help="Keep the brokers' logs in this new or empty folder.",
            section=Section.OUTPUT,
        ),
    ] = None
    trace: Annotated[
        Path | None,
        option(
            "--trace",
            metavar="FILE",
            callback=new_file,
            help="Write every event to FILE as JSON lines.",
            section=Section.OUTPUT,
        ),
    ] = None
