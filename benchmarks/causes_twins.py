"""The number of simulated departures no rule could name: another cause leaves the same log, to the record.

    python -m benchmarks.causes_twins [--seeds N] [--first SEED]

Plays the worlds of `benchmarks.causes_simulated` and writes down what each coordinator was asked, and when.
Then each departure is played again on a coordinator of its own, with one difference: whoever was thrown out
when its session was over leaves by itself at that moment, and whoever left by itself falls silent one session
before. If all records that the coordinator writes, before and after, are the same with the same times, two
lives with different causes have one log. Only coordinators that write the same records when nothing is
changed are counted, and only classic groups.

`named` are the departures whose cause `kgroup replay` grades rightly: of those without a twin the log may
tell all, of those with one a rule can only say what is likelier.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import patch

from tabulate import tabulate

from benchmarks.causes_simulated import judge_seed, members_alone
from kgroup.broker import hosted_coordinator
from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.events import MemberRemoved
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request, Step
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    SyncGroup,
)
from kgroup.sim.world.world import run

_TIMED: Final = ("decide", "expire", "loaded", "unload")
_OTHERS: Final = ("topics_changed", "apply")


@dataclass(frozen=True, slots=True)
class Call:
    """A method that was called; `now_ms` is None for those without a time. `end_offset` is the log's then."""

    name: str
    arguments: tuple[Any, ...]
    now_ms: int | None
    end_offset: int


@dataclass(frozen=True, slots=True)
class Departure:
    """A member that a coordinator took out in its call of that number: `why` is the coordinator's word."""

    call: int
    group_id: str
    member_id: str
    why: str


class Diary:
    """All that one coordinator was asked, what it wrote, and who was taken out."""

    def __init__(self, make: "Callable[[Callable[[], str]], GroupCoordinator]") -> None:
        self.make = make
        self.calls: list[Call] = []
        self.uuids: list[str] = []
        self.departures: list[Departure] = []
        self.records: list[Any] = []

    def add(self, call: Call, step: object) -> None:
        """The next call and its outcome."""
        if isinstance(step, Step):
            self.records += step.records()
            for event in step.events:
                if isinstance(event, MemberRemoved):
                    departure = Departure(len(self.calls), event.group_id, event.member_id, event.why)
                    self.departures.append(departure)
        self.calls.append(call)

    def played(self, calls: list[Call]) -> list[Any]:
        """The records of a coordinator that gets these calls, with the same ids at hand."""
        uuids = iter(self.uuids)
        coordinator = self.make(lambda: next(uuids))
        records: list[Any] = []
        for call in calls:
            if call.name == "loaded":
                coordinator.end_offset = call.end_offset
            times = () if call.now_ms is None else (call.now_ms,)
            step = getattr(coordinator, call.name)(*call.arguments, *times)
            if isinstance(step, Step):
                records += step.records()
        return records


def diaries_of(seed: int) -> list[Diary]:
    """Play a seed's world; a diary of each coordinator that there was."""
    diaries: list[Diary] = []

    class Watched(GroupCoordinator):
        def __init__(
            self,
            partition: int,
            settings: GroupSettings,
            new_uuid: Callable[[], str],
            image: MetadataImage,
            *more: Any,
        ) -> None:
            self.diary = Diary(lambda uuids: GroupCoordinator(partition, settings, uuids, image, *more))
            diaries.append(self.diary)

            def kept() -> str:
                self.diary.uuids.append(made := new_uuid())
                return made

            super().__init__(partition, settings, kept, image, *more)

    def watched(name: str) -> Callable[..., Any]:
        def call(self: Watched, *arguments: Any) -> Any:
            before = self.end_offset
            step = getattr(GroupCoordinator, name)(self, *arguments)
            timed = name in _TIMED
            self.diary.add(
                Call(name, arguments[:-1] if timed else arguments, arguments[-1] if timed else None, before),
                step,
            )
            return step

        return call

    for name in (*_TIMED, *_OTHERS):
        setattr(Watched, name, watched(name))
    with patch.object(hosted_coordinator, "GroupCoordinator", Watched):
        run(members_alone(seed), seed, codec=False, until_settled=True)
    return diaries


def twins_of(diary: Diary) -> Iterator[tuple[str, bool, str]]:
    """Each departure by the coordinator's word, whether another cause leaves the same log, and the member."""
    if diary.played(diary.calls) != diary.records:
        return
    for departure in diary.departures:
        if departure.why == "session expired":
            is_twin = _is_same(diary, _left_instead(diary, departure))
            yield "session-expired", is_twin, departure.member_id
        elif departure.why.startswith("left"):
            yield "leave", _is_same(diary, _silent_instead(diary, departure)), departure.member_id


def _is_same(diary: Diary, calls: list[Call] | None) -> bool:
    return calls is not None and diary.played(calls) == diary.records


def _left_instead(diary: Diary, departure: Departure) -> list[Call]:
    """The same, but just before its session is over the member leaves."""
    calls = list(diary.calls)
    leaving = LeavingMember(member_id=departure.member_id, group_instance_id=None)
    body = LeaveGroup(group_id=departure.group_id, members=(leaving,))
    calls.insert(
        departure.call, replace(calls[departure.call], name="decide", arguments=(Request(-1, body),))
    )
    return calls


def _silent_instead(diary: Diary, departure: Departure) -> list[Call] | None:
    """The same, but the member's last word is a heartbeat one session before; None if it said more since."""
    calls, left = diary.calls, diary.calls[departure.call]
    body = left.arguments[0].body if left.name == "decide" else None
    if not isinstance(body, LeaveGroup) or len(body.members) != 1 or left.now_ms is None:
        return None
    session_ms = next(
        (
            call.arguments[0].body.session_timeout_ms
            for call in reversed(calls[: departure.call])
            if call.name == "decide"
            and isinstance(call.arguments[0].body, JoinGroup)
            and call.arguments[0].body.member_id == departure.member_id
        ),
        None,
    )
    if session_ms is None:
        return None
    silent_ms = left.now_ms - session_ms
    made: list[Call] = []
    heartbeat: Heartbeat | None = None
    place: int | None = None
    for call in calls[: departure.call]:
        said = call.arguments[0].body if call.name == "decide" else None
        is_mine = getattr(said, "member_id", None) == departure.member_id
        is_late = call.now_ms is not None and call.now_ms > silent_ms
        if is_late and place is None:
            place = len(made)
        if is_mine and isinstance(said, Heartbeat):
            heartbeat = said
            if is_late:
                continue
        elif is_mine and is_late and isinstance(said, JoinGroup | SyncGroup):
            return None
        made.append(call)
    if heartbeat is None or place is None:
        return None
    made.insert(place, replace(left, arguments=(Request(-2, heartbeat),), now_ms=silent_ms))
    return [*made, replace(left, name="expire", arguments=()), *calls[departure.call + 1 :]]


def named_in(seed: int) -> set[tuple[str, str]]:
    """The causes of departures that replay grades in a seed's world, each with its member."""
    return {
        (str(judged.cause.kind), member_id)
        for judged in judge_seed(seed)
        if judged.is_graded
        for member_id in judged.cause.member_ids
    }


def table(found: Counter[tuple[str, bool, bool]]) -> str:
    """A line for each cause."""
    rows = []
    for cause in ("session-expired", "leave"):
        twins, others = (sum(found[cause, twin, named] for named in (True, False)) for twin in (True, False))
        rows.append(
            (cause, twins + others, twins, found[cause, True, True], others, found[cause, False, True])
        )
    heads = ("cause", "departures", "with a twin of another cause", "named", "without", "named")
    return tabulate(rows, headers=heads)


def main() -> None:
    """Read the command line, play, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("--first", type=int, default=1000, metavar="SEED")
    given = parser.parse_args()
    found: Counter[tuple[str, bool, bool]] = Counter()
    skipped = total = 0
    for seed in range(given.first, given.first + given.seeds):
        named = named_in(seed)
        for diary in diaries_of(seed):
            departures = list(twins_of(diary))
            total += len(diary.departures)
            skipped += len(diary.departures) - len(departures)
            found.update((cause, twin, (cause, member) in named) for cause, twin, member in departures)
    print(table(found))
    print(f"{skipped} of {total} departures are of other kinds, or of coordinators that are not counted")


if __name__ == "__main__":
    main()
