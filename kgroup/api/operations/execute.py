"""Carries out a plan: journal, request, mark, and finally a look at what is committed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from kgroup.api.operations.each_group import each_group
from kgroup.api.operations.planned import PlannedOperation
from kgroup.api.operations.undo_file import NoUndoFile, UndoFile
from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Cluster, error_name
from kgroup.net.admin.committed import Refused, commit_offsets, delete_offsets, fetch_offsets
from kgroup.net.admin.coordinated import CoordinatorError
from kgroup.net.admin.group_changes import delete_group
from kgroup.operations.journal import JournalHead, Step, StepKind
from kgroup.operations.model import Change, Position
from kgroup.operations.outcomes import Answer, Outcome, Result, explained, outcome
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.progress import NO_PROGRESS, Progress


@dataclass(slots=True, kw_only=True)
class Executed:
    """The outcome of each change, and the line that stopped the operation, None if it was completed."""

    outcomes: dict[Change, Outcome] = field(default_factory=dict)
    groups: dict[str, Outcome] = field(default_factory=dict)
    """Of steps without changes of offsets, such as the deletion of a group that has none."""
    stopped: str | None = None
    refusal: str | None = None
    """Kafka's name of the error with which a whole step was refused."""
    answers: list[Answer] = field(default_factory=list)
    """Of the steps that were tried."""

    @property
    def refused(self) -> dict[TopicPartition, str]:
        """Kafka's error names for the partitions that were refused one by one."""
        return {place: error for answer in self.answers for place, error in (answer.refused or {}).items()}

    @property
    def is_done(self) -> bool:
        """Whether all of it was done and reads back."""
        every = [*self.outcomes.values(), *self.groups.values()]
        return self.stopped is None and all(each.result is Result.DONE for each in every)


Checkpoint = Callable[[str], None]
"""Hears of each moment at which a process may die; tests die there."""


def execute(
    cluster: Cluster,
    planned: PlannedOperation,
    undo_path: Path | None,
    *,
    now_ms: int,
    checkpoint: Checkpoint = lambda moment: None,
    progress: Progress = NO_PROGRESS,
) -> Executed:
    """Write the undo file, unless there is to be none; make the changes step by step, and read them back.

    Several groups at a time; a group's steps one after the other. What a step fails with ends it: what is
    under way for other groups is finished, and no step is begun any more. Raises SourceError only before
    anything is changed.
    """
    head = JournalHead(
        command=planned.command,
        cluster_id=cluster.cluster_id(),
        bootstrap_servers=cluster.name,
        created_ms=now_ms,
        existed=planned.existed,
    )
    journal = NoUndoFile() if undo_path is None else UndoFile.create(undo_path, head, planned.steps)
    executed = Executed()
    answers: dict[int, Answer] = {}
    failures: dict[int, SourceError] = {}
    of_group: dict[str, list[int]] = {}
    for number, step in enumerate(planned.steps):
        of_group.setdefault(step.group, []).append(number)

    def make_all(group: str) -> None:
        for number in of_group[group]:
            if failures:
                return
            try:
                journal.begin(number)
                checkpoint("begun")
                answers[number] = Answer(refused=None)
                refused = _make(cluster, planned.steps[number])
                answers[number] = Answer(refused=refused)
                checkpoint("answered")
                journal.applied(number, refused)
                checkpoint("applied")
            except SourceError as error:
                failures[number] = error

    try:
        checkpoint("planned")
        each_group("changing groups", list(of_group), make_all, progress)
    finally:
        journal.close()
    if failures:
        error = failures[min(failures)]
        executed.stopped = str(error)
        if isinstance(error, CoordinatorError):
            executed.refusal = error_name(error.code)
            executed.stopped = explained(executed.refusal, str(error))
    answers = dict(sorted(answers.items()))
    executed.answers = list(answers.values())
    _read_back(cluster, planned, answers, executed, progress)
    return executed


def _make(cluster: Cluster, step: Step) -> Refused:
    """Make a step's changes; why each refused one was refused. Raises SourceError without an answer."""
    match step.kind:
        case StepKind.COMMIT:
            positions = {change.place: change.new for change in step.changes if change.new is not None}
            return commit_offsets(cluster, step.group, positions)
        case StepKind.DELETE_OFFSETS:
            return delete_offsets(cluster, step.group, [change.place for change in step.changes])
        case StepKind.DELETE_GROUP:
            delete_group(cluster, step.group)
            return {}
        case _:
            assert_never(step.kind)


def _read_back(
    cluster: Cluster,
    planned: PlannedOperation,
    answers: Mapping[int, Answer],
    executed: Executed,
    progress: Progress,
) -> None:
    def read(group: str) -> Mapping[TopicPartition, Position] | SourceError:
        try:
            return fetch_offsets(cluster, group).commits
        except SourceError as error:
            return error

    groups = sorted({planned.steps[number].group for number in answers})
    commits: dict[str, Mapping[TopicPartition, Position] | None] = {}
    for group, found in zip(groups, each_group("reading back", groups, read, progress), strict=True):
        if isinstance(found, SourceError):
            executed.stopped = executed.stopped or str(found)
        commits[group] = None if isinstance(found, SourceError) else found
    for number, step in enumerate(planned.steps):
        answer = answers.get(number)
        if not step.changes:
            executed.groups[step.group] = _of_group(answer)
        for change in step.changes:
            executed.outcomes[change] = outcome(change, answer, commits.get(step.group))


def _of_group(answer: Answer | None) -> Outcome:
    if answer is None:
        return Outcome(result=Result.NOT_TRIED)
    return Outcome(result=Result.REFUSED if answer.refused is None else Result.DONE)
