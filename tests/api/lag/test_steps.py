"""Which groups' longest steps are looked into, from a log's bytes to the finding."""

import pytest

from kgroup import lag_report, open_logs
from kgroup.api.lag.steps import growths
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import (
    Cause,
    CauseKind,
    Generation,
    Grade,
    Partition,
    Roster,
    Timeline,
    TimelineMember,
)
from kgroup.lag.findings.model import FindingKind
from tests.incidents.library import play


def skipped_in(life, folder):
    """Of each partition that skipped records: why, by a life played anew."""
    play(life).write(folder)
    report = lag_report(open_logs(folder), findings=True)
    return {
        (finding.topic, finding.partition): finding.numbers["cause"]
        for finding in report.findings()
        if finding.kind is FindingKind.SKIPPED_RECORDS
    }


@pytest.mark.parametrize(
    ("life", "expected"),
    [
        ("offsets.silently_at_latest", {("trades", number): "leap" for number in range(3)}),
        ("offsets.new_partition_at_latest", {("signup", number): "first-commit" for number in (3, 4, 5)}),
        ("offsets.out_of_range_to_the_end", {("sensors", number): "out-of-range" for number in (0, 1)}),
        ("healthy.fast_catch_up", {}),
        ("healthy.topic_grows", {}),
    ],
)
def test_a_life_with_its_topics_logs(tmp_path, life, expected):
    assert skipped_in(life, tmp_path) == expected


def generation(number, count, *, grew=False, cut=False):
    """One that has `count` partitions of t; a cause says whether the topic grew."""
    owned = frozenset(Partition("t", partition) for partition in range(count))
    cause = Cause(kind=CauseKind.TOPIC_GREW, grade=Grade.INFERRED, evidence="")
    return Generation(
        roster=Roster(
            kind=GroupKind.CLASSIC,
            generation=number,
            at_ms=1000 * number,
            offset=10 * number,
            offsets_partition=7,
            leader_epoch=0,
            members=(TimelineMember(member_id="m", owned=owned),),
        ),
        causes=(cause,) if grew else (),
        cut=cut,
    )


def new(*generations):
    timeline = Timeline(group_id="g", generations=list(generations))
    return [(each.partition, each.at_ms, each.offset) for each in growths(timeline)]


class TestGrowths:
    def test_what_nobody_had_before_came_with_the_generation(self):
        assert new(generation(1, 1), generation(2, 3, grew=True), generation(3, 3)) == [
            (("t", 1), 2000, 20),
            (("t", 2), 2000, 20),
        ]

    @pytest.mark.parametrize(
        ("why", "generations"),
        {
            "a generation between them may have had it": (generation(1, 1), generation(3, 3, grew=True)),
            "compaction took what was between": (generation(1, 1), generation(2, 3, grew=True, cut=True)),
            "it is the first that is known": (generation(1, 3, grew=True),),
            "the topic did not grow": (generation(1, 1), generation(2, 3)),
        }.items(),
    )
    def test_else_nobody_knows_since_when_it_is_there(self, why, generations):
        assert new(*generations) == [], why
