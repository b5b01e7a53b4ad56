"""Several rebalances in a row, with the steps that change the group in between."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kgroup.assignors.model import Assignment, AssignorError
from kgroup.assignors.planning.flaws import Flaw, plan_flaws
from kgroup.assignors.planning.plan import GroupPlan, assign_plan
from kgroup.assignors.planning.score import Score, score
from kgroup.assignors.planning.steps import apply_step
from kgroup.assignors.registry import ASSIGNORS

_FOLLOW_UPS_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One rebalance under one assignor.

    `what` happened before it, `event` counts what happened from 0, and a `follow_up` is the rebalance that
    hands out what the one before withheld. Where Kafka's assignor throws, `error` has its message and there
    is no assignment: the group then stays as it was.
    """

    number: int
    event: int
    follow_up: bool
    what: str
    assignor: str
    plan: GroupPlan
    assignment: Assignment | None = None
    score: Score | None = None
    flaws: tuple[Flaw, ...] = ()
    error: AssignorError | None = None


def run_rounds(plan: GroupPlan, assignor: str, steps: Sequence[str]) -> Iterator[Round]:
    """The first rebalance of the plan, and one after each step.

    Where a cooperative assignor withholds partitions until their owners gave them up, the rebalance
    that hands them out follows at once, as in production. Raises InputError for a step that makes no sense.
    """
    number = 0
    for event, step in enumerate(("", *steps)):
        if event:
            plan = apply_step(plan, step)
        for follow_ups in range(_FOLLOW_UPS_MAX):
            number += 1
            played = _play(
                Round(
                    number=number,
                    event=event,
                    what=step or "start",
                    follow_up=follow_ups > 0,
                    assignor=assignor,
                    plan=plan,
                )
            )
            yield played
            if played.assignment is None or played.score is None:
                break
            plan = plan.after(played.assignment)
            if not played.score.withheld:
                break


def _play(unplayed: Round) -> Round:
    try:
        assignment = assign_plan(unplayed.assignor, unplayed.plan)
    except AssignorError as error:
        return replace(unplayed, error=error)
    return replace(
        unplayed,
        assignment=assignment,
        score=score(unplayed.plan, assignment, ASSIGNORS[unplayed.assignor].protocol),
        flaws=tuple(plan_flaws(unplayed.assignor, unplayed.plan, assignment)),
    )
