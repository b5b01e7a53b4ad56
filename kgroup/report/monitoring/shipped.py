"""Access to the shipped dashboard and alert rules."""

from importlib.resources import files


def grafana_dashboard() -> str:
    """JSON to import into Grafana; it asks for the Prometheus data source."""
    return _text("dashboard.json")


def alert_rules() -> str:
    """YAML for `rule_files` of Prometheus."""
    return _text("alerts.yml")


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
