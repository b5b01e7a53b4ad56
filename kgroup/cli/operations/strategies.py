"""The strategies of reset-offsets as options; exactly one must be given."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.shell.complete_names import complete_groups
from kgroup.cli.shell.option_checks import Clash, Needs, OneOf, Rule, check_options
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.times import parse_length, parse_time

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster
    from kgroup.net.connect.properties import ConnectionOptions
    from kgroup.operations.targets import Strategy

_OFFSET_MAX: Final = 2**63 - 1
_STRATEGIES: Final = (
    "--to-earliest",
    "--to-latest",
    "--to-current",
    "--to-offset",
    "--shift-by",
    "--to-datetime",
    "--by-duration",
    "--from-file",
    "--from-group",
    "--to-before",
    "--undo",
)
_WITH_SCOPE: Final = frozenset(_STRATEGIES[:7])
RULES: Final[tuple[Rule, ...]] = (
    OneOf(
        options=_STRATEGIES,
        none=f"reset to what? Give one of {', '.join(_STRATEGIES)}",
        several="{given}: give one of them",
    ),
    Needs(
        options=_WITH_SCOPE,
        one_of={"--topic", "--all-topics"},
        why="which topics? Give --topic NAME, or --all-topics for all that the group has offsets for",
    ),
    Clash(options={"--topic"}, others={"--all-topics"}),
    Clash(
        options={"--undo"},
        others={"--topic", "--all-topics", "--clamp", "--create", "--others"},
        why="--undo restores all that its file has of a group: it does not go with {other}",
    ),
    Needs(
        options=set(_STRATEGIES) - {"--undo", "--from-file"},
        one_of={"GROUP"},
        why="no GROUP given: the group to reset",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategies:
    """The options under "What to set", as they were given."""

    to_earliest: Annotated[
        bool, option("--to-earliest", help="The first offset that the log has.", section=Section.SETUP)
    ] = False
    to_latest: Annotated[bool, option("--to-latest", help="The end of the log.", section=Section.SETUP)] = (
        False
    )
    to_current: Annotated[
        bool,
        option(
            "--to-current",
            help="What is committed, as a new commit; the end of the log where nothing is.",
            section=Section.SETUP,
        ),
    ] = False
    to_offset: Annotated[
        int | None,
        option("--to-offset", metavar="OFFSET", min=0, help="This offset.", section=Section.SETUP),
    ] = None
    shift_by: Annotated[
        int | None,
        option(
            "--shift-by",
            metavar="N",
            help="This many offsets from what is committed; -100 goes back.",
            section=Section.SETUP,
        ),
    ] = None
    to_datetime: Annotated[
        str | None,
        option(
            "--to-datetime",
            metavar="TIME",
            help="The first record at or after this time, like 2026-01-31T09:30:00.000Z; the end of the log"
            " if there is none.",
            section=Section.SETUP,
        ),
    ] = None
    by_duration: Annotated[
        str | None,
        option(
            "--by-duration",
            metavar="DURATION",
            help="The same for this long ago, like 2h or PT2H.",
            section=Section.SETUP,
        ),
    ] = None
    from_file: Annotated[
        Path | None,
        option(
            "--from-file",
            metavar="FILE",
            help="Offsets in CSV, TOPIC,PARTITION,OFFSET or with GROUP before it, or JSON of fsck --rescue."
            " Without GROUP: for all groups that it names.",
            section=Section.SETUP,
        ),
    ] = None
    from_group: Annotated[
        str | None,
        option(
            "--from-group",
            metavar="GROUP",
            autocompletion=complete_groups,
            help="Where this group is.",
            section=Section.SETUP,
        ),
    ] = None
    to_before: Annotated[
        str | None,
        option(
            "--to-before",
            metavar="FINDING",
            help="Where the group was before a finding of kgroup stuck: skipped-records,"
            " doubled-records, rewound, poison-record.",
            section=Section.SETUP,
        ),
    ] = None
    undo: Annotated[
        Path | None,
        option(
            "--undo",
            metavar="FILE",
            help="The state before the operation that wrote this undo file; with GROUP only of these groups.",
            section=Section.SETUP,
        ),
    ] = None

    def check(
        self,
        groups: Sequence[str],
        topics: Sequence[str],
        *,
        all_topics: bool,
        clamp: bool,
        create: bool,
        others: bool,
    ) -> None:
        """Raises InputError for what does not go together, a time that is none, or an offset too high."""
        given: dict[str, object] = {
            "--to-earliest": self.to_earliest,
            "--to-latest": self.to_latest,
            "--to-current": self.to_current,
            "--to-offset": self.to_offset is not None,
            "--shift-by": self.shift_by is not None,
            "--to-datetime": self.to_datetime is not None,
            "--by-duration": self.by_duration is not None,
            "--from-file": self.from_file is not None,
            "--from-group": self.from_group is not None,
            "--to-before": self.to_before is not None,
            "--undo": self.undo is not None,
            "GROUP": list(groups),
            "--topic": list(topics),
            "--all-topics": all_topics,
            "--clamp": clamp,
            "--create": create,
            "--others": others,
        }
        check_options(RULES, given)
        self._time_ms()

    def _time_ms(self) -> int | None:
        now_ms = int(time.time() * 1000)
        if self.to_datetime is not None:
            return parse_time(self.to_datetime, "--to-datetime", now_ms)
        if self.by_duration is not None:
            return now_ms - parse_length(self.by_duration, "--by-duration", least="0s")
        return None

    def of_groups(
        self, groups: Sequence[str], cluster: "Cluster", connection: "ConnectionOptions"
    ) -> "dict[str, Strategy]":
        """A strategy for each group; those of a file without groups named are the file's.

        Raises as reading the file and asking the cluster do.
        """
        from kgroup.api.operations import reset
        from kgroup.operations import targets

        if self.from_file is not None:
            return reset.from_file(self.from_file, groups)
        if self.from_group is not None:
            return reset.from_group(cluster, self.from_group, groups)
        if self.to_before is not None:
            from kgroup.api.operations.findings import to_before

            return to_before(connection, self.to_before, groups, int(time.time() * 1000))
        time_ms = self._time_ms()
        strategy: targets.Strategy
        if self.to_earliest:
            strategy = targets.ToEarliest()
        elif self.to_latest:
            strategy = targets.ToLatest()
        elif self.to_current:
            strategy = targets.ToCurrent()
        elif self.to_offset is not None:
            strategy = targets.ToOffset(self.to_offset)
        elif self.shift_by is not None:
            strategy = targets.ShiftBy(self.shift_by)
        else:
            assert time_ms is not None, "check() has seen that there is a strategy"
            strategy = targets.ToTime(time_ms)
        return dict.fromkeys(groups, strategy)
