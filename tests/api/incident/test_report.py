"""Reports of fixtures' logs: each claim follows from what it cites, and from nothing less."""

import json
import shutil
from collections import defaultdict
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from kgroup.api.incident import cite, made
from kgroup.api.incident.check import check_report, rendered
from kgroup.api.incident.derive import committed_at, derive
from kgroup.api.incident.evidence import Evidence, EvidenceReader, among, place_of
from kgroup.api.incident.made import incident_report
from kgroup.api.lag.report import lag_report
from kgroup.api.opened import open_logs
from kgroup.errors import InputError, SourceError
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap
from kgroup.report.incident.claims import Cited, ClaimKind, from_json, to_json
from tests.history.group_log import GroupLog, member

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = FIXTURES / "4.3.1/lives"


@pytest.fixture(scope="module")
def incident():
    return incident_report(open_logs(LIVES), groups=["orders-app", "trades-848"])


def written(incident, tmp_path, form="md"):
    path = tmp_path / f"report.{form}"
    path.write_text(rendered(incident, form), encoding="utf-8")
    return path


def test_a_report_tells_of_rebalances_lag_and_remedies(incident):
    kinds = {claim.kind for claim in incident.claims}
    assert {ClaimKind.HISTORY, ClaimKind.REBALANCE, ClaimKind.LAG, ClaimKind.REMEDY} <= kinds
    assert all(claim.cited for claim in incident.claims)


def test_it_says_where_else_a_finding_is_whose_topics_have_no_log_here():
    """In this capture the ends of orders are only in the broker's checkpoint; those of payments are logs."""
    remarks = incident_report(open_logs(LIVES), groups=["search-indexer", "cron-exporter"]).remarks
    (left_out,) = (remark for remark in remarks if "left out" in remark)
    assert left_out.startswith("group search-indexer: lag-growing: left out, as the logs of its topics")
    assert left_out.endswith(": kgroup lag-report --stuck has it")


def test_a_finding_that_other_groups_time_by_a_moment_more_is_told_as_its_own_records_have_it(tmp_path):
    """All groups tell 1m 6s of payments-0; the records of its own group end a little before."""
    logs = open_logs(LIVES)
    asked = next(
        finding
        for finding in lag_report(logs, findings=True).findings()
        if (finding.group, finding.partition) == ("cron-exporter", 0)
    )
    incident = incident_report(logs, groups=["cron-exporter"])
    (claim,) = (each for each in incident.of(ClaimKind.FINDING) if each.question["partition"] == 0)
    assert "no commit after offset 30 for 1m 6s while" in asked.evidence
    assert claim.says["evidence"] == asked.evidence.replace("1m 6s", "1m 5s")
    assert {cited.topic for cited in claim.cited} == {"__consumer_offsets", "payments"}
    assert check_report(written(incident, tmp_path), logs).failures == ()


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_each_form_is_read_back_and_holds(incident, tmp_path, form):
    checked = check_report(written(incident, tmp_path, form), open_logs(LIVES))
    assert checked.failures == ()
    assert checked.claims == len(incident.claims) > 10


class Heard:
    """Progress that notes the bytes there are to read, and those that were."""

    def __init__(self):
        self.total, self.read = 0, 0

    def counted_bytes(self, task, total):
        self.total += total
        return nullcontext(self._advance)

    def _advance(self, size):
        self.read += size


def test_of_the_offsets_topic_a_check_reads_what_is_cited_and_no_other_partition(incident, tmp_path):
    heard = Heard()
    checked = check_report(written(incident, tmp_path), open_logs(LIVES), progress=heard)
    assert checked.failures == ()
    cited = {each.partition for claim in incident.claims for each in claim.cited if "__" in each.topic}
    sizes = {
        int(path.parent.name.rpartition("-")[2]): path.stat().st_size
        for path in LIVES.glob("__consumer_offsets-*/*.log")
    }
    assert 0 < len(cited) < len(sizes)
    assert heard.read == heard.total == sum(sizes[partition] for partition in cited)


def test_no_record_is_cited_that_is_not_needed(incident):
    """Of each rebalance: without any one of the records it cites the answer is another one."""
    reader = EvidenceReader(open_logs(LIVES))
    entries = {
        (item.partition, item.offset): item
        for item in reader.items(lambda group: True)
        if isinstance(item, LoggedEntry)
    }
    tried = 0
    for claim in incident.of(ClaimKind.REBALANCE):
        cited = [
            entries[each.partition, offset]
            for each in claim.cited
            for offset in range(each.first, each.last + 1)
        ]
        whole = Evidence(items=tuple(cited), topic_names=reader.topic_names)
        assert derive(claim.kind, claim.group, claim.question, whole) == claim.says
        for number in range(len(cited)):
            fewer = replace(whole, items=tuple(cited[:number] + cited[number + 1 :]))
            assert derive(claim.kind, claim.group, claim.question, fewer) != claim.says
            tried += 1
    assert tried > 20


def test_the_same_records_are_asked_once(monkeypatch):
    log = GroupLog()
    for number in range(1, 4):
        log.generation(number, number, member("a", 0))
    asked = []

    def number_of_items(kind, group, question, evidence):
        asked.append(len(evidence.items))
        return {"items": len(evidence.items)}

    monkeypatch.setattr(cite, "derive", number_of_items)
    rungs = [Evidence(items=tuple(log.entries[:number]), topic_names={}) for number in (1, 1, 2, 2, 2, 3)]
    claim = cite.cited_claim(ClaimKind.HISTORY, "orders", {}, {"items": 3}, rungs, tries=0)
    assert claim is not None
    assert asked == [1, 2, 3]


def left_behind():
    return incident_report(open_logs(FIXTURES / "3.9.1/lives"), groups=["left-behind"])


def test_remedies_look_among_the_records_of_the_history_and_only_for_those_that_spare_something(monkeypatch):
    """Each question plays the group's history twice over, so it is asked no more often than it has to be."""
    asked = defaultdict(list)

    def noted(kind, group, question, evidence):
        if kind is ClaimKind.REMEDY:
            asked[question["name"]].append({place_of(item)[1] for item in evidence.items})
        return derive(kind, group, question, evidence)

    for module in (made, cite):
        monkeypatch.setattr(module, "derive", noted)
    report = left_behind()
    (history,) = report.of(ClaimKind.HISTORY)
    of_history = {offset for each in history.cited for offset in range(each.first, each.last + 1)}
    assert len(asked.pop("one more member")) == 1  # it spares nothing
    assert set(asked) == {claim.question["name"] for claim in report.of(ClaimKind.REMEDY)}
    for whole, *others in asked.values():
        assert others[0] == of_history < whole
        assert all(places <= of_history for places in others)
        assert len(others) <= 16


def test_remedies_for_which_the_records_of_the_history_are_too_few_rest_on_others(monkeypatch):
    remedies = left_behind().of(ClaimKind.REMEDY)
    monkeypatch.setattr(made, "among", lambda items, cited: items[:3])
    others = left_behind().of(ClaimKind.REMEDY)
    assert len(remedies) == 3
    assert [claim.says for claim in others] == [claim.says for claim in remedies]
    assert all(sum(each.last + 1 - each.first for each in claim.cited) > 3 for claim in others)


def test_items_are_found_by_what_is_cited_of_the_offsets_topic():
    log = GroupLog()
    for number in range(1, 4):
        log.generation(number, number, member("a", 0))
    log.entries.append(OffsetGap(partition=0, first_offset=7, last_offset=9))
    first, second, third, hole = log.entries
    assert [place_of(each) for each in log.entries] == [(0, 0), (0, 1), (0, 2), (0, 9)]
    topic = "__consumer_offsets"
    assert list(among(log.entries, [Cited(topic, 0, 7, 9, True), Cited(topic, 0, 0, 1)])) == [
        first,
        second,
        hole,
    ]
    assert list(among(log.entries, [Cited(topic, 0, 2, 2)])) == [third]
    others = [Cited("orders", 0, 0, 9), Cited(topic, 1, 0, 9), Cited(topic, 0, 7, 9)]
    assert list(among(log.entries, [*others, Cited(topic, 0, 0, 2, True)])) == []


def test_a_record_that_is_gone_is_told(incident, tmp_path):
    """Any one of the records that a claim cites, cut out of the log."""
    path = written(incident, tmp_path)
    claim = incident.of(ClaimKind.REBALANCE)[0]
    number = incident.claims.index(claim) + 1
    for cited in claim.cited:
        where = tmp_path / f"without-{cited.first}"
        shutil.copytree(LIVES, where)
        _cut(where / f"{cited.topic}-{cited.partition}", cited.first)
        failures = check_report(path, open_logs(where)).failures
        assert any(
            f"claim {number} " in failure and f"@{cited.first} is not there" in failure
            for failure in failures
        )


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The partitions that a report on one group cites, as a log of their own, and the report on that."""
    folder = tmp_path_factory.mktemp("small") / "log"
    report = incident_report(open_logs(LIVES), groups=["orders-app"])
    for name in {f"{each.topic}-{each.partition}" for claim in report.claims for each in claim.cited}:
        shutil.copytree(LIVES / name, folder / name)
    return folder, incident_report(open_logs(folder), groups=["orders-app"])


def test_whatever_is_cited_is_told_when_it_is_gone(small, tmp_path):
    """Every record and batch that any claim of a report cites, cut out of the log one after the other."""
    folder, report = small
    path = written(report, tmp_path)
    assert check_report(path, open_logs(folder)).failures == ()
    assert {claim.kind for claim in report.claims} == {
        *(ClaimKind.HISTORY, ClaimKind.REBALANCE, ClaimKind.LAG, ClaimKind.REMEDY),
    }
    citing = defaultdict(set)
    for number, claim in enumerate(report.claims, 1):
        for each in claim.cited:
            # Of a data topic a batch is cited, of the offsets topic each record.
            last = each.last if each.topic == "__consumer_offsets" else each.first
            for offset in range(each.first, last + 1) if not each.missing else ():
                citing[each.topic, each.partition, offset].add(number)
    assert len(citing) > 50
    for (topic, partition, offset), numbers in citing.items():
        where = tmp_path / "without"
        shutil.copytree(folder, where)
        _cut(where / f"{topic}-{partition}", offset)
        failures = check_report(path, open_logs(where)).failures
        told = {int(failure.split()[1]) for failure in failures if failure.endswith("is not there")}
        assert numbers <= told, (topic, partition, offset)
        shutil.rmtree(where)


def test_a_batch_of_a_data_topic_that_is_gone_is_told(incident, tmp_path):
    path = written(incident, tmp_path)
    claim = incident.of(ClaimKind.LAG)[0]
    number = incident.claims.index(claim) + 1
    cited = next(each for each in claim.cited if each.topic != "__consumer_offsets" and not each.missing)
    where = tmp_path / "without"
    shutil.copytree(LIVES, where)
    _cut(where / f"{cited.topic}-{cited.partition}", cited.first)
    assert (
        f"claim {number} (lag, {claim.group}): {cited} is not there"
        in check_report(path, open_logs(where)).failures
    )


def _cut(folder: Path, offset: int) -> None:
    """Take the batch with an offset out of a partition's segments, and the indexes that show where it was."""
    for segment in folder.glob("*.log"):
        for batch in read_segment(str(segment)):
            if isinstance(batch, Batch) and batch.base_offset <= offset <= batch.last_offset:
                content = segment.read_bytes()
                segment.write_bytes(content[: batch.position] + content[batch.position + batch.size :])
                for index in (".index", ".timeindex"):
                    segment.with_suffix(index).unlink(missing_ok=True)
                return
    raise AssertionError(f"no batch with offset {offset} in {folder}")


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (ClaimKind.HISTORY, "rebalances", 1000),
        (ClaimKind.REBALANCE, "moved", 77),
        (ClaimKind.LAG, "lags", [1]),
        (ClaimKind.REMEDY, "recorded", {}),
    ],
)
def test_a_number_that_was_changed_is_told(incident, tmp_path, kind, name, value):
    claim = incident.of(kind)[0]
    number = incident.claims.index(claim)
    changed = replace(claim, says={**claim.says, name: value})
    claims = (*incident.claims[:number], changed, *incident.claims[number + 1 :])
    path = tmp_path / "report.json"
    path.write_text(rendered(replace(incident, claims=claims), "json"))
    (failure,) = check_report(path, open_logs(LIVES)).failures
    assert failure.startswith(
        f"claim {number + 1} ({kind.value}, {claim.group}): the records that it cites say"
    )


def test_a_sentence_that_was_changed_is_told(incident, tmp_path):
    path = written(incident, tmp_path)
    text = path.read_text()
    path.write_text(text.replace("rebalances", "re-balances", 1))
    (failure,) = check_report(path, open_logs(LIVES)).failures
    assert failure.startswith("the text of the report is not what its claims say")


def test_a_citation_that_was_left_out_is_told(incident, tmp_path):
    claim = incident.of(ClaimKind.REBALANCE)[0]
    number = incident.claims.index(claim)
    shorter = replace(claim, cited=claim.cited[1:])
    claims = (*incident.claims[:number], shorter, *incident.claims[number + 1 :])
    path = written(replace(incident, claims=claims), tmp_path)
    (failure,) = check_report(path, open_logs(LIVES)).failures
    assert failure.startswith(f"claim {number + 1} ")


def test_a_claim_cites_a_hole_and_the_check_looks_for_it(incident, tmp_path):
    """What compaction took is evidence, too: that there is nothing must be so."""
    claim = incident.of(ClaimKind.REBALANCE)[0]
    hole = Cited("__consumer_offsets", claim.cited[0].partition, 5, 5, True)
    claims = (replace(claim, cited=(hole, *claim.cited)), *incident.claims[1:])
    path = written(replace(incident, claims=claims), tmp_path)
    failures = check_report(path, open_logs(LIVES)).failures
    assert any("the hole there is another one, or none" in failure for failure in failures)


def test_compacted_logs_have_reports_that_hold(tmp_path):
    logs = open_logs(FIXTURES / "3.9.1/compacted")
    incident = incident_report(logs)
    assert incident.claims
    assert check_report(written(incident, tmp_path), logs).failures == ()


def test_a_hole_in_the_log_is_cited_as_one(tmp_path):
    """What compaction took is evidence, too: a generation whose past is gone is told as that."""
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.commits(1, 30, 2, 0, 1)
    log.gap()
    log.generation(40, 4, member("a", 0), member("b", 1))
    log.commits(41, 60, 2, 0, 1)
    with Evidence(items=tuple(log.entries), topic_names={}).opened() as logs:
        incident = incident_report(logs)
        (rebalance,) = incident.of(ClaimKind.REBALANCE)
        assert rebalance.says["cut"]
        assert [each.missing for each in rebalance.cited].count(True) == 1
        assert "the log lacks records before it" in rendered(incident, "md")
        assert check_report(written(incident, tmp_path), logs).failures == ()


def test_lag_counts_commits_of_transactions_once_they_are_over():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(10, 0, 100)
    log.commit(20, 0, 200, producer=7)
    log.end_transaction(30, 7, committed=True)
    log.commit(40, 0, 300, producer=7)
    log.end_transaction(50, 7, committed=False)
    times_ms = [5_000, 15_000, 25_000, 35_000, 60_000]
    counted = committed_at("orders", log.entries, [("t", 0)], times_ms)["t", 0]
    assert [commit and commit.offset for commit in counted] == [None, 100, 100, 200, 200]
    assert [len(commit.log) for commit in counted if commit] == [1, 1, 2, 2]


def test_findings_are_as_of_the_end_and_follow_from_few_records(tmp_path):
    logs = open_logs(FIXTURES / "3.9.1/lives")
    incident = incident_report(logs)
    findings = incident.of(ClaimKind.FINDING)
    assert findings
    assert all(claim.question["now_ms"] == incident.to_ms for claim in findings)
    assert check_report(written(incident, tmp_path), logs).failures == ()


def test_records_handed_out_twice_are_told_as_the_ledger_has_them(tmp_path):
    """The diary of the capture: an admin set reports-reset back to offset 29 of each of four partitions."""
    logs = open_logs(FIXTURES / "3.9.1/lives")
    incident = incident_report(logs, groups="reports-reset")
    ranges = incident.of(ClaimKind.RANGE)
    assert [claim.question["from_offset"] for claim in ranges] == [29] * 4
    assert {claim.question["kind"] for claim in ranges} == {"doubled"}
    assert {(claim.says["cause"], claim.says["grade"]) for claim in ranges} == {("admin-reset", "recorded")}
    assert check_report(written(incident, tmp_path), logs).failures == ()


def test_a_time_narrows_it(incident):
    middle = (incident.from_ms + incident.to_ms) // 2
    late = incident_report(open_logs(LIVES), groups="orders-app", from_ms=middle)
    assert all(claim.says["at_ms"] >= middle for claim in late.of(ClaimKind.REBALANCE))
    assert late.from_ms == middle
    with pytest.raises(InputError, match="is before --since"):
        incident_report(open_logs(LIVES), groups="orders-app", from_ms=middle, to_ms=middle - 1)


def test_json_is_read_back_the_same(incident):
    assert from_json(json.loads(json.dumps(to_json(incident)))) == incident


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("claims"),
        lambda data: data.update(kgroup_report=2),
        lambda data: data["claims"][0].update(kind="guess"),
        lambda data: data["claims"][0].update(cited=[["t", 0, 5, 4]]),
        lambda data: data["claims"][0].update(cited=[["t", 0, -1, 4]]),
        lambda data: data["claims"][0].update(cited=[["t", True, 1, 4]]),
        lambda data: data["claims"][0].update(question=None),
        lambda data: data["claims"][0].update(question={}),
        lambda data: data["claims"][0].update(cited=[["__consumer_offsets", 0, 0, 10**15]]),
        lambda data: data.update(claims=[1]),
    ],
)
def test_what_is_no_report_is_refused_or_told(incident, tmp_path, change):
    data = to_json(incident)
    change(data)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(data))
    try:
        assert check_report(path, open_logs(LIVES)).failures
    except InputError:
        return


def test_a_group_that_is_not_there_is_named():
    with pytest.raises(SourceError, match="did you mean orders-app"):
        incident_report(open_logs(LIVES), groups="order-app")
