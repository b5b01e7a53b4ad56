"""A report as values: claims, the records behind each, and a JSON form that reads back unchanged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from kgroup.errors import InputError

VERSION = 1
"""Of the JSON; a reader refuses others."""

Says = Mapping[str, Any]
"""Values of JSON's types."""


class ClaimKind(StrEnum):
    """The subject of a claim, in the order of the page."""

    HISTORY = "history"
    """A group's rebalances in the time of the report, and what they cost."""
    REBALANCE = "rebalance"
    EVENT = "event"
    PATTERN = "pattern"
    RANGE = "range"
    """Offsets that nobody can have read, or that were handed out twice."""
    LAG = "lag"
    FINDING = "finding"
    DEADLINE = "deadline"
    """When, as things go, retention deletes what a group has not read, or a lag exceeds an SLO."""
    REMEDY = "remedy"
    """What another setting would have cost in that time."""


class Cited(NamedTuple):
    """Offsets `first` to `last` of a partition: records that a claim rests on, or a hole there.

    Of the offsets topic each is one record. Of a data topic `first` is the first offset of a batch. `missing`
    says that nothing stands there: in the offsets topic what compaction took, in a data topic what had not
    been written when the time of the claim was over.
    """

    topic: str
    partition: int
    first: int
    last: int
    missing: bool = False

    def __str__(self) -> str:
        offsets = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.topic}-{self.partition}@{offsets}{' (nothing)' if self.missing else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """`says` is the answer to `question`, derived from what is `cited` and nothing else."""

    kind: ClaimKind
    group: str
    question: Says
    says: Says
    cited: tuple[Cited, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A report. Times are epoch ms; `sources` are what was read, as it was named.

    `remarks` say what is no claim: what could not be read, and what is left out.
    """

    kgroup: str
    sources: tuple[str, ...]
    from_ms: int
    to_ms: int
    claims: tuple[Claim, ...]
    remarks: tuple[str, ...] = ()

    def of(self, kind: ClaimKind, group: str | None = None) -> list[Claim]:
        """The claims of a kind, in order."""
        return [
            claim for claim in self.claims if claim.kind is kind and (group is None or claim.group == group)
        ]

    @property
    def groups(self) -> list[str]:
        """The groups that it tells of, in order."""
        return list(dict.fromkeys(claim.group for claim in self.claims))


def folded(places: Iterable[tuple[str, int, int, bool]]) -> tuple[Cited, ...]:
    """Topic, partition, offset and whether it is missing -> ranges, in order."""
    ranges: list[Cited] = []
    for topic, partition, offset, missing in sorted(set(places)):
        last = ranges[-1] if ranges else None
        follows = last is not None and (last.topic, last.partition, last.last + 1) == (
            topic,
            partition,
            offset,
        )
        if last is not None and follows and last.missing == missing:
            ranges[-1] = last._replace(last=offset)
        else:
            ranges.append(Cited(topic, partition, offset, offset, missing))
    return tuple(ranges)


def to_json(incident: Incident) -> dict[str, Any]:
    """The whole report as values of JSON's types."""
    return {
        "kgroup_report": VERSION,
        "kgroup": incident.kgroup,
        "sources": list(incident.sources),
        "from_ms": incident.from_ms,
        "to_ms": incident.to_ms,
        "remarks": list(incident.remarks),
        "claims": [
            {
                "kind": claim.kind.value,
                "group": claim.group,
                "question": dict(claim.question),
                "says": dict(claim.says),
                "cited": [
                    [each.topic, each.partition, each.first, each.last, *([True] if each.missing else [])]
                    for each in claim.cited
                ],
            }
            for claim in incident.claims
        ],
    }


def from_json(data: object) -> Incident:
    """The report that `to_json` made. Raises InputError, naming the claim, for anything else."""
    where = "the report"
    try:
        if not isinstance(data, Mapping) or data.get("kgroup_report") != VERSION:
            raise InputError(f"not a kgroup report: it has no kgroup_report: {VERSION}")
        claims = []
        for number, claim in enumerate(_sequence(data["claims"]), 1):
            where = f"claim {number}"
            claims.append(
                Claim(
                    kind=ClaimKind(claim["kind"]),
                    group=_text(claim["group"]),
                    question=dict(claim["question"]),
                    says=dict(claim["says"]),
                    cited=tuple(map(_cited, _sequence(claim["cited"]))),
                )
            )
        where = "the report"
        return Incident(
            kgroup=_text(data["kgroup"]),
            sources=tuple(map(_text, _sequence(data["sources"]))),
            from_ms=_whole(data["from_ms"]),
            to_ms=_whole(data["to_ms"]),
            claims=tuple(claims),
            remarks=tuple(map(_text, _sequence(data["remarks"]))),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where} is not as kgroup writes it: {error}") from error


def _cited(data: object) -> Cited:
    topic, partition, first, last, *missing = _sequence(data)
    if missing not in ([], [True]):
        raise ValueError(f"cited {data!r}")
    cited = Cited(_text(topic), _whole(partition), _whole(first), _whole(last), bool(missing))
    if not 0 <= cited.first <= cited.last:
        raise ValueError(f"offsets {cited.first} to {cited.last}")
    return cited


def _sequence(data: object) -> Sequence[Any]:
    if not isinstance(data, list):
        raise TypeError(f"{data!r} is no list")
    return data


def _text(data: object) -> str:
    if not isinstance(data, str):
        raise TypeError(f"{data!r} is no text")
    return data


def _whole(data: object) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise TypeError(f"{data!r} is not a whole number")
    return data
