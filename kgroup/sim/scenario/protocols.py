"""The same scenario with another protocol: for every member, or for half of them for a while."""

from dataclasses import replace

from kgroup.group.member.settings import GroupProtocol
from kgroup.sim.scenario.scenario import Scenario


def with_consumer_protocol(scenario: Scenario) -> Scenario:
    """The same with the consumer protocol at every member; the brokers get what members cannot say in it."""
    members = tuple(replace(member, protocol=GroupProtocol.CONSUMER) for member in scenario.members)
    return replace(scenario, members=members, properties=_told_to_brokers(scenario))


def with_migration(scenario: Scenario) -> Scenario:
    """The same with an online upgrade between a quarter and a half of the time, and a downgrade after it.

    Every other member is restarted with the other protocol, one after the other; the rest stays classic.
    """
    quarter_ms = scenario.duration_ms // 4
    changing = scenario.members[::2]
    step_ms = quarter_ms // len(changing)
    switches = {
        member.name: (quarter_ms + number * step_ms, 5 * quarter_ms // 2 + number * step_ms)
        for number, member in enumerate(changing)
    }
    members = tuple(replace(member, switches_ms=switches.get(member.name, ())) for member in scenario.members)
    return replace(scenario, members=members, properties=_told_to_brokers(scenario))


def _told_to_brokers(scenario: Scenario) -> dict[str, str]:
    session_ms = max(member.session_timeout_ms for member in scenario.members)
    interval_ms = min(member.heartbeat_interval_ms for member in scenario.members)
    told = {
        "group.consumer.session.timeout.ms": session_ms,
        "group.consumer.min.session.timeout.ms": min(session_ms, 45_000),
        "group.consumer.max.session.timeout.ms": max(session_ms, 60_000),
        "group.consumer.heartbeat.interval.ms": interval_ms,
        "group.consumer.min.heartbeat.interval.ms": min(interval_ms, 5_000),
        "group.consumer.max.heartbeat.interval.ms": max(interval_ms, 15_000),
    }
    return {**{name: str(value) for name, value in told.items()}, **scenario.properties}
