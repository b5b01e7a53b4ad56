"""The reports in docs/reports/: what kgroup makes of the incidents now, and each claim holds."""

import pytest

from kgroup.api.incident.check import check_report
from tests.incident_reports import GROUPS, REPORTS, capture, report_of


def test_there_is_a_report_of_each_incident() -> None:
    assert sorted(path.stem for path in REPORTS.glob("*.md")) == sorted(GROUPS)


@pytest.mark.parametrize("group", GROUPS)
def test_a_report_is_what_is_made_of_its_incident_now_and_holds(group: str) -> None:
    path = REPORTS / f"{group}.md"
    with capture() as logs:
        assert report_of(logs, group) == path.read_text(encoding="utf-8"), (
            "run python -m tests.incident_reports"
        )
        assert check_report(path, logs).failures == ()
