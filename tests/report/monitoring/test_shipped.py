"""The dashboard and the alert rules name metrics and labels that are exported, in expressions that parse."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml

from kgroup.api.lag.report import lag_report
from kgroup.api.opened import open_logs
from kgroup.report.emit_columns import rows_of
from kgroup.report.lag.metrics import LookSummary, lag_metrics
from kgroup.report.monitoring.shipped import alert_rules, grafana_dashboard
from tests.log.truth import FIXTURES

DASHBOARD: dict[str, Any] = json.loads(grafana_dashboard())
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(alert_rules())["groups"] for rule in group["rules"]
]
EXPRESSIONS = [
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *(rule["expr"] for rule in RULES),
]
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? \S+$")
_LABEL = re.compile(r'(\w+)="(?:[^"\\]|\\.)*"')


@pytest.fixture(scope="module")
def exported() -> dict[str, set[str]]:
    """The labels of each metric, of a capture with statuses, times and rates."""
    report = lag_report(open_logs(FIXTURES / "3.9.1/lives"), status=True, time_lag="exact")
    rows = [row for chunk in report.chunks() for row in rows_of(chunk.columns)]
    labels: dict[str, set[str]] = {}
    for line in lag_metrics(rows, LookSummary(at_ms=1, seconds=1.0, problems=0)):
        if not line.startswith("#"):
            sample = _SAMPLE.match(line)
            assert sample is not None, line
            labels.setdefault(sample[1], set()).update(_LABEL.findall(sample[2] or ""))
    return labels


def selectors(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Metrics of an expression, each with the labels that it is matched by."""

    def walk(node: Any) -> Iterator[tuple[str, set[str]]]:
        if isinstance(node, promql_parser.VectorSelector):
            yield node.name, {matcher.name for matcher in node.matchers.matchers}
        for name in ("expr", "lhs", "rhs", "vector_selector", "args", "param"):
            inner = getattr(node, name, None)
            for each in inner if isinstance(inner, list) else [inner]:
                if each is not None and not isinstance(each, str | int | float):
                    yield from walk(each)

    yield from walk(promql_parser.parse(expression.replace("$group", ".*")))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_parses_and_names_what_is_exported(
    expression: str, exported: dict[str, set[str]]
) -> None:
    found = list(selectors(expression))
    assert found
    for metric, labels in found:
        assert metric in exported, metric
        assert labels <= exported[metric]
    for by in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
        kept = {label.strip() for label in by.split(",")}
        assert kept <= set().union(*(exported[metric] for metric, _ in found))


def test_the_walk_finds_every_metric_of_an_expression() -> None:
    nested = 'topk(3, sum by (group) (rate(a{group="x"}[5m]))) > 0 and on (group) b or absent(c)'
    assert dict(selectors(nested)) == {"a": {"group"}, "b": set(), "c": set()}
    with pytest.raises(ValueError, match=r".+"):
        list(selectors("sum by (group) (rate(a[5m])"))


def test_what_texts_say_of_labels_is_in_the_answer(exported: dict[str, set[str]]) -> None:
    every = set().union(*exported.values())
    legends = [target["legendFormat"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    for text in legends:
        assert set(re.findall(r"\{\{(\w+)\}\}", text)) <= every
    for rule in RULES:
        for text in rule["annotations"].values():
            assert set(re.findall(r"\$labels\.(\w+)", text)) <= {"group"}
            assert "$labels.group" not in text or "group" in rule["expr"]


def test_the_dashboard_is_one_that_grafana_imports() -> None:
    assert [each["type"] for each in DASHBOARD["__inputs"]] == ["datasource"]
    (variable,) = DASHBOARD["templating"]["list"]
    assert variable["query"]["query"] == "label_values(kgroup_group_info, group)"
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids) == len({panel["title"] for panel in DASHBOARD["panels"]})
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        assert panel["description"]
        assert panel["datasource"]["uid"] == "${DS_PROMETHEUS}"


def test_each_alert_has_a_severity_and_says_what_is_wrong_and_what_to_do() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names) >= 5
    for rule in RULES:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
