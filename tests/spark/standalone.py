"""A standalone Spark cluster on loopback: a master and workers of one core each, from PySpark's own jars."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from kgroup.spark.java import find_java, launcher_home

LOOPBACK = "127.0.0.1"
PATIENCE_S = 60
JAVA_OF_TESTS = "-XX:+UseSerialGC"
"""For a JVM that lives for seconds and has little garbage: the default collector's threads took a fifth."""
# Finds kgroup in shipped zips only, so that executors are like machines where it is not installed.
_SITE = """
import sys
from importlib.machinery import PathFinder

class OnlyShipped:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "kgroup":
            spec = PathFinder.find_spec(name, [entry for entry in sys.path if entry.endswith(".zip")])
            if spec is None:
                raise ModuleNotFoundError("No module named 'kgroup'", name=name)
            return spec
        return None

sys.meta_path.insert(0, OnlyShipped)
"""


@contextmanager
def standalone_cluster(folder: Path, workers: int) -> Iterator[str]:
    """Yield the master's address when all workers have registered. `folder` gets logs and work folders."""
    spark_home = Path(pyspark.__file__).parent
    site = write_site(folder)
    processes: list[subprocess.Popen[bytes]] = []
    with launcher_home(find_java(os.environ)) as java_home:
        environment = {
            **os.environ,
            "JAVA_HOME": str(java_home),
            "SPARK_HOME": str(spark_home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_SCALA_VERSION": _scala_version(spark_home),
            "PYTHONPATH": str(site),
        }

        def start(log: Path, service: str, *arguments: str) -> None:
            command = [java_home / "bin" / "java", "-Xmx200m", JAVA_OF_TESTS, "-cp", f"{spark_home}/jars/*"]
            command += [f"org.apache.spark.deploy.{service}", "--host", LOOPBACK, "--webui-port", "0"]
            with log.open("wb") as stream:
                processes.append(
                    subprocess.Popen([*command, *arguments], env=environment, cwd=folder, stderr=stream)
                )

        address = f"spark://{LOOPBACK}:{free_port()}"
        master_log = folder / "master.log"
        try:
            start(master_log, "master.Master", "--port", address.rpartition(":")[2])
            for number in range(workers):
                work = ("--cores", "1", "--memory", "600m", "--work-dir", str(folder / f"work-{number}"))
                start(folder / f"worker-{number}.log", "worker.Worker", *work, address)
            wait_for(master_log, "Registering worker", workers)
            yield address
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(PATIENCE_S)


def write_site(folder: Path) -> Path:
    """A folder below this one for PYTHONPATH: what runs with it finds no kgroup but a shipped one."""
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_SITE)
    return site


def wait_for(log: Path, text: str, times: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while log.read_text(errors="replace").count(text) < times:
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        time.sleep(0.1)


def _scala_version(spark_home: Path) -> str:
    (core,) = (spark_home / "jars").glob("spark-core_*.jar")
    version = re.match(r"spark-core_([\d.]+)-", core.name)
    assert version is not None
    return version[1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
