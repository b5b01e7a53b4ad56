"""The options of `assign`: the group, its source, and the rebalances it goes through."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from kgroup.cli.shell.complete_lists import complete_assignors
from kgroup.cli.shell.complete_names import complete_groups
from kgroup.cli.shell.option_checks import Clash, GivenOptions, Needs, OneOf, Rule
from kgroup.cli.shell.options import Connection, Paths
from kgroup.cli.shell.section import Section, option

_ONE_WAY: Final = (
    "give the group one way: --members and --topic, --input FILE, or PATH or --bootstrap-server and --group"
)
_RECORDED: Final = {"PATH", "--bootstrap-server"}

RULES: Final[tuple[Rule, ...]] = (
    OneOf(
        options=("--members", "--input", "PATH", "--bootstrap-server"),
        none=_ONE_WAY,
        several=_ONE_WAY + "; not {given}",
    ),
    Needs(
        options=_RECORDED,
        one_of={"--group"},
        why="no --group given: the group to take from there; a file of topics and members is for --input",
    ),
    Needs(
        options={"--group"},
        one_of=_RECORDED,
        why="--group belongs together with PATH or --bootstrap-server",
    ),
    Needs(
        options={"--log-ends"},
        one_of=_RECORDED,
        why="--log-ends goes with PATH or --bootstrap-server",
    ),
    Clash(options={"--topic"}, others={"--input"}, why="--topic: the file of --input has the topics"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSource:
    """The options that name the group and its source."""

    paths: Paths = None
    connection: Connection
    members: Annotated[
        str | None,
        option(
            "--members",
            metavar="ID,... | N",
            help="The members in the order they join, subscribed to all topics; or how many (c1 to cN).",
            section=Section.SOURCE,
        ),
    ] = None
    topics: Annotated[
        list[str] | None,
        option(
            "--topic",
            metavar="TOPIC:N",
            help="A topic and its number of partitions; overrides a recorded group's. Repeatable.",
            section=Section.SOURCE,
        ),
    ] = None
    input_file: Annotated[
        str | None,
        option(
            "--input",
            metavar="FILE",
            help="A group in JSON or YAML, - for standard input; the format is above.",
            section=Section.SOURCE,
        ),
    ] = None
    log_dirs: Annotated[
        list[str] | None,
        option(
            "--log-dir",
            metavar="PATH",
            help="Same as PATH; repeatable.",
            hidden=True,  # from when assign took no PATH as the other commands do
            section=Section.SOURCE,
        ),
    ] = None
    log_ends: Annotated[
        Path | None,
        option(
            "--log-ends",
            metavar="FILE",
            help="With PATH: partition counts from a file, as for lag-report.",
            section=Section.SOURCE,
        ),
    ] = None
    group: Annotated[
        str | None,
        option(
            "--group",
            metavar="NAME",
            autocompletion=complete_groups,
            help="The group to take from PATH or --bootstrap-server.",
            section=Section.SELECTION,
        ),
    ] = None

    @property
    def log_paths(self) -> list[str]:
        """Every PATH, as an argument or by --log-dir."""
        return [*(self.paths or ()), *(self.log_dirs or ())]

    @property
    def given(self) -> GivenOptions:
        """The options as `RULES` takes them."""
        return {
            "--members": self.members,
            "--topic": self.topics,
            "--input": self.input_file,
            "PATH": self.log_paths,
            "--bootstrap-server": self.connection,
            "--group": self.group is not None,
            "--log-ends": self.log_ends,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalances:
    """The options under "Setup": assignors, and later changes to the group."""

    assignors: Annotated[
        list[str] | None,
        option(
            "--assignor",
            metavar="NAME",
            help="range, roundrobin, sticky, cooperative-sticky; uniform, server-range for consumer groups;"
            " simple for share groups. Default: the log's, or range. Repeatable.",
            section=Section.SETUP,
            autocompletion=complete_assignors,
        ),
    ] = None
    kafka_version: Annotated[
        str | None,
        option(
            "--kafka-version",
            metavar="VERSION",
            help="2.4 for the answers of Kafka 2.4 clients. Default: 4.3, which answers like 3.9.",
            section=Section.SETUP,
        ),
    ] = None
    then: Annotated[
        list[str] | None,
        option(
            "--then",
            metavar="STEP",
            help="Another rebalance, after 'leave ID', 'join ID [topics=a,b] [instance=I] [rack=R]',"
            " or 'grow TOPIC:N'; repeatable.",
            section=Section.SETUP,
        ),
    ] = None


Compare = Annotated[
    bool,
    option(
        "--compare",
        help="Show assignors side by side: all, or those --assignor names.",
        section=Section.SHOWN,
    ),
]
StrictAboutFlaws = Annotated[
    bool,
    option(
        "--strict",
        help="Exit with status 3 if an answer is flawed, or Kafka would give none.",
        section=Section.BEHAVIOUR,
    ),
]
