"""A PySpark before 4.2 cannot limit micro-batches: tables can be read with it, a stream is one line."""

import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from kgroup.cli.shell.app import main
from kgroup.spark.stream_support import check_streams

OLDER = "pyspark.sql.streaming.datasource"
ROOT = Path(__file__).parents[2]
LINE = f"streams need PySpark 4.2 or later, and this is {pyspark.__version__}: pip install 'pyspark>=4.2'"

READS = f"""
import sys
import pyspark.sql.datasource, pyspark.sql.streaming
sys.modules[{OLDER!r}] = None  # this PySpark's own modules have it already
from kgroup.api.spark_sources.lag import FindingsSource, LagSource
from kgroup.api.spark_sources.timelines import GroupsSource, TimelineSource
from kgroup.spark.sources.offsets import OffsetsSource
for source in (FindingsSource, LagSource, GroupsSource, TimelineSource, OffsetsSource):
    made = source({{"path": "fixtures/4.3.1/lives"}})
    made.reader(made.schema())
stream = OffsetsSource({{"bootstrapServers": "a:1"}})
stream.streamReader(stream.schema())
"""


def test_a_stream_is_refused_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_streams()
    monkeypatch.setitem(sys.modules, OLDER, None)
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", "-b", "127.0.0.1:1", "--spark", "--stream", "--checkpoint", "c"])
    assert (ended.value.code, capsys.readouterr().err) == (1, f"kgroup: {LINE}\n")


def test_tables_are_read_and_a_stream_of_one_is_the_same_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", READS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.stderr.splitlines()[-1] == f"kgroup.errors.KgroupError: {LINE}"
