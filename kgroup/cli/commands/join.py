"""`kgroup join`: join a consumer group as a test member, and show its exchange with the brokers."""

import asyncio
import signal
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from kgroup.cli.narrate.member_actions import TimedAct, parse_act, parse_partitions
from kgroup.cli.narrate.member_events import MemberEvents
from kgroup.cli.options.join import (
    RULES,
    ApiVersions,
    At,
    Cluster,
    Duration,
    LinesFormat,
    Membership,
    Subscription,
    Trace,
)
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import check_options
from kgroup.cli.shell.options import Quiet
from kgroup.cli.shell.say import say
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError, KgroupError
from kgroup.group.member.new import new_member
from kgroup.group.member.positions import SubscriptionKind
from kgroup.group.member.settings import MemberSettings
from kgroup.group.member.step import Assign, Subscribe, SubscribePattern, UseError
from kgroup.net.connect.consumer_properties import member_settings
from kgroup.net.connect.first_contact import require_broker
from kgroup.net.connect.login import Login
from kgroup.net.connect.properties import client_config, is_utf_8, parse_servers
from kgroup.net.member.client import GroupMember
from kgroup.net.member.connection import Security
from kgroup.protocol.requests.client import Node
from kgroup.report.emit import OutputFormat
from kgroup.report.records.exchange_text import api_name
from kgroup.wire.member_requests import SPOKEN

EXAMPLES: Final = (
    Example("One member, on the default port of kgroup serve", "kgroup join --group g --topic orders"),
    Example(
        "Every request and response of the first ten seconds, field by field and byte by byte",
        "kgroup join --group g --topic orders --from earliest --trace --for 10s",
    ),
    Example(
        "Three members that give partitions up one by one",
        "kgroup join --group g --topic orders --members 3 --assignor cooperative-sticky",
    ),
    Example(
        "A member of the consumer protocol, whose coordinator matches the topics",
        "kgroup join --group g --protocol consumer --pattern 'orders-.*'",
    ),
    Example(
        "A static member with short timeouts",
        "kgroup join --group g --topic orders --group-instance-id shop-1 -X session.timeout.ms=6000 "
        "-X heartbeat.interval.ms=2000",
    ),
    Example(
        "A user that pauses one partition for ten seconds, and then unsubscribes",
        "kgroup join --group g --topic orders --at '10s pause orders:0' --at '20s resume orders:0' "
        "--at '30s unsubscribe' --for 40s",
    ),
    Example(
        "What a client of Kafka 2.4 says, request by request",
        "kgroup join --group g --topic orders --api-version JoinGroup=5 --api-version SyncGroup=3 --trace",
    ),
)
_POLL_S: Final = 0.2
_LEAVING_S: Final = 1.0  # then the delay is worth a message
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_Begin = Subscribe | SubscribePattern | Assign


def join(
    *,
    cluster: Cluster,
    subscription: Annotated[Subscription, Bundle(Subscription)],
    membership: Annotated[Membership, Bundle(Membership)],
    api_versions: ApiVersions = None,
    at: At = None,
    trace: Trace = False,
    output_format: LinesFormat = OutputFormat.TABLE,
    duration: Duration = None,
    quiet: Quiet = False,
) -> None:
    """Join a consumer group as a test member.

    Joins, reads, commits and reports what happens until Ctrl-C, then leaves as a consumer does. It counts
    what it reads but does not show it. -X and --command-config take the properties of Kafka's consumer
    (session.timeout.ms, isolation.level, ...).
    """
    group, topics, pattern = subscription.group, tuple(subscription.topics or ()), subscription.pattern
    check_options(
        RULES,
        {"--topic": topics, "--pattern": pattern is not None, "--assign": bool(subscription.assign)},
    )
    script = _Script(
        begin=_beginning(topics, pattern, subscription.assign or ()),
        acts=tuple(sorted(map(parse_act, at or ()), key=lambda act: act.at_ms)),
        versions=dict(map(_pinned, api_versions or ())),
    )
    if output_format not in (OutputFormat.TABLE, OutputFormat.JSONL):
        raise InputError(f"-o {output_format.value}: join goes on and on; table and jsonl can")
    given = cluster.read_properties()
    properties = {**given, **membership.properties(given)}
    settings = member_settings(group, properties)
    for text in (group, *topics, settings.client_id, settings.group_instance_id or ""):
        if not is_utf_8(text):
            raise InputError(f"{text}: names of groups, topics and clients are UTF-8")
    servers, config = parse_servers(cluster.bootstrap_servers), client_config(properties)
    if settings.advice is not None and not quiet:
        say(settings.advice)
    stop = asyncio.Event()
    created = []
    for number in range(1, membership.members + 1):
        own = _numbered(settings, number, membership.members)
        as_json = output_format is OutputFormat.JSONL
        events = MemberEvents(own.client_id, stop.set, as_json=as_json, trace=trace, quiet=quiet)
        created.append((own, events))
    asyncio.run(_run(created, stop, servers, config, script, _seconds(duration)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Script:
    """Each member's script: its first subscription and the acts that follow. `versions` are pinned."""

    begin: _Begin
    acts: tuple[TimedAct, ...]
    versions: dict[str, int]


def _beginning(topics: tuple[str, ...], pattern: str | None, assign: Sequence[str]) -> _Begin:
    if pattern is not None:
        return SubscribePattern(pattern=pattern)
    try:
        return Assign(partitions=parse_partitions(assign)) if assign else Subscribe(topics=topics)
    except InputError as error:
        raise InputError(f"--assign: {error}") from None


def _pinned(text: str) -> tuple[str, int]:
    """`JoinGroup=5`; also JOIN_GROUP, as a trace writes it."""
    said, _, number = text.partition("=")
    name = next((each for each in SPOKEN if said in (each, api_name(each))), None)
    if name is None:
        raise InputError(f"--api-version {text}: a member asks {', '.join(SPOKEN)}")
    lowest, highest = SPOKEN[name]
    if not number.isdecimal() or len(number) > 3 or not lowest <= int(number) <= highest:
        raise InputError(f"--api-version {text}: a member speaks {name} {lowest} to {highest}")
    return name, int(number)


async def _run(
    created: list[tuple[MemberSettings, MemberEvents]],
    stop: asyncio.Event,
    servers: list[tuple[str, int]],
    config: dict[str, object],
    script: _Script,
    seconds: float | None,
) -> None:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _leave, stop, loop)
    if seconds is not None:
        loop.call_later(seconds, stop.set)
    security = _security(config)
    for settings, _ in created:
        _check(settings, servers, script.begin)
    # Without await, as nobody can join before it is clear who listens: that one, as others may be silent.
    host, port = require_broker(servers, config)
    members = []
    for settings, events in created:
        node = Node(node_id=-1, host=host, port=port)
        member = GroupMember(settings, [node], events, security, script.versions)
        events.machine = member.machine
        match script.begin:
            case SubscribePattern(pattern=pattern):
                member.subscribe_pattern(pattern)
            case Assign(partitions=partitions):
                member.assign(partitions)
            case Subscribe(topics=topics):
                member.subscribe(topics)
        members.append((member, events))
    lives = [_live(member, events, stop, script.acts) for member, events in members]
    ends: list[BaseException | None] = await asyncio.gather(*lives, return_exceptions=True)
    ends += [events.closed_pipe for _, events in members]
    for end in ends:
        if end is not None:
            raise end


def _check(settings: MemberSettings, servers: list[tuple[str, int]], begin: _Begin) -> None:
    """Raises InputError for what no member can be, before anybody is asked."""
    [(host, port), *_] = servers
    machine = new_member(settings, [Node(node_id=-1, host=host, port=port)], lambda: 0.0)
    machine.handle(begin, 0)


def _leave(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """Leave as a consumer does, which without a broker takes its time; the next signal ends it."""
    stop.set()
    for number in _SIGNALS:
        loop.remove_signal_handler(number)
    loop.call_later(_LEAVING_S, say, "no broker has let it leave yet; the next Ctrl-C ends it at once")


async def _live(
    member: GroupMember, events: MemberEvents, stop: asyncio.Event, acts: tuple[TimedAct, ...]
) -> None:
    loop = asyncio.get_running_loop()
    began_s, left = loop.time(), list(acts)
    try:
        while not stop.is_set():
            while left and loop.time() >= began_s + left[0].at_ms / 1000:
                _do(left.pop(0), member, events)
            if member.machine.subscription_kind is SubscriptionKind.NONE:
                await asyncio.sleep(_POLL_S)  # nobody may poll without a subscription
                continue
            for partition, records in await member.poll(_POLL_S):
                events.read(partition, records)
    except KgroupError:
        stop.set()
        raise
    finally:
        await member.close()
    events.left()


def _do(act: TimedAct, member: GroupMember, events: MemberEvents) -> None:
    """Do the act; one the member cannot do (the partition is not its own, say) is reported and skipped."""
    events.acts(act.said)
    try:
        act.act(member)
    except (UseError, InputError) as error:
        events.failed(f"{act.said}: {error}")


def _numbered(settings: MemberSettings, number: int, members: int) -> MemberSettings:
    """The settings of the n-th member: names of its own."""
    suffix = f"-{number}" if members > 1 else ""
    named, instance = settings.client_id, settings.group_instance_id
    return replace(
        settings,
        client_id=named + suffix if named else f"consumer-{settings.group_id}-{number}",
        group_instance_id=None if instance is None else instance + suffix,
    )


def _security(config: Mapping[str, object]) -> Security:
    context = config.get("ssl_context")
    assert context is None or isinstance(context, ssl.SSLContext)
    return Security(tls=context, login=Login(config) if "sasl_mechanism" in config else None)


def _seconds(duration: str | None) -> float | None:
    if duration is None:
        return None
    return parse_length(duration, "--for") / 1000
