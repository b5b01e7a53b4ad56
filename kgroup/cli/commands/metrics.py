"""`kgroup metrics`: lag for Prometheus."""

from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.run import run
from kgroup.cli.lag.view_options import Views, parse_address
from kgroup.cli.options.lag import OnlyLagging, Status, TimeLag
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Files, Groups, LogEnds, Quiet, Topics, new_file_or_folder
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError
from kgroup.report.destination import printing_to
from kgroup.report.emit import OutputOptions

EXAMPLES: Final = (
    Example("Print them once", "kgroup metrics fixtures/4.3.1/lives --group orders-app"),
    Example("Serve them at http://127.0.0.1:9308/metrics", "kgroup metrics -b localhost:9092 --serve 9308"),
)


def _dashboard(context: typer.Context, is_wanted: bool) -> bool:
    """Print the dashboard, without a source: the text is always the same."""
    if is_wanted:
        from kgroup.report.monitoring.shipped import grafana_dashboard

        _ship(context, grafana_dashboard())
    return is_wanted


def _alerts(context: typer.Context, is_wanted: bool) -> bool:
    if is_wanted:
        from kgroup.report.monitoring.shipped import alert_rules

        _ship(context, alert_rules())
    return is_wanted


def _ship(context: typer.Context, text: str) -> None:
    with printing_to(context.params.get("output")):
        print(text, end="")
    raise typer.Exit()


def metrics(
    *,
    source: Files,
    log_ends: LogEnds = None,
    groups: Groups = None,
    topics: Topics = None,
    only_lagging: OnlyLagging = False,
    status: Status = False,
    time_lag: TimeLag = None,
    serve: Annotated[
        str | None,
        option(
            "--serve",
            metavar="[HOST:]PORT",
            help="Serve them at /metrics, refreshed at each scrape; on 127.0.0.1 unless HOST is given.",
            section=Section.OUTPUT,
        ),
    ] = None,
    dashboard: Annotated[
        bool,
        option("--dashboard", callback=_dashboard, help="Print a Grafana dashboard.", section=Section.OUTPUT),
    ] = False,
    alerts: Annotated[
        bool,
        option("--alerts", callback=_alerts, help="Print Prometheus alert rules.", section=Section.OUTPUT),
    ] = False,
    output: Annotated[
        Path | None,
        option(
            "--output",
            metavar="FILE",
            callback=new_file_or_folder,
            is_eager=True,  # --dashboard and --alerts end the command before what is not
            help="Write to FILE instead of the screen.",
            section=Section.OUTPUT,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Print or serve metrics of lag for Prometheus.

    Names and labels match kafka-lag-exporter's wherever it has the same number. docs/lag_metrics.md lists
    them.
    """
    if serve is not None:
        parse_address(serve, "--serve")
        if output is not None:
            raise InputError("--serve does not go with --output: it has no end")
    run(
        source,
        asked=Asked(status=status, time_lag=time_lag),
        output=OutputOptions(path=output),
        views=Views(prometheus=serve is None, serve_metrics=serve),
        groups=groups,
        topics=topics,
        log_ends=log_ends,
        only_lagging=only_lagging,
        quiet=quiet,
    )
