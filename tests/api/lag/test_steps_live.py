"""Steps that skipped records, in lives whose logs a cluster serves: as in their files."""

from functools import partial
from pathlib import Path

import pytest

import kgroup.testing
from kgroup import lag_report, open_logs
from kgroup.api.lag.past_ends import EndsInCluster
from kgroup.api.live import connect
from kgroup.api.opened import OpenedLogs
from kgroup.lag.findings.model import FindingKind
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.net.serve.running import start_cluster
from tests.incidents.library import play


def skipped(logs: OpenedLogs, now_ms: int) -> dict[tuple[str | None, int | None], object]:
    report = lag_report(logs, findings=True, now_ms=now_ms)
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
        ("healthy.fast_catch_up", {}),
    ],
)
def test_a_life_that_a_cluster_serves(
    tmp_path: Path,
    life: str,
    expected: dict[tuple[str, int], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play(life).write(tmp_path)
    files = open_logs(tmp_path)
    now_ms = lag_report(files).as_of.now_ms
    topic, number = next(iter(expected), ("orders", 0))
    in_files = DataLogs(files.sources.log_dirs)
    times_ms = [now_ms - minutes * 60_000 for minutes in range(200, -1, -20)]
    ends = in_files.ends_at(topic, number, times_ms)
    monkeypatch.setattr("kgroup.testing.start_cluster", partial(start_cluster, adopt=True))
    with kgroup.testing.cluster(data_dir=tmp_path) as running, connect(running.bootstrap) as logs:
        assert skipped(logs, now_ms) == expected
        assert logs.cluster is not None
        asked = EndsInCluster(logs.cluster, LogEnds([logs.cluster.log_listing()]))
        assert asked.ends_at(topic, number, times_ms) == ends
        monkeypatch.setattr("kgroup.net.admin.timestamps.first_newer", None)  # nobody asks again
        assert asked.ends_at(topic, number, times_ms) == ends
