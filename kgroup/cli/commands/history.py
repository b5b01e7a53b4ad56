"""`kgroup history`: lag and status in the past, window by window."""

from typing import Final

import typer

from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.run import run
from kgroup.cli.lag.view_options import Views
from kgroup.cli.options.lag import LagPage, OnlyLagging, Rules, Windows
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import Clash, Needs, OneOf, Rule, check_options, given_options
from kgroup.cli.shell.options import Files, Groups, Now, Output, Quiet, Since, Strict, Topics

EXAMPLES: Final = (
    Example(
        "Lag over time, every 20 seconds",
        "kgroup history fixtures/3.9.1/lives --group cron-exporter --windows 20s",
    ),
    Example("A page of all groups", "kgroup history -b localhost:9092 --html lag.html"),
)


_RULES: Final[tuple[Rule, ...]] = (
    OneOf(
        options=("--windows", "--html"),
        none="give --windows, the length of a row's time like 15m, or --html for a page",
        several="--html chooses its own windows: use --since and --now for the range",
    ),
    Needs(options={"--rules"}, one_of={"--windows"}, why="--rules is for --windows"),
    Clash(options={"--html"}, others={"--format", "--output"}, reason="a page has no rows"),
)


def history(
    *,
    context: typer.Context,
    source: Files,
    groups: Groups = None,
    topics: Topics = None,
    only_lagging: OnlyLagging = False,
    since: Since = None,
    rules: Rules = None,
    now: Now = None,
    windows: Windows = None,
    output: Output,
    html: LagPage = None,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show how far groups were behind in the past.

    One row for each partition and time window, as things were when the window ended, according to the
    topics' own logs or the samples of kgroup record; without either, only what was committed. --now is the
    end.
    """
    check_options(_RULES, given_options(context))
    run(
        source,
        asked=Asked(windows=windows, since=since, rules=rules, now=now),
        output=output,
        views=Views(html=html),
        only_page=html is not None,
        groups=groups,
        topics=topics,
        only_lagging=only_lagging,
        quiet=quiet,
        strict=strict,
    )
