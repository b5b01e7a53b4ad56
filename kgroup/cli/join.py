"""`kgroup join`: be a member of a consumer group, and show what passes between it and the brokers."""

import asyncio
import signal
import ssl
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

import typer

from kgroup.cli.complete_names import complete_topics
from kgroup.cli.example import Example
from kgroup.cli.join_events import MemberEvents
from kgroup.cli.options import ClientProperties, CommandConfig, Format, Quiet
from kgroup.cli.section import Section
from kgroup.cli.times import parse_length
from kgroup.errors import InputError, KgroupError
from kgroup.group.member_calls import Node
from kgroup.group.member_settings import MemberSettings, OffsetReset
from kgroup.net.client import GroupMember, bootstrap_nodes, require_reachable
from kgroup.net.properties import ConnectionOptions, client_config
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
_INTEGERS: Final = (
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "max_poll_interval_ms",
    "max_poll_records",
    "auto_commit_interval_ms",
    "metadata_max_age_ms",
    "request_timeout_ms",
    "default_api_timeout_ms",
    "retry_backoff_ms",
    "retry_backoff_max_ms",
    "fetch_max_wait_ms",
    "fetch_min_bytes",
    "fetch_max_bytes",
)


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
        OffsetReset,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="Where to begin without a commit: earliest, latest or none (fail), as auto.offset.reset.",
            rich_help_panel=Section.SETUP,
        ),
    ] = OffsetReset.LATEST,
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
    output_format: Format = OutputFormat.TABLE,
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
    reads is counted, not shown. -X and --command-config take the timeouts of Kafka's consumer
    (session.timeout.ms, ...). -o is table (lines of text) or jsonl.
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
    settings = replace(
        _settings(group, properties),
        group_instance_id=group_instance_id,
        auto_offset_reset=start,
        partition_assignment_strategy=tuple(assignors or ("range", "cooperative-sticky")),
    )
    nodes, tls = bootstrap_nodes(bootstrap_server), _tls(properties)
    stop = asyncio.Event()
    created = []
    for number in range(1, members + 1):
        own = _numbered(settings, number, members, client_id)
        as_json = output_format is OutputFormat.JSONL
        events = MemberEvents(own.client_id, stop.set, as_json=as_json, trace=trace, quiet=quiet)
        created.append((own, events))
    asyncio.run(_run(created, stop, nodes, tls, tuple(topics or ()), pattern, _seconds(duration)))


async def _run(
    created: list[tuple[MemberSettings, MemberEvents]],
    stop: asyncio.Event,
    nodes: list[Node],
    tls: ssl.SSLContext | None,
    topics: tuple[str, ...],
    pattern: str | None,
    seconds: float | None,
) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if seconds is not None:
        loop.call_later(seconds, stop.set)
    members = []
    for settings, events in created:
        member = GroupMember(settings, nodes, events, tls)
        events.machine = member.machine
        if pattern is not None:
            member.subscribe_pattern(pattern)
        else:
            member.subscribe(topics)
        members.append((member, events))
    await require_reachable(nodes)
    lives = [_live(member, events, stop) for member, events in members]
    ends: list[BaseException | None] = await asyncio.gather(*lives, return_exceptions=True)
    ends += [events.closed_pipe for _, events in members]
    for end in ends:
        if end is not None:
            raise end


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


def _numbered(settings: MemberSettings, number: int, members: int, client_id: str | None) -> MemberSettings:
    """The settings of the n-th member: names of its own."""
    suffix = f"-{number}" if members > 1 else ""
    instance = settings.group_instance_id
    return replace(
        settings,
        client_id=f"consumer-{settings.group_id}-{number}" if client_id is None else client_id + suffix,
        group_instance_id=None if instance is None else instance + suffix,
    )


def _settings(group: str, properties: Mapping[str, str]) -> MemberSettings:
    given: dict[str, Any] = {}
    for name in _INTEGERS:
        key = name.replace("_", ".")
        if key in properties:
            given[name] = _positive(key, properties[key])
    if "max.partition.fetch.bytes" in properties:
        key = "max.partition.fetch.bytes"
        given["max_partition_fetch_bytes"] = _positive(key, properties[key])
    if "enable.auto.commit" in properties:
        given["enable_auto_commit"] = properties["enable.auto.commit"].lower() == "true"
    if "client.rack" in properties:
        given["client_rack"] = properties["client.rack"] or None
    return MemberSettings(group_id=group, **given)


def _positive(key: str, text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 2**31:
        raise InputError(f"{key}={text}: a whole number from 1 to 2147483647 is needed")
    return int(text)


def _tls(properties: Mapping[str, str]) -> ssl.SSLContext | None:
    config = client_config(properties)
    protocol = config["security_protocol"]
    if protocol not in ("PLAINTEXT", "SSL"):
        raise InputError(f"security.protocol={protocol}: join can do PLAINTEXT and SSL")
    context = config.get("ssl_context")
    assert context is None or isinstance(context, ssl.SSLContext)
    return context


def _seconds(duration: str | None) -> float | None:
    if duration is None:
        return None
    return parse_length(duration, "--for") / 1000
