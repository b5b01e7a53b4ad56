"""Deadlines as claims: what `kgroup deadlines` foresees, derived anew from cited records alone."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kgroup.api.deadlines import deadlines
from kgroup.api.incident.ahead import AskedDeadline
from kgroup.api.incident.check import check_report, rendered
from kgroup.api.incident.derive import derive
from kgroup.api.incident.evidence import Evidence
from kgroup.api.incident.made import incident_report
from kgroup.api.opened import open_logs
from kgroup.errors import InputError
from kgroup.lag.deadlines.model import DeadlineKind
from kgroup.report.incident.claims import ClaimKind

PIPELINE = Path(__file__).parents[3] / "fixtures/pipeline/4.3.1"
HOUR_MS = 3_600_000
ASKED = (
    AskedDeadline(DeadlineKind.SLO_RECORDS, 300),
    AskedDeadline(DeadlineKind.SLO_TIME, 60_000),
    AskedDeadline(DeadlineKind.RETENTION_TIME, HOUR_MS),
)


@pytest.fixture(scope="module")
def incident():
    return incident_report(open_logs(PIPELINE), groups=["enrich", "bill"], deadlines=ASKED)


def claim_of(incident, kind):
    return next(claim for claim in incident.of(ClaimKind.DEADLINE) if claim.says["deadline"] == kind)


def written(incident, path):
    path.write_text(rendered(incident, path.suffix[1:]), encoding="utf-8")
    return path


def test_bounds_of_the_lag_are_met_when_deadlines_says_from_the_whole_log(incident):
    # One bound at a time: how far back log ends are known hangs on all that are asked together.
    for kind, bound in (("slo-records", {"slo_records": 300}), ("slo-time", {"slo_ms": 60_000})):
        foreseen = deadlines(open_logs(PIPELINE), **bound, groups="enrich", now_ms=incident.to_ms)
        of_kind = [each for each in foreseen.in_sight if each.deadline.kind == kind]
        first = min(of_kind, key=lambda each: (each.deadline.low_ms, each.topic, each.partition)).deadline
        says = claim_of(incident, kind).says
        assert (says["low_ms"], says["likely_ms"], says["high_ms"]) == (
            first.low_ms,
            first.likely_ms,
            first.high_ms,
        )
        assert says["partitions"] == len(of_kind) == 2
        assert says["unread"] == sum(each.lag for each in of_kind)


def test_retention_deletes_the_first_unread_record_when_it_is_that_old(incident):
    """By the record's own time: that a whole segment goes at once stands in no record."""
    says = claim_of(incident, "retention-time").says
    topic, partition = says["first"]
    foreseen = deadlines(open_logs(PIPELINE), slo_ms=HOUR_MS, groups="enrich", now_ms=incident.to_ms)
    times = {(each.topic, each.partition): each.deadline for each in foreseen.in_sight}
    assert says["likely_ms"] == times[topic, partition].likely_ms
    assert says["low_ms"] < says["likely_ms"] < says["high_ms"]


def test_who_reads_on_has_no_deadline_in_sight(incident):
    assert {claim.group for claim in incident.of(ClaimKind.DEADLINE)} == {"enrich"}


def test_without_a_bound_nothing_is_foreseen():
    assert incident_report(open_logs(PIPELINE), groups=["enrich"]).of(ClaimKind.DEADLINE) == []


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_each_form_is_read_back_and_holds(incident, tmp_path, form):
    checked = check_report(written(incident, tmp_path / f"report.{form}"), open_logs(PIPELINE))
    assert checked.failures == ()
    assert checked.claims == len(incident.claims)


def test_the_page_says_it_in_a_sentence(incident):
    text = rendered(incident, "md")
    assert "## What to expect at the current pace\n" in text
    assert "enrich: the lag exceeds 300 records on 2 partitions, where 176 are unread: from 2026-11-2" in text
    assert "retention of 1h 0m deletes unread records on 2 partitions" in text


def changed(incident, claim):
    number = next(n for n, each in enumerate(incident.claims) if each.question == claim.question)
    return replace(incident, claims=(*incident.claims[:number], claim, *incident.claims[number + 1 :]))


@pytest.mark.parametrize(
    ("name", "value"), [("unread", 1), ("low_ms", 0), ("high_ms", None), ("partitions", 9)]
)
def test_a_number_that_was_changed_is_told(incident, tmp_path, name, value):
    claim = claim_of(incident, "slo-time")
    other = changed(incident, replace(claim, says={**claim.says, name: value}))
    (failure,) = check_report(written(other, tmp_path / "report.json"), open_logs(PIPELINE)).failures
    assert "(deadline, enrich): the records that it cites say" in failure


def test_a_group_that_has_read_what_is_cited_as_unread_is_no_claim(incident):
    """Without the batch that holds the first unread record nobody knows that there is one."""
    claim = claim_of(incident, "slo-time")
    assert derive(ClaimKind.DEADLINE, "enrich", claim.question, Evidence(topic_names={})) is None


def test_a_log_without_the_groups_last_commits_is_told(incident, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(PIPELINE, copy)
    claim = claim_of(incident, "slo-records")
    cited = next(each for each in claim.cited if each.topic == "__consumer_offsets")
    for segment in copy.glob(f"__consumer_offsets-{cited.partition}/*"):
        segment.write_bytes(segment.read_bytes()[:1000] if segment.suffix == ".log" else b"")
    failures = check_report(written(incident, tmp_path / "report.md"), open_logs(copy)).failures
    assert any("(deadline, enrich)" in failure and "is not there" in failure for failure in failures)


@pytest.mark.parametrize(
    "question",
    [
        {"deadline": "retention-bytes", "bound": 5, "now_ms": 5, "partitions": []},
        {"deadline": "slo-time", "bound": 0, "now_ms": 5, "partitions": []},
        {"deadline": "soon", "bound": 5, "now_ms": 5, "partitions": []},
        {"deadline": "slo-time", "bound": 5, "partitions": []},
    ],
)
def test_a_question_that_is_none_is_refused(question):
    with pytest.raises(InputError, match="makes no sense"):
        derive(ClaimKind.DEADLINE, "g", question, Evidence(topic_names={}))
