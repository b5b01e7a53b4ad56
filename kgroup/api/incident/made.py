"""Builds a report: queries the log, keeps what can be cited, and says what is left out."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kgroup.api.incident.ahead import AskedDeadline, deadline_claims
from kgroup.api.incident.cite import around, cited_claim
from kgroup.api.incident.derive import (
    derive,
    finding_says,
    identity_of,
    range_of,
    range_says,
    rebalance_says,
    rebalances,
)
from kgroup.api.incident.evidence import (
    DataBatch,
    Evidence,
    EvidenceReader,
    among,
    commit_key,
    place_of,
)
from kgroup.api.incident.live_batches import LiveBatches
from kgroup.api.incident.past import batches_of_ends, committed_at
from kgroup.api.lag.report import lag_report
from kgroup.api.ledger import ledger
from kgroup.api.names import LISTED, matches_any, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs, not_read
from kgroup.api.replay import Item
from kgroup.errors import InputError, SourceError
from kgroup.history.groups.model import GroupKind
from kgroup.history.ledger.model import LedgerEntry
from kgroup.history.timeline.model import CauseKind, Grade, Occurrence, Timeline
from kgroup.history.timeline.replay import replay
from kgroup.lag.findings.model import Finding
from kgroup.lag.measures.offset_expiry import RETENTION_MS
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap, OffsetsEntry
from kgroup.protocol.records.keys import group_of
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.emit import iso_time
from kgroup.report.incident.claims import Claim, ClaimKind, Incident, Says
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted
from kgroup.version import __version__

_GROUPS_MAX: Final = 10
_REBALANCES_MAX: Final = 12
_ALIKE_MAX: Final = 3  # events of a kind
_POINTS: Final = 13
_PARTITIONS_MAX: Final = 200  # of a group whose lag is drawn
_PROOF_BATCHES: Final = 64
_RANGES_MAX: Final = 8
_BATCHES_MAX: Final = 4_000
_TRIES_OF_SCANS: Final = 60
_TRIES_OF_TIME: Final = 60
_TRIES_OF_FEW: Final = 14  # every half, quarter and eighth
_REMEDIES: Final[tuple[tuple[str, dict[str, object]], ...]] = (
    ("static members", {"static": True}),
    ("cooperative rebalancing", {"protocol": "cooperative"}),
    ("the consumer protocol", {"protocol": "consumer"}),
    ("one more member", {"more_members": 1}),
)
_NOT_TOLD: Final = {CauseKind.NO_MEMBERSHIP}
_LENGTH: Final = re.compile(r"\b[\d.]+(?:ms|[smhd])\b")
_NOT_CITABLE: Final = "it does not follow from records that can be cited"
_NO_ENDS: Final = (
    "the logs of its topics are not among these, and no other record shows where they end: kgroup lag-report"
    " --stuck has it"
)


def incident_report(
    logs: OpenedLogs,
    *,
    groups: str | Sequence[str] | None = None,
    from_ms: int | None = None,
    to_ms: int | None = None,
    retention_ms: int = RETENTION_MS,
    deadlines: Sequence[AskedDeadline] = (),
    progress: Progress = NO_PROGRESS,
) -> Incident:
    """Report what happened to groups in a period (epoch ms), by default that of the whole offsets topic.

    `deadlines` are lag bounds and topics' retention, looked ahead to from the end of the period. `groups`
    are names or patterns; the default is the ten groups to which most happened. Every claim is derived from
    the records it cites before it is made; the remarks say what could not be. Raises SourceError if nothing
    can be read or no group matches, and InputError for a period that ends before it begins.
    """
    patterns = [groups] if isinstance(groups, str) else list(groups or ())
    reader = EvidenceReader(logs)
    names: set[str] = set()

    def wanted(group: str) -> bool:
        names.add(group)
        return not patterns or matches_any(group, patterns)

    with progress.counted_bytes("reading", reader.total_bytes) as advance:
        items = list(reader.items(wanted, advance))
    chosen = {name for name in names if not patterns or matches_any(name, patterns)}
    if not chosen:
        raise SourceError(nothing_matches("group", patterns, names, LISTED))
    findings: dict[str, list[Finding]] = {}
    newest_ms: int | None = None
    asked: dict[str, list[Finding]] = {}
    if reader.live is not None:
        asked, asked_ms = _findings(logs, to_ms, retention_ms, patterns)
        # What is claimed rests on records, of which those who check have more later: it is as of a time.
        to_ms = asked_ms if to_ms is None else to_ms
        reader.live.sample(partitions_of(items), _PROOF_BATCHES)
    elif to_ms is None:
        findings, newest_ms = _findings(logs, None, retention_ms)
    span = _span(items, from_ms, newest_ms if to_ms is None else to_ms)
    by_group = _by_group(items, chosen)
    timelines = replay(items, reader.topic_names)
    if to_ms is not None:
        batches = proof_of_ends(reader, partitions_of(items), to_ms, some=_PROOF_BATCHES)
        past = Evidence(
            items=tuple(_until(items, to_ms)), batches=tuple(batches), topic_names=reader.topic_names
        )
        if past.items:
            with past.opened() as then:
                findings, _ = _findings(then, to_ms, retention_ms)
    certain = _certain(logs, sorted(chosen), span)
    maker = _Maker(reader, span, items, retention_ms, to_ms, certain, deadlines)
    if reader.live is not None:
        maker.remarks += _of_a_cluster(reader.live, asked, findings)
    weights = {
        group: _weight(timelines.get(group), findings.get(group, ()), span)
        + 1000 * sum(entry.at_least for entry in certain.get(group, ()))
        for group in sorted(chosen)
    }
    told = sorted(
        (group for group in weights if patterns or weights[group]), key=lambda group: -weights[group]
    )
    if not patterns and len(told) > _GROUPS_MAX:
        left_out = ", ".join(told[_GROUPS_MAX:][:5])
        maker.remarks.append(
            f"{counted(len(told) - _GROUPS_MAX, 'more group')} to which less happened: {left_out}"
            f"{' and others' if len(told) > _GROUPS_MAX + 5 else ''}; name one with --group"
        )
        told = told[:_GROUPS_MAX]
    claims: list[Claim] = []
    with progress.counted("citing", len(told)) as advance:
        for group in told:
            of_group = by_group.get(group, ())
            claims += maker.claims(group, timelines.get(group), of_group, findings.get(group, ()))
            advance(1)
    remarks = [*not_read(logs.sources.skipped), *maker.remarks]
    if missing := without_match(patterns, names):
        remarks.append(nothing_matches("group", missing, names))
    return Incident(
        kgroup=__version__,
        sources=logs.names if logs.cluster is None else (logs.cluster.name,),
        from_ms=span.from_ms,
        to_ms=span.to_ms,
        claims=tuple(claims),
        remarks=tuple(remarks),
    )


@dataclass(frozen=True, slots=True)
class _Span:
    from_ms: int
    to_ms: int

    def holds(self, at_ms: int | None) -> bool:
        return at_ms is not None and self.from_ms <= at_ms <= self.to_ms


def _span(items: Iterable[Item], from_ms: int | None, to_ms: int | None) -> _Span:
    times = [item.timestamp_ms for item in items if isinstance(item, LoggedEntry) and item.timestamp_ms >= 0]
    if not times and (from_ms is None or to_ms is None):
        raise SourceError("no record of these groups has a time: give --since and --until")
    span = _Span(min(times) if from_ms is None else from_ms, max(times) if to_ms is None else to_ms)
    if span.to_ms < span.from_ms:
        raise InputError(f"--until {iso_time(span.to_ms)} is before --since {iso_time(span.from_ms)}")
    return span


def _by_group(items: Iterable[Item], groups: set[str]) -> dict[str, list[Item]]:
    """Each group's entries, with the markers and the holes of its partition of the log that stand between."""
    by_group: dict[str, list[Item]] = {}
    homes: dict[int, set[str]] = {}
    gaps: dict[str, OffsetGap] = {}
    for item in items:
        if isinstance(item, LoggedEntry) and isinstance(item.entry, OffsetsEntry):
            group = group_of(item.entry.key)
            homes.setdefault(item.partition, set()).add(group)
            if group in gaps:
                by_group[group].append(gaps.pop(group))
            by_group.setdefault(group, []).append(item)
        else:
            for group in homes.get(item.partition, ()):
                if isinstance(item, OffsetGap):
                    gaps[group] = item
                else:
                    by_group[group].append(item)
    return by_group


def _findings(
    logs: OpenedLogs, now_ms: int | None, retention_ms: int, groups: Sequence[str] = ()
) -> tuple[dict[str, list[Finding]], int]:
    """The findings of groups, by default all, and as of when: by default of the newest record."""
    by_group: dict[str, list[Finding]] = {}
    report = lag_report(logs, groups=groups or None, findings=True, now_ms=now_ms, retention_ms=retention_ms)
    for finding in report.findings():
        by_group.setdefault(finding.group, []).append(finding)
    return by_group, report.as_of.now_ms


def _of_a_cluster(
    live: LiveBatches, asked: Mapping[str, Sequence[Finding]], claimed: Mapping[str, Sequence[Finding]]
) -> Iterator[str]:
    """What a report on a cluster lacks, next to one on its files."""
    yield (
        f"{live.number} batches of the cluster's topics were fetched to prove lag and findings"
        f"{', fewer than usual as they are large' if live.is_cut else ''}; what needs more of them, as leaps"
        " over deleted records do, is not claimed"
    )
    if live.silent:
        first = "{}-{}".format(*live.silent[0])
        yield (
            f"no batch could be fetched of {counted(len(live.silent), 'partition')} ({first}"
            f"{' and others' if len(live.silent) > 1 else ''}): without the right to read a topic its lag is"
            " not claimed"
        )
    for group, found in sorted(asked.items()):
        for kind, topic, partition, _ in map(identity_of, found):
            if any(_is_alike((kind, topic), identity_of(each)) for each in claimed.get(group, ())):
                continue
            where = "" if topic is None else f" of {topic}" + ("" if partition is None else f"-{partition}")
            yield (
                f"group {group}: {kind}{where}: left out, as it rests on what the cluster answers now, and on"
                " no record that was fetched: kgroup stuck has it"
            )


def _is_alike(
    finding: tuple[str, str | None], identity: tuple[str, str | None, int | None, str | None]
) -> bool:
    """Whether it is of the same kind, and no two topics tell them apart."""
    kind, topic = finding
    return kind == identity[0] and (topic == identity[1] or None in (topic, identity[1]))


def _certain(logs: OpenedLogs, groups: Sequence[str], span: _Span) -> dict[str, list[LedgerEntry]]:
    """The ranges of each group's ledger that are certain and have a known cause."""
    accounts = ledger(logs, list(groups), since_ms=span.from_ms, until_ms=span.to_ms + 1, only_certain=True)
    return {
        group: [entry for entry in account.entries if entry.grade is not Grade.UNKNOWN and entry.at_least]
        for group, account in accounts.items()
    }


def _weight(timeline: Timeline | None, findings: Sequence[Finding], span: _Span) -> int:
    """A group's weight by how much happened, roughly in ms: findings first, then time partitions waited."""
    weight = 3_600_000 * len(findings)
    if timeline is not None:
        began = rebalances(timeline, span.from_ms, span.to_ms)
        weight += sum(1000 + sum(gap.length_ms for gap in each.gaps) for each in began)
        weight += 600_000 * sum(
            span.holds(each.at_ms) and each.cause.kind not in _NOT_TOLD for each in timeline.occurrences
        )
        weight += 600_000 * len(timeline.patterns)
    return weight


class _Maker:
    """Makes the claims of one group after the other; `remarks` name what could not be made a claim."""

    def __init__(
        self,
        reader: EvidenceReader,
        span: _Span,
        all_items: Sequence[Item],
        retention_ms: int,
        until_ms: int | None,
        ledgers: Mapping[str, Sequence[LedgerEntry]],
        deadlines: Sequence[AskedDeadline],
    ) -> None:
        self._deadlines = deadlines
        self._ledgers = ledgers
        self.remarks: list[str] = []
        self._reader = reader
        self._span = span
        self._all_items = all_items
        self._retention_ms = retention_ms
        self._until_ms = until_ms

    def claims(
        self, group: str, timeline: Timeline | None, items: Sequence[Item], findings: Sequence[Finding]
    ) -> Iterator[Claim]:
        """All that is claimed of a group, in the order of the page."""
        made: list[Claim | None] = []
        history = None
        if timeline is not None:
            began = rebalances(timeline, self._span.from_ms, self._span.to_ms)
            if began:
                history = self._of_time(group, ClaimKind.HISTORY, {}, items)
                made.append(history)
                made += self._rebalances(group, timeline, items)
            made += self._events(group, timeline, items)
            made += self._patterns(group, timeline, items)
            # Findings do not know a group's commits of long ago, by which replay tells a pattern.
            proven = {each.name for each in timeline.patterns if each.grade is not Grade.UNKNOWN}
            findings = [
                each for each in findings if each.grade is not Grade.UNKNOWN or each.kind.value not in proven
            ]
        made += self._ranges(group, items)
        made += self._findings_of(group, items, findings)
        ahead = list(self._ahead(group, items))
        if any(made) or ahead:
            made.append(self._lag(group, items))
        made += ahead
        if timeline is not None and len(rebalances(timeline, self._span.from_ms, self._span.to_ms)) > 1:
            made += self._remedies(group, timeline, items, history)
        yield from (claim for claim in made if claim is not None)

    def _evidence(self, items: Iterable[Item], batches: Iterable[DataBatch] = ()) -> Evidence:
        return Evidence(items=tuple(items), batches=tuple(batches), topic_names=self._reader.topic_names)

    def _made(
        self,
        kind: ClaimKind,
        group: str,
        question: Mapping[str, object],
        says: Mapping[str, object] | None,
        rungs: Iterable[Evidence],
        *,
        lacking: str = _NOT_CITABLE,
        **more: Any,
    ) -> Claim | None:
        claim = None if says is None else cited_claim(kind, group, question, says, rungs, **more)
        if claim is None and says is not None:
            names = (question.get(name) for name in ("finding", "pattern", "event", "kind"))
            name = next((name for name in names if name), kind.value)
            if kind is ClaimKind.RANGE:
                name = f"{name} offsets of {question['topic']}-{question['partition']}"
            self.remarks.append(f"group {group}: {name}: left out, as {lacking}")
        return claim

    def _of_time(
        self,
        group: str,
        kind: ClaimKind,
        question: dict[str, object],
        items: Sequence[Item],
        *,
        is_worth_it: Callable[[Says], bool] = lambda says: True,
        history: Claim | None = None,
    ) -> Claim | None:
        """A claim on all of the time of the report, which rests on all that happened in it.

        None where the answer is not worth it: to look for the fewest records takes far longer than to ask.
        Where the records of `history`, which are few already, give the same answer, it is looked for less.
        """
        question = {"from_ms": self._span.from_ms, "to_ms": self._span.to_ms, **question}
        whole = self._evidence(items)
        says = derive(kind, group, question, whole)
        if says is None or not is_worth_it(says):
            return None
        if history is not None:
            few = self._evidence(among(items, history.cited))
            if derive(kind, group, question, few) == says:
                return self._made(kind, group, question, says, [few], tries=_TRIES_OF_FEW)
        return self._made(kind, group, question, says, [whole], tries=_TRIES_OF_TIME)

    def _rebalances(self, group: str, timeline: Timeline, items: Sequence[Item]) -> list[Claim | None]:
        began = rebalances(timeline, self._span.from_ms, self._span.to_ms)
        # The costliest, in order of time: a page is read, a list of hundreds is not.
        worst = sorted(
            began, key=lambda each: max((gap.length_ms for gap in each.gaps), default=0), reverse=True
        )[:_REBALANCES_MAX]
        offsets = [each.roster.offset for each in timeline.generations]
        made = []
        for generation in began:
            only_begins = {cause.kind for cause in generation.causes} == {CauseKind.FIRST_JOIN}
            if generation not in worst or (only_begins and not generation.gaps):
                continue
            roster = generation.roster
            question = {"partition": roster.offsets_partition, "offset": roster.offset}
            rungs = map(self._evidence, around(items, roster.offset, offsets))
            says = rebalance_says(timeline, generation)
            made.append(self._made(ClaimKind.REBALANCE, group, question, says, rungs))
        return made

    def _events(self, group: str, timeline: Timeline, items: Sequence[Item]) -> list[Claim | None]:
        made = []
        whole = self._evidence(items)
        events = [
            each
            for each in timeline.occurrences
            if self._span.holds(each.at_ms) and each.cause.kind not in _NOT_TOLD
        ]
        told: list[Occurrence] = []
        for kind in dict.fromkeys(each.cause.kind for each in events):
            alike = [each for each in events if each.cause.kind is kind]
            told += alike[:_ALIKE_MAX]
            if len(alike) > _ALIKE_MAX:
                self.remarks.append(
                    f"group {group}: {kind.value} came {len(alike) - _ALIKE_MAX} times more, until"
                    f" {iso_time(alike[-1].at_ms or 0)}: kgroup replay --events has them"
                )
        for each in sorted(told, key=events.index):
            question = {
                "event": each.cause.kind.value,
                "partition": each.offsets_partition,
                "offset": each.offset,
            }
            says = derive(ClaimKind.EVENT, group, question, whole)
            near = [item for item in items if place_of(item)[1] <= each.offset]
            made.append(
                self._made(
                    ClaimKind.EVENT,
                    group,
                    question,
                    says,
                    (self._evidence(near[-20:]), self._evidence(near), whole),
                )
            )
        return made

    def _patterns(self, group: str, timeline: Timeline, items: Sequence[Item]) -> list[Claim | None]:
        made = []
        whole = self._evidence(items)
        for each in timeline.patterns:
            begins, ends = each.from_ms, each.to_ms
            if begins is None or ends is None or ends < self._span.from_ms or begins > self._span.to_ms:
                continue
            question = {
                "pattern": each.name,
                "first_generation": each.first_generation,
                "last_generation": each.last_generation,
            }
            says = derive(ClaimKind.PATTERN, group, question, whole)
            without_commits = self._evidence(item for item in items if commit_key(item) is None)
            made.append(
                self._made(ClaimKind.PATTERN, group, question, says, (without_commits, whole), tries=60)
            )
        return made

    def _ranges(self, group: str, items: Sequence[Item]) -> list[Claim | None]:
        """The largest ranges of the group's ledger that are certain, in order of time."""
        certain = sorted(self._ledgers.get(group, ()), key=lambda entry: -entry.at_least)
        if len(certain) > _RANGES_MAX:
            left_out = sum(entry.at_least for entry in certain[_RANGES_MAX:])
            self.remarks.append(
                f"group {group}: {counted(len(certain) - _RANGES_MAX, 'more range')} with {left_out} offsets"
                " that were skipped or handed out twice: kgroup ledger has them"
            )
        made = []
        for entry in sorted(certain[:_RANGES_MAX], key=lambda entry: (entry.at_ms, entry.partition)):
            names = ("kind", "topic", "partition", "from_offset", "to_offset")
            question = dict(zip(names, range_of(entry), strict=True))
            place = entry.partition.topic, entry.partition.partition
            batches = list(proof_of_ends(self._reader, [place], None, some=0))
            places = {(entry.offsets_partition, offset) for offset in entry.records}
            said = [item for item in items if place_of(item) in places]
            more = list(proof_of_ends(self._reader, [place], None, some=_BATCHES_MAX))
            rungs = (
                self._evidence(said),
                self._evidence(said, batches),
                self._evidence(items, batches),
                self._evidence(items, more),
            )
            says = range_says(entry)
            made.append(self._made(ClaimKind.RANGE, group, question, says, rungs, tries=_TRIES_OF_SCANS))
        return made

    def _remedies(
        self, group: str, timeline: Timeline, items: Sequence[Item], history: Claim | None
    ) -> list[Claim | None]:
        kinds = {generation.roster.kind for generation in timeline.generations}
        made: list[Claim | None] = []
        for name, changes in _REMEDIES:
            if kinds != {GroupKind.CLASSIC} and name == "the consumer protocol":
                continue
            question: dict[str, object] = {"name": name, "changes": changes}
            made.append(
                self._of_time(
                    group, ClaimKind.REMEDY, question, items, is_worth_it=_spares_something, history=history
                )
            )
        return made

    def _lag(self, group: str, items: Sequence[Item]) -> Claim | None:
        places = partitions_of(items)
        if not places or len(places) > _PARTITIONS_MAX or self._span.to_ms == self._span.from_ms:
            return None
        step = (self._span.to_ms - self._span.from_ms) / (_POINTS - 1)
        times_ms = sorted({round(self._span.from_ms + step * number) for number in range(_POINTS)})
        committed = committed_at(group, items, places, times_ms)
        if self._reader.live is not None:
            self._reader.live.look(dict.fromkeys(places, times_ms))
        needed: dict[tuple[int, int], Item] = {}
        batches: dict[tuple[str, int, int], DataBatch] = {}
        for place in places:
            for commit in committed[place]:
                for logged in commit.log if commit is not None else ():
                    needed[logged.partition, logged.offset] = logged
            for each in batches_of_ends(self._reader, place, times_ms):
                batches[each.topic, each.partition, each.batch.base_offset] = each
        question = {"times_ms": times_ms, "partitions": [list(place) for place in places]}
        chosen = self._evidence(
            (needed[key] for key in sorted(needed)), (batches[key] for key in sorted(batches))
        )
        says = derive(ClaimKind.LAG, group, question, chosen)
        if says is None or all(lag is None for lag in says["lags"]):
            return None
        return Claim(kind=ClaimKind.LAG, group=group, question=question, says=says, cited=chosen.cited())

    def _ahead(self, group: str, items: Sequence[Item]) -> Iterator[Claim]:
        """Claims about deadlines to come, as of the end of the time."""
        own = _until(items, self._until_ms)
        places = partitions_of(own)
        if len(places) <= _PARTITIONS_MAX:
            yield from deadline_claims(self._reader, group, own, places, self._deadlines, self._span.to_ms)

    def _findings_of(
        self, group: str, items: Sequence[Item], findings: Sequence[Finding]
    ) -> list[Claim | None]:
        if not findings:
            return []
        made = []
        lacking = _NOT_CITABLE if self._has_ends(items) else _NO_ENDS
        for finding in findings:
            kind, topic, partition, member_id = identity_of(finding)
            question = {
                "finding": kind,
                "topic": topic,
                "partition": partition,
                "member_id": member_id,
                "now_ms": self._span.to_ms,
                "retention_ms": self._retention_ms,
            }
            says = finding_says(finding)
            made.append(
                self._made(
                    ClaimKind.FINDING,
                    group,
                    question,
                    says,
                    self._rungs_of(items),
                    lacking=lacking,
                    tries=_TRIES_OF_SCANS,
                    is_alike=partial(_differs_in_lengths_of_time, says),
                )
            )
        return made

    def _has_ends(self, items: Sequence[Item]) -> bool:
        """Whether a record of any topic that the group reads shows how far it goes, if only at the end."""
        return self._reader.live is not None or any(map(self._reader.outline, partitions_of(items)))

    def _rungs_of(self, items: Sequence[Item]) -> Iterator[Evidence]:
        until = self._until_ms
        own = _until(items, until)
        partitions = partitions_of(self._all_items, {topic for topic, _ in partitions_of(own)})
        yield self._evidence(own, proof_of_ends(self._reader, partitions, until, some=0))
        more = list(proof_of_ends(self._reader, partitions, until, some=_PROOF_BATCHES))
        yield self._evidence(own, more)
        yield self._evidence(_until(self._all_items, until), more)


def partitions_of(items: Iterable[Item], topics: Set[str] | None = None) -> list[TopicPartition]:
    """The partitions that are committed, of these topics if any are given, in order."""
    keys = filter(None, map(commit_key, items))
    return sorted({(key.topic, key.partition) for key in keys if topics is None or key.topic in topics})


def proof_of_ends(
    reader: EvidenceReader, partitions: Iterable[TopicPartition], until_ms: int | None, *, some: int
) -> Iterator[DataBatch]:
    """The first and the last batch of each partition's log, and about `some` between them, as it was then."""
    for place in partitions:
        offsets = [
            each.base_offset
            for each in reader.outline(place)
            if until_ms is None or each.max_timestamp_ms <= until_ms
        ]
        stride = max(len(offsets) // some, 1) if some else max(len(offsets), 1)
        chosen = dict.fromkeys((*offsets[::stride], *offsets[-1:]))
        yield from filter(None, (reader.batch(place, offset) for offset in chosen))


def _until(items: Sequence[Item], until_ms: int | None) -> Sequence[Item]:
    """The items that were in the log by then."""
    if until_ms is None:
        return items
    return [item for item in items if isinstance(item, OffsetGap) or item.timestamp_ms <= until_ms]


def _differs_in_lengths_of_time(says: Says, answer: Says) -> bool:
    """Whether it is the same finding but for a moment, as records of other groups tell the time as well."""
    return _without_lengths(answer) == _without_lengths(says)


def _without_lengths(says: Says) -> dict[str, object]:
    return {**says, "evidence": _LENGTH.sub("", says["evidence"])}


def _spares_something(says: Says) -> bool:
    """Whether a count of what is supposed is lower than that of what is recorded; what is unknown is not."""
    pairs = ((count, says["supposed"][name]) for name, count in says["recorded"].items())
    return any(there is not None and then is not None and then < there for there, then in pairs)
