"""What `lag-report` finds wrong with groups: facts from the log, put together for `find`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from kgroup.api.lag.inputs import LagInputs, iterate_commits
from kgroup.api.lag.proof import JudgedGroup, ProofReader
from kgroup.api.lag.windows import Windows
from kgroup.history.groups.model import Group
from kgroup.history.timeline.model import Pattern
from kgroup.history.timeline.replay import replay
from kgroup.lag.findings.model import Finding, GroupFacts, OpenCommit
from kgroup.lag.measures.offset_expiry import RETENTION_MS
from kgroup.lag.status.rule_sets import LagRules
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.records.entries import LoggedEntry
from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reductions.history import History
from kgroup.scan.reductions.newest import Newest


class FactReader:
    """Puts together what is known of each group at `now_ms` (epoch ms)."""

    def __init__(
        self,
        newest: Newest,
        windows: Windows,
        history: History,
        data_logs: DataLogs,
        now_ms: int,
        retention_ms: int = RETENTION_MS,
    ) -> None:
        self._newest = newest
        self._rounds = history.rounds
        self._proofs = ProofReader(windows, history, data_logs, now_ms)
        self._retention_ms = retention_ms

    @property
    def problems(self) -> list[str]:
        """What of the data topics' logs could not be read, once it has been met."""
        return self._proofs.problems

    def facts(self, inputs: LagInputs) -> Iterator[GroupFacts]:
        """All groups that have rows or records of their own, by group id."""
        complete = self._completed(inputs)
        return map(complete, self._proofs.facts(inputs))

    def judged(self, inputs: LagInputs, rules: LagRules) -> Iterator[JudgedGroup]:
        """The same groups with the status of each partition."""
        complete = self._completed(inputs)
        return ((complete(facts), judged) for facts, judged in self._proofs.judged(inputs, rules))

    def _completed(self, inputs: LagInputs) -> Callable[[GroupFacts], GroupFacts]:
        patterns, open_commits = self._patterns(inputs.groups), self._open_commits()

        def complete(facts: GroupFacts) -> GroupFacts:
            group_id = facts.group.group_id
            return replace(
                facts,
                patterns=patterns.get(group_id, ()),
                open_commits=tuple(open_commits.get(group_id, ())),
                retention_ms=self._retention_ms,
            )

        return complete

    def _patterns(self, groups: Mapping[str, Group]) -> dict[str, tuple[Pattern, ...]]:
        of_groups: dict[str, list[LoggedEntry]] = {}
        for (_, group_id), entries in sorted(self._rounds.items()):
            if group_id in groups:
                of_groups.setdefault(group_id, []).extend(entries)
        found = {group_id: replay(entries, {})[group_id] for group_id, entries in of_groups.items()}
        return {group_id: timeline.patterns for group_id, timeline in found.items() if timeline.patterns}

    def _open_commits(self) -> dict[str, list[OpenCommit]]:
        found: dict[str, list[OpenCommit]] = {}
        producers = values_of(self._newest.pending["producer_id"]).tolist()
        for commit, producer_id in zip(iterate_commits(self._newest.pending), producers, strict=True):
            found.setdefault(commit.group, []).append(
                OpenCommit(
                    topic=commit.topic,
                    partition=commit.partition,
                    offset=commit.offset,
                    timestamp=commit.commit_timestamp,
                    producer_id=producer_id,
                )
            )
        return found


def about_topic(
    findings: Iterable[Finding], facts: GroupFacts, wanted_topic: Callable[[str], bool] | None
) -> Iterator[Finding]:
    """All findings on a group; with `wanted_topic` those about it, and about groups that read it."""
    if wanted_topic is None:
        yield from findings
    elif any(wanted_topic(one.row.topic) for one in facts.partitions):
        yield from (one for one in findings if one.topic is None or wanted_topic(one.topic))
