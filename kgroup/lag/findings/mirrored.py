"""A group's offsets in a mirror, judged by what it had read in the source: the effect of a failover."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from kgroup.lag.findings.text import counted, listed
from kgroup.log.topics.translated import Mirrored, Place


class MirrorVerdict(StrEnum):
    """The effect on a group that continues reading a partition in the mirror."""

    IN_PLACE = "in-place"
    REPEATS = "repeats"
    SKIPS = "skips"
    UNCERTAIN = "uncertain"
    """Bounds on both sides: it may skip or repeat."""
    UNTRANSLATED = "untranslated"
    """The mirror's offset is none of its log, or the source's as it stands, where that is another place."""
    OUT_OF_RANGE = "out-of-range"
    """Below the log's start, or beyond its end where it may only be behind: auto.offset.reset decides."""
    NO_COMMIT = "no-commit"
    UNKNOWN = "unknown"
    """Without the data logs of both sides nobody can say."""


class MirrorFindingKind(StrEnum):
    """The kinds of trouble of a group in the mirror."""

    UNTRANSLATED_OFFSETS = "untranslated-offsets"
    OUT_OF_RANGE = "out-of-range"
    SKIPS_AFTER_FAILOVER = "skips-after-failover"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredCommit:
    """A partition of a group on both sides. `right` are the offsets between which the right one lies.

    `skipped` and `repeated` are records of the mirror, at least and at most; `missing` are records that the
    group has not read and the mirror does not have. None is unknown. `topic` is the source's name of it.
    """

    group: str
    topic: str
    partition: int
    source_offset: int
    mirror_offset: int | None
    mirror_start: int | None
    mirror_end: int | None
    verdict: MirrorVerdict
    right: tuple[int, int] | None = None
    skipped: tuple[int, int] | None = None
    repeated: tuple[int, int] | None = None
    missing: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorFinding:
    """A finding on a group, with its numbers."""

    group: str
    kind: MirrorFindingKind
    evidence: str


def judged(
    group: str,
    topic: str,
    partition: int,
    *,
    source_offset: int,
    mirror_offset: int | None,
    mirror_start: int | None,
    mirror_end: int | None,
    logs: Mirrored | None,
) -> MirroredCommit:
    """Judge one partition. `logs` are the data records of both sides, None if they are not at hand."""
    place = None if logs is None else logs.place(source_offset)
    right = skipped = repeated = None
    is_below = mirror_offset is not None and mirror_start is not None and mirror_offset < mirror_start
    is_beyond = mirror_offset is not None and mirror_end is not None and mirror_offset > mirror_end
    if place is not None and logs is not None and mirror_end is not None:
        right = (logs.mirror_offset(place.low, mirror_end), logs.mirror_offset(place.high, mirror_end))
        # Out of range auto.offset.reset decides.
        if mirror_offset is not None and not is_below and not is_beyond:
            behind = logs.behind(mirror_offset)
            skipped = (max(0, behind - place.high), max(0, behind - place.low))
            repeated = (max(0, place.low - behind), max(0, place.high - behind))
    return MirroredCommit(
        group=group,
        topic=topic,
        partition=partition,
        source_offset=source_offset,
        mirror_offset=mirror_offset,
        mirror_start=mirror_start,
        mirror_end=mirror_end,
        verdict=_verdict(source_offset, mirror_offset, logs, place, is_below=is_below, is_beyond=is_beyond),
        right=right,
        skipped=skipped,
        repeated=repeated,
        missing=None if place is None else place.missing,
    )


def _verdict(
    source_offset: int,
    mirror_offset: int | None,
    logs: Mirrored | None,
    place: Place | None,
    *,
    is_below: bool,
    is_beyond: bool,
) -> MirrorVerdict:
    if mirror_offset is None:
        return MirrorVerdict.NO_COMMIT
    has_others = place is not None and logs is not None and not logs.keeps_offsets
    if is_below or is_beyond:
        # A mirror with the source's own offsets has only not got so far yet, and retention may be further.
        is_known = has_others and (is_beyond or mirror_offset == source_offset)
        return MirrorVerdict.UNTRANSLATED if is_known else MirrorVerdict.OUT_OF_RANGE
    if place is None or logs is None:
        return MirrorVerdict.UNKNOWN
    behind = logs.behind(mirror_offset)
    if place.low <= behind <= place.high:
        return MirrorVerdict.IN_PLACE if place.is_exact else MirrorVerdict.UNCERTAIN
    if mirror_offset == source_offset and has_others:
        return MirrorVerdict.UNTRANSLATED
    return MirrorVerdict.SKIPS if behind > place.high else MirrorVerdict.REPEATS


def mirror_findings(commits: Iterable[MirroredCommit]) -> Iterator[MirrorFinding]:
    """Findings about each group, by group; commits come sorted by group."""
    for group, of_group in groupby(commits, key=lambda commit: commit.group):
        parts = list(of_group)
        for kind, verdict, said in (
            (MirrorFindingKind.UNTRANSLATED_OFFSETS, MirrorVerdict.UNTRANSLATED, _untranslated),
            (MirrorFindingKind.OUT_OF_RANGE, MirrorVerdict.OUT_OF_RANGE, _out_of_range),
            (MirrorFindingKind.SKIPS_AFTER_FAILOVER, MirrorVerdict.SKIPS, _skips),
        ):
            chosen = [commit for commit in parts if commit.verdict is verdict]
            if chosen:
                evidence = f"{counted(len(chosen), 'partition')}: {listed([said(each) for each in chosen])}"
                yield MirrorFinding(group=group, kind=kind, evidence=evidence)


def _untranslated(commit: MirroredCommit) -> str:
    assert commit.right is not None
    low, high = commit.right
    right = f"{low}" if low == high else f"{low} to {high}"
    where = f"the log ends at {commit.mirror_end}"
    if commit.mirror_offset == commit.source_offset:
        where = "as in the source"
    return (
        f"{commit.topic}-{commit.partition} is committed at {commit.mirror_offset}, {where}; {right} is right"
    )


def _out_of_range(commit: MirroredCommit) -> str:
    start = "?" if commit.mirror_start is None else commit.mirror_start
    return (
        f"{commit.topic}-{commit.partition} is committed at {commit.mirror_offset}, and the log is from"
        f" {start} to {commit.mirror_end}"
    )


def _skips(commit: MirroredCommit) -> str:
    assert commit.skipped is not None
    low, high = commit.skipped
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{commit.topic}-{commit.partition} skips {number} unread"
