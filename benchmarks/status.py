"""CPU seconds to judge every commit of a log by the lag rules: `python -m benchmarks.status [--commits N]`.

Each of 10 M commits by default, of 50,000 keys, ends a window of the ten last ones of its key and is judged
at its own time, once with the log end known at every commit and once, as in a log, without.
"""

import argparse
from functools import partial

import numpy as np

from benchmarks.measure import alternate, peak_rss_mb
from kgroup.group.burrow_rules import BurrowRules
from kgroup.group.lag_rules import KgroupRules, LagRules
from kgroup.group.status_columns import UNKNOWN, CommitColumns, every_commit, judge_columns

_COMMITS_OF_KEY = 200
_SLOTS = 10
_UNREAD = 20


def main() -> None:
    """Make the commits, judge them, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    commits, begins = _commits(options.commits)
    without = CommitColumns(
        offsets=commits.offsets, timestamps=commits.timestamps, lags=np.full(options.commits, UNKNOWN)
    )
    judged = {
        f"{name} rules, {what}": partial(_judge, columns, begins, rules)
        for name, rules in (("kgroup", KgroupRules()), ("burrow", BurrowRules()))
        for what, columns in (("log ends known", commits), ("log ends unknown", without))
    }
    for name, measured in alternate(judged, options.rounds).items():
        each = measured.seconds / options.commits * 1e9
        print(f"{name}: {measured.seconds:.2f} s CPU for {options.commits:,} commits, {each:.0f} ns each")
    print(f"peak RSS {peak_rss_mb()} MB")


def _judge(
    commits: CommitColumns, begins: "np.ndarray[tuple[int], np.dtype[np.bool_]]", rules: LagRules
) -> int:
    windows = every_commit(commits, begins, _SLOTS)
    verdicts = judge_columns(windows, commits.offsets + _UNREAD, commits.timestamps, rules)
    return int(verdicts.statuses.sum())


def _commits(count: int) -> tuple[CommitColumns, "np.ndarray[tuple[int], np.dtype[np.bool_]]"]:
    """Keys that advance by up to 10 records every 5 seconds or so, sometimes by none, sometimes back."""
    draw = np.random.default_rng(8)
    begins = np.arange(count) % _COMMITS_OF_KEY == 0
    steps = draw.integers(-1, 10, count)
    offsets = np.cumsum(steps) + 1_000_000
    timestamps = 1_700_000_000_000 + np.cumsum(draw.integers(4_000, 6_000, count))
    return CommitColumns(offsets=offsets, timestamps=timestamps, lags=draw.integers(0, 50, count)), begins


if __name__ == "__main__":
    main()
