"""A command of kgroup as a job of spark-submit, in a Python that has kgroup from the job's own files only."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from kgroup.cli.shell.app import main
from kgroup.spark.java import find_java, launcher_home
from tests.spark.standalone import LOOPBACK, write_site

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "fixtures" / "4.3.1" / "lives"


def written_job(folder: Path) -> list[str]:
    answer = subprocess.run(
        [sys.executable, "-m", "kgroup.spark.job", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.splitlines()


@pytest.mark.spark
def test_a_submitted_job_says_what_the_command_says(tmp_path: Path) -> None:
    package, job = written_job(tmp_path)
    view = ("--status", "--now", "2026-11-20T13:00Z", "-o", "jsonl", "-q", "--output")
    with launcher_home(find_java(os.environ)) as java_home:
        answer = subprocess.run(
            [
                Path(pyspark.__file__).parent / "bin" / "spark-submit",
                *("--master", "local[2,4]", "--conf", "spark.ui.enabled=false", "--py-files", package),
                *(job, "lag-report", str(CAPTURE), "--spark", *view, tmp_path / "there.jsonl"),
            ],
            cwd=tmp_path,
            env={
                **{key: value for key, value in os.environ.items() if key != "SPARK_HOME"},
                "JAVA_HOME": str(java_home),
                "SPARK_LOCAL_IP": LOOPBACK,
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONPATH": str(write_site(tmp_path)),
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert answer.returncode == 0, answer.stderr
    with pytest.raises(SystemExit):
        main(["lag-report", str(CAPTURE), *view, str(tmp_path / "here.jsonl")])
    rows = (tmp_path / "here.jsonl").read_text()
    assert rows.count("\n") > 100
    assert (tmp_path / "there.jsonl").read_text() == rows


def test_what_is_to_be_submitted_wants_a_folder() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "kgroup.spark.job", "/no/such/folder"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith("usage: python -m kgroup.spark.job FOLDER")
