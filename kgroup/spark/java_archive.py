"""An archive of the classes Spark's JVM loads, made by the first start and used by later ones.

Loading Spark's classes is most of what a small job costs. Java can keep them as they are in memory: as an AOT
cache from 25 on (JEP 514), as a dynamic class data archive before (JEP 350). It is never in the way: Java
itself passes over an archive of another Java or of other jars, and says nothing, as its log is off; one that
is not as long as it was made is not used; one with which Java died is removed; where none can be made, none
is.

    ~/.cache/kgroup/java-DIGEST/spark.aot        the archive, of this Java and this PySpark
    ~/.cache/kgroup/java-DIGEST/spark.aot.size   its length when it was made
    ~/.cache/kgroup/java-DIGEST/making.…         somebody makes it now
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from kgroup.private_folder import is_private
from kgroup.spark.java import Java, JavaArchive

OFF: Final = "KGROUP_JAVA_ARCHIVE"
"""Set to `off`, this variable has none made or used."""

_AOT_SINCE: Final = 25
_ARCHIVE: Final = "spark.aot"
_FOLDERS: Final = "java-"
_MAKING: Final = "making."
_ROOM_BYTES: Final = 1 << 30  # what making one may take, and as much again is left
_MAKING_MAX_S: Final = 3600
_UNUSED_MAX_S: Final = 30 * 24 * 3600
_QUIET: Final = "-Xlog:disable"

# With these there are other classes, or the user has an archive of their own.
_OTHER_CLASSES_CONF: Final = (
    "spark.driver.extraClassPath",
    "spark.driver.defaultExtraClassPath",
    "spark.jars",
    "spark.jars.packages",
)
_OTHER_CLASSES_VARIABLES: Final = (
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
)
_OWN_OPTIONS: Final = (
    "-XX:AOT",
    "-XX:SharedArchive",
    "-XX:ArchiveClasses",
    "-Xshare",
    "-javaagent",
    "-agent",
)


def archive_for(
    java: Java, environment: Mapping[str, str], conf: Mapping[str, str], spark_home: Path
) -> JavaArchive | None:
    """The archive for this start of a local Spark, None where there is none and none can be made."""
    if environment.get(OFF, "").lower() == "off" or _has_other_classes(environment, conf):
        return None
    digest = _digest(java, spark_home)
    for base in _bases(environment):
        folder = base / f"{_FOLDERS}{digest}"
        if is_private(base) and is_private(folder):
            return _archive_in(folder, java)
    return None


def _archive_in(folder: Path, java: Java) -> JavaArchive | None:
    archive = folder / _ARCHIVE
    is_aot = java.version >= _AOT_SINCE
    try:
        if _is_whole(archive):
            with suppress(OSError):
                os.utime(archive)
            option = "AOTCache" if is_aot else "SharedArchiveFile"
            return JavaArchive((_QUIET, f"-XX:{option}={archive}"), archive)
        if shutil.disk_usage(folder).free < 2 * _ROOM_BYTES:
            return None
        descriptor, name = tempfile.mkstemp(prefix=_MAKING, dir=folder)
        os.close(descriptor)
        making = Path(name)
        now = making.stat().st_mtime
        if _is_made_by_another(making, now):
            making.unlink()
            return None
        _remove_unused(folder, now)
    except OSError:
        return None
    made = Path(f"{making}.aot")
    if not is_aot:
        return JavaArchive((_QUIET, f"-XX:ArchiveClassesAtExit={made}"), archive, made, making)
    noted = f"-XX:AOTConfiguration={made}.config"
    return JavaArchive(
        (_QUIET, "-XX:AOTMode=record", noted),
        archive,
        made,
        making,
        after=(_QUIET, "-XX:AOTMode=create", noted, f"-XX:AOTCache={made}"),
    )


def _is_whole(archive: Path) -> bool:
    """Whether it is as long as it was when it was made: of half an archive Java may die."""
    size = archive.with_name(f"{archive.name}.size")
    return (
        archive.is_file()
        and size.is_file()
        and size.read_text("ascii").strip() == str(archive.stat().st_size)
    )


def _is_made_by_another(making: Path, now: float) -> bool:
    """Whether an earlier start makes it, too; leftovers of one that has given up are removed."""
    another = False
    for path in making.parent.glob(f"{_MAKING}*"):
        if now - path.stat().st_mtime > _MAKING_MAX_S:
            path.unlink(missing_ok=True)
        else:
            another |= path != making
    return another


def _remove_unused(folder: Path, now: float) -> None:
    """Remove archives of Javas and Sparks that nobody has started for a month."""
    for other in folder.parent.glob(f"{_FOLDERS}*"):
        archive = other / _ARCHIVE
        if archive.is_file() and now - archive.stat().st_mtime > _UNUSED_MAX_S:
            shutil.rmtree(other, ignore_errors=True)


def _has_other_classes(environment: Mapping[str, str], conf: Mapping[str, str]) -> bool:
    options = (
        f"{conf.get('spark.driver.extraJavaOptions', '')} {conf.get('spark.driver.defaultJavaOptions', '')}"
    )
    return (
        any(conf.get(key) for key in _OTHER_CLASSES_CONF)
        or any(environment.get(variable) for variable in _OTHER_CLASSES_VARIABLES)
        or any(option in options for option in _OWN_OPTIONS)
    )


def _digest(java: Java, spark_home: Path) -> str:
    """A digest of what has to be the same: Java and the jars, by name, size and time."""
    digest = hashlib.sha256()
    program = java.program.resolve()
    jars = sorted((spark_home / "jars").glob("*.jar"))
    for path in (program, program.parent.parent / "release", *jars):
        with suppress(OSError):
            status = path.stat()
            digest.update(
                f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode(errors="surrogateescape")
            )
    return digest.hexdigest()[:16]


def _bases(environment: Mapping[str, str]) -> Iterator[Path]:
    if environment.get("XDG_CACHE_HOME"):
        yield Path(environment["XDG_CACHE_HOME"]) / "kgroup"
    with suppress(RuntimeError):  # no HOME, and the user id has no entry in the password file
        yield Path.home() / ".cache" / "kgroup"
