"""Checks a scenario's names, its times, and the targets of its faults."""

import re
from collections.abc import Iterable
from typing import Final

from kgroup.broker.settings import PROPERTIES, from_properties, unused
from kgroup.errors import InputError, nearest_or_all
from kgroup.group.member.settings import heartbeat_advice
from kgroup.sim.scenario.actions import FORMS, Form, Target
from kgroup.sim.scenario.interest import interest_of
from kgroup.sim.scenario.scenario import (
    COORDINATOR,
    NODE_PREFIX,
    Fault,
    FaultKind,
    Scenario,
    SimMember,
    SimTopic,
    node_name,
)

_TOPIC_NAME: Final = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
_MEMBER_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,100}")
_DAY_MS: Final = 86_400_000
_DAYS_MAX: Final = 31  # playing a day of three members takes minutes
REPLICA_LAG_MAX_MS: Final = 30_000
"""replica.lag.time.max.ms."""
_FORM_OF: Final = {form.kind: form for form in FORMS.values()}


def check_scenario(scenario: Scenario) -> None:
    """Raise InputError that names the topic, member, property or fault that makes no sense."""
    if not scenario.topics or not scenario.members:
        raise InputError("there has to be a topic and a member")
    if scenario.duration_ms > _DAYS_MAX * _DAY_MS:
        raise InputError(f"a run of {scenario.duration_ms // _DAY_MS} days: {_DAYS_MAX} are the most")
    for topic in scenario.topics:
        if not _TOPIC_NAME.fullmatch(topic.name) or topic.name.startswith("__"):
            raise InputError(f"topic '{topic.name}': not a name that Kafka allows for a topic of one's own")
        if topic.start_ms is not None and topic.start_ms >= scenario.duration_ms + scenario.settle_ms:
            raise InputError(f"topic '{topic.name}': is created after the run is over")
    _require_distinct("topic", [topic.name for topic in scenario.topics])
    _require_distinct("member", [member.name for member in scenario.members])
    bounds = from_properties(scenario.properties).group
    for name in unused(scenario.properties):
        raise InputError(f"brokers: kgroup has no use for '{name}': {nearest_or_all(name, PROPERTIES)}")
    if (scenario.producers or scenario.strangers) and scenario.topics[0].start_ms != 0:
        raise InputError("producers and strangers need a first topic that is there from the start")
    for member in scenario.members:
        try:
            _check_member(scenario, member)
            session_ms = member.session_timeout_ms
            if not bounds.min_session_timeout_ms <= session_ms <= bounds.max_session_timeout_ms:
                raise InputError(
                    f"the brokers refuse a session timeout of {session_ms} ms; they take"
                    f" {bounds.min_session_timeout_ms} to {bounds.max_session_timeout_ms}"
                )
        except InputError as error:
            raise InputError(f"member '{member.name}': {error}") from None
    for fault in scenario.faults:
        try:
            _check_fault(scenario, fault)
        except InputError as error:
            action = f"{fault.kind.value} {fault.target}".strip()
            raise InputError(f"fault '{action}' at {fault.at_ms / 1000:g}s: {error}") from None


def scenario_advice(scenario: Scenario) -> list[str]:
    """Oddities of a scenario that can still be played, a line each."""
    lines = (
        heartbeat_advice(member.heartbeat_interval_ms, member.session_timeout_ms)
        for member in scenario.members
    )
    return list(dict.fromkeys(line for line in lines if line is not None))


def _check_member(scenario: Scenario, member: SimMember) -> None:
    if not _MEMBER_NAME.fullmatch(member.name):
        raise InputError("names have letters, digits, '.', '_' and '-'")
    if member.name == COORDINATOR or member.name.startswith(NODE_PREFIX):
        raise InputError("that name is reserved for nodes")
    if interest_of(member).is_nothing:
        raise InputError("it subscribes to nothing")
    interest_of(member).among(())  # raises for what is no pattern
    for topic in member.topics:
        _require_known("topic", topic, [topic.name for topic in scenario.topics])
    if member.start_ms is not None and member.start_ms >= scenario.duration_ms + scenario.settle_ms:
        raise InputError("starts when the run is over")
    if member.heartbeat_interval_ms >= member.session_timeout_ms:
        raise InputError("the heartbeat interval is not below the session timeout")


def _check_fault(scenario: Scenario, fault: Fault) -> None:
    if fault.at_ms >= scenario.duration_ms:
        raise InputError(f"the run is over after {scenario.duration_ms / 1000:g}s")
    form = _FORM_OF[fault.kind]
    match form.target:
        case Target.MEMBER | Target.NODE | Target.PROCESS:
            _require_known(_noun(form), fault.target, _processes(scenario, form.target))
        case Target.TOPIC:
            _require_known("topic", fault.target, [topic.name for topic in scenario.topics])
        case Target.GROUP:
            _require_known("group", fault.target, sorted({member.group for member in scenario.members}))
        case Target.NONE:
            pass
    if fault.other is not None:
        _require_known("node or member", fault.other, _processes(scenario, Target.PROCESS))
        if fault.other == fault.target:
            raise InputError("nothing can be cut from itself")
    for subscribed in fault.topics:
        _require_known("topic", subscribed, [topic.name for topic in scenario.topics])
    if fault.kind is FaultKind.CREATE and _topic(scenario, fault.target).start_ms == 0:
        raise InputError("it is there from the start")
    if fault.kind is FaultKind.LAG_REPLICAS and (fault.amount or 0) > REPLICA_LAG_MAX_MS:
        raise InputError(
            f"a follower that is {REPLICA_LAG_MAX_MS // 1000}s behind is out of sync and holds nothing back"
        )
    if fault.kind is FaultKind.GROW:
        partitions = _topic(scenario, fault.target).partitions
        if fault.amount is None or fault.amount <= partitions:
            raise InputError(f"it has {partitions} partitions already, and never loses any")


def _topic(scenario: Scenario, name: str) -> SimTopic:
    return next(topic for topic in scenario.topics if topic.name == name)


def _noun(form: Form) -> str:
    return {Target.MEMBER: "member", Target.NODE: "node"}.get(form.target, "node or member")


def _processes(scenario: Scenario, target: Target) -> list[str]:
    members = [member.name for member in scenario.members]
    nodes = [node_name(number) for number in range(1, scenario.nodes + 1)] + [COORDINATOR]
    if target is Target.MEMBER:
        return members
    return nodes if target is Target.NODE else members + nodes


def _require_known(kind: str, name: str, names: list[str]) -> None:
    if name in names:
        return
    raise InputError(f"there is no {kind} '{name}': {nearest_or_all(name, names, shown_max=10)}")


def _require_distinct(kind: str, names: Iterable[str]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise InputError(f"{kind} '{name}' is given twice")
        seen.add(name)
