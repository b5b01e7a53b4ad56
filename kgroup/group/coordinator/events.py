"""Events of groups for observers: they narrate steps and are never an input to the rules."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCreated:
    """A group that was not there before."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAdded:
    """A member was let in."""

    group_id: str
    member_id: str
    group_instance_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRemoved:
    """A member is out; `why` names the rule."""

    group_id: str
    member_id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceStarted:
    """Everybody has to join again."""

    group_id: str
    generation_id: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationFormed:
    """All who count have joined; the leader's assignment is awaited. No members: the group is empty."""

    group_id: str
    generation_id: int
    protocol: str | None
    leader: str | None
    members: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersLeftOut:
    """The leader's assignment does not name these members: they get an empty one. Kafka logs a warning."""

    group_id: str
    generation_id: int
    member_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStable:
    """The assignment is stored and handed out."""

    group_id: str
    generation_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDeleted:
    """The group's record was replaced by a tombstone."""

    group_id: str


GroupEvent = (
    GroupCreated
    | MemberAdded
    | MemberRemoved
    | RebalanceStarted
    | GenerationFormed
    | MembersLeftOut
    | GroupStable
    | GroupDeleted
)
