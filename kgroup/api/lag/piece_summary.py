"""Summaries of pieces of a log, which the driver needs before executors can make the rows of its groups."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from kgroup.api.lag.arrow_commits import (
    ArrowCommits,
    dictionary_of,
    living_commits,
    named_topic_ids,
    names_in,
)
from kgroup.api.lag.inputs import furthest_since, subscribed_topics, wanted_groups
from kgroup.api.lag.options import LagOptions, matcher
from kgroup.history.groups.model import Group
from kgroup.history.groups.snapshot import logged_topic_names
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.scan.reductions.cut_groups import of_no_group
from kgroup.scan.reductions.history import History, merge_histories
from kgroup.scan.reductions.newest import Newest, merge, newest_time
from kgroup.scan.reductions.scanned import ScanPlan

_SAMPLE_MAX: Final = 512  # groups that a piece names

TopicNames = dict[UUID, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summing:
    """Instructions for summing up a piece of a plan: the `known_names` of topics, when logs were sampled."""

    options: LagOptions
    plan: ScanPlan
    known_names: Mapping[UUID, str]
    recorded_ms: int | None

    def of(self, part: Any) -> Any:
        """The summary of a reduced part: JSON values, what has no group, and the furthest positions."""
        newest, history = _newest_and_history(part, self.plan)
        wanted = matcher(self.options.groups)
        commits = living_commits(newest.commits, wanted)
        logged, committed = logged_topic_names(newest.others), named_topic_ids(commits)
        groups = wanted_groups(newest, {**logged, **committed, **self.known_names}, wanted)
        owned = [one for group in groups.values() for member in group.members for one in member.owned]
        sample, each = _sample(_rows_of_groups(groups, commits))
        furthest = {} if self.recorded_ms is None else furthest_since(ArrowCommits(commits), self.recorded_ms)
        said = {
            "newest_ms": newest_time(newest),
            "sample": sample,
            "each": each,
            "topics": sorted(
                {one.topic for one in owned if one.topic_id is None}
                | subscribed_topics(groups)
                | set(names_in(commits, "topic"))
            ),
            "owned_ids": _names_as_json(
                {one.topic_id: one.topic for one in owned if one.topic_id is not None}
            ),
            "logged_names": _names_as_json(logged),
            "committed_names": _names_as_json(committed),
            "furthest": [[*place, offset] for place, offset in furthest.items()],
        }
        reach = () if history is None else (History(reach=history.reach, rounds={}),)
        return (said, of_no_group(newest), *reach)

    def group_ids(self, part: Any) -> list[str]:
        """All groups of a piece, wanted or not: needed if none matches."""
        newest, _ = _newest_and_history(part, self.plan)
        groups = set[str]()

        def noted(group: str) -> bool:
            groups.add(group)
            return False

        living_commits(newest.commits, noted)
        wanted_groups(newest, {}, noted)
        return sorted(groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The combined summaries of all pieces, in log order.

    `sample` are groups, each standing for a number of rows. `unowned` is what is known of no group.
    `furthest` is what was committed since log ends were sampled. `reach` is None where nobody asks how far
    others got.
    """

    newest_ms: int | None
    sample: Sequence[tuple[str, int]]
    logged_names: TopicNames
    committed_names: TopicNames
    furthest: Mapping[TopicPartition, int]
    unowned: Newest
    reach: History | None
    _topics: frozenset[str]
    _owned_ids: TopicNames

    @classmethod
    def of(cls, pieces: Sequence[Any]) -> "Summary":
        """The summary of the executors' answers."""
        said: list[dict[str, Any]] = [piece[0] for piece in pieces]
        furthest: dict[TopicPartition, int] = {}
        for topic, partition, offset in _each(said, "furthest"):
            furthest[topic, partition] = max(offset, furthest.get((topic, partition), offset))
        histories = [piece[2] for piece in pieces if len(piece) > 2]
        return cls(
            newest_ms=max((one["newest_ms"] for one in said if one["newest_ms"] is not None), default=None),
            sample=[(group, one["each"]) for one in said for group in one["sample"]],
            logged_names=_names_of(said, "logged_names"),
            committed_names=_names_of(said, "committed_names"),
            furthest=furthest,
            unowned=merge(piece[1] for piece in pieces),
            reach=merge_histories(histories) if histories else None,
            _topics=frozenset(_each(said, "topics")),
            _owned_ids=_names_of(said, "owned_ids"),
        )

    def topics(self, names: Mapping[UUID, str]) -> set[str]:
        """The topics that groups commit, own or subscribe to, by these names of ids."""
        owned = {names.get(topic_id, text) for topic_id, text in self._owned_ids.items()}
        return owned | self._topics


def _newest_and_history(part: Any, plan: ScanPlan) -> tuple[Newest, History | None]:
    if plan.keep is None:
        return part, None
    return (part[0][0], part[1]) if plan.history else (part[0], None)


def _rows_of_groups(groups: Mapping[str, Group], commits: pa.Table) -> dict[str, int]:
    """About how many rows each group has: one for each commit and for each partition that is owned."""
    rows = {name: 1 + sum(len(member.owned) for member in group.members) for name, group in groups.items()}
    names, codes = dictionary_of(commits, "group")
    for code, count in enumerate(np.bincount(codes, minlength=len(names)).tolist()):
        if count:
            rows[names[code]] = rows.get(names[code], 0) + count
    return rows


def _sample(rows: Mapping[str, int]) -> tuple[list[str], int]:
    """Groups in order, sampled at even steps of rows, and the length of a step in rows."""
    groups = sorted(rows)
    behind = np.cumsum([rows[group] for group in groups])
    total = int(behind[-1]) if groups else 0
    each = -(-total // _SAMPLE_MAX) or 1
    places = np.searchsorted(behind, np.arange(0, total, each), side="right")
    return [groups[place] for place in places.tolist()], each


def _names_as_json(names: Mapping[UUID, str]) -> dict[str, str]:
    return {topic_id.hex: name for topic_id, name in names.items()}


def _names_of(said: Iterable[Mapping[str, Any]], key: str) -> TopicNames:
    return {UUID(hex=topic_id): name for one in said for topic_id, name in one[key].items()}


def _each(said: Iterable[Mapping[str, Any]], key: str) -> Iterator[Any]:
    return (value for one in said for value in one[key])
