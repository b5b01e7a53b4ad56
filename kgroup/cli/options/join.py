"""The options of `join`: the cluster, the subscription, and the members."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.complete_lists import complete_client_assignors
from kgroup.cli.shell.complete_names import complete_topics
from kgroup.cli.shell.option_checks import OneOf, Rule
from kgroup.cli.shell.options import ClientProperties, ClusterName, CommandConfig, connection_options
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError
from kgroup.group.member.settings import GroupProtocol, OffsetReset
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.report.emit import OutputFormat

_DEFAULT_SERVER: Final = "127.0.0.1:9092"
_ONE_KIND: Final = "give exactly one of --topic, --pattern and --assign"

RULES: Final[tuple[Rule, ...]] = (
    OneOf(options=("--topic", "--pattern", "--assign"), none=_ONE_KIND, several=_ONE_KIND),
)


def _cluster(
    bootstrap_server: Annotated[
        str,
        option(
            "-b",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="The cluster.",
            section=Section.SOURCE,
            show_default=True,
        ),
    ] = _DEFAULT_SERVER,
    command_config: CommandConfig = None,
    client_properties: ClientProperties = None,
    cluster: ClusterName = None,
) -> ConnectionOptions:
    # The default gives way to a name; typer does not say whether it was typed.
    server = None if cluster is not None and bootstrap_server == _DEFAULT_SERVER else bootstrap_server
    connection = connection_options(server, command_config, client_properties, cluster)
    assert connection is not None
    return connection


Cluster = Annotated[ConnectionOptions, Bundle(_cluster)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The options under "Selection": the group to join, and topics or a pattern of their names."""

    group: Annotated[
        str, option("--group", metavar="GROUP", help="The group to join.", section=Section.SELECTION)
    ]
    topics: Annotated[
        list[str] | None,
        option(
            "--topic",
            metavar="TOPIC",
            autocompletion=complete_topics,
            help="Subscribe to this topic; repeatable.",
            section=Section.SELECTION,
        ),
    ] = None
    pattern: Annotated[
        str | None,
        option(
            "--pattern",
            metavar="REGEX",
            help="Subscribe to all topics whose whole name matches this RE2 expression, instead of --topic. "
            "With --protocol consumer the coordinator does the matching.",
            section=Section.SELECTION,
        ),
    ] = None
    assign: Annotated[
        list[str] | None,
        option(
            "--assign",
            metavar="TOPIC:PARTITIONS",
            help="Read these partitions, such as orders:0,2, without joining rebalances; repeatable.",
            section=Section.SELECTION,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The options under "Setup": the number of members, and their settings."""

    members: Annotated[
        int,
        option(
            "--members",
            metavar="N",
            min=1,
            max=1000,
            help="How many members.",
            section=Section.SETUP,
            show_default=True,
        ),
    ] = 1
    protocol: Annotated[
        GroupProtocol | None,
        option(
            "--protocol",
            metavar="NAME",
            help="classic, or consumer (KIP-848). Default: the value of group.protocol, or classic.",
            section=Section.SETUP,
        ),
    ] = None
    assignors: Annotated[
        list[str] | None,
        option(
            "--assignor",
            metavar="NAME",
            help="range, roundrobin, sticky or cooperative-sticky, in order of preference; repeatable. "
            "Default: range and cooperative-sticky, as in Kafka's own consumer. With --protocol consumer, "
            "one of the broker's: uniform or range.",
            section=Section.SETUP,
            autocompletion=complete_client_assignors,
        ),
    ] = None
    start: Annotated[
        OffsetReset | None,
        option(
            "--from",
            metavar="WHERE",
            help="Where to begin without a commit: earliest, latest or none (fail). Default: the value of "
            "auto.offset.reset, or latest.",
            section=Section.SETUP,
        ),
    ] = None
    group_instance_id: Annotated[
        str | None,
        option(
            "--group-instance-id",
            metavar="ID",
            help="Join as a static member, which does not leave when it stops. Several get ID-1, ID-2, ...",
            section=Section.SETUP,
        ),
    ] = None
    client_id: Annotated[
        str | None,
        option(
            "--client-id",
            metavar="ID",
            help="Name shown to the brokers. Default: consumer-GROUP-1, ...",
            section=Section.SETUP,
        ),
    ] = None

    def properties(self, given: Mapping[str, str]) -> dict[str, str]:
        """The settings by the names of Kafka's consumer properties, in addition to those `given`.

        Raises InputError for several assignors of the broker: it runs one.
        """
        protocol = self.protocol or given.get("group.protocol", "").lower()
        strategy = "partition.assignment.strategy"
        if protocol == GroupProtocol.CONSUMER:
            strategy = "group.remote.assignor"
            if self.assignors and len(self.assignors) > 1:
                raise InputError("--assignor: with the consumer protocol there is one, which the broker runs")
        settings = {
            "group.protocol": self.protocol,
            "client.id": self.client_id,
            "group.instance.id": self.group_instance_id,
            "auto.offset.reset": self.start,
            strategy: ",".join(self.assignors) if self.assignors else None,
        }
        return {name: value for name, value in settings.items() if value is not None}


At = Annotated[
    list[str] | None,
    option(
        "--at",
        metavar="'TIME WHAT'",
        help="Do this after the given time, such as '10s pause orders:0'; repeatable. Actions: "
        "subscribe TOPIC..., unsubscribe, assign, pause or resume TOPIC:PARTITIONS..., seek "
        "TOPIC:PARTITION to OFFSET, rebalance.",
        section=Section.BEHAVIOUR,
    ),
]
ApiVersions = Annotated[
    list[str] | None,
    option(
        "--api-version",
        metavar="API=VERSION",
        help="Use this version of an API, such as JoinGroup=5, like an older client; repeatable.",
        section=Section.SETUP,
    ),
]
Trace = Annotated[
    bool,
    option(
        "--trace",
        help="Print every request and response with its connection, fields and bytes, and every state.",
        section=Section.SHOWN,
    ),
]
LinesFormat = Annotated[
    OutputFormat,
    option(
        "-o",
        "--format",
        metavar="FORMAT",
        help="table (lines of text) or jsonl; other formats need an end.",
        section=Section.OUTPUT,
        show_default=True,
    ),
]
Duration = Annotated[
    str | None,
    option(
        "--for",
        metavar="DURATION",
        help="Leave after this time, such as 30s or 5m.",
        section=Section.BEHAVIOUR,
    ),
]
