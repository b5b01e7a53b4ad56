"""Past log ends of data topics, as many times are asked about."""

import numpy as np

from kgroup.log.files.sources import open_sources
from kgroup.log.topics.past_ends import UNKNOWN, PastEndsInLogs
from kgroup.log.topics.topic_logs import DataLogs
from tests.compat.captures import FIXTURES

LIVES = FIXTURES / "4.3.1/lives"


def test_they_are_those_of_the_partitions_own_log():
    log_dirs = open_sources([LIVES]).log_dirs
    times = list(range(1795178760000, 1795178910000, 30_000))
    past = PastEndsInLogs(log_dirs, times)("payments", 0)
    logs = DataLogs(log_dirs)
    expected = [logs.end_at("payments", 0, time_ms) for time_ms in times]
    assert past.at.tolist() == [UNKNOWN if end is None else end for end in expected]
    assert past.now == 96
    assert len(set(expected)) > 3


def test_of_a_log_that_is_not_here_nothing_is_known():
    past = PastEndsInLogs([], [1, 2, 3])("payments", 0)
    assert (past.at.tolist(), past.now) == ([UNKNOWN] * 3, UNKNOWN)
    assert past.at.dtype == np.int64
