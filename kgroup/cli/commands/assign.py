"""`kgroup assign`: who would get which partition, by any of Kafka's assignors."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.options.assign import RULES, Compare, GroupSource, Rebalances, StrictAboutFlaws
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import check_options
from kgroup.cli.shell.options import Output, Quiet
from kgroup.cli.shell.say import say
from kgroup.cli.shell.source import Given, opened
from kgroup.errors import FindingsError, InputError
from kgroup.report.destination import printing_to
from kgroup.report.emit import OutputFormat, OutputOptions, emit

if TYPE_CHECKING:
    from kgroup.api.group_model import LoggedGroup
    from kgroup.assignors.model import Topic
    from kgroup.assignors.planning.plan import GroupPlan
    from kgroup.assignors.planning.rounds import Round

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
    source: Annotated[GroupSource, Bundle(GroupSource)],
    rebalances: Annotated[Rebalances, Bundle(Rebalances)],
    compare: Compare = False,
    output: Output,
    quiet: Quiet = False,
    strict: StrictAboutFlaws = False,
) -> None:
    """Show which member gets which partition.

    The answers are those of Kafka 4.3.1's own assignors, flaws included: an answer that gives a partition
    to nobody, to two members or to one that does not want it is shown and marked as flawed. Several rounds
    show what moves. If cooperative-sticky must first take a partition from its owner, the rebalance that
    hands it out follows as a round of its own.

    Tables show ranges of partitions: 0-3,7. CHANGE is what was gained and lost. PAUSED partitions are not
    read while the group rebalances: under an eager assignor all partitions of members that stay, otherwise
    those that move. EACH is the fewest and the most partitions of any member, NEAR counts those whose
    member is in the rack of a replica. With --compare, JSON and CSV have a row for each round and assignor,
    otherwise one for each member.

    A file for --input has topics and members. A topic is a number of partitions, or {partitions: N, id: ID,
    racks: [[a, b], ...]} with the racks of each partition's replicas. A member is a list of topics, or
    {topics: [...], owned: {orders: [0, 1]}, instance: ID, rack: R, generation: N}. For example: {"topics":
    {"orders": 6}, "members": {"c1": ["orders"], "c2": {"topics": ["orders"], "rack": "a"}}}
    """
    from kgroup.api.assign import assign as assign_group
    from kgroup.assignors.registry import ASSIGNORS, names_of_version

    check_options(RULES, source.given)
    known = _read_group(source)
    assignors, version = rebalances.assignors, rebalances.kafka_version
    default = names_of_version(version) if compare else [known.assignor or "range"]
    if not assignors and not compare and known.assignor and known.assignor not in ASSIGNORS:
        raise InputError(
            f"group '{source.group}' uses the assignor '{known.assignor}', not one of Kafka's: say --assignor"
        )
    played = assign_group(known, assignors or default, then=rebalances.then or (), kafka_version=version)
    compare = compare or len({round_.assignor for round_ in played}) > 1
    _show(played, compare, output)
    for line in [*([] if quiet else [*known.notes, *_remarks(played)]), *known.problems]:
        say(line)
    failed = next((round_.error for round_ in played if round_.error), None)
    if failed and not compare:
        raise failed
    flawed = sum(bool(round_.flaws or round_.error) for round_ in played)
    if strict and flawed:
        raise FindingsError(f"{flawed} of {len(played)} answers are flawed or missing, as Kafka's would be")


def _read_group(source: GroupSource) -> "LoggedGroup":
    from kgroup.api.group_model import LoggedGroup
    from kgroup.assignors.planning.steps import parse_topic

    if source.input_file is not None:
        from kgroup.api.plan_file import read_plan

        return LoggedGroup(plan=read_plan(source.input_file, sys.stdin.buffer), assignor=None)
    named = _distinct([parse_topic(text) for text in source.topics or ()])
    if source.members is not None:
        return LoggedGroup(plan=_plan_of_flags(source.members, named), assignor=None)
    assert source.group is not None
    from kgroup.api.logged_group import read_logged_group

    with opened(Given(paths=tuple(source.log_paths), connection=source.connection)) as logs:
        return read_logged_group(logs, source.group, log_ends=source.log_ends, topics=named)


def _distinct(topics: "list[Topic]") -> "list[Topic]":
    names = [topic.name for topic in topics]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--topic {name}: given twice")
    return topics


def _plan_of_flags(members: str, topics: "list[Topic]") -> "GroupPlan":
    from kgroup.api.assign import plan_of

    if not topics:
        raise InputError("--members needs topics: --topic orders:6")
    if members.isascii() and members.isdigit():
        if not 1 <= int(members) <= _MEMBERS_MAX:
            raise InputError(f"--members {members}: 1 to {_MEMBERS_MAX}")
        ids = [f"c{number}" for number in range(1, int(members) + 1)]
    else:
        ids = members.split(",")
    if not all(ids):
        raise InputError(f"--members '{members}': an empty member id")
    if len(set(ids)) < len(ids):
        twice = next(member_id for member_id in ids if ids.count(member_id) > 1)
        raise InputError(f"--members: '{twice}' is given twice")
    return plan_of(ids, {topic.name: topic.partitions for topic in topics})


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
