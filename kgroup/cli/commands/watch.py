"""`kgroup watch`: lag in a live view, refreshed at an interval."""

from typing import Annotated, Final

from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.run import run
from kgroup.cli.lag.view_options import Views, parse_seconds
from kgroup.cli.options.lag import OnlyLagging, Status, SumsBy, TimeLag
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Files, Groups, Output, Quiet, Topics
from kgroup.cli.shell.section import Section, option

EXAMPLES: Final = (
    Example("Which groups are behind, live", "kgroup watch -b localhost:9092 --only-lagging"),
    Example(
        "One line per refresh and group", "kgroup watch -b localhost:9092 --by group --interval 1m -o jsonl"
    ),
)


def watch(
    *,
    source: Files,
    groups: Groups = None,
    topics: Topics = None,
    only_lagging: OnlyLagging = False,
    status: Status = False,
    time_lag: TimeLag = None,
    by: SumsBy = None,
    interval: Annotated[
        str,
        option(
            "--interval",
            metavar="DURATION",
            help="Time between refreshes (5 is 5s).",
            section=Section.SHOWN,
            show_default=True,
        ),
    ] = "5s",
    output: Output,
    quiet: Quiet = False,
) -> None:
    """Watch how far groups are behind.

    A live view of lag, with its growth between refreshes, until Ctrl-C. In a pipe, or with -o jsonl,
    refreshes are printed one after another. --only-lagging and --by shorten it.
    """
    parse_seconds(interval, "--interval")
    run(
        source,
        asked=Asked(status=status, time_lag=time_lag),
        output=output,
        views=Views(by=by, watch=interval),
        groups=groups,
        topics=topics,
        only_lagging=only_lagging,
        quiet=quiet,
    )
