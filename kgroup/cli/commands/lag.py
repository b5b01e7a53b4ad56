"""`kgroup lag`: how far groups are behind, per partition or summed up."""

from typing import Final

import typer

from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.run import run
from kgroup.cli.lag.view_options import Views
from kgroup.cli.options.lag import Breakdown, OnlyLagging, Status, SumsBy, TimeLag
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import Needs, Rule, check_options, given_options
from kgroup.cli.shell.options import Files, Groups, LogEnds, Now, Output, Quiet, Strict, Topics

EXAMPLES: Final = (
    Example("Which groups are behind", "kgroup lag fixtures/4.3.1/lives --only-lagging --by group"),
    Example(
        "How long records have been waiting", "kgroup lag -b localhost:9092 --group billing --time-lag exact"
    ),
)
_RULES: Final[tuple[Rule, ...]] = (
    Needs(options={"--now"}, one_of={"--status", "--time-lag"}, why="--now is for --status and --time-lag"),
)


def lag(
    *,
    context: typer.Context,
    source: Files,
    log_ends: LogEnds = None,
    groups: Groups = None,
    topics: Topics = None,
    only_lagging: OnlyLagging = False,
    status: Status = False,
    now: Now = None,
    time_lag: TimeLag = None,
    breakdown: Breakdown = False,
    by: SumsBy = None,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show how far every group is behind.

    Log end offset minus committed offset, as kafka-consumer-groups prints it, and in time. NOTES adds
    context. docs/lag_report.md explains everything.
    """
    check_options(_RULES, given_options(context))
    asked = Asked(status=status, now=now, time_lag=time_lag, breakdown=breakdown)
    run(
        source,
        asked=asked,
        output=output,
        views=Views(by=by),
        groups=groups,
        topics=topics,
        log_ends=log_ends,
        only_lagging=only_lagging,
        quiet=quiet,
        strict=strict,
    )
