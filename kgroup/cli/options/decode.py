"""The options of `decode`: names of topics, the choice of records, and --follow."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.shell.complete_lists import complete_record_types
from kgroup.cli.shell.option_checks import Clash, Needs, Rule
from kgroup.cli.shell.options import Groups, Since, TopicPartitions, Until
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError

if TYPE_CHECKING:
    from kgroup.api.decode.filter import Filter

_FOLLOW: Final = "--follow requires --bootstrap-server, and excludes --latest"

RULES: Final[tuple[Rule, ...]] = (
    Clash(options={"--follow"}, others={"--latest"}, why=_FOLLOW),
    Needs(options={"--follow"}, one_of={"--bootstrap-server"}, why=_FOLLOW),
)

TopicsFile = Annotated[
    Path | None,
    option(
        "--topics-file",
        metavar="FILE",
        help="Names of topic ids, in the format of a capture's topics.json; names found in the log"
        " directory are used anyway.",
        section=Section.SOURCE,
    ),
]
Follow = Annotated[
    bool,
    option(
        "--follow",
        help="With --bootstrap-server: continue with new records as they are written.",
        section=Section.BEHAVIOUR,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The options under "Selection", as they were given."""

    groups: Groups = None
    topics: TopicPartitions = None
    partitions: Annotated[
        list[int] | None,
        option(
            "--partition",
            metavar="N",
            min=0,
            help="Only this partition of the topic that is read (see find-coordinator); repeatable.",
            section=Section.SELECTION,
        ),
    ] = None
    types: Annotated[
        list[str] | None,
        option(
            "--type",
            metavar="TYPE",
            help="Only this record type: offset-commit, group-metadata, 'consumer-group-*', Kafka's number,"
            " control, undecoded or empty-batch; share-snapshot or share-update; repeatable.",
            section=Section.SELECTION,
            autocompletion=complete_record_types,
        ),
    ] = None
    since: Since = None
    until: Until = None
    from_offset: Annotated[
        int | None,
        option(
            "--from-offset",
            metavar="N",
            min=0,
            help="From this offset on.",
            section=Section.SELECTION,
        ),
    ] = None
    to_offset: Annotated[
        int | None,
        option(
            "--to-offset",
            metavar="N",
            min=0,
            help="Up to and including this offset.",
            section=Section.SELECTION,
        ),
    ] = None
    tombstones: Annotated[bool, option("--tombstones", help="Only deletions.", section=Section.SELECTION)] = (
        False
    )
    latest: Annotated[
        bool,
        option(
            "--latest",
            help="Only the newest record of each key, as a coordinator would hold it: no deletions, and no"
            " commits of aborted or open transactions. As of --until or --to-offset, if given.",
            section=Section.SELECTION,
        ),
    ] = False

    def conditions(self, now_ms: int, *, of_share_state: bool = False) -> "Filter":
        """All but --partition and --latest. Raises InputError for a bad time, range, topic or type.

        `of_share_state`: the types are those of `__share_group_state`.
        """
        from kgroup.api.decode.filter import Filter, parse_topics, parse_types
        from kgroup.cli.shell.times import parse_time
        from kgroup.protocol.records.entries import RecordType
        from kgroup.protocol.share_state import ShareStateType

        since_ms = parse_time(self.since, "--since", now_ms) if self.since else None
        until_ms = parse_time(self.until, "--until", now_ms) if self.until else None
        if since_ms is not None and until_ms is not None and since_ms >= until_ms:
            raise InputError(f"--until {self.until}: not after --since {self.since}")
        if self.from_offset is not None and self.to_offset is not None and self.from_offset > self.to_offset:
            raise InputError(f"--to-offset {self.to_offset}: less than --from-offset {self.from_offset}")
        return Filter(
            groups=tuple(self.groups) if self.groups else None,
            topics=parse_topics(self.topics) if self.topics else None,
            types=parse_types(self.types, ShareStateType if of_share_state else RecordType)
            if self.types
            else None,
            since_ms=since_ms,
            until_ms=until_ms,
            first_offset=self.from_offset,
            last_offset=self.to_offset,
            tombstones=self.tombstones,
        )
