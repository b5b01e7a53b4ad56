"""An operation that is planned but not carried out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from kgroup.operations.journal import Step, StepKind
from kgroup.operations.model import Change, PlanRow

CHANGES_PER_STEP: Final = 1000
"""A commit of more would not fit into one batch of the offsets topic where metadata are long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOperation:
    """The steps that `execute` runs, in order, and a row of the plan for each change.

    `existed` says of each group whether it is there now. `notes` are worth reading before it is done.
    """

    command: str
    rows: tuple[PlanRow, ...]
    steps: tuple[Step, ...]
    existed: Mapping[str, bool]
    notes: tuple[str, ...] = field(default=())


def steps_of(changes: Iterable[Change], at_once: int = CHANGES_PER_STEP) -> list[Step]:
    """The requests that make these changes of offsets: by group, commits before deletions.

    A partition that has no offset and is to have none is in no step.
    """
    steps: list[Step] = []
    sought = [change for change in changes if change.old is not None or change.new is not None]
    kept = sorted(sought, key=lambda change: (change.group, change.new is None, change.place))
    for (group, deletes), alike in groupby(kept, key=lambda change: (change.group, change.new is None)):
        kind = StepKind.DELETE_OFFSETS if deletes else StepKind.COMMIT
        steps += [Step(kind=kind, group=group, changes=part) for part in _batched(list(alike), at_once)]
    return steps


def _batched(changes: Sequence[Change], at_once: int) -> list[tuple[Change, ...]]:
    return [tuple(changes[first : first + at_once]) for first in range(0, len(changes), at_once)]
