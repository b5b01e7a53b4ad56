"""The first lines on a group for who has never heard of it: what was wrong, who, when, and what to do.

Kinds of causes, patterns, events and findings are said in words; any without one here goes by its name.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.report.emit import iso_time
from kgroup.report.incident.claims import Claim, ClaimKind, Incident

Mark = Callable[..., str]

_SPOKEN: Final = {
    # causes of departures: who, and how often
    "poll-interval-exceeded": "{who} left{times} after max.poll.interval.ms without a poll()",
    "session-expired": "{who} lost the session{times}: no heartbeat came for session.timeout.ms",
    "rebalance-timeout": "{who} did not rejoin within the rebalance timeout{times}",
    "pending-member": "all members waited{times} for a member id that was handed out and never used",
    # patterns
    "members-oscillate": "members came and left again and again",
    "instance-id-duel": "two processes had one group.instance.id and took it from each other",
    "rebalance-storm": "one rebalance came right after the other",
    "flapping-member": "the same client came and left again and again",
    "connect-config-behind": "Connect's leader had not read the newest configuration",
    # events
    "offset-reset": "offsets were set by hand or by a tool while nobody was in the group",
    "rewind": "a committed offset went back",
    "topic-recreated": "a topic was deleted and made anew",
    "offsets-expired": "the broker deleted offsets by their age",
    "group-expired": "the broker deleted the group by its age",
    "group-deleted": "the group was deleted",
    # findings
    "stopped-group": "members are there, and nothing is committed any more",
    "poison-record": "one record stops every member that gets it",
    "static-member-silent": "a static member was taken over and has committed nothing since",
    "stalled-member": "all partitions of one member stand still",
    "stalled-partition": "one partition stands still under a live member",
    "never-commits": "a member reads and never commits",
    "dead-with-lag": "nobody is in the group, and records wait",
    "open-transaction": "readers wait for a transaction that a producer has left open",
    "hanging-transaction": "offsets were committed in a transaction that has not ended",
    "zombie-commits": "two members commit one partition in turn",
    "rewound": "a committed offset went back and has not come up again",
    "skipped-records": "records were passed over unread",
    "doubled-records": "records were handed out twice",
    "unowned-partition": "a partition belongs to no member",
    "mixed-subscriptions": "members of one group subscribe to different topics",
    "lag-growing": "the group reads less than is written",
    "hot-partition": "one partition gets most of what is written",
    "slow-member": "one member is slower than the others",
}
_DEPARTURES: Final = frozenset({"poll-interval-exceeded", "session-expired", "rebalance-timeout"})
_BLAMED: Final = _DEPARTURES | {"pending-member"}
_SYMPTOMS: Final = {"flapping-member": _DEPARTURES, "rebalance-storm": _BLAMED}
"""Patterns that say no more than the causes that they are made of."""
_EVENTS: Final = frozenset(
    {"offset-reset", "rewind", "topic-recreated", "offsets-expired", "group-expired", "group-deleted"}
)
_TIMES: Final = {1: "", 2: " twice"}
_SHOWN: Final = 4
_EVIDENCE_MAX: Final = 200
_NAMES: Final = 3


@dataclass(frozen=True, slots=True)
class _Line:
    """One thing that was wrong; `since_ms` and `until_ms` are epoch ms, the latter None if it still is."""

    kind: str
    text: str
    since_ms: int | None
    until_ms: int | None
    is_sure: bool
    remedy: str
    claims: tuple[Claim, ...]


def headline(incident: Incident, group: str, mark: Mark) -> Iterator[str]:
    """The problems of a group, in the order of time, and the remedy for each."""
    lines = sorted(_lines(incident, group), key=lambda line: line.since_ms or 0)
    for line in lines[:_SHOWN]:
        unsure = "" if line.is_sure else "perhaps "
        yield f"{unsure}{line.text} ({line.kind}), {_when(line, incident.to_ms)}. {mark(*line.claims)}"
    if len(lines) > _SHOWN:
        yield f"{len(lines) - _SHOWN} more are told below."
    remedies = dict.fromkeys(line.remedy for line in lines[:_SHOWN] if line.remedy)
    for remedy in remedies:
        yield f"what to do: {remedy}"


def _lines(incident: Incident, group: str) -> Iterator[_Line]:
    causes = list(_of_causes(incident, group))
    told = {line.kind for line in causes}
    patterns = [
        line
        for line in _of_patterns(incident, group)
        if not _SYMPTOMS.get(line.kind, frozenset[str]()) & told
    ]
    told |= {line.kind for line in patterns}
    yield from causes
    yield from patterns
    yield from _of_events(incident, group)
    for claim in incident.of(ClaimKind.FINDING, group):
        says = claim.says
        if says["finding"] in told or _SYMPTOMS.get(says["finding"], frozenset[str]()) & told:
            continue
        text = _with_evidence(_spoken(says["finding"]), says["evidence"])
        grade, remedy = says["grade"] != "unknown", says["try_this"]
        yield _Line(says["finding"], text, says["since_ms"], None, grade, remedy, (claim,))


def _of_causes(incident: Incident, group: str) -> Iterator[_Line]:
    """The causes that blame a client or admin, by kind and culprit."""
    found: dict[tuple[str, tuple[str, ...]], list[tuple[Claim, str]]] = {}
    for claim in incident.of(ClaimKind.REBALANCE, group):
        for cause in claim.says["causes"]:
            if cause["cause"] in _BLAMED and cause["grade"] != "unknown":
                who = tuple(name for name in cause["who"] if name)
                found.setdefault((cause["cause"], who), []).append((claim, cause.get("remedy") or ""))
    # The same at the same time, of several members, is one thing.
    together: dict[tuple[str, tuple[int, ...]], tuple[list[str], list[Claim], str]] = {}
    for (kind, who), each in found.items():
        times = tuple(claim.says["at_ms"] or 0 for claim, _ in each)
        names, claims, _ = together.setdefault((kind, times), ([], [], each[0][1]))
        names += who
        claims += [claim for claim, _ in each if not any(claim is one for one in claims)]
    for (kind, times), (names, claims, remedy) in together.items():
        text = _spoken(kind, _named(names), _times(len(times)))
        yield _Line(kind, text, min(times), max(times), True, remedy, tuple(claims))


def _of_patterns(incident: Incident, group: str) -> Iterator[_Line]:
    for claim in incident.of(ClaimKind.PATTERN, group):
        says, kind = claim.says, claim.says["pattern"]
        text = _with_evidence(_spoken(kind), says["evidence"])
        yield _Line(kind, text, says["from_ms"], says["to_ms"], True, says["remedy"] or "", (claim,))


def _of_events(incident: Incident, group: str) -> Iterator[_Line]:
    found: dict[str, list[Claim]] = {}
    for claim in incident.of(ClaimKind.EVENT, group):
        if claim.says["event"] in _EVENTS:
            found.setdefault(claim.says["event"], []).append(claim)
    for kind, claims in found.items():
        is_sure = any(claim.says["grade"] != "unknown" for claim in claims)
        times = [claim.says["at_ms"] or 0 for claim in claims]
        text = _spoken(kind) + _times(len(claims))
        if len(claims) == 1:
            text = _with_evidence(text, claims[0].says["evidence"])
        remedy = next((claim.says["remedy"] for claim in claims if claim.says.get("remedy")), "")
        yield _Line(kind, text, min(times), max(times), is_sure, remedy, tuple(claims))


def _spoken(kind: str, who: str = "a member", times: str = "") -> str:
    return _SPOKEN.get(kind, f"there was {kind}").format(who=who, times=times)


def _with_evidence(text: str, evidence: str) -> str:
    """The evidence goes along if it is not too long for a first line; it stands in full below."""
    return f"{text}: {evidence}" if len(evidence) <= _EVIDENCE_MAX else text


def _named(names: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(names))
    if not distinct:
        return "a member"
    if len(distinct) <= _NAMES:
        *first, last = distinct
        return f"{', '.join(first)} and {last}" if first else last
    return f"{', '.join(distinct[:_NAMES])} and {len(distinct) - _NAMES} more"


def _times(number: int) -> str:
    return _TIMES.get(number, f" {number} times")


def _when(line: _Line, to_ms: int) -> str:
    since = "at an unknown time" if line.since_ms is None else _clock(line.since_ms)
    if line.until_ms is None:
        return f"since {since} and still at {_clock(to_ms)}" if line.since_ms is not None else "at the end"
    if line.since_ms is None or line.until_ms == line.since_ms:
        return f"at {since}" if line.since_ms is not None else since
    return f"from {since} to {_clock(line.until_ms)}"


def _clock(at_ms: int) -> str:
    return iso_time(at_ms)[11:19]
