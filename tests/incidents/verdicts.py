"""Answers held against a diary: what was wrong is named, in part, or not; who is well is left in peace."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kgroup.history.timeline.model import Grade
from tests.incidents.answers import FAULTY_STATUSES, ORDINARY, Answer, Look
from tests.incidents.conditions import Condition, conditions

SLOW_MS = 60_000
"""From an event to its trace: a heartbeat, a session, a round."""
EARLY_MS = 2_000


class Outcome(StrEnum):
    FIRST = "named"
    """An accepted name stands at first place."""
    PART = "in part"
    """It stands among others, or as one of several possible, or a symptom is told."""
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one condition; `said` is what stood at first place, the accepted names before others."""

    outcome: Outcome
    said: str


def judge(truth: Sequence[dict[str, Any]], one: dict[str, Any], looks: Iterable[Look]) -> Judged:
    """The best of what was said of a condition at several times."""
    answers = [_judge(truth, one, look) for look in looks if one["from_ms"] <= look.now_ms]
    return min(answers, key=lambda judged: tuple(Outcome).index(judged.outcome))


def _judge(truth: Sequence[dict[str, Any]], one: dict[str, Any], look: Look) -> Judged:
    condition = conditions()[one["condition"]]
    group, others = one["group"], _names_of_others(truth, one)
    lanes = [
        [answer for answer in lane if answer.name in condition.names or answer.name not in others]
        for lane in _lanes(one, condition, look)
    ]
    notes = look.notes(group)
    firsts = [next((answer for answer in lane if answer.grade is not Grade.UNKNOWN), None) for lane in lanes]
    at_first = [answer for answer in firsts if answer is not None]
    every = [answer for lane in lanes for answer in lane]
    names = [answer.name for answer in at_first if _names(condition, answer)]
    names += sorted(condition.names & notes)
    others = [answer.name for answer in at_first] or sorted(notes)
    said = ", ".join(dict.fromkeys([*names, *others])) or "nothing"
    if names and not any(answer.name in condition.misleads for answer in at_first):
        return Judged(Outcome.FIRST, said)
    known = {name for answer in every for name in (answer.name, *answer.alternatives)} | notes
    is_part = bool(known & (condition.names | condition.symptoms))
    return Judged(Outcome.PART if is_part else Outcome.SILENT, said)


def _lanes(one: dict[str, Any], condition: Condition, look: Look) -> Iterator[list[Answer]]:
    """Findings while it lasts; patterns and causes that fall into its time."""
    group = one["group"]
    yield look.findings(group) if look.now_ms <= one["to_ms"] + SLOW_MS else []
    first, last = one["from_ms"] - EARLY_MS, one["to_ms"] + SLOW_MS
    yield [p for p in look.patterns(group) if (p.at_ms or 0) <= last and first <= (p.to_ms or last)]
    yield look.loading(group)
    yield look.in_mirror(group)
    wanted = condition.names | condition.symptoms
    yield [
        cause
        for cause in look.causes(group)
        if (cause.name in wanted or cause.name not in ORDINARY or set(cause.alternatives) & wanted)
        and (cause.at_ms is None or cause.name == "no-membership" or first <= cause.at_ms <= last)
        and _is_about(one, cause)
    ]


def _is_about(one: dict[str, Any], cause: Answer) -> bool:
    handle = one.get("handle")
    return handle is None or not cause.client_ids or any(c.startswith(handle) for c in cause.client_ids)


def _names(condition: Condition, answer: Answer) -> bool:
    return answer.name in condition.names and all(words in answer.evidence for words in condition.evidence)


def _names_of_others(truth: Sequence[dict[str, Any]], one: dict[str, Any]) -> set[str]:
    """Names of other conditions of the same group, which are right and answer another question."""
    return {
        name
        for other in truth
        if other is not one and other["group"] == one["group"] and other["condition"] in conditions()
        for name in conditions()[other["condition"]].names
    }


def is_proven(one: dict[str, Any], events: Sequence[dict[str, Any]], looks: Sequence[Look]) -> bool:
    """Whether the diary shows the effect of what was done; a played life checks it as it goes."""
    first, last = one["from_ms"] - SLOW_MS, one["to_ms"] + SLOW_MS
    happened = {
        event["what"]
        for event in events
        if event.get("group") in (None, one["group"]) and first <= event["t"] <= last
    }
    proof = conditions()[one["condition"]].proof
    measured = {
        "lag": any(look.lag(one["group"]) for look in looks),
        "log-start": any(look.log_starts(one["group"]) for look in looks),
    }
    return "effect" in happened or any(measured.get(each, each in happened) for each in proof)


MAKERS = {
    "session-expired": {"session-expired", "kill-member", "freeze", "member-error", "lost", "process-ended"},
    "poll-interval-exceeded": {"poll-interval-exceeded", "do", "lost"},
    "rebalance-timeout": {"poll-interval-exceeded", "do", "lost", "kill-member", "freeze"},
    "pending-member": {"pending-member"},
    "rewind": {"do", "admin", "raw-commit", "stale-commit", "seek", "lost"},
}
"""Causes that blame somebody, and the events of a diary that make them true."""


def accusations(group: str, events: Sequence[dict[str, Any]], look: Look) -> list[str]:
    """What is held against a group that is well."""
    findings = [answer for answer in look.findings(group) if answer.is_trouble]
    statuses = [status for status in look.statuses.get(group, ()) if status in FAULTY_STATUSES]
    # To wait for a transaction that is open, as the diary has it, is true and no fault of the group.
    if _has_open_transaction(events, look.now_ms) and any(f.name == "open-transaction" for f in findings):
        findings, statuses = [f for f in findings if f.name != "open-transaction"], []
    accused = [f"{finding.name} ({finding.grade}): {finding.evidence}" for finding in findings]
    accused += [f"status {status}" for status in statuses]
    accused += [f"{answer.name}: {answer.evidence}" for answer in look.loading(group)]
    accused += [f"{answer.name}: {answer.evidence}" for answer in look.in_mirror(group)]
    accused += [f"{pattern.name}: {pattern.evidence}" for pattern in look.patterns(group)]
    made_up = (cause for cause in look.causes(group) if _is_made_up(group, cause, events))
    return accused + [f"{cause.name}: {cause.evidence}" for cause in made_up]


def _has_open_transaction(events: Sequence[dict[str, Any]], now_ms: int) -> bool:
    """Whether somebody left one open; its end in one partition says nothing of the others."""
    return any(event["what"] == "txn-opened" and event["t"] <= now_ms for event in events)


def _is_made_up(group: str, cause: Answer, events: Sequence[dict[str, Any]]) -> bool:
    if cause.name not in MAKERS or cause.grade is Grade.UNKNOWN:
        return False
    near = {
        event["what"]
        for event in events
        if event.get("group") == group
        and cause.at_ms is not None
        and event["t"] - EARLY_MS <= cause.at_ms <= event["t"] + 2 * SLOW_MS
    }
    return not near & MAKERS[cause.name]


DEPARTURES = {
    "leave": {"stop-member", "leave", "poll-interval-exceeded"},
    "session-expired": {"session-expired"},
    "poll-interval-exceeded": {"poll-interval-exceeded"},
    "rebalance-timeout": {"left-out"},
    "pending-member": {"pending-member"},
}
"""Graded causes of a departure and the events of a played diary, which has every one of them."""


def graded_departures(
    group: str, events: Sequence[dict[str, Any]], look: Look, longest_ms: int
) -> Iterator[tuple[Answer, bool]]:
    """Each graded cause of a departure, and whether that is how it was.

    A round takes at most `longest_ms` from a departure to the record of the next generation.
    """
    for cause in look.causes(group):
        if cause.name not in DEPARTURES or cause.grade is Grade.UNKNOWN or cause.at_ms is None:
            continue
        near = [
            event
            for event in events
            if event["group"] == group
            and 0 <= cause.at_ms - event["t"] <= longest_ms
            and event["what"] in DEPARTURES[cause.name]
        ]
        handles = {handle for event in near for handle in (event.get("handle"), *event.get("handles", ()))}
        blamed = set(cause.client_ids)
        yield cause, bool(near) and (not blamed or cause.name == "pending-member" or bool(blamed & handles))
