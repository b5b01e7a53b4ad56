"""Findings as rows of a table."""

import pytest

from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind
from kgroup.report.lag.finding_rows import finding_table

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("since_ms", "lasting_ms"), [(NOW - 2_700, 2_000), (NOW + 3_162_000, 0), (None, None)]
)
def test_what_began_by_a_clock_ahead_lasts_for_no_time(since_ms: int | None, lasting_ms: int | None) -> None:
    finding = Finding(
        kind=FindingKind.STOPPED_GROUP,
        group="g",
        since_ms=since_ms,
        grade=Grade.INFERRED,
        evidence="it stands",
        try_this="look",
    )
    (row,) = finding_table([(finding, None)], NOW)
    assert row["lasting_ms"] == lasting_ms
