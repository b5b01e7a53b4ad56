"""On a standalone cluster of two workers that have no kgroup: the same rows, executors lost or not."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kgroup.cli.shell.app import main
from kgroup.spark.shipping import write_package
from tests.spark.standalone import standalone_cluster

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "fixtures" / "4.3.1" / "lives"


def local(*arguments: str, path: Path) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", str(CAPTURE), *arguments, "-o", "jsonl", "-q", "--output", str(path)])
    assert ended.value.code == 0
    return path.read_text()


@pytest.mark.spark
def test_shipped_to_two_workers_it_says_the_same_and_the_loss_of_executors_changes_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "cluster").mkdir()
    with standalone_cluster(tmp_path / "cluster", workers=2) as master:
        answer = subprocess.run(
            [sys.executable, "-m", "tests.spark.on_cluster", master, str(CAPTURE), str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (answer.stdout, answer.returncode) == ("", 0), answer.stderr
    assert "Lost executor" in answer.stderr
    status = local("--status", "--now", "2026-11-20T13:00Z", path=tmp_path / "status.jsonl")
    assert (tmp_path / "report.jsonl").read_text() == status
    assert status.count("\n") > 100
    history = local("--windows", "10s", path=tmp_path / "here.jsonl")
    assert (tmp_path / "history.jsonl").read_text() == history
    assert history.count("\n") > 1000


def test_the_shipped_package_is_whole_and_is_imported_from_the_zip(tmp_path: Path) -> None:
    package = write_package(tmp_path)
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
    assert {"kgroup/__init__.py", "kgroup/protocol/schemas/GroupMetadataValue.json"} <= names
    assert not any("__pycache__" in name for name in names)
    answer = subprocess.run(
        [sys.executable, "-c", "import kgroup.scan.reductions.last_commits as used; print(used.__file__)"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout.strip() == f"{package}/kgroup/scan/reductions/last_commits.py", answer.stderr
