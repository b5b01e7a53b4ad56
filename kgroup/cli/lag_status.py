"""The status columns of a lag report: each group's partitions, judged by a rule set."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kgroup.group.finding_model import GroupFacts
from kgroup.group.lag import LagRow
from kgroup.group.lag_rules import LagRules
from kgroup.group.proofs import verdicts
from kgroup.group.status import Verdict


@dataclass(frozen=True, slots=True)
class StatusJudge:
    """Judges the rows of a report, whose groups `facts` gives anew at each call."""

    facts: Callable[[], Iterator[GroupFacts]]
    rules: LagRules

    def rows(self) -> Iterator[tuple[LagRow, dict[str, object]]]:
        """Each row, by group, topic and partition, with its fields; one group is held at a time."""
        for facts in self.facts():
            judged = verdicts(facts, self.rules)
            for partition in facts.partitions:
                yield partition.row, _fields(judged.get(partition.place))


def _fields(verdict: Verdict | None) -> dict[str, object]:
    """Status, rule and evidence; all None where there is no log end to judge by."""
    if verdict is None:
        return {"status": None, "rule": None, "evidence": None}
    return {"status": verdict.status.value, "rule": verdict.rule.value, "evidence": verdict.numbers()}
