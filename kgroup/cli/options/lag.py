"""Options that `lag-report` shares with `lag`, `stuck` and the other one-question commands.

Each is worded once. What they mean together is in `docs/lag_report.md`.
"""

from pathlib import Path
from typing import Annotated

from kgroup.cli.shell.complete_lists import complete_failures
from kgroup.cli.shell.options import new_file
from kgroup.cli.shell.section import Section, option
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_set import RuleSet
from kgroup.report.lag.sums import By

OnlyLagging = Annotated[
    bool, option("--only-lagging", help="Only partitions with a lag above 0.", section=Section.SELECTION)
]
Status = Annotated[
    bool,
    option(
        "--status",
        help="Judge each partition, and name the rule.",
        section=Section.SHOWN,
    ),
]
Rules = Annotated[
    RuleSet | None,
    option(
        "--rules",
        metavar="burrow|kgroup",
        help="Rule set to judge by; default: kgroup.",
        section=Section.SHOWN,
    ),
]
Hygiene = Annotated[
    bool,
    option("--hygiene", help="Include findings that are not trouble yet.", section=Section.SHOWN),
]
TimeLag = Annotated[
    TimeLagMethod | None,
    option(
        "--time-lag",
        metavar="METHOD",
        help="Time lag and rates: exact, bisect or interpolate.",
        section=Section.SHOWN,
    ),
]
Breakdown = Annotated[
    bool,
    option(
        "--breakdown",
        help="Split the lag into parts; show when offsets expire.",
        section=Section.SHOWN,
    ),
]
OffsetsRetention = Annotated[
    str | None,
    option(
        "--offsets-retention",
        metavar="DURATION",
        help="offsets.retention.minutes. Default: 7 days.",
        section=Section.SHOWN,
    ),
]
Windows = Annotated[
    str | None,
    option("--windows", metavar="DURATION", help="One row per window of this length.", section=Section.SHOWN),
]
SumsBy = Annotated[
    By | None,
    option("--by", metavar="group|topic|member", help="One row with sums for each.", section=Section.SHOWN),
]
LagPage = Annotated[
    Path | None,
    option(
        "--html",
        metavar="FILE",
        callback=new_file,
        help="Also write an HTML page: lag over time.",
        section=Section.OUTPUT,
    ),
]
FailOnWhat = Annotated[
    list[str] | None,
    option(
        "--fail-on",
        metavar="WHAT",
        help="Exit with status 3 on: stuck, a finding, a status, lag=N.",
        section=Section.BEHAVIOUR,
        autocompletion=complete_failures,
    ),
]
