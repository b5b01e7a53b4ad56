"""Starting Spark without Java on the machine, quietly, leaving nothing behind; what is said if it cannot."""

import os
import site
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pyspark
import pytest
from pyspark.errors import PySparkException

from kgroup.errors import InputError, KgroupError
from kgroup.spark import session as session_module
from kgroup.spark.failure import raised_as_kgroup_error
from kgroup.spark.session import open_session, parse_conf

WHERE_A_WORKER_IS = """
from kgroup.spark.failure import raised_as_kgroup_error
from kgroup.spark.session import open_session

def whereabouts(batches):
    import os, sys
    import pyarrow, pyspark
    for batch in batches:
        there = f"{sys.executable} {pyspark.__file__} {os.environ.get('SPARK_HOME')}"
        yield pyarrow.RecordBatch.from_pylist([{"there": there}])

for _ in range(2):
    with open_session("local[1]") as spark:
        print(spark.range(1).mapInArrow(whereabouts, "there string").collect()[0].there)
"""

# What Spark's start scripts call besides the shell; no java.
SHELL_COMMANDS = ("bash", "dirname", "env", "ps", "sh")


@pytest.fixture
def path_without_java(tmp_path: Path) -> Path:
    folder = tmp_path / "commands"
    folder.mkdir()
    for command in SHELL_COMMANDS:
        program = next(
            Path(programs, command) for programs in ("/bin", "/usr/bin") if Path(programs, command).exists()
        )
        (folder / command).symlink_to(program)
    return folder


@pytest.mark.spark
def test_starts_without_any_java_and_prints_and_leaves_nothing(
    tmp_path: Path, path_without_java: Path
) -> None:
    working_folder = tmp_path / "work"
    temporary = tmp_path / "tmp"
    working_folder.mkdir()
    temporary.mkdir()
    answer = subprocess.run(
        [sys.executable, "-c", WHERE_A_WORKER_IS],
        cwd=working_folder,
        env={
            "PATH": str(path_without_java),
            "KGROUP_JAVA_ARCHIVE": "off",  # what makes one is at it for a while yet
            "HOME": str(tmp_path),
            "TMPDIR": str(temporary),
            # Left over from another Spark, say in a profile: no business of a local session.
            "SPARK_HOME": "/nowhere",
            "PYSPARK_PYTHON": "/nowhere/python",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    # Of the zip in SPARK_HOME a worker would have no bytecode.
    assert answer.stdout.splitlines() == [f"{sys.executable} {pyspark.__file__} None"] * 2
    assert list(working_folder.iterdir()) == []
    assert list(temporary.glob("kgroup-*")) == []


def test_workers_take_the_drivers_own_pyspark_where_they_find_it_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, other = tmp_path / "installed", tmp_path / "other"
    for folder in (installed, other):
        (folder / "pyspark").mkdir(parents=True)
    monkeypatch.setattr(pyspark, "__file__", str(installed / "pyspark" / "__init__.py"))
    found = session_module._is_own_pyspark_found
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path / "nothing"), str(installed)])
    assert found("local", {})
    assert found("local[2]", {"PYTHONPATH": f"{os.pathsep}{tmp_path}"})
    # Others there come first, or it is on no path of theirs; executors of a cluster need their SPARK_HOME.
    assert not found("local[2]", {"PYTHONPATH": str(other)})
    assert not found("local-cluster[2,1,1024]", {})
    assert not found("spark://127.0.0.1:7077", {})
    monkeypatch.setattr(site, "getsitepackages", lambda: [])
    assert not found("local[2]", {})
    assert found("local[2]", {"PYTHONPATH": str(installed)})
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(installed))
    assert found("local[2]", {})


def test_a_bad_java_home_stops_before_spark_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(KgroupError, match=r"^JAVA_HOME=.*: cannot run"), open_session():
        pass
    assert os.environ["JAVA_HOME"] == str(tmp_path)


def test_without_pyspark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with (
        pytest.raises(KgroupError, match=r"Spark is not installed .*: pip install 'kgroup\[spark\]'$"),
        open_session(),
    ):
        pass


@pytest.mark.parametrize("master", ["", "localhost:7077", "http://spark", "2"])
def test_a_master_that_is_none_is_wrong_usage(master: str) -> None:
    with pytest.raises(InputError, match=r"--master .*local.*spark://.*yarn.*k8s://"), open_session(master):
        pass


def test_spark_conf_is_key_equals_value() -> None:
    conf = parse_conf(["spark.driver.memory=2g", "spark.executorEnv.X=a=b", "spark.empty="])
    assert conf == {"spark.driver.memory": "2g", "spark.executorEnv.X": "a=b", "spark.empty": ""}


@pytest.mark.parametrize("assignment", ["spark.driver.memory", "=2g", ""])
def test_spark_conf_without_key_or_value_is_wrong_usage(assignment: str) -> None:
    with pytest.raises(InputError, match="not in the form key=value"):
        parse_conf([assignment])


def test_without_the_client_of_spark_connect_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with (
        pytest.raises(KgroupError, match=r"Spark Connect is not installed .*'kgroup\[connect\]'$"),
        open_session("sc://127.0.0.1"),
    ):
        pass


@pytest.mark.parametrize(
    ("remote", "error", "why"),
    [
        ("sc://127.0.0.1:1", KgroupError, "Spark (sc://127.0.0.1:1) cannot be reached: "),
        ("sc://127.0.0.1:1/;token=x", KgroupError, "cannot be reached: "),
        ("sc://", InputError, "--remote sc://: no address, like sc://HOST"),
        ("sc://host:port", InputError, "--remote sc://host:port: "),
    ],
)
def test_a_spark_connect_server_that_is_not_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, remote: str, error: type[Exception], why: str
) -> None:
    monkeypatch.setitem(sys.modules, "grpc", ModuleType("grpc"))  # as if it were installed
    with pytest.raises(error) as raised, open_session(remote):
        pass
    assert why in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("master", "started"),
    [
        ("local", "local[1,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2]", "local[2,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("yarn", "yarn"),
    ],
)
def test_a_task_whose_worker_is_killed_is_tried_again_locally_too(master: str, started: str) -> None:
    assert session_module._tried_again(master) == started


def test_yarn_without_its_configuration_is_one_line_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(KgroupError, match=r"^--master yarn: set HADOOP_CONF_DIR to "), open_session("yarn"):
        pass


def test_kubernetes_without_an_image_is_one_line_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(variable, raising=False)
    with (
        pytest.raises(KgroupError, match=r"--spark-conf spark.kubernetes.container.image=IMAGE"),
        open_session("k8s://https://127.0.0.1:1"),
    ):
        pass


def test_in_a_submitted_job_no_other_spark_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with (
        pytest.raises(InputError, match=r"^local\[2\]: spark-submit has said which Spark"),
        open_session("local[2]"),
    ):
        pass


def test_what_comes_to_the_driver_is_less_than_its_heap() -> None:
    assert session_module._merged_conf("local[2]", {})["spark.driver.maxResultSize"] == str(
        (1 << 30) * 2 // 5
    )
    given = session_module._merged_conf("local[2]", {"spark.driver.memory": "4g"})
    assert given["spark.driver.maxResultSize"] == str((4 << 30) * 2 // 5)
    own = session_module._merged_conf("local[2]", {"spark.driver.maxResultSize": "7g"})
    assert own["spark.driver.maxResultSize"] == "7g"
    assert "spark.driver.maxResultSize" not in session_module._merged_conf("yarn", {})


def test_too_much_for_the_driver_is_one_line_with_the_setting_that_helps() -> None:
    said = (
        "Job aborted due to stage failure: Total size of serialized results of 7 tasks (412.5 MiB) is bigger"
        " than spark.driver.maxResultSize (409.6 MiB)."
    )
    with pytest.raises(KgroupError) as raised, raised_as_kgroup_error("the Spark job failed"):
        raise PySparkException(said)
    assert str(raised.value) == (
        "the Spark job failed: what executors have found, 412.5 MiB and more, is too much for the driver's"
        " memory; try --spark-conf spark.driver.memory=4g"
    )
