"""A group's timeline as the data its page draws: lanes, generations, events and findings, in JSON types."""

from collections.abc import Collection, Mapping
from typing import Final

from kgroup.history.timeline.model import Cause, Generation, Occurrence, Partition, Pattern, Timeline
from kgroup.report.assignments import runs_by_topic
from kgroup.report.pages.labels import short_labels
from kgroup.report.pages.lanes import LaneWait, Picture, cause_class, lane_names, longest_pauses, picture_of
from kgroup.report.timeline.rows import client_ids, counted_names

LABEL_LETTERS: Final = 24
_LETTERS_MAX: Final = 2000  # of a set of partitions, of which there may be thousands


def history_data(timeline: Timeline, until_ms: int | None = None) -> dict[str, object]:
    """All of a timeline in a log that ends at `until_ms`.

    Times are epoch ms; lanes, sets and generations are named by their place.
    """
    picture = picture_of(timeline, until_ms)
    clients = client_ids(timeline)
    names = lane_names(picture.lanes)
    labels = short_labels(names, LABEL_LETTERS)
    sets = _Sets()
    stays = [
        # Flat, as there may be a hundred thousand: lane, member, first, last, from, to, set.
        (
            stay.lane,
            picture.lanes[stay.lane].member_ids.index(stay.member_id),
            stay.first,
            stay.last,
            stay.from_ms - picture.from_ms,
            stay.to_ms - picture.from_ms,
            sets.place(stay.owned),
        )
        for stay in picture.stays
    ]
    return {
        "from": picture.from_ms,
        "to": picture.to_ms,
        "told": picture.told_ms,
        "commits": timeline.commits,
        "most": picture.most_owned,
        "begin": labels.begin,
        "end": labels.end,
        "lanes": [
            [label, name, lane.host.lstrip("/"), lane.member_ids]
            for label, name, lane in zip(labels.names, names, picture.lanes, strict=True)
        ],
        "sets": sets.texts,
        "stays": [number for stay in stays for number in stay],
        "pauses": [
            [pause.lane, pause.from_ms, pause.to_ms, str(pause.partition)]
            for pause in longest_pauses(picture.pauses)
        ],
        "waits": [
            [
                each.lane,
                each.holder,
                each.from_ms,
                each.to_ms,
                _how_it_ended(each),
                sets.place(each.partitions),
            ]
            for each in picture.waits
        ],
        "generations": _generations(timeline, picture, clients),
        "events": [_occurrence(occurrence, clients) for occurrence in timeline.occurrences],
    }


def pattern_data(pattern: Pattern) -> dict[str, object]:
    """A finding on the history, as one on the group's lag looks."""
    return {
        "name": pattern.name,
        "severity": "trouble",
        "grade": pattern.grade,
        "from": pattern.from_ms,
        "to": pattern.to_ms,
        "where": "",
        "evidence": pattern.evidence,
        "try": pattern.remedy,
    }


class _Sets:
    """Sets of partitions, each once: how many, and which in words."""

    def __init__(self) -> None:
        self._places: dict[frozenset[Partition], int] = {}
        self.texts: list[tuple[int, str]] = []

    def place(self, partitions: Collection[Partition]) -> int:
        """The set's place in the list."""
        owned = frozenset(partitions)
        if owned not in self._places:
            self._places[owned] = len(self.texts)
            self.texts.append((len(owned), partitions_text(owned)))
        return self._places[owned]


def partitions_text(partitions: Collection[Partition]) -> str:
    """`orders:0-3,7 payments:1`; of very many only the first."""
    said = runs_by_topic(sorted(partitions))
    if len(said) <= _LETTERS_MAX:
        return said
    cut = max(said.rfind(",", 0, _LETTERS_MAX), said.rfind(" ", 0, _LETTERS_MAX))
    return f"{said[: cut if cut > 0 else _LETTERS_MAX]} and more"


def _how_it_ended(wait: LaneWait) -> str:
    if wait.open:
        return "continues at the log's end"
    return "given up" if wait.released else "superseded by another target"


def _generations(timeline: Timeline, picture: Picture, clients: Mapping[str, str]) -> list[dict[str, object]]:
    return [
        _generation(generation, start_ms, leader, clients)
        for generation, start_ms, leader in zip(
            timeline.generations, picture.starts_ms, picture.leaders, strict=True
        )
    ]


def _generation(
    generation: Generation, start_ms: int, leader: int | None, clients: Mapping[str, str]
) -> dict[str, object]:
    roster = generation.roster
    return {
        "n": roster.generation,
        "at": start_ms,
        # As its record says, which may be before the one before it, or nothing.
        "t": roster.at_ms,
        "kind": roster.kind,
        "protocol": roster.protocol,
        "leader": leader,
        "members": len(roster.members),
        "moved": generation.moved.moved,
        "kept": generation.moved.kept,
        "since": generation.since_previous_ms,
        "gap": max((gap.length_ms for gap in generation.gaps), default=0),
        "usual": generation.usual_interval_ms,
        "commits": generation.commits,
        "cut": generation.cut,
        "skipped": generation.unfinished,
        "causes": [_cause(cause, clients) for cause in generation.causes],
    }


def _cause(cause: Cause, clients: Mapping[str, str]) -> list[object]:
    return [
        cause_class(cause),
        cause.kind,
        cause.grade,
        cause.evidence,
        list(cause.alternatives),
        cause.remedy,
        counted_names([clients.get(member_id, member_id) for member_id in cause.member_ids]),
    ]


def _occurrence(occurrence: Occurrence, clients: Mapping[str, str]) -> dict[str, object]:
    return {
        "t": occurrence.at_ms,
        "n": occurrence.generation,
        "cause": _cause(occurrence.cause, clients),
        "partitions": partitions_text(occurrence.partitions),
    }
