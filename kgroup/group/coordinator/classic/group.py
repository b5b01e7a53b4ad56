"""A classic group as its coordinator holds it: members, votes, leader. No rules about requests."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from kgroup.assignors.java_order import JavaHashSet, computed_order, string_hash
from kgroup.group.coordinator.classic.states import GroupState, may_move
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey
from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata

CONSUMER_PROTOCOL: Final = "consumer"
GROUP_METADATA_VERSION: Final = 3  # what Kafka 2.3 to 4.3 write


@dataclass(slots=True, kw_only=True)
class Member:
    """One member. `join_request` and `sync_request` are the ids of its parked requests, if any."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    join_request: int | None = None
    sync_request: int | None = None
    is_new: bool = False

    @property
    def awaits_join(self) -> bool:
        """A JoinGroup of this member is parked."""
        return self.join_request is not None

    def metadata(self, protocol: str | None) -> bytes:
        """The metadata the member sent for `protocol`, which it must support."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise AssertionError(f"member {self.member_id} has no protocol {protocol}")

    def vote(self, candidates: frozenset[str]) -> str:
        """The member's favourite among `candidates`; it supports at least one of them."""
        return next(name for name, _ in self.protocols if name in candidates)

    @property
    def keeps_session_by_waiting(self) -> bool:
        """A member that waits in a rebalance need not heartbeat, except in its very first join."""
        return not self.is_new and (self.join_request is not None or self.sync_request is not None)


class ClassicGroup:
    """Members, leader, generation and state of one group.

    Generation, protocol, leader, assignments and Empty or Stable are logged and come back through
    `restore`. Parked requests, pending members and the two rebalance states are soft.
    """

    def __init__(self, group_id: str, now_ms: int) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.EMPTY
        self.state_timestamp_ms = now_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}  # in the order they joined
        # Their ids, as Kafka's HashMap of members has them.
        self._in_java_order: JavaHashSet[str] = JavaHashSet(string_hash)
        self.static_members: dict[str, str] = {}  # group instance id -> member id
        self.pending_joins: dict[str, None] = {}  # ids given out, not come back with yet (KIP-394)
        self.pending_syncs: dict[str, None] = {}
        self.joins_parked = 0
        self.subscribed_topics: frozenset[str] | None = None  # None: not known
        # The initial rebalance delay: how long the current wait is, and how much may still be added.
        self.initial_wait_ms = 0
        self.initial_wait_left_ms = 0
        self.newcomer_during_wait = False
        self._supporters: Counter[str] = Counter()

    # ---- state --------------------------------------------------------------------------------

    def move_to(self, state: GroupState, now_ms: int) -> None:
        """Change state; a move that the table lacks is a bug."""
        assert may_move(self.state, state), f"group {self.group_id}: {self.state} to {state}"
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = now_ms

    @property
    def is_empty(self) -> bool:
        """Whether the state is Empty: no member counts."""
        return self.state is GroupState.EMPTY

    @property
    def uses_consumer_protocol(self) -> bool:
        """Whether its members are Kafka consumers, whose subscriptions the coordinator can read."""
        return self.protocol_type == CONSUMER_PROTOCOL

    def subscribes(self, topic: str) -> bool:
        """Whether some member may be reading `topic`; unknown subscriptions count as yes."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    # ---- members ------------------------------------------------------------------------------

    def add(self, member: Member, protocol_type: str) -> None:
        """Let a member in; the first one leads and settles the protocol type."""
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._in_java_order.add(member.member_id)
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self._supporters.update(name for name, _ in member.protocols)
        self.joins_parked += member.awaits_join
        self.pending_joins.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Take a member or a pending id out; if it led, the first in Kafka's HashMap leads now."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._in_java_order.discard(member_id)
            self._supporters.subtract(name for name, _ in member.protocols)
            self.joins_parked -= member.awaits_join
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self._in_java_order), None)
        self.pending_joins.pop(member_id, None)
        self.pending_syncs.pop(member_id, None)

    def rename_static(self, instance_id: str, old_id: str, new_id: str) -> Member:
        """Give a static member's place to the id of its restarted self; it keeps what it was assigned."""
        member = self.members.pop(old_id)
        self._in_java_order.discard(old_id)
        self._in_java_order.add(new_id)
        self.joins_parked -= member.awaits_join
        renamed = Member(
            member_id=new_id,
            group_instance_id=instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            session_timeout_ms=member.session_timeout_ms,
            protocols=member.protocols,
            assignment=member.assignment,
        )
        self.members[new_id] = renamed
        self.static_members[instance_id] = new_id
        self.pending_syncs.pop(old_id, None)
        if self.leader_id == old_id:
            self.leader_id = new_id
        return renamed

    def set_protocols(self, member: Member, protocols: tuple[tuple[str, bytes], ...]) -> None:
        """Replace what a member supports."""
        self._supporters.subtract(name for name, _ in member.protocols)
        member.protocols = protocols
        self._supporters.update(name for name, _ in protocols)

    def park_join(self, member: Member, request_id: int) -> None:
        """Hold a JoinGroup back until the round is over; an earlier one of the same member is forgotten."""
        self.joins_parked += not member.awaits_join
        member.join_request = request_id

    def unpark_join(self, member: Member) -> int | None:
        """The parked JoinGroup to answer now, if there is one."""
        request_id = member.join_request
        if request_id is not None:
            member.join_request = None
            self.joins_parked -= 1
        return request_id

    @property
    def everyone_joined(self) -> bool:
        """All members wait in a JoinGroup and no id that was given out is still on its way."""
        return len(self.members) == self.joins_parked and not self.pending_joins

    def rebalance_timeout_ms(self) -> int:
        """The most patient member's."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is a member that has joined; False if nobody has."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].awaits_join:
            return True
        joined = next((id_ for id_ in self._in_java_order if self.members[id_].awaits_join), None)
        if joined is None:
            return False
        self.leader_id = joined
        return True

    # ---- protocols ----------------------------------------------------------------------------

    def supports(self, protocol_type: str, names: list[str]) -> bool:
        """Whether a member with these protocols fits in with the present members."""
        if self.is_empty:
            return bool(protocol_type) and bool(names)
        if protocol_type != self.protocol_type:
            return False
        return any(self._supporters[name] == len(self.members) for name in names)

    def choose_protocol(self) -> str:
        """Every member votes for its first protocol that all support; most votes win.

        A tie goes to whichever Kafka 4.3.1 meets first in its HashMap of votes, cast in the order of its
        HashMap of members.
        """
        candidates = frozenset(name for name, n in self._supporters.items() if n == len(self.members))
        votes = Counter(member.vote(candidates) for member in self.members.values())
        most = max(votes.values())
        winners = [name for name, count in votes.items() if count == most]
        if len(winners) == 1:
            return winners[0]
        cast = [self.members[member_id].vote(candidates) for member_id in self._in_java_order]
        return next(name for name in computed_order(cast, string_hash) if name in winners)

    # ---- the logged part ----------------------------------------------------------------------

    def record(self, assignments: dict[str, bytes] | None) -> OffsetsEntry:
        """The group's record; `assignments` None: it has no members."""
        members = []
        if assignments is not None:
            members = [
                MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol_name),
                    assignment=assignments.get(member.member_id, b""),
                )
                for member in self.members.values()
            ]
        return OffsetsEntry(
            type=RecordType.GROUP_METADATA,
            key=GroupMetadataKey(group=self.group_id),
            value=GroupMetadataValue(
                protocol_type=self.protocol_type or "",
                generation=self.generation_id,
                protocol=self.protocol_name,
                leader=self.leader_id,
                current_state_timestamp=self.state_timestamp_ms,
                members=tuple(members),
            ),
            value_version=GROUP_METADATA_VERSION,
        )

    def restore(self, value: GroupMetadataValue) -> None:
        """Take over what a record says: on loading, and live when the record has been decided on."""
        self.generation_id = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol_name = value.protocol
        kept = {member.member_id for member in value.members}
        for gone in [id_ for id_ in self.members if id_ not in kept]:
            self.remove(gone)
        for recorded in value.members:
            self._restore_member(recorded)
        self.leader_id = value.leader
        state = GroupState.STABLE if value.members else GroupState.EMPTY
        if self.state is not state:
            self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = value.current_state_timestamp

    def _restore_member(self, recorded: MemberMetadata) -> None:
        subscription = (self.protocol_name or "", recorded.subscription)
        member = self.members.get(recorded.member_id)
        session_ms = recorded.session_timeout
        rebalance_ms = session_ms if recorded.rebalance_timeout == -1 else recorded.rebalance_timeout
        if member is None:
            member = Member(
                member_id=recorded.member_id,
                group_instance_id=recorded.group_instance_id,
                client_id=recorded.client_id,
                client_host=recorded.client_host,
                rebalance_timeout_ms=rebalance_ms,
                session_timeout_ms=session_ms,
                protocols=(subscription,),
            )
            self.add(member, self.protocol_type or "")
        else:
            member.session_timeout_ms, member.rebalance_timeout_ms = session_ms, rebalance_ms
            if subscription not in member.protocols:
                self.set_protocols(member, (subscription,))
        member.assignment = recorded.assignment
