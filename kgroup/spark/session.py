"""A quiet Spark session that needs no Java or Spark beyond Python packages.

Importing this module does not import PySpark; `open_session` does.
"""

import os
import re
import signal
import site
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kgroup.errors import InputError, KgroupError
from kgroup.spark.hadoop import check_yarn
from kgroup.spark.java import Java, JavaArchive, find_java, launcher_home
from kgroup.spark.java_archive import archive_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
LOOPBACK: Final = "127.0.0.1"
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"

CONNECT: Final = "sc://"
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""A variable that spark-submit sets for the Python that it starts."""

_SPARK_HOME: Final = "SPARK_HOME"
_LOCAL_CLUSTER: Final = "local-cluster["
_JVM_ENDED: Final = "JAVA_GATEWAY_EXITED"

_MEMORY: Final = "spark.driver.memory"
_LEAST_MEMORY: Final = (
    512 << 20
)  # a heap of this size is just above the 450 MB that Spark's memory manager asks
# SparkConf takes a plain number as MiB (JavaUtils.byteStringAsMb).
_BINARY_SHIFT: Final = {"": 20, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
_STANDALONE: Final = "spark://"
_YARN: Final = "yarn"
_KUBERNETES: Final = "k8s://"
_CLUSTERS: Final = (_STANDALONE, _YARN, _KUBERNETES)
_IMAGES: Final = ("spark.kubernetes.container.image", "spark.kubernetes.executor.container.image")
_TASK_FAILURES_MAX: Final = 4  # as on clusters (spark.task.maxFailures)
_MASTER_PORT: Final = 7077
_CONNECT_PORT: Final = 15002
_CONNECT_TIMEOUT_S: Final = 5.0
_OURS: Final = {"spark.sql.execution.arrow.pyspark.enabled": "true"}
_NO_CONF: Final[Mapping[str, str]] = MappingProxyType({})


@contextmanager
def open_session(
    master: str = LOCAL, conf: Mapping[str, str] = _NO_CONF, *, ship: bool = False, name: str = "kgroup"
) -> "Iterator[SparkSession]":
    """Start Spark, yield its session, stop it.

    `master` may be the address of a Spark Connect server, `sc://HOST`, to which this only connects. `conf`
    are Spark's own configuration keys and win over what kgroup sets. With `ship` executors get kgroup from
    here. The application's `name` is what lists of a cluster and Spark's UI show.

    In a job that `spark-submit` has started its master and settings are taken. Raises InputError if `master`
    is not one of Spark's, KgroupError if PySpark is missing, no usable Java is found or Spark does not start.
    """
    if not _is_local(master) and not master.startswith((*_CLUSTERS, CONNECT)):
        prefixes = ", ".join(_CLUSTERS)
        raise InputError(f"--master {master!r}: not local, local[N] or an address in {prefixes}")
    if SUBMITTED in os.environ:
        opened = _submitted(master, conf, name)
    elif master.startswith(CONNECT):
        opened = _connected(master, conf)
    else:
        opened = _started(master, conf, name)
    with opened as session, TemporaryDirectory(prefix="kgroup-ship-") as folder:
        if ship:
            from kgroup.spark import shipping
            from kgroup.spark.failure import raised_as_kgroup_error

            with raised_as_kgroup_error(f"Spark ({master}) does not take kgroup's own code"):
                shipping.ship(session, Path(folder))
        yield session


@contextmanager
def _connected(remote: str, conf: Mapping[str, str]) -> "Iterator[SparkSession]":
    """A session of a Spark Connect server, which runs with its own Java and its own settings."""
    try:
        import grpc  # noqa: F401  a session would ask for it much later
        from pyspark.sql import SparkSession

        from kgroup.spark.failure import raised_as_kgroup_error
    except ImportError as error:
        raise KgroupError(
            f"Spark Connect is not installed ({error}): pip install 'kgroup[connect]'"
        ) from error
    _check_that_one_listens("--remote", remote, _CONNECT_PORT)
    with raised_as_kgroup_error(f"Spark ({remote}) cannot be reached"):
        session = SparkSession.builder.remote(remote).getOrCreate()
        for key, value in conf.items():
            session.conf.set(key, value)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _submitted(master: str, conf: Mapping[str, str], name: str) -> "Iterator[SparkSession]":
    """The session of a job that `spark-submit` runs, whose JVM is there, with its master and settings."""
    from pyspark.sql import SparkSession

    from kgroup.spark.failure import raised_as_kgroup_error

    if master != LOCAL:
        raise InputError(f"{master}: spark-submit has said which Spark; give it no --master and no --remote")
    builder = SparkSession.builder.appName(name)
    for key, value in {**_OURS, **conf}.items():
        builder = builder.config(key, value)
    with raised_as_kgroup_error("Spark did not start"), _own_interrupts():
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _started(master: str, conf: Mapping[str, str], name: str) -> "Iterator[SparkSession]":
    try:
        from py4j.protocol import Py4JError
        from pyspark.sql import SparkSession

        from kgroup.spark.failure import raised_as_kgroup_error
    except ImportError as error:
        raise KgroupError(f"Spark is not installed ({error}): pip install 'kgroup[spark]'") from error
    if master.startswith(_STANDALONE):
        _check_that_one_listens("--master", master, _MASTER_PORT)
    place = f"{master}, by {check_yarn()}" if master == _YARN else master
    if master.startswith(_KUBERNETES):
        _check_image(master, conf)
    builder = SparkSession.builder.appName(name).master(_tried_again(master))
    for key, value in _merged_conf(master, conf).items():
        builder = builder.config(key, value)
    java = find_java(os.environ)
    archive = _archive(java, master, conf)
    without = (_SPARK_HOME,) if _is_own_pyspark_found(master, os.environ) else ()

    def launched(archive: JavaArchive | None) -> "SparkSession":
        java_home = stack.enter_context(launcher_home(java, archive, without))
        with (
            _environment(_launch_environment(master, java_home)),
            raised_as_kgroup_error(f"Spark ({place}) did not start"),
            _own_interrupts(),
        ):
            return builder.getOrCreate()

    with ExitStack() as stack:
        try:
            session = launched(archive)
        except KgroupError as error:
            # With no settings that a JVM may dislike it is the archive that it disliked.
            if conf or _JVM_ENDED not in str(error.__cause__) or archive is None or not archive.forget():
                raise
            session = launched(None)
        try:
            yield session
        finally:
            try:
                session.stop()
            except (ConnectionError, Py4JError):  # the JVM is gone, which will have been reported
                if archive is not None:
                    archive.forget()


def _archive(java: Java, master: str, conf: Mapping[str, str]) -> JavaArchive | None:
    """The archive of the classes in PySpark's own jars, which is what runs locally."""
    import pyspark

    if not _is_local(master):
        return None
    return archive_for(java, os.environ, conf, Path(pyspark.__file__).parent)


def _is_own_pyspark_found(master: str, environment: Mapping[str, str]) -> bool:
    """Whether Python workers find the driver's PySpark by themselves, as those of a local Spark do.

    Otherwise Spark's JVM has them take it from the zip in its SPARK_HOME, where no Python can keep bytecode:
    each compiles it anew, half of its start. A `local-cluster` starts executors from that folder.
    """
    import pyspark

    if not _is_local(master) or master.startswith(_LOCAL_CLUSTER):
        return False
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    if site.ENABLE_USER_SITE:
        places.append(site.getusersitepackages())
    packages = (Path(place, "pyspark") for place in (*places, *site.getsitepackages()) if place)
    first = next((package for package in packages if package.is_dir()), None)
    return first is not None and first.resolve() == Path(pyspark.__file__).resolve().parent


def _check_that_one_listens(option: str, url: str, default_port: int) -> None:
    """Say at once that nobody is there: the clients themselves would try for one minute, and for ten.

    Several addresses, of masters that stand by, are parted by commas.
    """
    scheme, _, addresses = url.partition("://")
    problems = []
    for each in addresses.split(","):
        try:
            address = urlsplit(f"{scheme}://{each}")
            host, port = address.hostname, address.port or default_port
        except ValueError as error:
            raise InputError(f"{option} {url}: {error}") from error
        if not host:
            raise InputError(f"{option} {url}: no address, like {scheme}://HOST:{default_port}")
        try:
            socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
            return
        except OSError as error:
            problems.append(error.strerror or str(error))
    why = "; ".join(problems)
    raise KgroupError(f"Spark ({url}) cannot be reached: {why}; is {option} right, and is it up?")


def _check_image(master: str, conf: Mapping[str, str]) -> None:
    """Executors are pods of some image, which may also be named in Spark's own file of settings."""
    has_file = bool(os.environ.keys() & {"SPARK_CONF_DIR", _SPARK_HOME})
    if not has_file and not any(image in conf for image in _IMAGES):
        raise KgroupError(
            f"--master {master}: give --spark-conf {_IMAGES[0]}=IMAGE, of one with kgroup in it"
        )


def parse_conf(assignments: Sequence[str]) -> dict[str, str]:
    """Read `--spark-conf` arguments, each `key=value`. Raises InputError for one that is not."""
    conf = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--spark-conf {assignment!r}: not in the form key=value")
        conf[key.strip()] = value
    _check_memory(conf)
    return conf


def _check_memory(conf: Mapping[str, str]) -> None:
    """The JVM would say it on several lines, part of them on standard output."""
    if _heap_bytes(conf) < _LEAST_MEMORY:
        raise InputError(f"--spark-conf {_MEMORY}={conf[_MEMORY]}: Spark needs 512m at least")


def _heap_bytes(conf: Mapping[str, str]) -> int:
    """The heap of the driver's JVM. Raises InputError for what is no size."""
    given = conf.get(_MEMORY) or os.environ.get("SPARK_DRIVER_MEMORY") or "1g"  # as Spark's launcher has it
    size = re.fullmatch(r"(\d+)([kmgtp]?)b?", given.strip().lower())
    if size is None:
        raise InputError(f"--spark-conf {_MEMORY}={given}: not a size like 512m or 4g")
    return int(size[1]) << _BINARY_SHIFT[size[2]]


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith(("local[", _LOCAL_CLUSTER))


def _tried_again(master: str) -> str:
    """Locally Spark tries a task once, unless set otherwise: a Python worker may get killed."""
    given = re.fullmatch(r"local(?:\[([^,\]]+)\])?", master)
    return master if given is None else f"local[{given[1] or 1},{_TASK_FAILURES_MAX}]"


def _merged_conf(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    log_config = Path(__file__).with_name("log4j2.properties").as_uri()
    java_options = f"-Dlog4j2.configurationFile={log_config} {conf.get(JAVA_OPTIONS, '')}"
    ours = {
        **_OURS,
        "spark.sql.catalogImplementation": "in-memory",  # Hive's leaves a metastore in the working folder
        "spark.python.authenticate.socketTimeout": "120s",  # Spark's own 15 s are too few on a busy machine
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master == _YARN:  # Hadoop's own patience is a quarter of an hour
        ours["spark.hadoop.yarn.resourcemanager.connect.max-wait.ms"] = "60000"
    if _is_local(master):
        ours |= {"spark.driver.bindAddress": LOOPBACK, "spark.driver.host": LOOPBACK}
        # More than that would end the JVM; Spark's own limit is as large as its own heap.
        ours["spark.driver.maxResultSize"] = str(_heap_bytes(conf) * 2 // 5)
    return {**ours, **conf, JAVA_OPTIONS: java_options.strip()}


def _launch_environment(master: str, java_home: Path) -> dict[str, str | None]:
    """Return the variables that Spark's start scripts and workers are to see; None is for unset.

    On a cluster, SPARK_HOME and PYSPARK_PYTHON are the administrator's business if they are set. Locally they
    could only pair this PySpark with the jars of another one, and its workers with a Python without kgroup.
    """
    if _is_local(master):
        return {
            "JAVA_HOME": str(java_home),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            _SPARK_HOME: None,
            "SPARK_LOCAL_IP": LOOPBACK,
        }
    return {
        "JAVA_HOME": str(java_home),
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep SIGINT's handler: PySpark's own talks to the JVM in the middle of another call, which fails."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    before = {variable: os.environ.get(variable) for variable in variables}
    _set_environment(variables)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: Mapping[str, str | None]) -> None:
    for variable, value in variables.items():
        if value is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = value
