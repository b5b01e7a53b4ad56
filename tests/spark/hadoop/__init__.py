"""A real HDFS and YARN on loopback, of artefacts that Hadoop publishes for tests. Needs Maven and a JDK."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.spark.standalone import JAVA_OF_TESTS, PATIENCE_S

HERE = Path(__file__).parent
_QUICK_JAVA = (JAVA_OF_TESTS, "-XX:TieredStopAtLevel=1")
MUST_RUN = "KGROUP_TESTS_WITH_HADOOP"
"""Set where these tests may not be skipped."""


@dataclass(frozen=True)
class Hadoop:
    """A cluster that runs: its URI, and the folder for HADOOP_CONF_DIR."""

    files: str
    conf: Path


@contextmanager
def hadoop_cluster(folder: Path) -> Iterator[Hadoop]:
    """Yield it when it works; skip where what it needs is missing. `folder` gets its files."""
    classpath = _classpath(folder)
    home = Path(shutil.which("javac") or "").resolve().parents[1]
    log = folder / "hadoop.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [
                home / "bin" / "java",
                *("--add-opens", "java.base/java.lang=ALL-UNNAMED"),
                *(*_QUICK_JAVA, "-Xmx500m"),
                *("-cp", classpath, HERE / "MiniHadoop.java", folder),
            ],
            env={**os.environ, "JAVA_HOME": str(home)},  # which containers inherit
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
        )
    try:
        site = folder / "site.xml"
        deadline = time.monotonic() + 3 * PATIENCE_S
        while not site.exists():
            assert process.poll() is None and time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.2)
        conf = folder / "conf"
        conf.mkdir()
        for name in ("core-site.xml", "hdfs-site.xml", "yarn-site.xml"):
            shutil.copy(site, conf / name)
        settings = {
            each.findtext("name"): each.findtext("value") for each in ElementTree.parse(site).iter("property")
        }
        yield Hadoop(str(settings["fs.defaultFS"]), conf)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _classpath(folder: Path) -> str:
    for tool in ("mvn", "javac"):
        if shutil.which(tool) is None:
            _cannot(f"{tool} is not installed")
    path = folder / "classpath"
    resolved = subprocess.run(
        [
            "mvn",
            "-q",
            "-B",
            "-f",
            HERE / "pom.xml",
            "dependency:build-classpath",
            f"-Dmdep.outputFile={path}",
        ],
        env={"MAVEN_OPTS": " ".join(_QUICK_JAVA), **os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if resolved.returncode != 0:
        _cannot(f"Maven does not find Hadoop: {resolved.stdout[-500:]}")
    return path.read_text().strip()


def _cannot(why: str) -> None:
    if os.environ.get(MUST_RUN):
        pytest.fail(f"{MUST_RUN} is set, but {why}")
    pytest.skip(f"needs Hadoop's cluster for tests: {why}")
