"""Which options of `lag-report` need others, and which contradict each other."""

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Final

from kgroup.errors import InputError

FORMAT: Final = "--format"
"""Given: any but a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Needs:
    """Each of `options` makes sense only with one of `one_of`."""

    options: Set[str]
    one_of: Set[str]
    why: str

    def problem(self, given: Set[str]) -> str | None:
        return self.why if given & self.options and not given & self.one_of else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clash:
    """None of `options` goes with any of `others`.

    `reason` is put behind the two names that clash; `why` is said instead of naming them.
    """

    options: Set[str]
    others: Set[str]
    reason: str | None = None
    why: str | None = None

    def problem(self, given: Set[str]) -> str | None:
        options, others = sorted(given & self.options), sorted(given & self.others)
        if not options or not others:
            return None
        reason = f": {self.reason}" if self.reason else ""
        return self.why or f"{options[0]} does not go with {others[0]}{reason}"


_NOT_ROWS: Final = {"--stuck", "--explain", "--windows", "--stream"}
_REPEATED: Final = {"--watch", "--serve-metrics"}
_METRICS: Final = "metrics have sums and a format of their own"

_RULES: Final = (
    _Needs(
        options={"--master", "--remote", "--spark-conf", "--ship", "--save-as"},
        one_of={"--spark"},
        why="--master, --remote, --spark-conf, --ship and --save-as are for --spark",
    ),
    _Clash(
        options={"--save-as"},
        others={FORMAT, "--output"},
        why="--save-as is instead of --format and --output",
    ),
    # Views of the rows.
    _Clash(options={"--watch"}, others={"--serve-metrics"}, reason="both stay until Ctrl-C"),
    _Clash(options={"--prometheus"}, others={"--by", FORMAT}, reason=_METRICS),
    _Clash(
        options={"--serve-metrics"},
        others={"--prometheus"},
        why="--serve-metrics serves what --prometheus prints",
    ),
    _Clash(options={"--serve-metrics"}, others={"--by", FORMAT}, reason=_METRICS),
    _Clash(
        options={"--watch"},
        others={"--prometheus"},
        why="--watch does not go with --prometheus; see --serve-metrics",
    ),
    _Clash(options={"--by"}, others=_NOT_ROWS, reason="it sums up rows of the present"),
    _Clash(
        options={"--prometheus"},
        others=_NOT_ROWS | {"--save-as"},
        reason="metrics are of rows of the present",
    ),
    _Clash(
        options={"--html"},
        others={"--windows"},
        why="--html chooses windows by itself: --since and --now say from when and until when",
    ),
    _Clash(options={"--html"}, others={"--stream"}, reason="a page is written at the end"),
    _Clash(options=_REPEATED, others=_NOT_ROWS, reason="it shows rows of the present"),
    _Clash(options=_REPEATED, others={"--now"}, reason="the present is what it looks at"),
    _Clash(
        options=_REPEATED,
        others={"--html", "--output", "--strict", "--fail-on", "--save-as"},
        reason="it has no end",
    ),
    _Clash(
        options=_REPEATED, others={"--spark"}, reason="it reads on from the last look; on Spark --stream does"
    ),
    # Findings in place of rows.
    _Clash(
        options={"--stuck"},
        others={"--status", "--time-lag", "--breakdown", "--only-lagging", "--explain"},
        why="--stuck shows findings, not rows: only --group and --topic choose among them",
    ),
    _Clash(
        options={"--explain"},
        others={"--group", "--topic", "--status", "--time-lag", "--breakdown"},
        why="--explain is a page about one group, and shows all that is known of it by itself",
    ),
    _Clash(
        options={"--explain"}, others={FORMAT}, why="--explain is a page to read; --stuck has other formats"
    ),
    _Clash(
        options={"--explain"}, others={"--save-as"}, why="--explain is a page to read, not rows for --save-as"
    ),
    _Clash(
        options={"--stuck", "--explain", "--fail-on"},
        others={"--windows", "--stream"},
        why="--stuck, --explain and --fail-on are neither for --windows nor for --stream",
    ),
    # What only changes something else.
    _Needs(
        options={"--rules"},
        one_of={"--status", "--explain", "--windows", "--fail-on", "--save-as"},
        why="--rules is for --status, --explain and --windows",
    ),
    _Needs(
        options={"--now"},
        one_of={"--status", "--stuck", "--explain", "--fail-on", "--time-lag", "--windows", "--html"},
        why="--now is for --status, --stuck, --explain, --fail-on, --time-lag, --windows and --html",
    ),
    _Needs(
        options={"--offsets-retention"},
        one_of={"--breakdown", "--stuck", "--explain"},
        why="--offsets-retention is for --breakdown, --stuck and --explain",
    ),
    _Clash(
        options={"--breakdown"},
        others={"--windows", "--stream"},
        why="--breakdown reads what is unread now: no --windows or --stream with it",
    ),
    _Clash(
        options={"--breakdown"},
        others={"--prometheus", "--serve-metrics"},
        why="--breakdown adds columns, and there are no metrics of them",
    ),
    # Windows of time, and streams.
    _Needs(options={"--since"}, one_of={"--windows", "--html"}, why="--since is for --windows and --html"),
    _Clash(
        options={"--windows"},
        others={"--status", "--time-lag", "--log-ends"},
        why="--windows judges by itself: no --status, --time-lag or --log-ends with it",
    ),
    _Needs(options={"--stream"}, one_of={"--spark"}, why="--stream is for --spark with --bootstrap-server"),
    _Needs(
        options={"--stream"},
        one_of={"--bootstrap-server"},
        why="--stream is for --spark with --bootstrap-server",
    ),
    _Needs(
        options={"--checkpoint", "--once"},
        one_of={"--stream"},
        why="--checkpoint and --once are for --stream",
    ),
    _Clash(
        options={"--stream"},
        others={"--windows", "--save-as"},
        why="--stream reports the present, on the screen or to Parquet: no --windows, --save-as",
    ),
)


def given_options(context: Any) -> set[str]:
    """The long names of the options that are not at their defaults, from typer's context of a command."""
    named = [
        (max(parameter.opts, key=len), context.params.get(parameter.name), parameter.default)
        for parameter in context.command.params
    ]
    return {name for name, value, default in named if value and value != default}


def check_options(given: Set[str]) -> None:
    """Raises InputError for the first rule that these options, by their names, break."""
    for rule in _RULES:
        problem = rule.problem(given)
        if problem is not None:
            raise InputError(problem)
