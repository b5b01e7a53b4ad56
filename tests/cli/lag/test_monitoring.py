"""`kgroup metrics --dashboard` and `--alerts` print what kgroup ships, without a source."""

from kgroup.report.monitoring.shipped import alert_rules, grafana_dashboard
from tests.cli.conftest import Ended, Kgroup


def test_the_command_prints_both(kgroup: Kgroup) -> None:
    assert kgroup("metrics", "--dashboard") == Ended(0, grafana_dashboard(), "")
    assert kgroup("metrics", "--alerts") == Ended(0, alert_rules(), "")
