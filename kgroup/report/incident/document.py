"""The sentences of a report, as blocks from which Markdown and HTML are made.

All of it follows from the claims and the remarks. So anyone with them can check a page by making it
again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kgroup.report.emit import iso_time, short_duration
from kgroup.report.incident.claims import Claim, ClaimKind, Incident
from kgroup.report.incident.headline import Mark, headline
from kgroup.report.table import counted

_PLACES_SHOWN: Final = 6
_NAMES_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Heading:
    """`level` is 1 for the page's own."""

    text: str
    level: int


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """Lines that stand one below the other."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text; columns in `right` are numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Curve:
    """The lag of a group at times (epoch ms), None where it is unknown."""

    group: str
    times_ms: tuple[int, ...]
    lags: tuple[int | None, ...]


Block = Heading | Paragraph | Bullets | Table | Curve


def document(incident: Incident) -> Iterator[Block]:
    """The page, from top to bottom."""
    numbers = {id(claim): number for number, claim in enumerate(incident.claims, 1)}

    def mark(*claims: Claim) -> str:
        return f"[{', '.join(str(numbers[id(claim)]) for claim in claims)}]"

    groups = incident.groups
    whom = _listed(groups) if groups else "no group"
    yield Heading(f"What happened to {whom}", 1)
    yield Paragraph(
        f"From {iso_time(incident.from_ms)} to {iso_time(incident.to_ms)}, read from"
        f" {', '.join(incident.sources) or 'a log'} by kgroup {incident.kgroup}. A number in brackets is a"
        " claim; the records it follows from are listed at the end, and kgroup report --check FILE PATH"
        " derives each claim from them again."
    )
    yield Heading("In short", 2)
    yield Bullets(tuple(line for group in groups for line in _in_short(incident, group, mark)) or _NOTHING)
    if events := _events(incident, mark):
        yield Heading("What happened, in order", 2)
        yield Table(("time", "group", "what", "why", "longest gap", "claim"), tuple(events), frozenset({4}))
    if ranges := incident.of(ClaimKind.RANGE):
        yield Heading("What was skipped, and what was handed out twice", 2)
        yield _ranges(ranges, mark)
    if curves := incident.of(ClaimKind.LAG):
        yield Heading("How far behind", 2)
        for claim in curves:
            yield Curve(claim.group, tuple(claim.question["times_ms"]), tuple(claim.says["lags"]))
        yield _lag_table(curves, mark)
    if findings := incident.of(ClaimKind.FINDING):
        yield Heading(f"What is wrong at {_clock(incident.to_ms)}", 2)
        yield Bullets(tuple(_finding(claim, mark) for claim in findings))
    if deadlines := incident.of(ClaimKind.DEADLINE):
        yield Heading("What to expect at the current pace", 2)
        yield Bullets(tuple(_deadline(claim, mark) for claim in deadlines))
    if remedies := incident.of(ClaimKind.REMEDY):
        yield Heading("What would have helped", 2)
        yield Paragraph(
            "The same joins and departures, simulated with another setting; unread is how long"
            " partitions went unread, summed over partitions."
        )
        yield _remedies(remedies, mark)
    yield Heading("What is not known, and why", 2)
    yield Bullets(tuple(_unknown(incident, mark)) or ("Nothing in this report.",))
    if incident.claims:
        yield Heading("Records", 2)
        yield Bullets(tuple(_records(claim, number) for number, claim in enumerate(incident.claims, 1)))


_NOTHING: Final = ("Nothing: no rebalance, no event and no finding.",)


def _in_short(incident: Incident, group: str, mark: Mark) -> Iterator[str]:
    """The problems and their remedies, a line each; then what they cost."""
    yield from (f"{group}: {line}" for line in headline(incident, group, mark))
    if cost := " ".join(_cost(incident, group, mark)):
        yield f"{group}, in numbers: {cost}"


def _cost(incident: Incident, group: str, mark: Mark) -> Iterator[str]:
    for claim in incident.of(ClaimKind.HISTORY, group):
        says = claim.says
        members = _between(says["members_min"], says["members_max"], "member")
        causes = ", ".join(f"{number} {cause}" for cause, number in list(says["causes"].items())[:5])
        gap = says["longest_gap_ms"]
        waited = f" Around one nothing was committed for up to {_rough(gap)}." if gap else ""
        moved = f", {counted(says['moved'], 'partition')} moved" if says["moved"] else ""
        yield (
            f"{counted(says['rebalances'], 'rebalance')} ({causes}), {members}{moved}.{waited} {mark(claim)}"
        )
    for claim in incident.of(ClaimKind.LAG, group):
        times_ms, lags = claim.question["times_ms"], claim.says["lags"]
        known = [(lag, -number) for number, lag in enumerate(lags) if lag is not None]
        peak, number = max(known)
        last = lags[-1]
        end = "unknown" if last is None else f"{last:,}"
        yield (
            f"Its lag on {_topics(claim)} peaked at {peak:,} ({_clock(times_ms[-number])}) and is {end}"
            f" at the end. {mark(claim)}"
        )
    for kind, verb in (("skipped", "never read"), ("doubled", "handed out twice")):
        ranges = [claim for claim in incident.of(ClaimKind.RANGE, group) if claim.question["kind"] == kind]
        if ranges:
            offsets = sum(claim.says["at_least"] for claim in ranges)
            were = "offset was" if offsets == 1 else "offsets were"
            yield f"At least {offsets:,} {were} {verb}. {mark(*ranges)}"
    best = _best(incident.of(ClaimKind.REMEDY, group))
    if best is not None:
        before, after = best.says["recorded"]["unread_ms"], best.says["supposed"]["unread_ms"]
        yield (
            f"Its rebalances left partitions unread for {_rough(before)}, summed over partitions; with"
            f" {best.question['name']} it would have been {_rough(after)}. {mark(best)}"
        )


def _topics(claim: Claim) -> str:
    """The topics of a lag, and of how many partitions it is."""
    places = claim.question["partitions"]
    topics = list(dict.fromkeys(topic for topic, _ in places))
    return f"{_listed(topics)} ({counted(len(places), 'partition')})"


def _best(remedies: Sequence[Claim]) -> Claim | None:
    """The one that spares most of what is unread; None if none spares a tenth."""
    known = [
        claim
        for claim in remedies
        if claim.says["recorded"]["unread_ms"] and claim.says["supposed"]["unread_ms"] is not None
    ]
    best = min(known, key=lambda claim: claim.says["supposed"]["unread_ms"], default=None)
    if best is None or best.says["supposed"]["unread_ms"] > 0.9 * best.says["recorded"]["unread_ms"]:
        return None
    return best


def _events(incident: Incident, mark: Mark) -> list[tuple[str, ...]]:
    rows: list[tuple[int, tuple[str, ...]]] = []
    for claim in incident.claims:
        says = claim.says
        match claim.kind:
            case ClaimKind.REBALANCE:
                gap = says["longest_gap_ms"]
                what = f"generation {says['generation']}, {counted(says['members'], 'member')}"
                if says["moved"]:
                    what += f", {says['moved']} moved"
                if says["cut"]:
                    what += "; the log lacks records before it"
                why = "; ".join(map(_cause, says["causes"]))
                row = (what, why, _rough(gap) if gap is not None else "")
                at_ms = says["at_ms"]
            case ClaimKind.EVENT:
                row = (_graded(says["event"], says["grade"]), says["evidence"], "")
                at_ms = says["at_ms"]
            case ClaimKind.PATTERN:
                row = (f"{says['pattern']} until {_clock(says['to_ms'])}", says["evidence"], "")
                at_ms = says["from_ms"]
            case _:
                continue
        rows.append((at_ms or 0, (_clock(at_ms), claim.group, *row, mark(claim))))
    return [row for _, row in sorted(rows, key=lambda each: each[0])]


def _cause(cause: Mapping[str, Any]) -> str:
    who = " ".join([cause["cause"], _listed([name for name in cause["who"] if name])]).strip()
    if cause["grade"] == "unknown":
        either = f" ({' or '.join(cause['alternatives'])}?)" if cause["alternatives"] else "?"
        return f"{who}{either}: {cause['evidence']}"
    return f"{_graded(who, cause['grade'])}: {cause['evidence']}"


def _graded(text: str, grade: str) -> str:
    return {"recorded": text, "inferred": f"{text} (inferred)"}.get(grade, f"{text}?")


def _ranges(ranges: Sequence[Claim], mark: Mark) -> Table:
    rows = []
    for claim in ranges:
        question, says = claim.question, claim.says
        offsets = f"{question['from_offset']} to {question['to_offset']}"
        rows.append(
            (
                _clock(says["at_ms"]),
                claim.group,
                question["kind"],
                f"{question['topic']}-{question['partition']}",
                offsets,
                str(says["at_least"]),
                f"{_graded(says['cause'], says['grade'])}: {says['evidence']}",
                mark(claim),
            )
        )
    headings = ("time", "group", "what", "partition", "offsets", "count", "why", "claim")
    return Table(headings, tuple(rows), frozenset({5}))


def _lag_table(curves: Sequence[Claim], mark: Mark) -> Table:
    rows = []
    for claim in curves:
        lags = claim.says["lags"]
        known = [lag for lag in lags if lag is not None]
        unknown = sum(1 for lag in lags if lag is None)
        rows.append(
            (
                claim.group,
                *(f"{lag:,}" for lag in (known[0], max(known), known[-1])),
                str(unknown) if unknown else "",
                mark(claim),
            )
        )
    headings = ("group", "first known", "most", "last known", "moments unknown", "claim")
    return Table(headings, tuple(rows), frozenset({1, 2, 3, 4}))


def _finding(claim: Claim, mark: Mark) -> str:
    says = claim.says
    place = f"topic {says['topic']}" if says["topic"] else ""
    if says["partition"] is not None:
        place = f"{says['topic']}-{says['partition']}"
    since = f", since {iso_time(says['since_ms'])}" if says["since_ms"] is not None else ""
    name = _graded(says["finding"], says["grade"])
    return (
        f"{claim.group}{f', {place}' if place else ''}: {name}{since}: {says['evidence']}."
        f" Try: {says['try_this']} {mark(claim)}"
    )


def _deadline(claim: Claim, mark: Mark) -> str:
    says = claim.says
    topic, partition = says["first"]
    where = counted(says["partitions"], "partition")
    if says["deadline"] == "slo-records":
        what = f"the lag exceeds {says['bound']:,} records on {where}, where {says['unread']:,} are unread"
    elif says["deadline"] == "slo-time":
        what = (
            f"the lag exceeds {short_duration(says['bound'])} on {where}, where {says['unread']:,} records"
            " are unread"
        )
    else:
        what = (
            f"retention of {short_duration(says['bound'])} deletes unread records on {where}, where"
            f" {says['unread']:,} are unread"
        )
    if says["outlook"] == "passed":
        when = "now already"
    else:
        latest = "never" if says["high_ms"] is None else iso_time(says["high_ms"])
        when = (
            f"from {iso_time(says['low_ms'])} on, likely at {iso_time(says['likely_ms'])}, at the latest"
            f" {latest}"
        )
    still = "; it stands still, so this assumes it never reads again" if says["stands_still"] else ""
    return f"{claim.group}: {what}: {when}, first on {topic}-{partition}{still}. {mark(claim)}"


def _remedies(remedies: Sequence[Claim], mark: Mark) -> Table:
    rows: list[tuple[str, ...]] = []
    groups = set()
    for claim in remedies:
        if claim.group not in groups:
            groups.add(claim.group)
            rows.append((claim.group, "as recorded", *_outcome(claim.says["recorded"]), mark(claim)))
        rows.append((claim.group, claim.question["name"], *_outcome(claim.says["supposed"]), mark(claim)))
    headings = ("group", "setting", "rebalances", "moves", "members stopped", "unread", "claim")
    return Table(headings, tuple(rows), frozenset({2, 3, 4, 5}))


def _outcome(side: Mapping[str, Any]) -> tuple[str, ...]:
    unread = side["unread_ms"]
    return (
        str(side["rebalances"]),
        str(side["moved"]),
        str(side["members_stopped"]),
        "unknown" if unread is None else _rough(unread),
    )


def _unknown(incident: Incident, mark: Mark) -> Iterator[str]:
    unsure: dict[tuple[str, str, str], list[Claim]] = {}
    for claim in incident.of(ClaimKind.REBALANCE):
        for cause in claim.says["causes"]:
            if cause["grade"] == "unknown":
                who = _listed([name for name in cause["who"] if name])
                either = " or ".join(cause["alternatives"]) or "no record says it"
                unsure.setdefault((claim.group, f"{cause['cause']} {who}".strip(), either), []).append(claim)
    for (group, what, either), claims in unsure.items():
        marks = mark(*claims) if len(claims) <= _PLACES_SHOWN else f"[{len(claims)} claims]"
        yield f"{group}: why {what}: {either}. A log does not record why a member leaves. {marks}"
    for claim in incident.of(ClaimKind.HISTORY):
        told = len(incident.of(ClaimKind.REBALANCE, claim.group))
        if (left_out := claim.says["rebalances"] - told) > 0:
            are = "is" if left_out == 1 else "are"
            yield (
                f"{claim.group}: {counted(left_out, 'rebalance')} with the shortest pauses {are} not listed:"
                f" kgroup replay has them. {mark(claim)}"
            )
    for claim in incident.of(ClaimKind.LAG):
        if any(claim.says["unknown"]):
            yield (
                f"{claim.group}: for some moments or partitions the lag is unknown: there was no commit yet,"
                f" or no records show where the log ended. {mark(claim)}"
            )
    yield from incident.remarks


def _records(claim: Claim, number: int) -> str:
    places: dict[tuple[str, int], list[str]] = {}
    for cited in claim.cited:
        text = str(cited).partition("@")[2]
        places.setdefault((cited.topic, cited.partition), []).append(text)
    shown = [
        f"{topic}-{partition}@{','.join(offsets[:_PLACES_SHOWN])}"
        + (f" and {len(offsets) - _PLACES_SHOWN} more" if len(offsets) > _PLACES_SHOWN else "")
        for (topic, partition), offsets in list(places.items())[:_PLACES_SHOWN]
    ]
    more = len(places) - _PLACES_SHOWN
    rest = f"; and {counted(more, 'more partition')}" if more > 0 else ""
    return f"[{number}] {claim.kind.value}, {claim.group}: {'; '.join(shown)}{rest}"


def _between(least: int | None, most: int | None, noun: str) -> str:
    if least is None or most is None:
        return f"no {noun}"
    return counted(most, noun) if least == most else f"{least} to {counted(most, noun)}"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_NAMES_SHOWN])
    more = len(names) - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


def _rough(duration_ms: int) -> str:
    """A duration to tenths of a second."""
    return short_duration(round(duration_ms, -2) if duration_ms >= 1000 else duration_ms)


def _clock(at_ms: int | None) -> str:
    """The time of day, UTC; the day stands at the top of the page."""
    return "?" if at_ms is None else iso_time(at_ms)[11:19]
