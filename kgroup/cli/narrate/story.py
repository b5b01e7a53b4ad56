"""Narrates a run as a lecture on the protocol: who sends what to whom, and, the first time, why."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.broker.settings import from_properties
from kgroup.cli.narrate.exchange import request_text, response_text
from kgroup.cli.narrate.lectures import LECTURES
from kgroup.group.coordinator import events as decided
from kgroup.group.member.identity import MemberState
from kgroup.group.member.step import CallbackKind
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.assignments import runs_by_topic
from kgroup.report.table import printable
from kgroup.report.timeline.state_lanes import WIDTH
from kgroup.sim.names import MemberNames
from kgroup.sim.scenario.actions import amount_text
from kgroup.sim.scenario.scenario import FaultKind, Scenario
from kgroup.sim.watch import trace
from kgroup.sim.zookeeper import trace as zk

_TIME_WIDTH: Final = 11
_INDENT: Final = " " * (_TIME_WIDTH + 2)

Line = tuple[str, str | None]
"""A line, and the subject of the lecture that follows it the first time."""


class Story:
    """Turns events into text. It remembers what it has explained, and which names ids belong to."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._explained: set[str] = set()
        self._said_once: set[tuple[str, str]] = set()
        self._names = MemberNames(scenario)
        self._last: dict[str, str] = {}
        self._committed: dict[str, dict[TopicPartition, int]] = {}
        self._of_old: set[str] = set()  # consumers of the old design, whose steps have words of their own
        self._static = {member.name for member in scenario.members if member.instance_id is not None}
        partitions = from_properties(scenario.properties).offsets_topic_partitions
        group = scenario.members[0].group
        self._facts = {
            "group": group,
            "partitions": partitions,
            "partition": partition_for(group, partitions),
        }

    def print(self, event: zk.ZookeeperEvent) -> None:
        """Print the text for this event, if it has any."""
        for text, subject in self._tell(event):
            at_s = (event.at_ms - self._scenario.epoch_ms) / 1000
            time = f"{at_s:.3f}s".rjust(_TIME_WIDTH)
            for line in wrap(printable(text), WIDTH - len(_INDENT), break_on_hyphens=False):
                print(f"{time}  {line}")
                time = " " * _TIME_WIDTH
            self._lecture(subject)

    def _lecture(self, subject: str | None) -> None:
        if subject is None or subject in self._explained:
            return
        self._explained.add(subject)
        text = LECTURES[subject].format_map(self._facts)
        for line in wrap(text, WIDTH - len(_INDENT) - 2):
            print(f"{_INDENT}| {line}")

    # ---- events -----------------------------------------------------------------------------------

    def _tell(self, event: zk.ZookeeperEvent) -> Iterator[Line]:
        match event:
            case trace.FaultBegan() | trace.FaultEnded():
                yield from self._fault(event)
            case trace.MemberStarted(member=member, process=process):
                yield f"{member} starts" + ("" if process == 1 else f" again, as process {process}"), None
            case trace.MemberStopped(member=member, why=why):
                yield f"{member} is gone: {why}", "killed" if why == "killed" else self._if_static(member)
            case trace.MemberMoved():
                yield from self._moved(event)
            case trace.PartitionsChanged():
                if event.kind is CallbackKind.REVOKED:
                    yield self._committed_before(event), None
                yield self._partitions(event)
            case trace.RequestSent(member=member, node=node, body=body):
                sentence = request_text(body)
                if sentence is not None and self._is_news(member, sentence.routine):
                    yield f"{member} -> {node}  {sentence.text}", sentence.subject
            case trace.ResponseReceived(member=member, node=node, body=body):
                sentence = response_text(body)
                if sentence is not None:
                    self._last.pop(member, None)
                    yield f"{member} <- {node}  {self._names.in_text(sentence.text)}", sentence.subject
            case trace.RequestFailed(member=member, node=node, why=why):
                if self._last.get(member) != why:
                    self._last[member] = why
                    yield f"{member} <- {node}  no answer: {why}", None
            case trace.CommitEnded(member=member, error_code=ErrorCode.NONE, offsets=offsets):
                self._committed.setdefault(member, {}).update(offsets)
            case trace.CommitEnded(member=member, error_code=error):
                yield f"{member}'s commit failed: {error.name}", None
            case trace.NodeStopped(node=node, why=why):
                yield f"{node} is gone: {why}", None
            case trace.NodeStarted(node=node) if event.at_ms > self._scenario.epoch_ms:
                yield f"{node} is back", None
            case trace.CoordinatorMoved(group=group, node=node):
                yield f"{node or 'nobody'} coordinates {group} now", "coordinator-moved"
            case trace.TopicCreated(topic=topic, partitions=partitions):
                yield f"there is a topic {topic} now, of {partitions} partitions", "created"
            case trace.TopicGrown(topic=topic, partitions=partitions):
                yield f"{topic} has {partitions} partitions now", "grown"
            case trace.CoordinatorEvent(node=node, event=told_event):
                yield from self._decision(node, told_event)
            case trace.Settled():
                yield "all has settled", "settled"
            case _:
                yield from self._of_zookeeper(event)

    def _if_static(self, member: str) -> str | None:
        return "static" if member in self._static else None

    def _fault(self, event: trace.FaultBegan | trace.FaultEnded) -> Iterator[Line]:
        fault = f"{event.kind.value} {event.target}".strip()
        if isinstance(event, trace.FaultEnded):
            yield f"!! over: {fault}", None
            return
        other = f" from {event.other}" if event.other else ""
        amount = f" {amount_text(event.kind, event.amount)}" if event.amount is not None else ""
        amount += f" to {','.join(event.topics)}" if event.topics else ""
        lasts = "" if event.duration_ms is None else f" for {event.duration_ms / 1000:g}s"
        yield f"!! {fault}{other}{amount}{lasts}", "pause" if event.kind is FaultKind.PAUSE else None

    def _moved(self, event: trace.MemberMoved) -> Iterator[Line]:
        key = f"{event.state} {event.generation}"
        if event.state is MemberState.UNJOINED or event.member in self._of_old:
            return
        if self._last.get(f"state of {event.member}") == key:
            return
        self._last[f"state of {event.member}"] = key
        subject = f"state-{event.state.value}"
        yield f"{event.member} is {event.state.value}", subject if subject in LECTURES else None

    def _partitions(self, event: trace.PartitionsChanged) -> Line:
        partitions = runs_by_topic(event.partitions) or "nothing"
        text = f"{event.member} runs {event.kind.value}: {partitions}"
        if event.kind is CallbackKind.ASSIGNED:
            return text, "assigned" if event.generation >= 0 else "zk-claimed"
        if event.kind is CallbackKind.LOST:
            return text, "lost"
        return text, self._revoked_subject(event) if event.generation >= 0 else None

    def _committed_before(self, event: trace.PartitionsChanged) -> str:
        """A line with the offsets a member has committed of what it gives up; the next owner starts there."""
        committed = self._committed.get(event.member, {})
        offsets = [f"{each[0]}:{each[1]}@{committed[each]}" for each in event.partitions if each in committed]
        return f"{event.member} has committed {' '.join(offsets) or 'nothing'} of what it gives up"

    def _revoked_subject(self, event: trace.PartitionsChanged) -> str | None:
        member = next(each for each in self._scenario.members if each.name == event.member)
        assignors = [ASSIGNORS[name].protocol for name in member.assignors]
        eager = assignors[0] is Protocol.EAGER
        return "revoke-eager" if eager else "revoke-cooperative"

    def _decision(self, node: str, event: decided.GroupEvent) -> Iterator[Line]:
        group = event.group_id
        match event:
            case decided.GroupCreated():
                yield f"{node}: there is a group {group} now", "new-group"
            case decided.MemberAdded(member_id=member_id):
                yield f"{node}: {self._names.of(member_id)} is a member of {group}", None
            case decided.MemberRemoved(member_id=member_id, why=why):
                subject = "session-expired" if why == "session expired" else None
                yield f"{node}: {self._names.of(member_id)} is out of {group}: {why}", subject
            case decided.RebalanceStarted(generation_id=generation, why=why):
                subject = "preparing" if generation > 0 else "initial-delay"
                yield f"{node}: {group} rebalances: {self._names.in_text(why)}", subject
            case decided.GenerationFormed(members=0):
                yield f"{node}: {group} is empty", "empty"
            case decided.GenerationFormed() as formed:
                members = f"{formed.members} member{'' if formed.members == 1 else 's'}"
                leader = self._names.of(formed.leader or "-")
                yield (
                    f"{node}: generation {formed.generation_id} of {group}: {members},"
                    f" {formed.protocol}, led by {leader}",
                    "formed",
                )
            case decided.MembersLeftOut(member_ids=member_ids, generation_id=generation):
                names = ", ".join(map(self._names.of, member_ids))
                yield f"{node}: generation {generation} of {group}: nothing for {names}, left out", None
            case decided.GroupStable(generation_id=generation):
                yield f"{node}: generation {generation} of {group} is stored; {group} is Stable", "stable"
            case decided.GroupDeleted():
                yield f"{node}: {group} is deleted", None

    def _of_zookeeper(self, event: zk.ZookeeperEvent) -> Iterator[Line]:
        match event:
            case zk.ConsumerRegistered(member=member, consumer_id=consumer_id):
                self._of_old.add(member)
                yield f"{member} registers as {consumer_id}", "zk-registered"
            case zk.WatchFired(member=member, path=path):
                yield f"{member} is told that {path} changed", "zk-watch"
            case zk.RebalanceAttempted(member=member, attempt=0):
                yield f"{member} rebalances", "zk-rebalance"
            case zk.RebalanceAttempted(member=member, attempt=attempt):
                yield f"{member} tries once more ({attempt + 1})", "zk-retry"
            case zk.RebalanceGivenUp(member=member):
                yield f"{member} gives up", "zk-given-up"
            case zk.SessionExpired(member=member):
                yield f"ZooKeeper ends the session of {member}", "zk-expired"
            case _:
                pass

    # ---- words ------------------------------------------------------------------------------------

    def _is_news(self, member: str, routine: str | None) -> bool:
        """False for a routine that was already reported for this member: each is reported once."""
        if routine is None:
            return True
        if (member, routine) in self._said_once:
            return False
        self._said_once.add((member, routine))
        return True
