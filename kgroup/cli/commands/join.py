"""`kgroup join`: be a member of a consumer group, and show what passes between it and the brokers."""

import asyncio
import signal
import ssl
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Final

import typer

from kgroup.cli.narrate.member_events import MemberEvents
from kgroup.cli.shell.complete_names import complete_topics
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import ClientProperties, CommandConfig, Quiet
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError, KgroupError
from kgroup.group.member.settings import MemberSettings, OffsetReset
from kgroup.net.connect.consumer_properties import member_settings
from kgroup.net.connect.first_contact import require_broker
from kgroup.net.connect.login import Login
from kgroup.net.connect.properties import ConnectionOptions, client_config, is_utf_8, parse_servers
from kgroup.net.member.client import GroupMember
from kgroup.net.member.connection import Security
from kgroup.protocol.requests.client import Node
from kgroup.report.emit import OutputFormat

EXAMPLES: Final = (
    Example("One member, as kgroup serve has it on its first port", "kgroup join --group g --topic orders"),
    Example(
        "Every request and response of the first ten seconds, field by field and byte by byte",
        "kgroup join --group g --topic orders --from earliest --trace --for 10s",
    ),
    Example(
        "Three members that give partitions up one by one",
        "kgroup join --group g --topic orders --members 3 --assignor cooperative-sticky",
    ),
    Example(
        "A static member with short timeouts",
        "kgroup join --group g --topic orders --group-instance-id shop-1 -X session.timeout.ms=6000 "
        "-X heartbeat.interval.ms=2000",
    ),
)
_POLL_S: Final = 0.2
_LEAVING_S: Final = 1.0  # then it is worth a word that it takes so long
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def join(
    *,
    bootstrap_server: Annotated[
        str,
        typer.Option(
            "-b",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="The cluster.",
            rich_help_panel=Section.SOURCE,
        ),
    ] = "127.0.0.1:9092",
    command_config: CommandConfig = None,
    client_properties: ClientProperties = None,
    group: Annotated[
        str,
        typer.Option(
            "--group",
            metavar="GROUP",
            help="The group to join.",
            rich_help_panel=Section.SELECTION,
        ),
    ],
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="TOPIC",
            autocompletion=complete_topics,
            help="Subscribe to this topic; repeatable.",
            show_default=False,
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="REGEX",
            help="Subscribe to every topic whose whole name matches, instead of --topic.",
            show_default=False,
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    members: Annotated[
        int,
        typer.Option(
            "--members",
            metavar="N",
            min=1,
            max=1000,
            help="How many members.",
            rich_help_panel=Section.SETUP,
        ),
    ] = 1,
    assignors: Annotated[
        list[str] | None,
        typer.Option(
            "--assignor",
            metavar="NAME",
            help="range, roundrobin, sticky or cooperative-sticky, in order of preference; repeatable. "
            "Without: range and cooperative-sticky, as in Kafka's own consumer.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    start: Annotated[
        OffsetReset | None,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="Where to begin without a commit: earliest, latest or none (fail). Without: what "
            "auto.offset.reset says, or latest.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    group_instance_id: Annotated[
        str | None,
        typer.Option(
            "--group-instance-id",
            metavar="ID",
            help="Be a static member, which does not leave when it stops. Several get ID-1, ID-2, ...",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    client_id: Annotated[
        str | None,
        typer.Option(
            "--client-id",
            metavar="ID",
            help="Name for the brokers. Without: consumer-GROUP-1, ...",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace",
            help="Print every request and response with its fields and bytes.",
            rich_help_panel=Section.SHOWN,
        ),
    ] = False,
    output_format: Annotated[
        OutputFormat,
        typer.Option(
            "-o",
            "--format",
            metavar="FORMAT",
            help="table, which is lines of text, or jsonl: what has no end has no other.",
            rich_help_panel=Section.OUTPUT,
        ),
    ] = OutputFormat.TABLE,
    duration: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="DURATION",
            help="Leave after this time, like 30s or 5m.",
            show_default=False,
            rich_help_panel=Section.BEHAVIOUR,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Be a member of a consumer group.

    Joins, reads, commits and says what happens, until Ctrl-C; then leaves as a consumer does. What it
    reads is counted, not shown. -X and --command-config take the properties of Kafka's consumer
    (session.timeout.ms, isolation.level, ...).
    """
    if bool(topics) == (pattern is not None):
        raise InputError("give --topic or --pattern, and not both")
    if output_format not in (OutputFormat.TABLE, OutputFormat.JSONL):
        raise InputError(f"-o {output_format.value}: join goes on and on; table and jsonl can")
    properties = ConnectionOptions(
        bootstrap_servers=bootstrap_server,
        command_config=command_config,
        properties=client_properties or (),
    ).read_properties()
    said = {
        "client.id": client_id,
        "group.instance.id": group_instance_id,
        "auto.offset.reset": start,
        "partition.assignment.strategy": ",".join(assignors) if assignors else None,
    }
    properties = {**properties, **{key: value for key, value in said.items() if value is not None}}
    settings = member_settings(group, properties)
    for text in (group, *(topics or ()), settings.client_id, settings.group_instance_id or ""):
        if not is_utf_8(text):
            raise InputError(f"{text}: names of groups, topics and clients are UTF-8")
    servers, config = parse_servers(bootstrap_server), client_config(properties)
    stop = asyncio.Event()
    created = []
    for number in range(1, members + 1):
        own = _numbered(settings, number, members)
        as_json = output_format is OutputFormat.JSONL
        events = MemberEvents(own.client_id, stop.set, as_json=as_json, trace=trace, quiet=quiet)
        created.append((own, events))
    asyncio.run(_run(created, stop, servers, config, tuple(topics or ()), pattern, _seconds(duration)))


async def _run(
    created: list[tuple[MemberSettings, MemberEvents]],
    stop: asyncio.Event,
    servers: list[tuple[str, int]],
    config: dict[str, object],
    topics: tuple[str, ...],
    pattern: str | None,
    seconds: float | None,
) -> None:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _leave, stop, loop)
    if seconds is not None:
        loop.call_later(seconds, stop.set)
    nodes = [Node(node_id=-1 - index, host=host, port=port) for index, (host, port) in enumerate(servers)]
    security = _security(config)
    members = []
    for settings, events in created:
        member = GroupMember(settings, nodes, events, security)
        events.machine = member.machine
        if pattern is not None:
            member.subscribe_pattern(pattern)
        else:
            member.subscribe(topics)
        members.append((member, events))
    require_broker(servers, config)  # without await: no member tries before it is clear who listens
    lives = [_live(member, events, stop) for member, events in members]
    ends: list[BaseException | None] = await asyncio.gather(*lives, return_exceptions=True)
    ends += [events.closed_pipe for _, events in members]
    for end in ends:
        if end is not None:
            raise end


def _leave(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """Leave as a consumer does, which without a broker takes its time; the next signal ends it."""
    stop.set()
    for number in _SIGNALS:
        loop.remove_signal_handler(number)
    loop.call_later(_LEAVING_S, say, "no broker has let it leave yet; the next Ctrl-C ends it at once")


async def _live(member: GroupMember, events: MemberEvents, stop: asyncio.Event) -> None:
    try:
        while not stop.is_set():
            for partition, records in await member.poll(_POLL_S):
                events.read(partition, records)
    except KgroupError:
        stop.set()
        raise
    finally:
        await member.close()
    events.left()


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
