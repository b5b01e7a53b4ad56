"""`kgroup explain`: everything about one group, on one page."""

from typing import Final

from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.run import run
from kgroup.cli.options.lag import Hygiene, OffsetsRetention
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import (
    GroupAndPaths,
    LogEnds,
    Now,
    OutputFile,
    Quiet,
    Strict,
)
from kgroup.report.emit import OutputOptions

EXAMPLES: Final = (
    Example(
        "A group that stands still",
        "kgroup explain warehouse-stuck fixtures/2.4.1/lives --now 2026-11-20T12:42:11Z",
    ),
    Example("A group of a live cluster", "kgroup explain billing -b localhost:9092"),
)


def explain(
    *,
    about: GroupAndPaths,
    log_ends: LogEnds = None,
    now: Now = None,
    hygiene: Hygiene = False,
    offsets_retention: OffsetsRetention = None,
    output: OutputFile = None,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Explain one group on a page.

    Its state, members with their hosts, partitions and the rule that judged each, the last rebalances and
    their causes, what is wrong and what to try, and whether a reset of its offsets would be accepted now,
    and stick. GROUP is a name, or a pattern such as 'billing-*'.
    """
    run(
        about.source,
        asked=Asked(explain=about.group, now=now, hygiene=hygiene, offsets_retention=offsets_retention),
        output=OutputOptions(path=output),
        log_ends=log_ends,
        quiet=quiet,
        strict=strict,
    )
