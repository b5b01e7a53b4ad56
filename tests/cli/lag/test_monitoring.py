"""`kgroup metrics --dashboard` and `--alerts` print what kgroup ships, without a source."""

from pathlib import Path

from kgroup.report.monitoring.shipped import alert_rules, grafana_dashboard
from tests.cli.conftest import Ended, Kgroup


def test_the_command_prints_both(kgroup: Kgroup) -> None:
    assert kgroup("metrics", "--dashboard") == Ended(0, grafana_dashboard(), "")
    assert kgroup("metrics", "--alerts") == Ended(0, alert_rules(), "")


def test_both_go_where_the_output_is_to_go(kgroup: Kgroup, tmp_path: Path) -> None:
    """Wherever the option stands."""
    dashboard, alerts = tmp_path / "dashboard.json", tmp_path / "alerts.yml"
    assert kgroup("metrics", "--dashboard", "--output", str(dashboard)) == Ended(0, "", "")
    assert kgroup("metrics", "--output", str(alerts), "--alerts") == Ended(0, "", "")
    assert dashboard.read_text() == grafana_dashboard()
    assert alerts.read_text() == alert_rules()
    nowhere = tmp_path / "none" / "alerts.yml"
    ended = kgroup("metrics", "--alerts", "--output", str(nowhere))
    assert ended == Ended(1, "", f"kgroup: cannot write {nowhere}: No such file or directory\n")
