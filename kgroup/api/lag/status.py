"""The status columns of a lag report: each group's partitions, judged by a rule set."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kgroup.api.lag.proof import JudgedGroup
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.model import Judged


@dataclass(frozen=True, slots=True)
class StatusJudge:
    """The rows of a report with their status; `judged` gives the groups anew at each call."""

    judged: Callable[[], Iterator[JudgedGroup]]

    def rows(self) -> Iterator[tuple[LagRow, dict[str, object]]]:
        """Each row, by group, topic and partition, with its fields; a few thousand are held at a time."""
        for facts, judged in self.judged():
            for partition, verdict in zip(facts.partitions, judged, strict=True):
                yield partition.row, _fields(verdict)


def _fields(judged: Judged | None) -> dict[str, object]:
    """Status, rule and evidence; all None where there is no log end to judge by."""
    if judged is None:
        return {"status": None, "rule": None, "evidence": None}
    return {"status": judged.status.value, "rule": judged.rule.value, "evidence": judged.numbers}
