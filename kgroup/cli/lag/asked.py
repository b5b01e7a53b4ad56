"""What `lag-report` is asked about groups and partitions besides their lag. No heavy imports."""

from dataclasses import dataclass
from typing import Annotated

from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.times import parse_length, parse_time
from kgroup.errors import InputError
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_sets import RuleSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options under "What to show", as they were given."""

    status: Annotated[
        bool,
        option(
            "--status",
            help="Judge each partition by its last 10 commits: OK, WARN, STOP, STALL, REWIND"
            " or UNKNOWN, with the rule that decided and its numbers.",
            section=Section.SHOWN,
        ),
    ] = False
    rules: Annotated[
        RuleSet | None,
        option(
            "--rules",
            metavar="burrow|kgroup",
            help="Whose rules --status goes by: Burrow's, or kgroup's own, which are the default.",
            section=Section.SHOWN,
        ),
    ] = None
    now: Annotated[
        str | None,
        option(
            "--now",
            metavar="TIME",
            help="As of when to judge, and the end of --windows and --html. By default the clock's time; for"
            " --windows, and for --status, --stuck and --html of files not written to for 5 minutes, the"
            " log's end.",
            section=Section.SHOWN,
        ),
    ] = None
    stuck: Annotated[
        bool,
        option(
            "--stuck",
            help="What is wrong with the groups, instead of their rows: stopped, stalled, dead, slow, in a"
            " storm; since when, by what evidence, and what to try.",
            section=Section.SHOWN,
        ),
    ] = False
    hygiene: Annotated[
        bool,
        option(
            "--hygiene",
            help="With --stuck or --explain also what is no trouble yet: uneven shares, members without work,"
            " commits that say nothing.",
            section=Section.SHOWN,
        ),
    ] = False
    explain: Annotated[
        str | None,
        option(
            "--explain",
            metavar="GROUP",
            help="All about one group on a page: state, members, partitions and the rules that decided, what"
            " is wrong and what to try.",
            section=Section.SHOWN,
        ),
    ] = None
    time_lag: Annotated[
        TimeLagMethod | None,
        option(
            "--time-lag",
            metavar="exact|bisect|interpolate",
            help="How long the first unread record has waited, and how the lag changes: exact, by the"
            " record's"
            " timestamp; bisect, by asking a cluster for offsets by time; interpolate, by past log ends.",
            section=Section.SHOWN,
        ),
    ] = None
    breakdown: Annotated[
        bool,
        option(
            "--breakdown",
            help="What the lag is made of: records, aborted and undecided ones, markers of transactions,"
            " offsets without a record, offsets deleted unread; and when the committed offset expires. Of a"
            " cluster up to 16 MB of each partition are fetched.",
            section=Section.SHOWN,
        ),
    ] = False
    offsets_retention: Annotated[
        str | None,
        option(
            "--offsets-retention",
            metavar="DURATION",
            help="The broker's offsets.retention.minutes, for when offsets expire; 7 days by default.",
            section=Section.SHOWN,
        ),
    ] = None
    windows: Annotated[
        str | None,
        option(
            "--windows",
            metavar="DURATION",
            help="The history instead of the present: a row for each window of this length, as it was when"
            " the window ended.",
            section=Section.SHOWN,
        ),
    ] = None
    since: Annotated[
        str | None,
        option(
            "--since",
            metavar="TIME",
            help="The beginning of --windows and --html; by default the log's.",
            section=Section.SHOWN,
        ),
    ] = None

    @property
    def rule_set(self) -> RuleSet:
        """Whose rules judge."""
        return self.rules or RuleSet.KGROUP

    @property
    def retention_ms(self) -> int:
        """How long a broker keeps the offsets of an empty group. Raises InputError for no duration."""
        from kgroup.lag.measures.offset_expiry import RETENTION_MS

        if self.offsets_retention is None:
            return RETENTION_MS
        return parse_length(self.offsets_retention, "--offsets-retention")

    def now_ms(self, clock_ms: int) -> int | None:
        """The time of --now, epoch ms, None without it. Raises InputError for what is no time."""
        return None if self.now is None else parse_time(self.now, "--now", clock_ms)

    def since_ms(self, now_ms: int) -> int | None:
        """The time of --since, epoch ms, None without it. Raises InputError for what is no time."""
        return None if self.since is None else parse_time(self.since, "--since", now_ms)

    def check_time_lag(self, *, live: bool, repeated: bool) -> None:
        """Raises InputError for a method that the source cannot answer by."""
        if self.time_lag is TimeLagMethod.BISECT and not live:
            raise InputError("--time-lag bisect asks brokers: give --bootstrap-server, or take exact")
        if self.time_lag is TimeLagMethod.INTERPOLATE and live and not repeated:
            raise InputError(
                "--time-lag interpolate needs more than one look at a cluster: add --watch or"
                " --serve-metrics, or take exact or bisect"
            )
