"""The history of lag as a library call, against what Kafka's own tool said at its end."""

import re
import subprocess
import sys
from uuid import UUID

import pyarrow as pa
import pytest
from pyarrow import parquet

from kgroup.api.lag_history.report import inexact, lag_history
from kgroup.api.opened import open_logs
from kgroup.errors import InputError, SourceError
from kgroup.log.files.recording import Sample, TopicSample
from kgroup.log.recorder.folder import RecordingFolder
from kgroup.log.recorder.retention import Retention
from kgroup.log.topics.past_ends import BetweenSamples
from tests.compat.captures import FIXTURES, groups_json
from tests.log.offsets_log import batch, commit, write

LIVES = "4.3.1/lives"


def logs_of(path):
    return open_logs(path)


def test_the_last_window_ends_with_what_kafkas_tool_said():
    rows = lag_history(logs_of(FIXTURES / LIVES), 60_000, groups=["assign-range"]).to_arrow().to_pylist()
    last = {(row["topic"], row["partition"]): row["current_offset"] for row in rows}
    answered = groups_json(LIVES)["assign-range"]["offsets"].values()
    assert last == {(said["topic"], said["partition"]): said["offset"] for said in answered}


def test_the_arrow_table_is_the_parquet_file(tmp_path):
    path, file = FIXTURES / LIVES, tmp_path / "history.parquet"
    command = [sys.executable, "-m", "kgroup", "lag-report", str(path), "--windows", "30s", "-q"]
    subprocess.run([*command, "-o", "parquet", "--output", str(file)], check=True)
    written = parquet.read_table(file)
    with lag_history(logs_of(path), 30_000) as history:
        assert history.to_arrow() == written
        assert pa.table(history) == written
        assert repr(history) == f"<LagHistory of {len(set(written['window_start'].to_pylist()))} windows>"


def test_partitions_whose_log_is_not_here_are_told(tmp_path):
    write(tmp_path, [batch(0, [commit("g", "t", 3, 5), commit("g", "t", 1, 5)])])
    history = lag_history(logs_of(tmp_path), 1000)
    rows = history.to_arrow().to_pylist()
    assert {(row["current_offset"], row["lag"]) for row in rows} == {(5, None)}
    assert history.unknown_ends is not None
    assert (history.unknown_ends.count, history.unknown_ends.first) == (2, ("t", 1))
    assert (history.problems, history.missing, history.is_empty) == ((), (), False)


def test_what_is_not_there_is_an_error_and_beside_others_a_line():
    logs = logs_of(FIXTURES / LIVES)
    with pytest.raises(SourceError, match="no group here matches assign-rang; did you mean assign-range"):
        lag_history(logs, 60_000, groups=["assign-rang"])
    some = lag_history(logs, 60_000, groups=["assign-range", "nobody"])
    assert some.missing == ("no group here matches nobody",)
    with pytest.raises(InputError, match="give spark"):
        some.save("lag")


@pytest.mark.parametrize(
    ("window_ms", "options", "why"),
    [
        (0, {}, "window_ms 0: a window lasts 1 ms or longer"),
        (60_000, {"rules": "kgrup"}, "rules 'kgrup': did you mean kgroup?"),
    ],
)
def test_a_window_or_rules_that_make_no_sense_are_refused(window_ms, options, why):
    with pytest.raises(InputError, match=f"^{re.escape(why)}$"):
        lag_history(logs_of(FIXTURES / LIVES), window_ms, **options)


def test_a_group_may_be_given_as_a_text():
    logs = logs_of(FIXTURES / LIVES)
    history = lag_history(logs, 60_000, groups="orders-app")
    assert set(history.to_arrow()["group"].to_pylist()) == {"orders-app"}
    assert "orders-app" in history._repr_html_() and "<LagHistory" not in history._repr_html_()


def test_it_says_how_far_log_ends_between_samples_may_be_off(tmp_path):
    recording = RecordingFolder(tmp_path, Retention(retain_ms=None, bytes_max=None), print)
    for at_ms, end in ((0, 3_000), (10_000, 3_019)):
        topic = TopicSample(topic_id=UUID(int=1), partitions=1, starts={0: 0}, ends={0: end})
        recording.add_sample(
            Sample(at_ms=at_ms, every_ms=10_000, is_full=True, topics={"t": topic}, brokers={}, leaders={})
        )
    recording.close()
    write(tmp_path, [batch(0, [commit("g", "t", 0, 3_000)])])
    history = lag_history(logs_of(tmp_path), 2_000)
    assert [row["log_end_offset"] for row in history.to_arrow().to_pylist()] == [3_000]
    assert history.remarks == (
        "1 log end taken from the nearer sample, as those before and after differ: up to 19 records off"
        " (t 0)",
    )


def test_nor_does_it_know_a_bound_without_a_sample_on_the_other_side():
    said = inexact(BetweenSamples(count=5, most=1, place=("orders", 2), without_bound=2))
    assert said.endswith(
        "up to 1 record off (orders 2), 2 by an unknown number, with no sample on the other side"
    )
    assert inexact(BetweenSamples(count=2, without_bound=2)).endswith(
        "differ: 2 by an unknown number, with no sample on the other side"
    )
