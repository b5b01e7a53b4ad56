"""The status columns of a lag report: each group's partitions, judged by a rule set."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kgroup.group.finding_model import GroupFacts, Place
from kgroup.group.lag import LagRow
from kgroup.group.lag_rules import LagRules
from kgroup.group.proofs import verdicts
from kgroup.group.status import Verdict


@dataclass(frozen=True, slots=True)
class StatusJudge:
    """Judges the rows of a report, whose groups `facts` gives anew at each call."""

    facts: Callable[[], Iterator[GroupFacts]]
    rules: LagRules

    def columns(self) -> "StatusColumns":
        """What fills the columns of rows that come by group, from the first on."""
        return StatusColumns((facts.group.group_id, verdicts(facts, self.rules)) for facts in self.facts())


class StatusColumns:
    """Fills status, rule and evidence; the verdicts of one group are held at a time."""

    def __init__(self, groups: Iterator[tuple[str, Mapping[Place, Verdict]]]) -> None:
        self._groups = groups
        self._group: str | None = None
        self._verdicts: Mapping[Place, Verdict] = {}

    def fields(self, row: LagRow) -> dict[str, object]:
        """The fields of a row; all None where there is no log end to judge by."""
        while self._group != row.group:
            self._group, self._verdicts = next(self._groups)
        verdict = self._verdicts.get((row.topic, row.partition))
        if verdict is None:
            return {"status": None, "rule": None, "evidence": None}
        return {"status": verdict.status.value, "rule": verdict.rule.value, "evidence": verdict.numbers()}
