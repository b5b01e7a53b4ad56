"""Skipped records, from a log's bytes to the finding, though they were long before its end."""

import pytest

from kgroup import lag_report, open_logs
from kgroup.lag.findings.model import FindingKind
from tests.log.offsets_log import batch, commit, group_metadata, write

PARTITION = 7


def report_on(tmp_path, start, *, changes=2, besides=()):
    """Group a reads t-0 from 100 on, is away at 120, comes back at 900, and goes on for long.

    What is `besides` are two commits of a group and a topic, partition 0, whose log begins at 0.
    """
    records = [commit(group, topic, 0, offset) for group, topic in besides for offset in (5, 6)]
    records += [commit("a", "t", 0, offset) for offset in (100, 110, 120)]
    records += [group_metadata("a", generation) for generation in range(2, 2 + changes)]
    records += [commit("a", "t", 0, offset) for offset in range(900, 960)]
    write(tmp_path, [batch(place, [record]) for place, record in enumerate(records)], PARTITION)
    ends = tmp_path / "ends.csv"
    others = "".join(f"{topic},0,0,1000\n" for topic in sorted({topic for _, topic in besides}))
    ends.write_text(f"topic,partition,log_start_offset,log_end_offset\nt,0,{start},1000\n{others}")
    return lag_report(open_logs(tmp_path), findings=True, log_ends=ends)


def skipped(report):
    return [
        (finding.topic, finding.partition, finding.numbers["at_least"], finding.numbers["at_most"])
        for finding in report.findings()
        if finding.kind is FindingKind.SKIPPED_RECORDS
    ]


def test_what_was_passed_over_is_told_long_afterwards(tmp_path):
    assert skipped(report_on(tmp_path, 500)) == [("t", 0, 380, 780)]


def test_the_log_of_another_topic_begins_elsewhere(tmp_path):
    assert skipped(report_on(tmp_path, 500, besides=[("a", "s"), ("a", "u")])) == [("t", 0, 380, 780)]


@pytest.mark.parametrize("start", [0, 120, 901, 960])
def test_a_log_that_does_not_begin_within_the_step_has_lost_nothing_there(tmp_path, start):
    assert skipped(report_on(tmp_path, start)) == []


def test_a_log_that_holds_more_than_was_waiting_was_not_cut_by_retention(tmp_path):
    assert skipped(report_on(tmp_path, 200)) == []


def test_who_never_was_away_has_read_it(tmp_path):
    assert skipped(report_on(tmp_path, 500, changes=1)) == []
