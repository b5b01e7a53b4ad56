"""The lag report as a library call, against what Kafka's own tool said of the same broker."""

import json
import re
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from kgroup.api.lag import proof
from kgroup.api.lag import report as lag_report_module
from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.report import lag_report
from kgroup.api.opened import open_logs
from kgroup.errors import InputError, SourceError
from kgroup.lag.findings.model import FindingKind
from kgroup.lag.measures import rows
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_set import RuleSet
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.report.progress import NO_PROGRESS
from tests.compat.captures import FIXTURES, groups_json, truth
from tests.log.offsets_log import batch, commit, write

LIVES = "4.3.1/lives"
STORY = json.loads((FIXTURES / "2.4.1/lives/story.json").read_text())
ALL = {
    "status": True,
    "findings": True,
    "breakdown": True,
    "time_lag": TimeLagMethod.EXACT,
    "now_ms": STORY["stoppedMs"],
}


def logs_of(path):
    return open_logs(path)


def test_rows_are_what_kafkas_tool_said():
    answered = {
        (group, offset["topic"], offset["partition"]): (offset["offset"], offset["logEnd"], offset["lag"])
        for group, said in groups_json(LIVES).items()
        for offset in (said.get("offsets") or {}).values()
    }
    table = lag_report(logs_of(FIXTURES / LIVES)).to_arrow().to_pylist()
    ours = {
        (row["group"], row["topic"], row["partition"]): (
            row["current_offset"],
            row["log_end_offset"],
            row["lag"],
        )
        for row in table
        if row["current_offset"] is not None
    }
    assert ours == answered


def test_names_and_patterns_choose():
    report = lag_report(logs_of(FIXTURES / LIVES), groups=["assign-*"], topics=["payments"])
    listed = {group for group in groups_json(LIVES) if group.startswith("assign-")}
    assert {(row.group, row.topic) for row in report.rows()} == {(group, "payments") for group in listed}
    assert report.to_arrow().num_rows == len(list(report.rows())) > 0


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({}, []),
        ({"status": RuleSet.BURROW}, ["--status", "--rules", "burrow"]),
        (
            {"status": True, "time_lag": TimeLagMethod.EXACT, "breakdown": True},
            ["--status", "--time-lag", "exact", "--breakdown"],
        ),
    ],
)
def test_the_arrow_table_is_the_parquet_file(options, flags, tmp_path):
    path, file = FIXTURES / "2.4.1/lives", tmp_path / "lag.parquet"
    at = ["--now", str(STORY["stoppedMs"])] if options else []
    command = [sys.executable, "-m", "kgroup", "lag-report", str(path), *flags, *at, "-q"]
    subprocess.run([*command, "-o", "parquet", "--output", str(file)], check=True)
    report = lag_report(logs_of(path), now_ms=STORY["stoppedMs"], **options)
    written = parquet.read_table(file)
    assert report.to_arrow() == written
    assert report.to_arrow().schema == written.schema
    assert pa.table(report) == written  # as pandas, polars and DuckDB take it


@pytest.mark.parametrize("rows_at_once", [1, 3, 100])
def test_how_many_rows_are_made_at_once_changes_nothing(rows_at_once, monkeypatch):
    logs = logs_of(FIXTURES / "2.4.1/lives")
    whole = lag_report(logs, **ALL)
    table, findings = whole.to_arrow(), whole.findings()
    monkeypatch.setattr(lag_report_module, "_ROWS_AT_ONCE", rows_at_once)
    monkeypatch.setattr(proof, "ROWS_AT_ONCE", rows_at_once)
    in_pieces = lag_report(logs, **ALL)
    assert len(list(in_pieces.chunks())) > 1
    assert (in_pieces.to_arrow(), in_pieces.findings()) == (table, findings)
    plain = lag_report(logs)
    assert plain.to_arrow() == table.select(plain.to_arrow().schema.names)


def test_each_row_is_made_once_by_one_reader_of_the_topics_logs(monkeypatch):
    made: Counter[str] = Counter()
    for kind in (DataLogs, proof.ProofReader):

        def counted(self, *values, _kind=kind, _init=kind.__init__, **fields):
            made[_kind.__name__] += 1
            _init(self, *values, **fields)

        monkeypatch.setattr(kind, "__init__", counted)

    def row(*values):
        made["LagRow"] += 1
        return LagRow(*values)

    monkeypatch.setattr(rows, "LagRow", row)
    chunks = list(lag_report(logs_of(FIXTURES / "2.4.1/lives"), topics=["orders", "click*"], **ALL).chunks())
    assert made == {"DataLogs": 1, "ProofReader": 1, "LagRow": sum(len(chunk.all_rows) for chunk in chunks)}
    assert any(findings for chunk in chunks for _, findings in chunk.groups)


def test_findings_are_those_of_the_diary():
    """`fraud-one-partition` stopped reading one partition, and `left-behind` lost its members."""
    report = lag_report(logs_of(FIXTURES / "2.4.1/lives"), groups=["fraud*", "left*"], **ALL)
    assert [(one.group, one.kind, one.topic, one.partition) for one in report.findings()] == [
        ("fraud-one-partition", FindingKind.STALLED_PARTITION, "orders", 1),
        ("left-behind", FindingKind.DEAD_WITH_LAG, "orders", None),
    ]


def test_without_a_time_it_is_as_of_the_newest_record_and_no_clock_is_read(monkeypatch):
    def no_clock():
        raise AssertionError("the library reads no clock")

    monkeypatch.setattr("time.time", no_clock)
    report = lag_report(logs_of(FIXTURES / LIVES), status=True)
    commits = [
        record["value"]["commitTimestamp"]
        for record in truth(LIVES)
        if record.get("value") and "commitTimestamp" in record["value"]
    ]
    others = [
        record["timestamp"]
        for record in truth(LIVES)
        if record["kind"] == "record" and record["type"] != "OFFSET_COMMIT"
    ]
    assert report.as_of.now_ms == max(*commits, *others)
    assert not report.as_of.log_goes_on


@pytest.mark.parametrize(
    ("options", "history", "findings"),
    [
        (LagOptions(rules=RuleSet.KGROUP), True, False),
        (LagOptions(rules=RuleSet.BURROW), False, False),
        (LagOptions(findings=True), True, True),
        (LagOptions(rules=RuleSet.BURROW, findings=True), True, True),
    ],
    ids=["statuses", "burrow's", "findings", "both"],
)
def test_a_log_is_read_for_no_more_than_is_asked(options, history, findings):
    assert (options.plan.history, options.plan.findings) == (history, findings)


def test_what_is_not_there_or_cannot_be_asked_is_an_error():
    logs = logs_of(FIXTURES / LIVES)
    with pytest.raises(SourceError, match="no group here matches assign-rang; did you mean assign-range"):
        lag_report(logs, groups=["assign-rang"])
    with pytest.raises(SourceError, match="no topic of these groups matches nothing"):
        lag_report(logs, groups=["assign-range"], topics=["nothing"])
    with pytest.raises(InputError, match="bisect asks brokers"):
        lag_report(logs, time_lag=TimeLagMethod.BISECT)
    with pytest.raises(InputError, match="without findings"):
        lag_report(logs).findings()


def test_names_that_are_not_there_beside_others_are_told():
    report = lag_report(logs_of(FIXTURES / LIVES), groups=["assign-range", "nobody"])
    assert list(report.missing()) == ["no group here matches nobody"]


def test_a_notebook_sees_the_first_rows_and_no_tags_of_others(tmp_path):
    commits = [commit("<b>&co</b>", "t", partition, 5) for partition in range(60)]
    write(tmp_path, [batch(0, commits)])
    report = lag_report(logs_of(tmp_path))
    page = report._repr_html_()
    assert "<b>" not in page and page.count("&lt;b&gt;&amp;co&lt;/b&gt;") == 50
    assert "and more" in page and "<th>CURRENT-OFFSET</th>" in page
    assert repr(report).startswith("<LagReport of 1 group, as of ")


def test_damage_is_a_problem_with_its_place():
    damaged = next(path for path in sorted((FIXTURES / "damaged").iterdir()) if path.is_dir())
    report = lag_report(logs_of(damaged))
    assert report.problems and all(str(FIXTURES) in line or "partition" in line for line in report.problems)


def test_progress_is_told_each_byte_of_the_offsets_topic():
    byte_counts: list[int] = []

    class Told(type(NO_PROGRESS)):
        @contextmanager
        def counted_bytes(self, task, total):
            byte_counts.append(-total)
            yield byte_counts.append

    logs = logs_of(FIXTURES / LIVES)
    lag_report(logs, progress=Told())
    assert sum(byte_counts) == 0
    assert -byte_counts[0] == sum(Path(segment.path).stat().st_size for segment in logs.sources)


def test_a_name_may_be_given_as_a_text_and_a_choice_as_its_name():
    logs = logs_of(FIXTURES / LIVES)
    by_text = lag_report(logs, groups="orders-app", topics="orders", status="burrow", time_lag="exact")
    by_value = lag_report(
        logs, groups=["orders-app"], topics=["orders"], status=RuleSet.BURROW, time_lag=TimeLagMethod.EXACT
    )
    assert by_text.to_arrow() == by_value.to_arrow()
    assert set(by_text.to_arrow()["topic"].to_pylist()) == {"orders"}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"status": "burow"}, "status 'burow': did you mean burrow?"),
        ({"time_lag": "guess"}, "time_lag 'guess': there are exact, bisect, interpolate"),
        ({"time_lag": "bisect"}, "time_lag bisect asks brokers: connect to a cluster, or take exact"),
    ],
)
def test_a_choice_that_there_is_not_is_refused(options, why):
    with pytest.raises(InputError, match=f"^{re.escape(why)}$"):
        lag_report(logs_of(FIXTURES / LIVES), **options)


def test_a_file_of_log_ends_that_is_not_there_is_named():
    with pytest.raises(SourceError, match=r"^nofile: No such file or directory$"):
        lag_report(logs_of(FIXTURES / LIVES), log_ends="nofile")
