"""One reading of a log for all that a report asks of its past."""

from kgroup.log.scan import split
from kgroup.log.scan_history import read_history
from kgroup.log.scan_last import last_commits
from kgroup.log.scanned import read_last_and_history
from kgroup.log.sources import one_replica_each, open_sources
from tests.compat.captures import FIXTURES


def test_reading_once_leaves_what_reading_for_each_does():
    sources = one_replica_each(open_sources([FIXTURES / "4.3.1/lives"]))
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 16)]
    read: list[int] = []
    last, history = read_last_and_history(slices, 3, read.append)
    assert last == last_commits(slices, 3)
    assert history == read_history(slices)
    assert last.commits.num_rows and history.reach.num_rows and history.rounds
    assert sum(read) == sum(part.end - part.start for part in slices)
