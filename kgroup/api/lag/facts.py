"""Facts about whole groups, besides their partitions, as `kgroup.lag.findings` takes them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from kgroup.api.lag.arrow_commits import iterate_commits
from kgroup.api.lag.assigned import AssignedReader
from kgroup.api.lag.steps import Steps, growths
from kgroup.history.groups.model import Group
from kgroup.history.timeline.model import Timeline
from kgroup.history.timeline.replay import replay
from kgroup.lag.findings.model import Finding, GroupFacts, OpenCommit
from kgroup.lag.findings.poison import stands_long
from kgroup.lag.measures.offset_expiry import RETENTION_MS
from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reductions.history import History
from kgroup.scan.reductions.packed import PackedRecord


class GroupFactReader:
    """Adds to the facts on `groups` what records of the groups themselves and open transactions say.

    `pending` are the commits of these, with COMMIT_SCHEMA.
    """

    def __init__(
        self,
        pending: pa.Table,
        history: History,
        groups: Mapping[str, Group],
        retention_ms: int = RETENTION_MS,
        assigned: AssignedReader | None = None,
        steps: Steps | None = None,
    ) -> None:
        self._rounds = _rounds(history, groups)
        self._steps = steps
        self._open_commits = _open_commits(pending)
        self._retention_ms = retention_ms
        self._assigned = assigned

    def complete(self, facts: GroupFacts) -> GroupFacts:
        """The facts with patterns of rebalances, open transactions, what nobody owns, and the retention.

        Of groups in which a partition stands for long also the last assignments, and takeovers of static
        members; of those in which a commit went far beyond the one before the longest steps.
        """
        # Its history is played once for all that asks for it, and not kept: it takes more than all else here.
        timeline = self._timeline(facts.group.group_id)
        if self._assigned is not None:
            facts = self._assigned.complete(facts)
        if self._steps is not None:
            facts = self._steps.put_to(facts, growths(timeline) if timeline else ())
        stands = timeline if any(stands_long(facts)) else None
        return replace(
            facts,
            rosters=tuple(generation.roster for generation in stands.generations) if stands else (),
            takeovers=stands.takeovers if stands else (),
            patterns=timeline.patterns if timeline else (),
            open_commits=tuple(self._open_commits.get(facts.group.group_id, ())),
            retention_ms=self._retention_ms,
        )

    def _timeline(self, group_id: str) -> Timeline | None:
        records = self._rounds.get(group_id)
        return None if records is None else replay([one.logged() for one in records], {}).get(group_id)


def about_topic(
    findings: Iterable[Finding], facts: GroupFacts, wanted_topic: Callable[[str], bool] | None
) -> Iterator[Finding]:
    """All findings on a group; with `wanted_topic` those about it, and about groups that read it."""
    if wanted_topic is None:
        yield from findings
    elif any(wanted_topic(one.row.topic) for one in facts.partitions):
        yield from (one for one in findings if one.topic is None or wanted_topic(one.topic))


def _rounds(history: History, groups: Mapping[str, Group]) -> dict[str, list[PackedRecord]]:
    of_groups: dict[str, list[PackedRecord]] = {}
    for (_, group_id), entries in sorted(history.rounds.items()):
        if group_id in groups:
            of_groups.setdefault(group_id, []).extend(entries)
    return of_groups


def _open_commits(pending: pa.Table) -> dict[str, list[OpenCommit]]:
    of_groups: dict[str, list[OpenCommit]] = {}
    producers = values_of(pending["producer_id"]).tolist()
    for commit, producer_id in zip(iterate_commits(pending), producers, strict=True):
        of_groups.setdefault(commit.group, []).append(
            OpenCommit(
                topic=commit.topic,
                partition=commit.partition,
                offset=commit.offset,
                timestamp=commit.commit_timestamp,
                producer_id=producer_id,
            )
        )
    return of_groups
