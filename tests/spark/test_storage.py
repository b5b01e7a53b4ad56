"""Logs on S3 and HDFS, read here, by a standalone cluster and by YARN: the rows of the files on a disk."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

import kgroup.spark
from tests.spark.hadoop import Hadoop, hadoop_cluster
from tests.spark.on_storage import VIEWS, report, reports
from tests.spark.standalone import JAVA_OF_TESTS, standalone_cluster
from tests.spark.storages import LoggedStorage, copy_what_counts, put, s3_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
CAPTURES = {"lives": "4.3.1/lives", "stuck": "2.4.1/lives"}
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": JAVA_OF_TESTS,
    "spark.executor.extraJavaOptions": JAVA_OF_TESTS,
    "spark.executor.memory": "480m",
    "spark.sql.shuffle.partitions": "2",
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.01",
}

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Captures without the logs of data topics: these are not read by URI."""
    folder = tmp_path_factory.mktemp("captures")
    return {
        name: copy_what_counts(ROOT / "fixtures" / capture, folder / name)
        for name, capture in CAPTURES.items()
    }


@pytest.fixture(scope="module")
def local(captures: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the local scan says of each capture in each view."""
    folder = tmp_path_factory.mktemp("local")
    for name, capture in captures.items():
        for view in VIEWS:
            report(str(capture), view, folder / f"{name}-{view}.jsonl")
    return rows_in(folder)


@pytest.fixture(scope="module")
def s3(captures: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedStorage]:
    with s3_server(tmp_path_factory.mktemp("s3")) as storage:
        for capture in captures.values():
            put(storage, capture)
        yield storage


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    with hadoop_cluster(tmp_path_factory.mktemp("hadoop")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def hdfs(captures: dict[str, Path], hadoop: Hadoop) -> LoggedStorage:
    storage = LoggedStorage(f"{hadoop.files}/logs", {})
    for capture in captures.values():
        put(storage, capture)
    return storage


def rows_in(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in folder.glob("*.jsonl")}


def test_the_local_rows_are_worth_a_comparison(local: dict[str, str]) -> None:
    assert len(local) == len(CAPTURES) * len(VIEWS)
    assert {name: rows.count("\n") for name, rows in local.items() if rows.count("\n") < 8} == {}


@pytest.mark.usefixtures("shared_session")
def test_on_s3_by_the_settings_of_sparks_s3a(
    spark: "SparkSession", s3: LoggedStorage, local: dict[str, str], tmp_path: Path
) -> None:
    configure(spark, s3)
    for name in CAPTURES:
        reports(f"{s3.uri}/{name}", tmp_path)
    assert rows_in(tmp_path) == local


def configure(spark: "SparkSession", storage: LoggedStorage) -> None:
    configuration = spark._jsc.hadoopConfiguration()
    for key, value in storage.settings.items():
        configuration.set(key, value)


@pytest.mark.parametrize(
    "source", ["kafka-offsets", "kafka-groups", "kafka-timeline", "kafka-lag", "kafka-findings"]
)
def test_data_sources_load_from_s3_what_they_load_from_a_disk(
    source: str, spark: "SparkSession", s3: LoggedStorage, captures: dict[str, Path]
) -> None:
    configure(spark, s3)
    kgroup.spark.register(spark)
    here, there = (
        sorted(map(str, spark.read.format(source).load(path).collect()))
        for path in (str(captures["stuck"]), f"{s3.uri}/stuck")
    )
    assert there == here
    assert len(here) > 3


@pytest.mark.usefixtures("shared_session")
def test_on_s3_by_what_stands_behind_the_uri(
    s3: LoggedStorage, local: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = s3.settings["fs.s3a.endpoint"].partition("://")[2]
    keys = f"{s3.settings['fs.s3a.access.key']}:{s3.settings['fs.s3a.secret.key']}"
    uri = f"s3://{keys}@logs/lives?endpoint_override={host}&scheme=http"
    report(uri, "status", tmp_path / "lives-status.jsonl", "--spark")
    assert rows_in(tmp_path) == {"lives-status": local["lives-status"]}


@pytest.mark.usefixtures("shared_session")
def test_on_hdfs(hdfs: LoggedStorage, local: dict[str, str], tmp_path: Path) -> None:
    for name in CAPTURES:
        reports(f"{hdfs.uri}/{name}", tmp_path)
    assert rows_in(tmp_path) == local


def on_cluster(
    master: str, storage: LoggedStorage, conf: dict[str, str], folder: Path, **variables: str
) -> None:
    settings = {f"spark.hadoop.{key}": value for key, value in storage.settings.items()}
    uris = [f"{storage.uri}/{name}" for name in CAPTURES]
    answer = subprocess.run(
        [
            *(sys.executable, "-m", "tests.spark.on_storage"),
            *(master, json.dumps({**CONF, **conf, **settings}), str(folder), *uris),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.stdout, answer.returncode) == ("", 0), answer.stderr


def test_a_standalone_cluster_of_two_workers_reads_s3_and_tries_tasks_twice(
    s3: LoggedStorage, local: dict[str, str], tmp_path: Path
) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    with standalone_cluster(tmp_path, workers=2) as master:
        on_cluster(master, s3, {"spark.scheduler.minRegisteredResourcesRatio": "1.0"}, rows)
    assert rows_in(rows) == local


def test_yarn_reads_hdfs(hadoop: Hadoop, hdfs: LoggedStorage, local: dict[str, str], tmp_path: Path) -> None:
    jars = Path(pyspark.__file__).parent / "jars"
    # Containers are started by the machine's own Java, not by kgroup's launcher.
    java = f"{JAVA_OF_TESTS} -XX:TieredStopAtLevel=1"
    conf = {
        "spark.executor.extraJavaOptions": java,
        "spark.yarn.am.extraJavaOptions": java,
        "spark.yarn.jars": f"local:{jars}/*",
        "spark.yarn.am.memory": "400m",
        "spark.executor.instances": "1",
        "spark.executor.cores": "2",
    }
    on_cluster("yarn", hdfs, conf, tmp_path, HADOOP_CONF_DIR=str(hadoop.conf))
    assert rows_in(tmp_path) == local
