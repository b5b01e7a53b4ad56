"""A coordinator against a small model of what clients may rely on, whatever is asked of it, in any order.

The model knows no timers, states or records: it remembers what was said, and when.
`HYPOTHESIS_PROFILE=exhaustive` plays many more.
"""

import os
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kgroup.group.coordinator.settings import GroupSettings
from kgroup.protocol.error_codes import ErrorCode
from tests.group.coordinator.script import GROUP, ScriptWorld

MEMBERS = ("m1", "m2", "m3", "s1")
SESSION_MS, REBALANCE_MS, FIRST_JOIN_MS = 6_000, 9_000, 300_000
PLACES = ("orders/0", "orders/1", "other/0")
E = ErrorCode


@dataclass
class Said:
    """One thing that was said of offsets: a commit, a deletion or the end of a transaction."""

    place: str = ""
    offset: int = -1
    producer: int | None = None
    committed: bool | None = None  # None: no end of a transaction


@dataclass
class Offsets:
    """All that was said, in order. What counts is worked out anew each time."""

    said: list[Said] = field(default_factory=list)

    def read(self) -> tuple[dict[str, int], set[str]]:
        """Committed offsets by place, and the places that an open transaction has an offset for."""
        counts: dict[str, tuple[int, int]] = {}
        waiting: dict[int, dict[str, tuple[int, int]]] = {}
        for number, each in enumerate(self.said):
            if each.committed is not None:
                ended = waiting.pop(each.producer or 0, {})
                for place, commit in ended.items() if each.committed else ():
                    # The newest commit counts, whenever its transaction ended.
                    counts[place] = max(counts.get(place, commit), commit)
            elif each.offset < 0:
                counts.pop(each.place, None)
                for commits in waiting.values():
                    commits.pop(each.place, None)
            elif each.producer is None:
                counts[each.place] = (number, each.offset)
            else:
                waiting.setdefault(each.producer, {})[each.place] = (number, each.offset)
        unstable = {place for commits in waiting.values() for place in commits}
        return {place: offset for place, (_, offset) in counts.items()}, unstable


class AgainstModel(RuleBasedStateMachine):
    """Members live by their signs of life, offsets are what was said last, generations only grow."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1000))
        self.offsets = Offsets()
        self.alive_ms: dict[str, int] = {}  # by member id: when it was last heard of, or last had an answer
        self.is_new: set[str] = set()  # ids that have had no answer to a join yet
        self.generation = 0

    # ---- what is asked ----------------------------------------------------------------------------

    def play(self, command: str) -> list[str]:
        before = set(self.world.unanswered)
        lines = self.world.run(command)
        self._note_answers()
        for number in set(self.world.unanswered) - before:
            _, body = self.world.unanswered[number]
            self._heard(getattr(body, "member_id", ""))
        return lines

    def _note_answers(self) -> None:
        """Members that have had an answer since the last look live from then on."""
        now_ms = self.world.now_ms
        waiting = self._waiting()
        for member in self._members():
            if member not in self.alive_ms:
                self.alive_ms[member] = now_ms
                self.is_new.add(member)
            if member in self._waited and member not in waiting:
                self._heard(member)
                self.is_new.discard(member)
        self._waited = waiting

    _waited: frozenset[str] = frozenset()

    def _heard(self, member_id: str) -> None:
        self.alive_ms[member_id] = self.world.now_ms

    def _waiting(self) -> frozenset[str]:
        """Ids of the members of which a request is parked; a newcomer's id is not in its request."""
        asking = {who for who, _ in self.world.unanswered.values()}
        known = {body.member_id for _, body in self.world.unanswered.values()}  # type: ignore[union-attr]
        return frozenset(
            member
            for member in self._members()
            if member in known or any(member.startswith(f"{'i1' if who == 's1' else who}-") for who in asking)
        )

    def _members(self) -> list[str]:
        return [each.member_id for each in self.world.coordinator.describe(GROUP).members]

    def _id(self, name: str) -> str:
        return self.world.ids.get(name, "")

    def _with_instance(self, name: str) -> str:
        return f"{name} instance=i1" if name == "s1" else name

    @rule(name=st.sampled_from(MEMBERS), topics=st.sampled_from(["orders", "orders,other"]))
    def join(self, name: str, topics: str) -> None:
        member = self._id(name)
        who = self._with_instance(name)
        self.play(f"join {who} topics={topics} session={SESSION_MS} rebalance={REBALANCE_MS}")
        if member in self._members():
            self._heard(member)

    @rule(name=st.sampled_from(MEMBERS))
    def sync(self, name: str) -> None:
        shares = ",".join(f"{each}:{each}s" for each in self.world.ids)
        self.play(f"sync {self._with_instance(name)} generation={self._now()} assign={shares}")

    @rule(name=st.sampled_from(MEMBERS), shift=st.sampled_from([0, 0, 0, -1, 1]))
    def heartbeat(self, name: str, shift: int) -> None:
        member, state = self._id(name), self._state()
        generation = self._now() + shift
        [answer] = self.play(f"heartbeat {self._with_instance(name)} generation={generation}")
        if member not in self._members():
            expected = {E.UNKNOWN_MEMBER_ID, E.FENCED_INSTANCE_ID} if name == "s1" else {E.UNKNOWN_MEMBER_ID}
        elif shift:
            expected = {E.ILLEGAL_GENERATION}
        else:
            expected = {E.REBALANCE_IN_PROGRESS if state == "PreparingRebalance" else E.NONE}
            self._heard(member)
        assert E[answer.split()[-1]] in expected, answer

    @rule(name=st.sampled_from(MEMBERS))
    def leave(self, name: str) -> None:
        member = self._id(name)
        was_in = member in self._members()
        instance = " instance=i1" if name == "s1" else ""
        lines = self.play(f"leave {name} id={member or 'nobody'}{instance}")
        assert member not in self._members()
        assert was_in == lines[-1].endswith(":NONE"), lines

    @rule(name=st.sampled_from(MEMBERS), place=st.sampled_from(PLACES), offset=st.integers(0, 99))
    def commit(self, name: str, place: str, offset: int) -> None:
        member, state = self._id(name), self._state()
        lines = self.play(f"commit {self._with_instance(name)} generation={self._now()} {place}={offset}")
        fits = member in self._members() and state in ("Stable", "PreparingRebalance")
        assert lines[-1].endswith(":NONE") == fits, (lines, state)
        if fits:
            self._heard(member)
            self.offsets.said.append(Said(place, offset))

    @rule(place=st.sampled_from(PLACES), offset=st.integers(0, 99))
    def commit_from_outside(self, place: str, offset: int) -> None:
        fits = self._state() in ("Empty", "Dead")
        lines = self.play(f"commit - {place}={offset}")
        assert lines[-1].endswith(":NONE") == fits, lines
        if fits:
            self.offsets.said.append(Said(place, offset))

    @rule(producer=st.integers(1, 3), place=st.sampled_from(PLACES), offset=st.integers(0, 99))
    def commit_in_transaction(self, producer: int, place: str, offset: int) -> None:
        assert self.play(f"txn-commit - producer={producer} {place}={offset}")[-1].endswith(":NONE")
        self.offsets.said.append(Said(place, offset, producer))

    @rule(producer=st.integers(1, 3), committed=st.booleans())
    def end_transaction(self, producer: int, committed: bool) -> None:
        self.play(f"end-txn - producer={producer} {'commit' if committed else 'abort'}")
        self.offsets.said.append(Said(producer=producer, committed=committed))

    @rule()
    def delete_offsets(self) -> None:
        lines = self.play("delete-offsets - other")
        if "other-0:NONE" in lines[-1]:
            self.offsets.said.append(Said("other/0"))

    @rule()
    def delete_group(self) -> None:
        fits = self._state() == "Empty"
        lines = self.play("delete-group")
        assert lines[-1].endswith(f"{GROUP}:NONE") == fits
        if fits:
            self.offsets.said += [Said(place) for place in PLACES]
            self.generation = 0

    @rule(duration_ms=st.sampled_from([1, 900, 2500, SESSION_MS - 1, SESSION_MS, REBALANCE_MS]))
    def time_passes(self, duration_ms: int) -> None:
        end_ms = self.world.now_ms + duration_ms
        while (due := self.world.coordinator.next_deadline_ms()) is not None and due <= end_ms:
            self.play(f"advance {max(due - self.world.now_ms, 0)}")
        self.play(f"advance {end_ms - self.world.now_ms}")

    @rule()
    def reload(self) -> None:
        self.world.run("reload")
        self.alive_ms = dict.fromkeys(self._members(), self.world.now_ms)
        self.is_new, self._waited = set(), frozenset()
        self.generation = 0

    # ---- what holds -------------------------------------------------------------------------------

    def _state(self) -> str:
        return self.world.coordinator.describe(GROUP).group_state

    def _now(self) -> int:
        """The generation of now, which no request shows before the round is over."""
        return self.world.coordinator._kinds.of(GROUP)._groups[GROUP].generation_id if self._there() else 0  # type: ignore[attr-defined]

    def _there(self) -> bool:
        return GROUP in self.world.coordinator._kinds.of(GROUP)

    @invariant()
    def offsets_are_what_was_said_last(self) -> None:
        counts, unstable = self.offsets.read()
        coordinator = self.world.coordinator
        for stable in (False, True):
            read = {
                f"{topic.name}/{part.partition_index}": (part.committed_offset, part.error_code)
                for topic in coordinator.fetch_offsets(GROUP, None, stable)
                for part in topic.partitions
            }
            assert read == {
                place: (-1, E.UNSTABLE_OFFSET_COMMIT) if stable and place in unstable else (offset, E.NONE)
                for place, offset in counts.items()
            }

    @invariant()
    def the_silent_are_out(self) -> None:
        waiting = self._waiting()
        for member in self._members():
            limit_ms = FIRST_JOIN_MS if member in self.is_new else SESSION_MS
            assert member in waiting or self.world.now_ms < self.alive_ms[member] + limit_ms, member

    @invariant()
    def every_member_has_a_deadline(self) -> None:
        if self._members():
            deadline_ms = self.world.coordinator.next_deadline_ms()
            assert deadline_ms is not None
            assert deadline_ms <= self.world.now_ms + FIRST_JOIN_MS

    @invariant()
    def generations_grow(self) -> None:
        if self._there():
            assert self._now() >= self.generation
            self.generation = self._now()
        else:
            self.generation = 0


AgainstModel.TestCase.settings = settings(
    max_examples=400 if os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive" else 40,
    stateful_step_count=40,
    deadline=None,
)
TestCoordinatorAgainstModel = AgainstModel.TestCase
