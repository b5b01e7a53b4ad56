"""`kgroup stuck`: what is wrong with groups, since when, and what to try."""

from typing import Final

from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.run import run
from kgroup.cli.options.lag import FailOnWhat, Hygiene, OffsetsRetention
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Files, Groups, LogEnds, Now, Output, Quiet, Strict, Topics

EXAMPLES: Final = (
    Example("Which groups are stuck", "kgroup stuck fixtures/2.4.1/lives --now 2026-11-20T12:42:11Z"),
    Example("For monitoring: exit status 3 if one is", "kgroup stuck -b localhost:9092 --fail-on stuck -q"),
)


def stuck(
    *,
    source: Files,
    log_ends: LogEnds = None,
    groups: Groups = None,
    topics: Topics = None,
    now: Now = None,
    hygiene: Hygiene = False,
    offsets_retention: OffsetsRetention = None,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
    fail_on: FailOnWhat = None,
) -> None:
    """Show what is wrong with groups.

    Stopped, stalled, dead, slow, in a storm: since when, on what evidence, and what to try.
    docs/findings.md has the rules, and what proves them.
    """
    run(
        source,
        asked=Asked(stuck=True, now=now, hygiene=hygiene, offsets_retention=offsets_retention),
        output=output,
        groups=groups,
        topics=topics,
        log_ends=log_ends,
        quiet=quiet,
        strict=strict,
        fail_on=fail_on or (),
    )
