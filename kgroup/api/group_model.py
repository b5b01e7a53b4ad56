"""A group to put to assignors, taken from a log, a file or flags. No heavy imports."""

from dataclasses import dataclass

from kgroup.assignors.planning.plan import GroupPlan
from kgroup.report.table import printable


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LoggedGroup:
    """A group as a log has it. `assignor` is the one it used, by kgroup's name, None where unknown.

    `notes` say what was not to be read, `problems` what could not be.
    """

    plan: GroupPlan
    assignor: str | None
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        members, topics = len(self.plan.members), ", ".join(topic.name for topic in self.plan.topics)
        return f"<LoggedGroup of {members} members on {printable(topics)}, assignor {self.assignor}>"
