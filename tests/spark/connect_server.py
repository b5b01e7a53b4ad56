"""A Spark Connect server on loopback, from PySpark's own jars; its Python has no kgroup but a shipped one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from kgroup.spark.java import find_java, launcher_home
from tests.spark.standalone import JAVA_OF_TESTS, LOOPBACK, PATIENCE_S, free_port, wait_for, write_site


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """Yield the server's address, `sc://HOST:PORT`, once it listens. `folder` gets its files."""
    spark_home = Path(pyspark.__file__).parent
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": port,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.extraJavaOptions": JAVA_OF_TESTS,
        "spark.driver.host": LOOPBACK,
        "spark.driver.memory": "600m",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.enabled": "false",
    }
    log = folder / "server.log"
    with launcher_home(find_java(os.environ)) as java_home, log.open("wb") as stream:
        # spark-submit becomes the JVM by exec, and gives it the options that Spark needs of any JVM.
        process = subprocess.Popen(
            [
                spark_home / "bin" / "spark-submit",
                *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
                *("--master", "local[2]"),
                *(text for key, value in settings.items() for text in ("--conf", f"{key}={value}")),
                "spark-internal",
            ],
            env={
                **os.environ,
                "JAVA_HOME": str(java_home),
                "SPARK_HOME": str(spark_home),
                "SPARK_LOCAL_IP": LOOPBACK,
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONPATH": str(write_site(folder)),
            },
            cwd=folder,
            stdout=stream,
            stderr=stream,
        )
        try:
            wait_for(log, f"Spark Connect server started at: {LOOPBACK}:{port}", 1)
            yield f"sc://{LOOPBACK}:{port}"
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
