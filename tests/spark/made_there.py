"""Rows made by executors of a small log, too: as those of a log above `there.WORTH_BYTES`, in many ranges.

`python -m tests.spark.made_there COMMAND...` runs a command so, for tests whose Spark is another process's.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from kgroup.api.lag import there
from kgroup.api.lag.there import GroupRanges
from kgroup.cli.shell.app import main


@contextmanager
def made_there() -> Iterator[list[int]]:
    """Inside, executors make the rows. Yields in how many ranges of groups each report's rows were made."""
    counts: list[int] = []
    planned = GroupRanges.of

    def noted(sample: Sequence[tuple[str, int]]) -> GroupRanges:
        ranges = planned(sample)
        counts.append(len(ranges))
        return ranges

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(there, "WORTH_BYTES", 0)
        patch.setattr(there, "_ROWS_OF_TASK", 20)
        patch.setattr(GroupRanges, "of", noted)
        yield counts


if __name__ == "__main__":
    with made_there() as ranges:
        try:
            main(sys.argv[1:])
        finally:
            assert ranges and min(ranges) > 2, ranges
