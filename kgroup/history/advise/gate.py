"""Whether a group would refuse a client with these properties, or be harmed by it.

Rules of brokers and of the Java client 4.x: `ClassicGroup.supportsProtocols`, `GroupMetadataManager`
(session timeouts, static members, the upgrade of a group, `validateOnlineUpgrade`), `ConsumerConfig`
(properties that one of the two protocols does not know), `Heartbeat`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kgroup.assignors.registry import ASSIGNORS
from kgroup.durations import lasting
from kgroup.errors import InputError
from kgroup.history.advise.late import late_polls
from kgroup.history.advise.model import Objection, Pauses, Verdict
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Cause, Grade, Roster, Timeline

MIN_SESSION_MS: Final = 6_000
"""`group.min.session.timeout.ms`, by default."""
MAX_SESSION_MS: Final = 1_800_000
"""`group.max.session.timeout.ms`, by default."""
_INTEGER_MAX: Final = 2**31
_CONSUMER_REFUSES: Final = ("heartbeat.interval.ms", "partition.assignment.strategy", "session.timeout.ms")
_SERVER_ASSIGNORS: Final = ("range", "uniform")
_PACKAGE: Final = "org.apache.kafka.clients.consumer."
_JAVA_NAMES: Final = {
    f"{_PACKAGE}{name}Assignor": ours
    for name, ours in (
        ("Range", "range"),
        ("RoundRobin", "roundrobin"),
        ("Sticky", "sticky"),
        ("CooperativeSticky", "cooperative-sticky"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProperties:
    """The properties of a consumer that a group notices, with the Java client's defaults. Times are ms.

    `given` are all that were there, by name.
    """

    protocol: str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    assignors: tuple[str, ...]
    instance_id: str | None
    remote_assignor: str | None
    given: Mapping[str, str] = field(default_factory=dict)

    def value_of(self, name: str, default: object) -> str:
        """The value as it was given, else the default."""
        return self.given.get(name, str(default))


def client_properties(given: Mapping[str, str]) -> ClientProperties:
    """Raises InputError, naming the property, for a value that makes no sense."""
    protocol = given.get("group.protocol", "classic").strip().lower()
    if protocol not in ("classic", "consumer"):
        raise InputError(f"group.protocol={given['group.protocol']}: classic or consumer")
    strategy = given.get("partition.assignment.strategy", "range,cooperative-sticky")
    assignors = tuple(
        _JAVA_NAMES.get(name.strip(), name.strip()) for name in strategy.split(",") if name.strip()
    )
    if not assignors:
        raise InputError("partition.assignment.strategy: at least one assignor is needed")
    return ClientProperties(
        protocol=protocol,
        session_timeout_ms=_positive(given, "session.timeout.ms", 45_000),
        heartbeat_interval_ms=_positive(given, "heartbeat.interval.ms", 3_000),
        max_poll_interval_ms=_positive(given, "max.poll.interval.ms", 300_000),
        assignors=assignors,
        instance_id=given.get("group.instance.id", "").strip() or None,
        remote_assignor=given.get("group.remote.assignor", "").strip() or None,
        given=given,
    )


def _positive(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default)).strip()
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text) < _INTEGER_MAX:
        raise InputError(f"{name}={given[name]}: a whole number from 1 to {_INTEGER_MAX - 1} is needed")
    return int(text)


def objections(client: ClientProperties, timeline: Timeline, pauses: Pauses | None) -> list[Objection]:
    """All that speaks against this client in this group, by the name of the property."""
    roster = timeline.generations[-1].roster if timeline.generations else None
    group = timeline.group_id
    objected = [*_times(client, group), *_pauses(client, timeline, pauses)]
    if client.protocol == "consumer":
        objected += _of_consumer(client, group, roster)
    else:
        objected += _of_classic(client, group, roster)
    if roster is not None:
        objected += _instance(client, group, roster)
    return sorted(objected, key=lambda each: (each.name, each.evidence))


def _times(client: ClientProperties, group: str) -> Iterator[Objection]:
    session, heartbeat = client.session_timeout_ms, client.heartbeat_interval_ms
    if client.protocol == "consumer":
        return
    if not MIN_SESSION_MS <= session <= MAX_SESSION_MS:
        yield Objection(
            group=group,
            name="session.timeout.ms",
            value=str(session),
            verdict=Verdict.REFUSED,
            grade=Grade.INFERRED,
            evidence=f"INVALID_SESSION_TIMEOUT: brokers take {lasting(MIN_SESSION_MS)} to"
            f" {lasting(MAX_SESSION_MS)}, unless group.min. or group.max.session.timeout.ms is set",
        )
    if heartbeat >= session:
        yield Objection(
            group=group,
            name="heartbeat.interval.ms",
            value=str(heartbeat),
            verdict=Verdict.REFUSED,
            grade=Grade.RECORDED,
            evidence=f"the client does not start: not below session.timeout.ms, {lasting(session)}",
        )
    elif 3 * heartbeat > session:
        yield Objection(
            group=group,
            name="heartbeat.interval.ms",
            value=str(heartbeat),
            verdict=Verdict.HARMS,
            grade=Grade.INFERRED,
            evidence=f"more than a third of its session.timeout.ms of {lasting(session)}: two lost"
            " heartbeats and the member is out",
        )


def _pauses(client: ClientProperties, timeline: Timeline, pauses: Pauses | None) -> Iterator[Objection]:
    limit_ms = client.max_poll_interval_ms
    worked = pauses.at_work(limit_ms) if pauses is not None else []
    perhaps = pauses.perhaps(limit_ms) if pauses is not None else []
    late = [
        cause
        for cause, member_timeout_ms in _late_with_timeouts(timeline)
        if member_timeout_ms is not None and limit_ms <= member_timeout_ms
    ]
    if late:
        grade, evidence = Grade.INFERRED, f"members with no less left {len(late)} times: {late[-1].evidence}"
    elif worked:
        longest_ms = max(each.worked_ms or 0 for each in worked)
        grade = Grade.INFERRED
        evidence = f"members had records to read and did not commit for up to {lasting(longest_ms)}"
    elif pauses is not None and perhaps:
        grade = Grade.INFERRED if pauses.usual_ms > limit_ms else Grade.UNKNOWN
        evidence = f"members paused for up to {lasting(perhaps[0].length_ms)} between two commits"
        if grade is Grade.UNKNOWN:
            evidence += ", unless there was nothing to read"
    else:
        return
    yield Objection(
        group=timeline.group_id,
        name="max.poll.interval.ms",
        value=client.value_of("max.poll.interval.ms", limit_ms),
        verdict=Verdict.HARMS,
        grade=grade,
        evidence=f"{evidence}: after {lasting(limit_ms)} it leaves the group",
    )


def _late_with_timeouts(timeline: Timeline) -> Iterator[tuple[Cause, int | None]]:
    timeouts = {
        member.member_id: member.rebalance_timeout_ms
        for generation in timeline.generations
        for member in generation.roster.members
    }
    for cause in late_polls(timeline):
        known = [timeouts.get(member_id) for member_id in cause.member_ids]
        yield cause, min((each for each in known if each is not None), default=None)


def _of_classic(client: ClientProperties, group: str, roster: Roster | None) -> Iterator[Objection]:
    if client.remote_assignor is not None:
        yield Objection(
            group=group,
            name="group.remote.assignor",
            value=client.remote_assignor,
            verdict=Verdict.REFUSED,
            grade=Grade.RECORDED,
            evidence="the client does not start: it is for group.protocol=consumer",
        )
    if roster is None or not roster.members:
        return
    if roster.kind in (GroupKind.SHARE, GroupKind.STREAMS):
        yield _other_kind(group, "group.protocol", client.protocol, roster.kind)
    elif roster.kind is GroupKind.CLASSIC and roster.protocol_type != "consumer":
        yield Objection(
            group=group,
            name="group.id",
            value=group,
            verdict=Verdict.REFUSED,
            grade=Grade.RECORDED,
            evidence=f"INCONSISTENT_GROUP_PROTOCOL: the group's protocol type is '{roster.protocol_type}'",
        )
    elif roster.kind is GroupKind.CLASSIC and roster.protocol not in client.assignors:
        yield Objection(
            group=group,
            name="partition.assignment.strategy",
            value=",".join(client.assignors),
            verdict=Verdict.REFUSED,
            grade=Grade.INFERRED,
            evidence=f"INCONSISTENT_GROUP_PROTOCOL: the group goes by '{roster.protocol}', which this client"
            f" does not offer, unless all of {len(roster.members)} members offer one of its own besides",
        )


def _of_consumer(client: ClientProperties, group: str, roster: Roster | None) -> Iterator[Objection]:
    for name in _CONSUMER_REFUSES:
        if name in client.given:
            yield Objection(
                group=group,
                name=name,
                value=client.given[name],
                verdict=Verdict.REFUSED,
                grade=Grade.RECORDED,
                evidence="the Java client does not start with it under group.protocol=consumer, and others"
                " ignore it: the broker says it",
            )
    if client.remote_assignor is not None and client.remote_assignor not in _SERVER_ASSIGNORS:
        yield Objection(
            group=group,
            name="group.remote.assignor",
            value=client.remote_assignor,
            verdict=Verdict.REFUSED,
            grade=Grade.INFERRED,
            evidence="UNSUPPORTED_ASSIGNOR, unless group.consumer.assignors has it: Kafka's are"
            f" {' and '.join(_SERVER_ASSIGNORS)}",
        )
    if roster is None or not roster.members or roster.kind is GroupKind.CONSUMER:
        return
    if roster.kind in (GroupKind.SHARE, GroupKind.STREAMS):
        yield _other_kind(group, "group.protocol", client.protocol, roster.kind)
        return
    if roster.protocol_type != "consumer" or roster.protocol == "stream":
        named = (
            f"protocol type '{roster.protocol_type}'"
            if roster.protocol_type != "consumer"
            else "Kafka Streams"
        )
        yield Objection(
            group=group,
            name="group.protocol",
            value=client.protocol,
            verdict=Verdict.REFUSED,
            grade=Grade.INFERRED,
            evidence=f"GROUP_ID_NOT_FOUND: a classic group of {named} does not become a consumer group",
        )
    elif roster.protocol not in ASSIGNORS:
        yield Objection(
            group=group,
            name="group.protocol",
            value=client.protocol,
            verdict=Verdict.REFUSED,
            grade=Grade.UNKNOWN,
            evidence=f"the group's assignor '{roster.protocol}' is none of Kafka's: if it hands out data"
            " of its own, the group does not become a consumer group (KAFKA-18134)",
        )


def _other_kind(group: str, name: str, value: str, kind: GroupKind) -> Objection:
    return Objection(
        group=group,
        name=name,
        value=value,
        verdict=Verdict.REFUSED,
        grade=Grade.RECORDED,
        evidence=f"there is a {kind} group of this name, with members",
    )


def _instance(client: ClientProperties, group: str, roster: Roster) -> Iterator[Objection]:
    if client.instance_id is None:
        return
    same = next((member for member in roster.members if member.instance_id == client.instance_id), None)
    if same is None:
        return
    refused = roster.kind is GroupKind.CONSUMER
    yield Objection(
        group=group,
        name="group.instance.id",
        value=client.instance_id,
        verdict=Verdict.REFUSED if refused else Verdict.HARMS,
        grade=Grade.RECORDED,
        evidence=f"{same.client_id or same.member_id} on {same.client_host} has it: "
        + (
            "UNRELEASED_INSTANCE_ID until that one is gone"
            if refused
            else "the older one is fenced out (FENCED_INSTANCE_ID), and both may go on to fence each other"
        ),
    )
