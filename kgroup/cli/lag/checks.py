"""Options of `lag-report` that need others, and options that contradict each other."""

from typing import Any, Final

from kgroup.cli.shell import option_checks
from kgroup.cli.shell.option_checks import Clash, GivenOptions, Needs, Rule

FORMAT: Final = "--format"
"""Given: any but a table."""

_NOT_ROWS: Final = {"--stuck", "--explain", "--windows", "--stream"}
_REPEATED: Final = {"--watch", "--serve-metrics"}
_METRICS: Final = "metrics have sums and a format of their own"

RULES: Final[tuple[Rule, ...]] = (
    Needs(
        options={"--master", "--remote", "--spark-conf", "--ship", "--save-as"},
        one_of={"--spark"},
        why="--master, --remote, --spark-conf, --ship and --save-as are for --spark",
    ),
    Clash(
        options={"--save-as"},
        others={FORMAT, "--output"},
        why="--save-as is instead of --format and --output",
    ),
    Clash(
        options={"--cluster-path"},
        others={
            "--explain",
            "--html",
            "--log-ends",
            "--prometheus",
            "--serve-metrics",
            "--stream",
            "--watch",
        },
        reason="it is of one cluster",
        why="{other} does not go with --cluster-path",
    ),
    # Views of the rows.
    Clash(options={"--watch"}, others={"--serve-metrics"}, reason="both stay until Ctrl-C"),
    Clash(options={"--prometheus"}, others={"--by", FORMAT}, reason=_METRICS),
    Clash(
        options={"--serve-metrics"},
        others={"--prometheus"},
        why="--serve-metrics serves what --prometheus prints",
    ),
    Clash(options={"--serve-metrics"}, others={"--by", FORMAT}, reason=_METRICS),
    Clash(
        options={"--watch"},
        others={"--prometheus"},
        why="--watch does not go with --prometheus; see --serve-metrics",
    ),
    Clash(options={"--by"}, others=_NOT_ROWS, reason="it sums up rows of the present"),
    Clash(
        options={"--prometheus"},
        others=_NOT_ROWS | {"--save-as"},
        reason="metrics are of rows of the present",
    ),
    Clash(
        options={"--html"},
        others={"--windows"},
        why="--html chooses its own windows: use --since and --now for the range",
    ),
    Clash(options={"--html"}, others={"--stream"}, reason="a page is written at the end"),
    Clash(options=_REPEATED, others=_NOT_ROWS, reason="it shows rows of the present"),
    Clash(options=_REPEATED, others={"--now"}, reason="it shows the present"),
    Clash(
        options=_REPEATED,
        others={"--html", "--output", "--strict", "--fail-on", "--save-as"},
        reason="it has no end",
    ),
    Clash(
        options=_REPEATED, others={"--spark"}, reason="it reads on from the last look; on Spark --stream does"
    ),
    # Findings in place of rows.
    Clash(
        options={"--stuck"},
        others={"--status", "--time-lag", "--breakdown", "--only-lagging", "--explain"},
        why="--stuck shows findings, not rows: only --group and --topic choose among them",
    ),
    Clash(
        options={"--explain"},
        others={"--group", "--topic", "--status", "--time-lag", "--breakdown"},
        why="--explain is a page about one group, and shows all that is known of it by itself",
    ),
    Clash(
        options={"--explain"}, others={FORMAT}, why="--explain is a page to read; --stuck has other formats"
    ),
    Clash(
        options={"--explain"}, others={"--save-as"}, why="--explain is a page to read, not rows for --save-as"
    ),
    Clash(
        options={"--explain", "--fail-on"},
        others={"--windows", "--stream"},
        why="--explain and --fail-on are neither for --windows nor for --stream",
    ),
    Clash(
        options={"--stuck"},
        others={"--windows"},
        why="--stuck is of the present, and --windows of the past",
    ),
    # What only changes something else.
    Needs(
        options={"--hygiene"},
        one_of={"--stuck", "--explain"},
        why="--hygiene is for --stuck and --explain",
    ),
    Needs(
        options={"--rules"},
        one_of={"--status", "--explain", "--windows", "--fail-on", "--save-as"},
        why="--rules is for --status, --explain and --windows",
    ),
    Needs(
        options={"--now"},
        one_of={"--status", "--stuck", "--explain", "--fail-on", "--time-lag", "--windows", "--html"},
        why="--now is for --status, --stuck, --explain, --fail-on, --time-lag, --windows and --html",
    ),
    Needs(
        options={"--offsets-retention"},
        one_of={"--breakdown", "--stuck", "--explain"},
        why="--offsets-retention is for --breakdown, --stuck and --explain",
    ),
    Clash(
        options={"--breakdown"},
        others={"--windows", "--stream"},
        why="--breakdown reads what is unread now: no --windows or --stream with it",
    ),
    Clash(
        options={"--breakdown"},
        others={"--prometheus", "--serve-metrics"},
        why="--breakdown adds columns, which have no metrics",
    ),
    # Windows of time, and streams.
    Needs(options={"--since"}, one_of={"--windows", "--html"}, why="--since is for --windows and --html"),
    Clash(
        options={"--windows"},
        others={"--status", "--time-lag", "--log-ends"},
        why="--windows judges by itself: no --status, --time-lag or --log-ends with it",
    ),
    Needs(options={"--stream"}, one_of={"--spark"}, why="--stream is for --spark with --bootstrap-server"),
    Needs(
        options={"--stream"},
        one_of={"--bootstrap-server"},
        why="--stream is for --spark with --bootstrap-server",
    ),
    Needs(
        options={"--checkpoint", "--once"},
        one_of={"--stream"},
        why="--checkpoint and --once are for --stream",
    ),
    Clash(
        options={"--stream"},
        others={"--windows"},
        why="--stream reports the present: no --windows with it",
    ),
)


def given_options(context: Any) -> GivenOptions:
    """The options that are not at their defaults; an empty text is as good as none."""
    return {name: value for name, value in option_checks.given_options(context).items() if value}


def check_options(given: GivenOptions) -> None:
    """Raises InputError for the first rule that these options break."""
    option_checks.check_options(RULES, given)
