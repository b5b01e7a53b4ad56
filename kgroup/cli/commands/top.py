"""`kgroup top`: the groups of a cluster, or of a growing copy, on a live screen."""

import signal
import time
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.lag.view_options import parse_seconds
from kgroup.cli.options.lag import TimeLag
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Files, Groups, Now, Topics
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import Given
from kgroup.cli.shell.times import parse_time
from kgroup.errors import InputError
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_set import RuleSet

if TYPE_CHECKING:
    from kgroup.cli.top.feed import Feed
    from kgroup.report.top.model import TopModel

EXAMPLES: Final = (
    Example("The groups of a cluster, worst first", "kgroup top -b localhost:9092"),
    Example("Only some, every second", "kgroup top -b localhost:9092 --group 'billing-*' --interval 1s"),
    Example(
        "A captured log as it was at its end, once, with how long records have waited and drain times",
        "kgroup top fixtures/4.3.1/lives --time-lag exact --once",
    ),
)
_WIDTH: Final = 160  # of what is printed into a pipe or a file


def top(
    *,
    source: Files,
    groups: Groups = None,
    topics: Topics = None,
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
    time_lag: TimeLag = None,
    once: Annotated[
        bool,
        option(
            "--once",
            help="Print all groups once, as the screen would; needs no terminal.",
            section=Section.OUTPUT,
        ),
    ] = False,
    now: Now = None,
) -> None:
    """Show the groups that are worst off, live.

    Sorted by pain: stuck groups, then others in trouble, then the rest; among equals growing lag first,
    then the longest to drain, then the most lag. Each row shows state, generation or epoch, lag and its
    course, the time until it is gone, the worst finding, and what blocks it: partition, member and host.

    Keys: arrows select a group; e explains it, r replays its rebalances, c lists its last commits; /
    filters, s sorts, p pauses, ? helps, q quits. Numbers are those of lag --by group, findings those of
    stuck. docs/top.md.
    """
    from kgroup.api.lag.options import LagOptions
    from kgroup.api.lag.repeated import RepeatedReports
    from kgroup.cli.top.feed import Feed
    from kgroup.cli.top.run import run
    from kgroup.cli.top.terminal import check_terminal, on_terminal
    from kgroup.report.emit import OutputOptions, emit_page
    from kgroup.report.top.model import TopModel

    interval_s = parse_seconds(interval, "--interval")
    if "-" in source.paths:
        raise InputError("-: top cannot read standard input, it needs files")
    if source.is_live and now is not None:
        raise InputError("--now is for files: a cluster is shown as it is")
    now_ms = None if now is None else parse_time(now, "--now", int(time.time() * 1000))
    if time_lag is TimeLagMethod.BISECT and not source.is_live:
        raise InputError("--time-lag bisect asks brokers: give --bootstrap-server, or use exact")
    if not once:
        check_terminal()
    options = LagOptions(groups=groups, topics=topics, rules=RuleSet.KGROUP, time_lag=time_lag, findings=True)
    reports = RepeatedReports(options, source.paths, source.connection, time.time, now_ms)
    feed, model = Feed(reports), TopModel(source=_name_of(source), every_s=0 if once else interval_s)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if once:
            emit_page(lambda width: _printed(model, feed, width), OutputOptions())
            return
        with on_terminal() as terminal:
            run(feed, terminal, model, time.monotonic)
    except KeyboardInterrupt:
        return
    finally:
        reports.close()


def _printed(model: "TopModel", feed: "Feed", width: int | None) -> list[str]:
    from kgroup.report.top.model import Resized
    from kgroup.report.top.screen import printed

    return printed(model.after(Resized(width or _WIDTH, 0)).after(feed.refresh()))


def _name_of(source: Given) -> str:
    if source.connection is not None:
        return source.connection.bootstrap_servers
    first, *others = source.paths
    return f"{first} and {len(others)} more" if others else first
