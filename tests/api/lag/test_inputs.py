"""The columnar path and the plain one make the same report of every log, whole and damaged."""

import pytest

from kgroup.api.lag.inputs import gather
from kgroup.history.groups.newest import NewestEntries
from kgroup.history.groups.snapshot import logged_topic_names, read_groups
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.lag.measures.rows import commit_of, lag_rows
from kgroup.log.files.entries import read_entries
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Damage
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.scan.reductions.scan import newest, split
from tests.compat.captures import FIXTURES, NAMES, report

DAMAGED = sorted(path.name for path in (FIXTURES / "damaged").iterdir() if path.is_dir())


def plain_rows(path):
    """The report without the scan: entry by entry, as `NewestEntries` keeps them."""
    sources = open_sources([path])
    entries = NewestEntries()
    for item in read_entries(sources):
        if not isinstance(item, Damage):
            entries.add(item)
    commits = sorted(map(commit_of, entries.commits()), key=lambda c: (c.group, c.topic, c.partition))
    reader = LogDirEndsReader(sources.log_dirs)
    names = logged_topic_names([*entries.others(), *entries.commits()])
    groups = read_groups(entries.others(), names | reader.topic_names())
    owned = {owned.topic for group in groups.values() for member in group.members for owned in member.owned}
    listings = reader.read(owned | {commit.topic for commit in commits})
    ends = LogEnds([listings.segments, listings.checkpoints])
    pending = {(c.group, c.topic, c.partition) for c in map(commit_of, entries.pending())}
    return list(lag_rows(groups, commits, ends, pending))


def scanned(path, slice_bytes=1 << 30):
    sources = open_sources([path])
    parts = [part for segment in sources for part in split(segment.path, segment.partition, slice_bytes)]
    return gather(newest(parts), sources, None, lambda group: True)


@pytest.mark.parametrize("name", NAMES)
def test_both_paths_agree_on_every_capture(name):
    assert list(report(name).rows) == plain_rows(FIXTURES / name)


@pytest.mark.parametrize("name", DAMAGED)
def test_both_paths_agree_on_damaged_logs(name):
    assert list(scanned(FIXTURES / "damaged" / name).rows()) == plain_rows(FIXTURES / "damaged" / name)


@pytest.mark.parametrize("name", ["1.1.1/lives", "4.3.1/lives"])
def test_cutting_segments_into_slices_changes_nothing(name):
    assert list(scanned(FIXTURES / name, slice_bytes=4096).rows()) == list(report(name).rows)
