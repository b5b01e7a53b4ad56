"""`kgroup assign`: who would get which partition, by any of Kafka's assignors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.shell.complete_names import complete_groups
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Connection, Output, Paths, Quiet
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section
from kgroup.errors import FindingsError, InputError
from kgroup.report.destination import printing_to
from kgroup.report.emit import OutputFormat, OutputOptions, emit

if TYPE_CHECKING:
    from kgroup.assignors.model import Topic
    from kgroup.assignors.planning.plan import GroupPlan
    from kgroup.assignors.planning.rounds import Round
    from kgroup.net.connect.properties import ConnectionOptions

EXAMPLES: Final = (
    Example(
        "Three members and a topic of six partitions; then one leaves, and another joins",
        "kgroup assign --members c1,c2,c3 --topic orders:6 --assignor sticky"
        " --then 'leave c1' --then 'join c4'",
    ),
    Example(
        "All assignors side by side, for 200 members",
        "kgroup assign --members 200 --topic big:10000 --compare",
    ),
    Example(
        "What the next rebalance of a group in a captured log would do",
        "kgroup assign fixtures/4.3.1/lives --group orders-app --then 'grow orders:12'",
    ),
    Example(
        "What other assignors would do with a live group",
        "kgroup assign -b localhost:9092 --group orders-app --compare",
    ),
    Example(
        "A group with racks, instance ids and different subscriptions, from a file",
        "printf 'topics: {orders: 6}\\nmembers: {c1: [orders], c2: {topics: [orders], instance: i2}}\\n'"
        " | kgroup assign --input - --assignor range -o json",
    ),
)

_MEMBERS_MAX: Final = 100_000


def assign(
    *,
    paths: Paths = None,
    connection: Connection,
    members: Annotated[
        str | None,
        typer.Option(
            "--members",
            metavar="ID,... | N",
            help="The members in the order in which they join, with all topics; or how many: c1 to cN.",
            show_default=False,
            rich_help_panel=Section.SOURCE,
        ),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="TOPIC:N",
            help="A topic and its number of partitions, over what is known of a recorded group; repeatable.",
            show_default=False,
            rich_help_panel=Section.SOURCE,
        ),
    ] = None,
    input_file: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="A group in JSON or YAML, - for standard input; its form is above.",
            show_default=False,
            rich_help_panel=Section.SOURCE,
        ),
    ] = None,
    log_dirs: Annotated[
        list[str] | None,
        typer.Option(
            "--log-dir",
            metavar="PATH",
            help="Another way to give a PATH; repeatable.",
            hidden=True,  # from when assign took no PATH as the other commands do
            rich_help_panel=Section.SOURCE,
        ),
    ] = None,
    log_ends: Annotated[
        Path | None,
        typer.Option(
            "--log-ends",
            metavar="FILE",
            help="With PATH: partition counts from a file as for lag-report.",
            show_default=False,
            rich_help_panel=Section.SOURCE,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="NAME",
            autocompletion=complete_groups,
            help="The group to take from PATH or --bootstrap-server.",
            show_default=False,
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    assignors: Annotated[
        list[str] | None,
        typer.Option(
            "--assignor",
            metavar="NAME",
            help="range, roundrobin, sticky, cooperative-sticky; uniform, server-range of consumer groups;"
            " simple of share groups. By default the log's, else range. Repeatable.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    kafka_version: Annotated[
        str | None,
        typer.Option(
            "--kafka-version",
            metavar="VERSION",
            help="2.4 for the answers of the clients of Kafka 2.4; by default 4.3, as 3.9 answers.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    then: Annotated[
        list[str] | None,
        typer.Option(
            "--then",
            metavar="STEP",
            help="A further rebalance after 'leave ID', 'join ID [topics=a,b] [instance=I] [rack=R]',"
            " or 'grow TOPIC:N'; repeatable.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Put assignors side by side, all unless --assignor names some.",
            rich_help_panel=Section.SHOWN,
        ),
    ] = False,
    output: Output,
    quiet: Quiet = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with status 3 if an answer is flawed, or Kafka would give none.",
            rich_help_panel=Section.BEHAVIOUR,
        ),
    ] = False,
) -> None:
    """Say which member gets which partition.

    The answers are those that Kafka 4.3.1's own assignors compute, flaws included: an answer that gives a
    partition to nobody, to two members or to one that does not want it is shown and said to be flawed.
    Several rounds show what moves. Where cooperative-sticky must take a partition from its owner first, the
    rebalance that hands it out follows as a round of its own.

    Tables show runs of partitions: 0-3,7. CHANGE is gained and lost. PAUSED partitions are not read while
    the group rebalances: under an eager assignor all that staying members have, else those that move. EACH
    is the least and the most partitions of one member, NEAR those with a member in a rack of a replica.
    With --compare, JSON and CSV have a row for each round and assignor, else one for each member.

    A file for --input has topics and members. A topic is a number of partitions, or {partitions: N,
    id: ID, racks: [[a, b], ...]} with the racks of each partition's replicas. A member is a list of topics,
    or {topics: [...], owned: {orders: [0, 1]}, instance: ID, rack: R, generation: N}. For example:
    {"topics": {"orders": 6}, "members": {"c1": ["orders"], "c2": {"topics": ["orders"], "rack": "a"}}}
    """
    from kgroup.assignors.planning.rounds import run_rounds
    from kgroup.assignors.registry import ASSIGNORS, find_names, names_of_version

    recorded = [*(paths or []), *(log_dirs or [])]
    source = _read_source(members, topics or [], input_file, recorded, connection, group, log_ends)
    default = names_of_version(kafka_version) if compare else [source.assignor or "range"]
    if not assignors and not compare and source.assignor and source.assignor not in ASSIGNORS:
        raise InputError(
            f"group '{group}' uses the assignor '{source.assignor}', not one of Kafka's: say --assignor"
        )
    names = find_names(assignors or default, kafka_version)
    if len(names) > 1:
        compare = True
    played = [round_ for name in names for round_ in run_rounds(source.plan, name, then or [])]
    _show(played, compare, output)
    for line in [*([] if quiet else [*source.notes, *_remarks(played)]), *source.problems]:
        say(line)
    failed = next((round_.error for round_ in played if round_.error), None)
    if failed and not compare:
        raise failed
    flawed = sum(bool(round_.flaws or round_.error) for round_ in played)
    if strict and flawed:
        raise FindingsError(f"{flawed} of {len(played)} answers are flawed or missing, as Kafka's would be")


@dataclass(frozen=True, slots=True)
class _Source:
    """A group, the assignor that it is known to use, and what there is to say about where it is from.

    `problems` are what could not be read there.
    """

    plan: "GroupPlan"
    assignor: str | None = None
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def _read_source(
    members: str | None,
    topics: list[str],
    input_file: str | None,
    paths: list[str],
    connection: "ConnectionOptions | None",
    group: str | None,
    log_ends: Path | None,
) -> _Source:
    from kgroup.assignors.planning.steps import parse_topic

    given = [
        flag
        for flag, value in (
            ("--members", members),
            ("--input", input_file),
            ("PATH", paths),
            ("--bootstrap-server", connection),
        )
        if value
    ]
    if len(given) != 1:
        raise InputError(
            "give the group one way: --members and --topic, --input FILE, or PATH or --bootstrap-server"
            " and --group" + (f"; not {' and '.join(given)}" if given else "")
        )
    recorded = bool(paths or connection)
    if recorded and group is None:
        raise InputError(
            "no --group given: the group to take from there; a file of topics and members is for --input"
        )
    if group is not None and not recorded:
        raise InputError("--group belongs together with PATH or --bootstrap-server")
    if log_ends and not recorded:
        raise InputError("--log-ends goes with PATH or --bootstrap-server")
    if input_file is not None:
        from kgroup.api.plan_file import read_plan

        if topics:
            raise InputError("--topic: the file of --input has the topics")
        return _Source(read_plan(input_file))
    named = _distinct([parse_topic(text) for text in topics])
    if members is not None:
        return _Source(_plan_of_flags(members, named))
    from kgroup.api.logged_group import read_logged_group

    assert group is not None
    if connection is None:
        logged = read_logged_group(paths, group, log_ends, named)
    else:
        from kgroup.api.live import live_log

        with live_log(connection, group=group) as live:
            listing = live.cluster.log_listing()
            logged = read_logged_group([live.folder], group, log_ends, named, listing)
    return _Source(logged.plan, logged.assignor, logged.notes, logged.problems)


def _distinct(topics: "list[Topic]") -> "list[Topic]":
    names = [topic.name for topic in topics]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--topic {name}: given twice")
    return topics


def _plan_of_flags(members: str, topics: "list[Topic]") -> "GroupPlan":
    from kgroup.assignors.planning.plan import PlanMember, new_plan

    if not topics:
        raise InputError("--members needs topics: --topic orders:6")
    if members.isascii() and members.isdigit():
        if int(members) > _MEMBERS_MAX:
            raise InputError(f"--members {members}: more than {_MEMBERS_MAX}")
        ids = [f"c{number}" for number in range(1, int(members) + 1)]
    else:
        ids = members.split(",")
    if not all(ids):
        raise InputError(f"--members '{members}': an empty member id")
    if len(set(ids)) < len(ids):
        twice = next(member_id for member_id in ids if ids.count(member_id) > 1)
        raise InputError(f"--members: '{twice}' is there twice")
    names = tuple(topic.name for topic in topics)
    return new_plan([PlanMember(member_id=member_id, topics=names) for member_id in ids], topics)


def _show(played: "Sequence[Round]", compare: bool, options: OutputOptions) -> None:
    from kgroup.report.assignments import MEMBER_COLUMNS, SCORE_COLUMNS, json_member_rows, score_rows

    if options.format is OutputFormat.TABLE:
        _show_tables(played, compare, options)
    elif compare:
        emit(score_rows(played), SCORE_COLUMNS, options)
    else:
        emit(json_member_rows(played), MEMBER_COLUMNS, options)


def _show_tables(played: "Sequence[Round]", compare: bool, options: OutputOptions) -> None:
    from kgroup.report.assignments import print_comparison, print_rounds

    with printing_to(options.path):
        (print_comparison if compare else print_rounds)(played, headers=options.headers)


def _remarks(played: "Sequence[Round]") -> Iterator[str]:
    for round_ in played:
        if round_.flaws:
            answer = f"{round_.assignor}, round {round_.number}: {', '.join(round_.flaws)}"
            yield f"{answer}: a flawed answer, and the one that Kafka gives all the same"
