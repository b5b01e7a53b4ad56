"""Incidents with their diary: is what was wrong named, and is who was well left in peace?

A path is a folder with captures that have a `story.json` (snapshots beside one with their `times.json`),
also packed as .tar.xz; or one with the list of lives to play, `tests/incidents`. A condition that a log can
tell is a case, failed unless an accepted name stands at first place; so are a group that is well, failed if
accused, and the graded causes of a life's departures. What is not judged is printed with the reason, and not
counted. Last come the sums, and beside them what the alarms that most have would do.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from tarfile import TarError

from kgroup.errors import KgroupError
from tests.incidents.judging import Figures, Verdict, judge_captures, judge_library
from tests.incidents.library import NAME, Incident, read_library
from tests.incidents.verdicts import Outcome
from tests.vectors.case import Case, VectorError


def cases(path: Path) -> Iterator[Case]:
    verdicts: list[Verdict] = []
    is_library = (path / NAME).exists()
    try:
        for verdict in _of_library(path) if is_library else judge_captures(path):
            verdicts.append(verdict)
            print(line(verdict))
            if verdict.held is None:
                yield Case(verdict.name, verdict.failure)
    except (KgroupError, TarError, ValueError, KeyError) as error:
        yield Case(str(path), f"{type(error).__name__}: {error}")
        return
    if not verdicts:
        raise VectorError("no story.json here or below, and no list of lives")
    for sentence in sums(verdicts):
        print(sentence)


def _of_library(path: Path) -> Iterator[Verdict]:
    library = read_library(path)
    for incident in library.incidents:
        if incident.not_in_log is not None:
            yield not_in_log(incident)
    for _, verdicts in judge_library(library):
        yield from verdicts


def not_in_log(incident: Incident) -> Verdict:
    return Verdict(name=incident.id, group="", condition="not in a log", held=incident.not_in_log)


def line(verdict: Verdict) -> str:
    if verdict.held is not None:
        said = f" ({verdict.judged.outcome}: {verdict.judged.said})" if verdict.judged else ""
        return f"held     {verdict.name}: {verdict.held}{said}"
    if verdict.judged is not None:
        return f"{verdict.judged.outcome:8} {verdict.name}: {verdict.judged.said}"
    if verdict.is_healthy:
        return f"{'ACCUSED' if verdict.against else 'in peace'} {verdict.name}"
    return f"{verdict.right_causes:3} right  {verdict.name}, {len(verdict.against)} wrong"


def sums(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """The figures in sentences."""
    verdicts = list(verdicts)
    figures = Figures.of(verdicts)
    held = sum(verdict.held is not None and verdict.judged is None for verdict in verdicts)
    parts = ", ".join(f"{figures.outcomes[outcome]} {outcome}" for outcome in Outcome)
    judged = figures.outcomes.total()
    yield f"conditions: {parts}; {held} not judged"
    yield f"healthy groups: {figures.accused} of {figures.healthy} accused"
    graded = figures.right_causes + figures.wrong_causes
    if graded:
        yield (
            f"graded causes of departures: {figures.right_causes} of {graded} right "
            f"({figures.right_causes / graded:.3f})"
        )
    yield (
        "naive baseline (lag above 1,000, or no commit for 5 minutes): "
        f"rings for {figures.rings} of {judged} conditions and names none, "
        f"and for {figures.false_rings} of {figures.healthy} healthy groups"
    )
