"""`results.toml`: what came of each case, so that a change shows, and why each miss is one.

`python -m tests.incidents` writes it, keeping the reasons of misses; a miss without a reason fails the tests,
and so does a reason for what is no miss any more.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.incidents.judging import CAUSES, Verdict
from tests.incidents.library import Incident, Library
from tests.incidents.verdicts import Outcome

RESULTS = Path(__file__).parent / "results.toml"
README = Path(__file__).parents[2] / "README.md"
BEGIN = "<!-- incidents, drawn by python -m tests.incidents -->\n"
END = "<!-- end of incidents -->\n"
_HEAD = """# What kgroup says of every incident, of every healthy group, and of what a real broker recorded.
# Written by python -m tests.incidents, which keeps `miss`: why a case fails, in a word that somebody wrote.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One case. `outcome` is an Outcome, `in peace`, `accused`, `held` or `graded`; `said` what was first."""

    name: str
    outcome: str
    said: str
    rings: bool = False
    right: int = 0
    wrong: int = 0
    miss: str = ""

    @property
    def fails(self) -> bool:
        return bool(self.wrong) or self.outcome in {"in part", "silent", "accused"}


def result_of(verdict: Verdict) -> Result:
    if verdict.condition == CAUSES:
        wrong = Counter(cause.partition(":")[0] for cause in verdict.against)
        said = ", ".join(f"{kind} {number}" for kind, number in sorted(wrong.items()))
        return Result(
            name=verdict.name,
            outcome="graded",
            said=said,
            right=verdict.right_causes,
            wrong=len(verdict.against),
        )
    if verdict.is_healthy:
        names = dict.fromkeys(against.partition(":")[0].partition(" (")[0] for against in verdict.against)
        outcome = "accused" if names else "in peace"
        return Result(name=verdict.name, outcome=outcome, said=", ".join(names), rings=verdict.rings)
    said = verdict.judged.said if verdict.judged else ""
    if verdict.held is not None or verdict.judged is None:
        return Result(name=verdict.name, outcome="held", said=said, rings=verdict.rings)
    return Result(name=verdict.name, outcome=verdict.judged.outcome, said=said, rings=verdict.rings)


def read_results() -> dict[str, Result]:
    cases = tomllib.loads(RESULTS.read_text(encoding="utf-8"))
    return {name: Result(name=name, **fields) for name, fields in cases.items()}


def write_results(results: Iterable[Result], before: dict[str, Result]) -> None:
    RESULTS.write_text(_HEAD + "".join(_lines(results, before)), encoding="utf-8")


def _lines(results: Iterable[Result], before: dict[str, Result]) -> Iterator[str]:
    for result in results:
        yield f"\n[{json.dumps(result.name)}]\noutcome = {json.dumps(result.outcome)}\n"
        yield f"said = {json.dumps(result.said)}\n"
        if result.rings:
            yield "rings = true\n"
        if result.right or result.wrong:
            yield f"right = {result.right}\nwrong = {result.wrong}\n"
        if result.fails:
            miss = before[result.name].miss if result.name in before else ""
            yield f"miss = {json.dumps(miss)}\n"


def of_incident(incident: Incident, results: dict[str, Result]) -> Result | None:
    """The case of an incident's own group; None if no log tells of it."""
    if incident.life is None:
        return None
    outcomes = {*Outcome, "held"}
    return next(
        result
        for name, result in results.items()
        if name.startswith(f"{incident.id} ") and result.outcome in outcomes
    )


@dataclass(frozen=True, slots=True)
class Sums:
    """Of the 49, and of the healthy lives; `held` are those that one log cannot tell at all."""

    named: int
    part: int
    silent: int
    held: int
    rings: int
    healthy: int
    accused: int
    false_rings: int

    @classmethod
    def of(cls, library: Library, results: dict[str, Result], family: str | None = None) -> "Sums":
        incidents = [i for i in library.incidents if family in (None, i.family)]
        mine = [of_incident(incident, results) for incident in incidents]
        played = [result for result in mine if result is not None]
        outcomes = Counter(result.outcome for result in played)
        twins = {twin.id for twin in library.twins if family in (None, twin.family)}
        healthy = [
            result
            for name, result in results.items()
            if name.partition(" ")[0] in twins and result.outcome in ("in peace", "accused")
        ]
        return cls(
            outcomes["named"],
            outcomes["in part"],
            outcomes["silent"],
            len(incidents) - len(played) + outcomes["held"],
            sum(result.rings for result in played),
            len(healthy),
            sum(result.outcome == "accused" for result in healthy),
            sum(result.rings for result in healthy),
        )


def sentence(library: Library, results: dict[str, Result]) -> str:
    """The README's figure."""
    sums = Sums.of(library, results)
    return (
        f"Of {len(library.incidents)} incidents that people described in public, kgroup puts the right "
        f"answer first for {sums.named}, has part of\nit for {sums.part} and misses {sums.silent}; "
        f"{sums.held} do not show in any single log. It accuses {sums.accused} of {sums.healthy} healthy "
        f"groups that look like them.\nAn alert on lag or silence fires for {sums.rings}, and for "
        f"{sums.false_rings} of the healthy groups: `docs/incidents.md`.\n"
    )


def readme_with(text: str, drawn: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, marker, after = rest.partition(END)
    assert marker, f"README.md has no {BEGIN!r}"
    return before + BEGIN + drawn + END + after
