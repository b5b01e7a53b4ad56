"""CPU seconds to judge every commit of a log by the lag rules: `python -m benchmarks.status [--commits N]`.

Each of 10 M commits by default, of 50,000 keys, ends a window of the ten last ones of its key and is judged
at its own time, once with the log end known at every commit and once, as in a log, without. Beside the same
rules asked of one window after another, for some of the commits.
"""

import argparse
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Measured, alternate, peak_rss_mb
from kgroup.lag.status.columns import UNKNOWN, CommitColumns, every_commit, judge_columns
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules, LagRules, judge
from kgroup.lag.status.window import CommitWindow, WindowCommit

_COMMITS_OF_KEY = 200
_SLOTS = 10
_UNREAD = 20
_ONE_BY_ONE = 20_000

KNOWN = "kgroup rules, log ends known"
ONE_BY_ONE = "kgroup rules, log ends known, window by window"


def measure(commits: int, rounds: int) -> dict[str, Measured]:
    """The time of each set of rules; `result` is the number of commits judged."""
    columns, begins = _commits(commits)
    without = CommitColumns(
        offsets=columns.offsets, timestamps=columns.timestamps, lags=np.full(commits, UNKNOWN)
    )
    judged = {
        f"{name} rules, {log_ends}": partial(_judge, which, begins, rules)
        for name, rules in (("kgroup", KgroupRules()), ("burrow", BurrowRules()))
        for log_ends, which in (("log ends known", columns), ("log ends unknown", without))
    }
    windows = _windows(columns, min(commits, _ONE_BY_ONE))
    one_by_one = partial(_judge_one_by_one, windows, KgroupRules())
    return alternate(judged, rounds) | alternate({ONE_BY_ONE: one_by_one}, rounds)


def _judge(commits: CommitColumns, begins: NDArray[np.bool_], rules: LagRules) -> int:
    windows = every_commit(commits, begins, _SLOTS)
    return len(judge_columns(windows, commits.offsets + _UNREAD, commits.timestamps, rules).statuses)


def _judge_one_by_one(windows: list[CommitWindow], rules: LagRules) -> int:
    for window in windows:
        newest = window.commits[-1]
        judge(window, newest.offset + _UNREAD, newest.timestamp, rules)
    return len(windows)


def _commits(count: int) -> tuple[CommitColumns, NDArray[np.bool_]]:
    """Keys that advance by up to 10 records every 5 seconds or so, sometimes by none, sometimes back."""
    draw = np.random.default_rng(8)
    begins = np.arange(count) % _COMMITS_OF_KEY == 0
    steps = draw.integers(-1, 10, count)
    offsets = np.cumsum(steps) + 1_000_000
    timestamps = 1_700_000_000_000 + np.cumsum(draw.integers(4_000, 6_000, count))
    return CommitColumns(offsets=offsets, timestamps=timestamps, lags=draw.integers(0, 50, count)), begins


def _windows(columns: CommitColumns, count: int) -> list[CommitWindow]:
    rows = zip(columns.offsets.tolist(), columns.timestamps.tolist(), columns.lags.tolist(), strict=True)
    commits = [WindowCommit(offset=row[0], timestamp=row[1], lag=row[2]) for row in islice(rows, count)]
    windows = []
    for number in range(count):
        first = max(number - number % _COMMITS_OF_KEY, number - _SLOTS + 1)
        windows.append(CommitWindow(slots=_SLOTS, commits=tuple(commits[first : number + 1])))
    return windows


def main() -> None:
    """Make the commits, judge them, print what it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.status", description=__doc__)
    parser.add_argument("--commits", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    for name, measured in measure(options.commits, options.rounds).items():
        each = measured.seconds / measured.result * 1e9
        print(f"{name}: {measured.seconds:.2f} s CPU for {measured.result:,} commits, {each:.0f} ns each")
    print(f"peak RSS {peak_rss_mb()} MB")


if __name__ == "__main__":
    main()
