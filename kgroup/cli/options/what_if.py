"""The options of `what-if` under "Setup": changes to a group's settings, and how they are parsed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.shell.complete_lists import complete_assignors
from kgroup.cli.shell.option_checks import GivenOptions, OneOf, Rule
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError

if TYPE_CHECKING:
    from kgroup.history.what_if.changes import Changes

_MORE_MAX: Final = 10_000

RULES: Final[tuple[Rule, ...]] = (
    OneOf(
        options=("--assignor", "--protocol", "--static", "--session-timeout", "--members", "--partitions"),
        none="nothing to change: give --assignor, --protocol, --static, --session-timeout, --members or"
        " --partitions",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The changed settings, as they were given."""

    assignor: Annotated[
        str | None,
        option(
            "--assignor",
            metavar="NAME",
            help="range, roundrobin, sticky, cooperative-sticky; uniform, server-range for the consumer"
            " protocol. Default: the recorded one.",
            section=Section.SETUP,
            autocompletion=complete_assignors,
        ),
    ] = None
    protocol: Annotated[
        str | None,
        option(
            "--protocol",
            metavar="NAME",
            help="consumer (KIP-848), classic, or specifically eager or cooperative classic; with its usual"
            " assignor if the recorded one belongs to another protocol.",
            section=Section.SETUP,
        ),
    ] = None
    static: Annotated[
        bool,
        option(
            "--static",
            help="Every member has a group.instance.id and keeps it across restarts.",
            section=Section.SETUP,
        ),
    ] = False
    session_timeout: Annotated[
        str | None,
        option(
            "--session-timeout",
            metavar="DURATION",
            help="The session timeout of every member: 30s, 2m.",
            section=Section.SETUP,
        ),
    ] = None
    members: Annotated[
        str | None,
        option(
            "--members",
            metavar="+N",
            help="N more members, present whenever the group is.",
            section=Section.SETUP,
        ),
    ] = None
    partitions: Annotated[
        list[str] | None,
        option(
            "--partitions",
            metavar="TOPIC=N",
            help="The topic has N partitions from the beginning; repeatable.",
            section=Section.SETUP,
        ),
    ] = None
    pause: Annotated[
        str | None,
        option(
            "--pause",
            metavar="DURATION",
            help="How long each rebalance stops partitions, on both sides. Default: from the commits.",
            section=Section.SETUP,
        ),
    ] = None

    @property
    def given(self) -> GivenOptions:
        """The options as `RULES` takes them. An empty text is given: it is refused by name later."""
        return {
            "--assignor": self.assignor is not None,
            "--protocol": self.protocol is not None,
            "--static": self.static,
            "--session-timeout": self.session_timeout is not None,
            "--members": self.members is not None,
            "--partitions": self.partitions,
        }

    def changes(self) -> "Changes":
        """The changes as the rules take them. Raises InputError for an option that makes no sense."""
        from kgroup.api.what_if import named_changes

        return named_changes(
            assignor=self.assignor,
            protocol=self.protocol,
            static=self.static,
            session_timeout_ms=_duration(self.session_timeout, "--session-timeout"),
            more_members=_more(self.members),
            partitions=dict(_counts(self.partitions or ())),
            pause_ms=_duration(self.pause, "--pause"),
        )


def _duration(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    return parse_length(text, option)


def _more(text: str | None) -> int:
    if text is None:
        return 0
    if not re.fullmatch(r"\+[1-9][0-9]{0,5}", text) or int(text) > _MORE_MAX:
        raise InputError(f"--members {text}: how many more, from +1 to +{_MORE_MAX}")
    return int(text)


def _counts(texts: Sequence[str]) -> "list[tuple[str, int]]":
    from kgroup.assignors.planning.steps import PARTITIONS_MAX

    counts: list[tuple[str, int]] = []
    for text in texts:
        topic, equals, count = text.rpartition("=")
        if not topic or not equals or not re.fullmatch(r"[1-9][0-9]{0,9}", count):
            raise InputError(f"--partitions {text}: not TOPIC=N, like orders=48")
        if int(count) > PARTITIONS_MAX:
            raise InputError(f"--partitions {text}: more than {PARTITIONS_MAX} partitions")
        if topic in dict(counts):
            raise InputError(f"--partitions {topic}: given twice")
        counts.append((topic, int(count)))
    return counts
