"""Plays a group's past again: the plan derived from its log, and how closely the second log matches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kgroup.api.opened import OpenedLogs, open_logs
from kgroup.api.replay import replay_all
from kgroup.broker.storage import FolderStorage
from kgroup.errors import InputError, SourceError, nearest_or_all
from kgroup.history.reenactment.commits import CommitsSeen
from kgroup.history.reenactment.model import Act, Plan, PlannedMember
from kgroup.history.reenactment.plan import plan_of, window
from kgroup.history.reenactment.score import Score, score
from kgroup.history.timeline.model import Generation
from kgroup.report.destination import require_empty
from kgroup.report.progress import NO_PROGRESS, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Reenactment:
    """A plan and the generations that it is to give again. `problems` are what could not be read."""

    plan: Plan
    original: tuple[Generation, ...]
    problems: tuple[str, ...] = ()

    def member(self, name: str) -> PlannedMember:
        """The one with that name, client id or instance id. Raises InputError if it is not one."""
        members = self.plan.members
        for named in (
            [member for member in members if member.name == name],
            [member for member in members if name in (member.client_id, member.instance_id)],
        ):
            if len(named) == 1:
                return named[0]
            if named:
                names = ", ".join(member.name for member in named)
                raise InputError(f"--replace {name}: {len(named)} members have it: {names}")
        known = [member.name for member in members]
        raise InputError(f"--replace {name}: no such member; {nearest_or_all(name, known)}")

    def score_of(self, folder: Path) -> Score:
        """The score of the log a performance left in a folder. Raises SourceError if it is unreadable."""
        again = replay_all(open_logs(folder), [self.plan.group_id])[self.plan.group_id]
        return score(self.original, again.generations)


def plan_reenactment(
    logs: OpenedLogs,
    group: str,
    *,
    since_ms: int | None = None,
    until_ms: int | None = None,
    partitions: Mapping[str, int] | None = None,
    progress: Progress = NO_PROGRESS,
) -> Reenactment:
    """The plan of one classic consumer group; `partitions` of topics at the start win if they are more.

    Raises as `replay` and `plan_of` do.
    """
    made = plan_reenactments(
        logs, [group], since_ms=since_ms, until_ms=until_ms, partitions=partitions, progress=progress
    )
    if len(made) > 1 and group not in made:
        raise InputError(f"{group}: matches {len(made)} groups; give the name of one")
    chosen = made[group] if group in made else next(iter(made.values()))
    if isinstance(chosen, InputError):
        raise chosen
    return chosen


def plan_reenactments(
    logs: OpenedLogs,
    groups: list[str],
    *,
    since_ms: int | None = None,
    until_ms: int | None = None,
    partitions: Mapping[str, int] | None = None,
    progress: Progress = NO_PROGRESS,
) -> dict[str, Reenactment | InputError]:
    """The same of all that match patterns, by group id; for one that cannot be played again, why."""
    seen = CommitsSeen()
    replayed = replay_all(logs, groups, progress=progress, watcher=seen)
    made: dict[str, Reenactment | InputError] = {}
    for name, timeline in replayed.items():
        try:
            plan = plan_of(
                timeline,
                seen.by_group.get(name, []),
                since_ms=since_ms,
                until_ms=until_ms,
                partitions=partitions or {},
            )
        except InputError as error:
            made[name] = error
            continue
        original, _ = window(timeline.generations, since_ms, until_ms)
        made[name] = Reenactment(plan=plan, original=tuple(original), problems=tuple(replayed.unread))
    return made


def reenact_virtually(
    reenactment: Reenactment,
    log_dir: str | Path | None = None,
    *,
    on_act: Callable[[Act], None] | None = None,
    warn: Callable[[str], None] = lambda line: None,
) -> Score:
    """Play on the virtual clock, and compare. The log is kept in `log_dir`, a new or empty folder.

    Raises InputError or SourceError if the folder cannot be used.
    """
    from kgroup.sim.reenacting import reenact_virtually as play

    if log_dir is not None:
        require_empty(Path(log_dir), "--keep")
        play(reenactment.plan, FolderStorage(Path(log_dir), warn), on_act)
        return reenactment.score_of(Path(log_dir))
    try:
        with TemporaryDirectory(prefix="kgroup-") as folder:
            play(reenactment.plan, FolderStorage(Path(folder), warn), on_act)
            return reenactment.score_of(Path(folder))
    except OSError as error:
        raise SourceError(f"no room for the log: {error.strerror or error}") from error
