"""One offsets partition, read from its first segment to its last for several releases at once."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgroup.history.loading.coordinator import Loading
from kgroup.history.loading.model import Obstacle, Outcome, Why
from kgroup.history.loading.releases import Release
from kgroup.history.loading.walk import Step, Stop, walk
from kgroup.log.files.entries import decode_record
from kgroup.log.format.batch import Batch, Damage
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable

Replayed = Collection[str] | LoggedEntry
"""The groups of commits that follow each other, tombstones left out, or any other record."""
_ORDER: Final = tuple(Outcome)
_OBSTACLES_MAX: Final = 1000
"""Kept of each release; a coordinator stops at the first that it fails at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFacts:
    """Facts about a segment besides its bytes.

    `is_checked`: the broker will check it when it starts, as after a crash or where the index is missing;
    after a crash it deletes what comes behind damage (`ends_log`).
    `walked_from`: the byte from which the broker looks for the log's end in it, None if it is not the last.
    """

    path: str
    size: int
    is_checked: bool
    walked_from: int | None
    ends_log: bool = True


class PartitionLoading:
    """The obstacles in the way of each release. Segments are handed in in the order of the log."""

    def __init__(self, releases: Iterable[Release]) -> None:
        self._loadings = {release: Loading(release) for release in releases}
        self._obstacles: dict[Release, list[Obstacle]] = {release: [] for release in self._loadings}
        self._newest_end = self._end = 0
        self._is_cut = False

    def healthy(self, segment: SegmentFacts, replayed: Iterable[Replayed]) -> None:
        """A segment without damage."""
        if self._is_cut:
            return
        for item in replayed:
            if isinstance(item, LoggedEntry):
                self._record(segment, item.offset, item.entry)
            else:
                for loading in self._loadings.values():
                    loading.commits(item)

    def damaged(self, segment: SegmentFacts, raw: bytes | memoryview, damage: Sequence[Damage]) -> None:
        """A segment in which `damage` was found: what a broker makes of its bytes."""
        if self._is_cut:
            return
        before = {release: len(found) for release, found in self._obstacles.items()}
        for step in walk(raw):
            if not self._step(segment, step, damage):
                break
        for release, found in self._obstacles.items():
            if len(found) == before[release]:
                found.append(_seen_only_by_us(segment, damage[0]))

    def obstacles(self) -> Mapping[Release, tuple[Obstacle, ...]]:
        """Each release's obstacles, those that decide the outcome first, else in the order of the log."""
        found = {}
        for release, obstacles in self._obstacles.items():
            run_back: list[Obstacle] = []
            if self._newest_end > self._end and not release.is_partial:
                text = f"offsets run back from {self._newest_end} to {self._end}"
                run_back = [Obstacle(outcome=Outcome.FAILS, why=Why.DAMAGE, text=text)]
            found[release] = tuple(
                sorted([*obstacles, *run_back], key=lambda each: -_ORDER.index(each.outcome))
            )
        return found

    def _record(
        self, segment: SegmentFacts, offset: int, entry: OffsetsEntry | Undecodable | TransactionMarker
    ) -> None:
        control = isinstance(entry, Undecodable) and entry.why.startswith("control record")
        if (
            isinstance(entry, Undecodable) and control and segment.is_checked
        ):  # its producers' state is rebuilt, which knows two markers only
            self._all(segment, None, Outcome.NO_START, entry.why, offset)
            return
        for release, loading in self._loadings.items():
            obstacle = loading.record(offset, entry, control=control)
            if obstacle is not None:
                self._add(release, replace(obstacle, segment=segment.path))

    def _step(self, segment: SegmentFacts, step: Step, damage: Sequence[Damage]) -> bool:
        """Take one batch; returns whether the broker continues in this segment."""
        if segment.is_checked and (step.stop not in (None, Stop.UNKNOWN_MAGIC) or not step.is_valid):
            self._cut(segment, step, damage)
            return False
        match step.stop:
            case Stop.TOO_SMALL:
                at_start = segment.walked_from is not None and step.position >= segment.walked_from
                text = "a batch of fewer bytes than any can have"
                self._all(segment, step, Outcome.NO_START if at_start else Outcome.FAILS, text)
                return False
            case Stop.UNKNOWN_MAGIC | Stop.INCOMPLETE_UNKNOWN:
                self._all(segment, step, Outcome.FAILS, "a batch of an unknown format")
                return False
            case Stop.INCOMPLETE:
                is_torn = segment.walked_from is not None and _reaches_end(segment, step, damage)
                outcome = Outcome.LOADS if is_torn else Outcome.LOADS_LESS
                text = "a batch that would end behind the file: what follows here is not read"
                self._all(segment, step, outcome, text)
                return False
            case None:
                pass
        if step.fault is not None:
            self._all(segment, step, Outcome.FAILS, step.fault)
            return False
        assert step.batch is not None
        if not step.is_valid:
            text = "changed since it was written (CRC-32C), which a broker does not check here"
            self._all(segment, step, Outcome.LOADS_LESS, text, step.batch.base_offset)
        self._batch(segment, step.batch)
        return True

    def _batch(self, segment: SegmentFacts, batch: Batch) -> None:
        self._end = batch.last_offset + 1
        self._newest_end = max(self._newest_end, self._end)
        for record in batch.records() if batch.count != 0 else ():
            self._record(segment, record.offset, decode_record(batch, record))

    def _cut(self, segment: SegmentFacts, step: Step, damage: Sequence[Damage]) -> None:
        self._is_cut = segment.ends_log
        lost = segment.size - step.position
        is_torn = segment.walked_from is not None and _reaches_end(segment, step, damage)
        outcome = Outcome.LOADS if is_torn else Outcome.LOADS_LESS
        text = f"the broker checks this segment and cuts it off here: {lost} bytes"
        if segment.walked_from is None and segment.ends_log:
            text += ", and deletes the segments behind it"
        self._all(segment, step, outcome, text)

    def _all(
        self,
        segment: SegmentFacts,
        step: Step | None,
        outcome: Outcome,
        text: str,
        offset: int | None = None,
    ) -> None:
        for release in self._loadings:
            fails = Outcome.EMPTY if release.is_partial else Outcome.FAILS
            obstacle = Obstacle(
                outcome=fails if outcome is Outcome.FAILS else outcome,
                why=Why.DAMAGE,
                text=text,
                offset=offset,
                segment=segment.path,
                position=None if step is None else step.position,
            )
            self._add(release, obstacle)

    def _add(self, release: Release, obstacle: Obstacle) -> None:
        found = self._obstacles[release]
        if len(found) < _OBSTACLES_MAX and (
            obstacle.why is not Why.IGNORED or all(each.text != obstacle.text for each in found)
        ):
            found.append(obstacle)


def outcome_of(obstacles: Sequence[Obstacle]) -> Outcome:
    """The worst of them."""
    return max((each.outcome for each in obstacles), key=_ORDER.index, default=Outcome.LOADS)


def _seen_only_by_us(segment: SegmentFacts, damage: Damage) -> Obstacle:
    text = f"{damage.why}; a broker does not mind"
    return Obstacle(
        outcome=Outcome.LOADS, why=Why.DAMAGE, text=text, segment=segment.path, position=damage.position
    )


def _reaches_end(segment: SegmentFacts, step: Step, damage: Sequence[Damage]) -> bool:
    """Whether nothing healthy follows: a batch that was being written, or room for more."""
    return any(
        each.position <= step.position and each.position + each.size >= segment.size for each in damage
    )
