"""When records were passed over or read twice, and when it only looks so."""

from dataclasses import replace

import pytest

from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.find import find
from kgroup.lag.findings.leap import Leap
from kgroup.lag.findings.model import FindingKind
from kgroup.lag.measures.log_ends import TopicState
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import ago

K = FindingKind
LOSS = Leap(
    from_offset=300,
    from_ms=ago(900),
    to_offset=900,
    to_ms=ago(600),
    next_longest=40,
    membership_changes=2,
    was_cut_by_request=False,
)


def leaping(leap=LOSS, *, start=500, end=1_000, state=TopicState.EXISTS):
    return facts(replace(partition(0, steadily(1, 995), end, start=start, state=state), leap=leap))


def of_kind(kind, group):
    return [finding for finding in find(group) if finding.kind is kind]


class TestSkipped:
    def test_who_comes_back_behind_what_was_deleted_has_passed_it_over(self):
        (finding,) = of_kind(K.SKIPPED_RECORDS, leaping())
        assert (finding.topic, finding.partition, finding.member_id) == ("orders", 0, "m1")
        assert (finding.grade, finding.since_ms) == (Grade.INFERRED, ago(600))
        assert (finding.numbers["at_least"], finding.numbers["at_most"]) == (200, 600)
        assert finding.evidence == (
            "after 300 nothing was committed until members had changed, and then 900; the log begins at 500:"
            " 200 offsets deleted before they were committed, and up to 600 passed over"
        )
        assert "kgroup ledger" in finding.try_this

    def test_a_deletion_by_request_explains_it_however_much_is_left(self):
        leap = replace(LOSS, was_cut_by_request=True)
        assert of_kind(K.SKIPPED_RECORDS, leaping(leap, end=50_000))

    @pytest.mark.parametrize(
        ("why", "group"),
        {
            "the log has all of it": leaping(start=300),
            "a request deleted what it had read": leaping(replace(LOSS, was_cut_by_request=True), start=300),
            "nobody knows where the log begins": leaping(start=None),
            "the log begins behind it: that is all history": leaping(start=901),
            "nobody had been away": leaping(replace(LOSS, membership_changes=1)),
            "it takes such steps": leaping(replace(LOSS, next_longest=600)),
            "there is no other step to compare with": leaping(replace(LOSS, next_longest=None)),
            "retention leaves more than was waiting": leaping(end=1_101),
            "there is no such step": leaping(None),
            "the topic is another one": leaping(state=TopicState.RECREATED),
            "a group that reads on": facts(partition(0, steadily(1, 495), 500)),
        }.items(),
    )
    def test_nothing_is_skipped(self, why, group):
        assert of_kind(K.SKIPPED_RECORDS, group) == [], why


def committing(*offsets, changed_at=25):
    """A commit every two seconds; their places in the log are 10, 20, 30, and so on."""
    times = [2 * back for back in range(len(offsets), 0, -1)]
    made = partition(0, list(zip(times, offsets, strict=True)), 500)
    changes = () if changed_at is None else (changed_at,)
    window = made.window and replace(made.window, membership_changes=changes)
    return facts(replace(made, window=window))


def unknown_changes(*offsets):
    group = committing(*offsets)
    (made,) = group.partitions
    window = made.window and replace(made.window, membership_changes=None)
    return facts(replace(made, window=window))


class TestDoubled:
    def test_who_goes_back_and_comes_up_again_has_read_twice(self):
        (finding,) = of_kind(K.DOUBLED_RECORDS, committing(300, 400, 200, 250, 350, 450))
        assert (finding.grade, finding.since_ms) == (Grade.RECORDED, ago(8))
        assert (finding.numbers["from_offset"], finding.numbers["to_offset"]) == (200, 400)
        assert finding.evidence == (
            "the committed offset went back from 400 to 200 and recovered as members changed:"
            " 200 offsets handed out twice"
        )

    @pytest.mark.parametrize(
        ("why", "group"),
        {
            "it reads on": committing(100, 200, 300, 400),
            "the same offset again": committing(100, 200, 200, 300),
            "one late commit": committing(300, 400, 200, 450, 460),
            "two that commit in turn": committing(300, 200, 310, 210, 320, 220, 330),
            "it went back by itself": committing(300, 400, 200, 250, 350, 450, changed_at=None),
            "members changed before, or later": committing(300, 400, 200, 250, 350, 450, changed_at=45),
            "it is still below: rewound": committing(300, 400, 200, 250, 350),
            "two late commits of one offset": committing(300, 400, 200, 200, 450, 460),
            "nobody knows when members changed": unknown_changes(300, 400, 200, 250, 350, 450),
        }.items(),
    )
    def test_nothing_is_doubled(self, why, group):
        assert of_kind(K.DOUBLED_RECORDS, group) == [], why
