"""The tables of docs/incidents.md."""

from collections.abc import Iterator

from tests.incidents.library import Incident, read_library
from tests.incidents.results import Result, Sums, of_incident, read_results

FAMILIES = {
    "reading": "alive and not reading",
    "rebalances": "rebalances without end",
    "offsets": "offsets lost, back, skipped",
    "shares": "wrong share of the work",
    "coordinator": "coordinator and offsets topic",
    "transactions": "transactions, and no incident at all",
}


def figures() -> Iterator[str]:
    """Sums by family, beside what an alarm on lag or silence does."""
    library, results = read_library(), read_results()
    yield (
        "| family | named at first place | in part | silent | in no single log | healthy groups accused "
        "| alarm rings | alarm rings for the healthy |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for family, title in [*FAMILIES.items(), (None, "**all**")]:
        s = Sums.of(library, results, family)
        yield (
            f"| {title} | {s.named} | {s.part} | {s.silent} | {s.held} | {s.accused} of {s.healthy} "
            f"| {s.rings} | {s.false_rings} |"
        )


def departures() -> Iterator[str]:
    """The graded causes of departures in all lives."""
    graded = [result for result in read_results().values() if result.outcome == "graded"]
    right, wrong = sum(result.right for result in graded), sum(result.wrong for result in graded)
    yield (
        f"Of {right + wrong} causes of departures that `replay` grades in these lives, "
        f"{right} are as the script has them."
    )


def incidents() -> Iterator[str]:
    """The 49 with what stands at first place."""
    library, results = read_library(), read_results()
    yield "| # | what was seen | told in | | at first place |"
    yield "|--:|---|---|---|---|"
    for incident in library.incidents:
        result = of_incident(incident, results)
        told = ", ".join(incident.threads)
        said = _said(incident, result)
        yield f"| {incident.number} | {incident.symptom} | {told} | {_outcome(result)} | {said} |"


def _outcome(result: Result | None) -> str:
    return "" if result is None or result.outcome == "held" else result.outcome


def _said(incident: Incident, result: Result | None) -> str:
    if result is None:
        return incident.not_in_log or ""
    names = ", ".join(
        f"`{name}`" for name in dict.fromkeys(result.said.split(", ")) if name not in ("", "nothing")
    )
    reason = "a symptom: what is wrong takes more than one log" if result.outcome == "held" else result.miss
    return f"{names or 'nothing'}{f'; {reason}' if reason else ''}"


def recorded() -> Iterator[str]:
    """What a real broker recorded."""
    yield "| group | what was done | | at first place |"
    yield "|---|---|---|---|"
    for name, result in read_results().items():
        capture, _, rest = name.partition(" ")
        if "/" in capture:
            group, _, condition = rest.partition(" ")
            names = ", ".join(f"`{each}`" for each in dict.fromkeys(result.said.split(", ")) if each)
            miss = f"; {result.miss}" if result.miss else ""
            yield f"| {group} | {condition} | {result.outcome} | {names}{miss} |"
