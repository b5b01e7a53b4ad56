"""The records a claim needs: the fewest that still give its answer.

A ladder of ever larger sets is tried until one answers the question as the whole log does; then what is not
needed is taken away again. So a claim that cannot be derived from records alone is never made.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from kgroup.api.incident.derive import derive
from kgroup.api.incident.evidence import DataBatch, Evidence, commit_key, place_of
from kgroup.api.replay import Item
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker
from kgroup.protocol.records.keys import Key
from kgroup.report.incident.claims import Claim, ClaimKind, Says

_TRIES_MAX: Final = 400
_FEWEST_OF: Final = 4_000  # of more records only whole rungs of the ladder are tried


def cited_claim(
    kind: ClaimKind,
    group: str,
    question: Says,
    says: Says,
    rungs: Iterable[Evidence],
    *,
    tries: int = _TRIES_MAX,
    is_alike: Callable[[Says], bool] = lambda answer: False,
) -> Claim | None:
    """The claim and what it needs; None if none of the rungs answers as `says`, nor in a way that `is_alike`.

    In the second case the claim says what the largest such rung does.
    """
    alike: tuple[Says, Evidence] | None = None
    before: Evidence | None = None
    for rung in rungs:
        if rung == before:  # no other group, or no more batches, to be had
            continue
        before = rung
        answer = derive(kind, group, question, rung)
        if answer == says:
            alike = answer, rung
            break
        if answer is not None and is_alike(answer):
            alike = answer, rung
    if alike is None:
        return None
    said, rung = alike
    needed = _fewest(rung, lambda some: derive(kind, group, question, some) == said, tries)
    return Claim(kind=kind, group=group, question=question, says=said, cited=needed.cited())


def _fewest(evidence: Evidence, answers: Callable[[Evidence], bool], tries: int) -> Evidence:
    """Take away halves, then quarters and so on, as long as the answer stays and there are tries left."""
    parts: list[Item | DataBatch] = [*evidence.items, *evidence.batches]
    if len(parts) > _FEWEST_OF:
        return evidence
    size = max(len(parts) // 2, 1)
    while tries > 0:
        start, removed = 0, False
        while start < len(parts) and tries > 0:
            fewer = parts[:start] + parts[start + size :]
            tries -= 1
            if fewer and answers(_of(evidence, fewer)):
                parts, removed = fewer, True
            else:
                start += size
        if size > 1:
            size = max(size // 2, 1)
        elif not removed:
            break
    return _of(evidence, parts)


def _of(evidence: Evidence, parts: Sequence[Item | DataBatch]) -> Evidence:
    return replace(
        evidence,
        items=tuple(part for part in parts if not isinstance(part, DataBatch)),
        batches=tuple(part for part in parts if isinstance(part, DataBatch)),
    )


def around(items: Sequence[Item], offset: int, generations: Sequence[int]) -> Iterator[tuple[Item, ...]]:
    """Ever more of a group's records around the one at `offset`, which begins a generation.

    `generations` are the offsets at which the group's generations begin, in order.
    """
    number = generations.index(offset)
    behind = generations[number + 1] if number + 1 < len(generations) else None
    for commits, before in ((0, 1), (2, 2), (12, 3), (60, 8)):
        since = generations[max(number - before, 0)]
        chosen = set(_state_before(items, since)) | {
            index
            for index, item in enumerate(items)
            if since <= place_of(item)[1] <= offset and commit_key(item) is None
        }
        if commits:
            chosen |= set(_last_commits(items, offset, commits)) | set(_first_commits(items, offset, behind))
        yield tuple(items[index] for index in sorted(chosen))
    end = generations[number + 2] if number + 2 < len(generations) else None
    yield tuple(item for item in items if end is None or place_of(item)[1] <= end)
    yield tuple(items)


def _state_before(items: Sequence[Item], offset: int) -> Iterator[int]:
    """The newest record of each key but commits, before an offset: the group as it was then."""
    newest: dict[Key, int] = {}
    for index, item in enumerate(items):
        if place_of(item)[1] >= offset:
            break
        if (
            isinstance(item, LoggedEntry)
            and isinstance(item.entry, OffsetsEntry)
            and commit_key(item) is None
        ):
            newest[item.entry.key] = index
    yield from newest.values()


def _last_commits(items: Sequence[Item], offset: int, number: int) -> Iterator[int]:
    counts: dict[Key, int] = {}
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        key = commit_key(item)
        if key is None or place_of(item)[1] >= offset:
            continue
        seen = counts.get(key, 0)
        if seen < number:
            counts[key] = seen + 1
            yield index


def _first_commits(items: Sequence[Item], offset: int, behind: int | None) -> Iterator[int]:
    """The first commit of each partition behind an offset, with the marker that makes it count."""
    seen: set[Key] = set()
    producers: set[int] = set()
    for index, item in enumerate(items):
        if place_of(item)[1] <= offset or not isinstance(item, LoggedEntry):
            continue
        if isinstance(item.entry, TransactionMarker) and item.entry.producer_id in producers:
            yield index
        elif (key := commit_key(item)) is not None and key not in seen:
            if behind is not None and place_of(item)[1] > behind and seen:
                continue
            seen.add(key)
            if item.producer_id is not None:
                producers.add(item.producer_id)
            yield index
