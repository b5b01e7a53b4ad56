"""Views of the runs of `kgroup simulate`: generations, states, shares, and measures side by side."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Final

from kgroup.api.simulate import measure_rows
from kgroup.group.member.consumer.identity import ConsumerState
from kgroup.group.member.identity import MemberState
from kgroup.group.member.settings import GroupProtocol
from kgroup.protocol.topic_partition import TopicPartition, group_by_topic
from kgroup.report.assignments import runs_by_topic
from kgroup.report.emit import Column, Kind, OutputOptions, Row, emit
from kgroup.report.table import printable
from kgroup.report.timeline.state_lanes import WIDTH, Lane, Picture, draw_lanes
from kgroup.sim.chronicle import LETTERS, Chronicle, Formed
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.watch.result import CHECKERS, KNOWN, Run, Violation

GENERATION_TABLE: Final = (
    Column(name="generation", header="GEN", kind=Kind.INTEGER),
    Column(name="at_ms", header="AT", kind=Kind.DURATION_MS),
    Column(name="members", header="N", kind=Kind.INTEGER),
    Column(name="moved", kind=Kind.INTEGER),
    Column(name="protocol"),
    Column(name="why"),
)
_LEGENDS: Final = {
    GroupProtocol.CLASSIC: {LETTERS[state]: state.value for state in MemberState},
    GroupProtocol.CONSUMER: {LETTERS[state]: state.value for state in ConsumerState},
}
_GENERATIONS_SHOWN_MAX: Final = 40


def history(chronicle: Chronicle) -> Row:
    """Everything about one run besides its measures: generations with their shares, states since when."""
    names = {letter: state.value for state, letter in LETTERS.items()}
    return {
        "history": [
            {
                **_generation_row(each),
                "shares": {name: group_by_topic(share) for name, share in sorted(each.shares.items())},
            }
            for each in chronicle.generations()
        ],
        "states": {
            name: [[at_ms, names.get(letter)] for at_ms, letter in changes]
            for name, changes in chronicle.states.items()
        },
    }


def print_title(scenario: Scenario, design: str | None, seed: int) -> None:
    """The scenario's name, and what it is about."""
    title = ", ".join([scenario.name, *([] if design is None else [design]), f"seed {seed}"])
    about = f": {scenario.about}" if scenario.about else ""
    print(fill(printable(title + about), WIDTH))


def print_run(run: Run, chronicle: Chronicle, *, headers: bool) -> None:
    """Generations, states and shares of one run."""
    formed = chronicle.generations()
    if formed:
        print()
        _print_generations(formed, headers=headers)
    print()
    for line in draw_lanes(_picture(run, chronicle)):
        print(line)
    for at_ms, member, why in chronicle.failures:
        print(fill(printable(f"{member} ended at {at_ms / 1000:g}s: {why}"), WIDTH, subsequent_indent="  "))
    print()
    _print_shares(chronicle, formed, headers=headers)


def _print_generations(formed: Sequence[Formed], *, headers: bool) -> None:
    several = len({each.group for each in formed}) > 1
    columns = (Column(name="group"), *GENERATION_TABLE) if several else GENERATION_TABLE
    shown = formed[-_GENERATIONS_SHOWN_MAX:]
    if len(shown) < len(formed):
        print(f"the last {len(shown)} of {len(formed)} generations:")
    emit(map(_generation_row, shown), columns, OutputOptions(headers=headers))


def _generation_row(formed: Formed) -> Row:
    return {
        "group": formed.group,
        "generation": formed.generation,
        "at_ms": formed.at_ms,
        "members": formed.members,
        "moved": formed.moved,
        "protocol": formed.protocol or None,
        "why": formed.why,
    }


def _picture(run: Run, chronicle: Chronicle) -> Picture:
    return Picture(
        end_ms=run.end_ms - run.scenario.epoch_ms,
        lanes=[Lane(name=name, changes=changes) for name, changes in chronicle.states.items()],
        calm=" -",
        marks=chronicle.fault_times,
        legend={**_legend(run.scenario, chronicle), **({"!": "fault"} if chronicle.fault_times else {})},
    )


def _legend(scenario: Scenario, chronicle: Chronicle) -> dict[str, str]:
    """The letters of the protocols that its members speak; of the consumer protocol's seven those in use."""
    shown = {letter for changes in chronicle.states.values() for _, letter in changes}
    spoken = {member.protocol for member in scenario.members}
    if any(member.switches_ms for member in scenario.members):
        spoken = set(GroupProtocol)
    return {
        letter: word
        for protocol in GroupProtocol
        if protocol in spoken
        for letter, word in _LEGENDS[protocol].items()
        if protocol is GroupProtocol.CLASSIC or letter in shown
    }


def _print_shares(chronicle: Chronicle, formed: Sequence[Formed], *, headers: bool) -> None:
    """Members down; across, the last generations of each group that fit next to each other, or the end."""
    groups = list(dict.fromkeys(member.group for member in chronicle.scenario.members))
    for number, group in enumerate(groups):
        if number:
            print()
        members = [member.name for member in chronicle.scenario.members if member.group == group]
        generations = [each for each in formed if each.group == group]
        columns, rows = _share_table(members, generations, chronicle.last_reads())
        emit(rows, columns, OutputOptions(headers=headers))


def _share_table(
    members: Sequence[str],
    generations: Sequence[Formed],
    last_reads: Mapping[str, tuple[TopicPartition, ...]],
) -> tuple[list[Column], list[Row]]:
    cells: list[tuple[str, dict[str, str]]] = []
    room = WIDTH - max(len("MEMBER"), *map(len, members))
    for each in reversed(generations):
        heading = f"GENERATION {each.generation}"
        texts = {member: runs_by_topic(share) or "-" for member, share in each.shares.items()}
        room -= 2 + max(len(heading), *map(len, texts.values()), 0)
        if room < 0 and cells:
            break
        cells.insert(0, (heading, texts))
    if not cells:
        cells = [("AT THE END", {name: runs_by_topic(last_reads[name]) or "-" for name in members})]
    columns = [Column(name="member"), *(Column(name=heading, header=heading) for heading, _ in cells)]
    rows: list[Row] = [
        {"member": member, **{heading: texts.get(member) for heading, texts in cells}} for member in members
    ]
    return columns, rows


def print_measures(runs: Sequence[tuple[str, Run]], *, headers: bool) -> None:
    """Measures down, designs across."""
    columns = [
        Column(name="measure"),
        *(Column(name=design, kind=Kind.INTEGER) for design, _ in runs),
    ]
    emit(measure_rows(runs), columns, OutputOptions(headers=headers))


def violation_lines(run: Run) -> Iterator[str]:
    """The checkers' findings, a line each."""
    for each in run.violations:
        yield f"{_when(run, each)}: {each.checker} ({CHECKERS[each.checker]}): {each.what}"


def known_lines(run: Run) -> Iterator[str]:
    """Promises that did not hold although everybody behaved as Kafka's own code, a line each."""
    for each in run.known:
        yield f"{_when(run, each)}: {each.what}: {KNOWN[each.checker]}"


def _when(run: Run, found: Violation) -> str:
    return f"seed {run.seed}, {(found.at_ms - run.scenario.epoch_ms) / 1000:.3f}s"


def print_seeds(counts: Row, *, headers: bool) -> None:
    """Print the number of seeds that passed."""
    columns = (
        Column(name="scenario"),
        Column(name="seeds", kind=Kind.INTEGER),
        Column(name="passed", kind=Kind.INTEGER),
        Column(name="failed", kind=Kind.INTEGER),
        Column(name="failing_seeds", kind=Kind.NESTED),
    )
    emit([counts], columns, OutputOptions(headers=headers))
