"""The intervals hold as often as docs/deadlines.md says, on groups of a real broker."""

from benchmarks.deadlines_backtest import runs_of, score
from kgroup.lag.deadlines.model import Outlook
from tests.log.truth import FIXTURES


def test_nine_of_ten_intervals_hold() -> None:
    runs = list(runs_of(FIXTURES / "3.9.1/lives", is_real=True))
    scored = [each for run in runs for each in score(run) if each.outlook is not Outlook.NOT_IN_SIGHT]
    decided = [each.covered for each in scored if each.covered is not None]
    assert len(decided) > 100
    assert 0.85 <= sum(decided) / len(decided) <= 0.98
    line = [each.naive_covered for each in scored if each.naive_covered is not None]
    assert sum(line) / len(line) < 0.2
