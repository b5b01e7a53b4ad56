"""The archive of Spark's classes: made once, used after, and never in the way."""

import os
import shutil
import subprocess
from collections import namedtuple
from collections.abc import Mapping
from pathlib import Path

import pytest

from kgroup.spark import java_archive
from kgroup.spark.java import Java, JavaArchive, launcher_home
from kgroup.spark.java_archive import archive_for

LAUNCHER = "org.apache.spark.launcher.Main"
# What every start gets, by the Java's version: 24 warns of sun.misc.Unsafe and keeps it from Netty.
ADDED = {
    17: ["-XX:TieredStopAtLevel=1"],
    25: [
        "-XX:TieredStopAtLevel=1",
        "--sun-misc-unsafe-memory-access=allow",
        "-Dio.netty.noUnsafe=false",
    ],
}
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "spark-core.jar").write_bytes(b"jar")
    return tmp_path


def java(home: Path, version: int = 25, script: str = "exit 0") -> Java:
    program = home / f"java-{version}" / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    text = f"#!/bin/sh\n{script}\n"
    if not program.exists() or program.read_text(encoding="utf-8") != text:
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    return Java(program=program, version=version, origin="test")


# Writes what Java does at its end, and prints how it was called.
MAKES = """for option do
    printf '%s\\n' "$option" >&2
    case $option in -XX:AOTConfiguration=*|-XX:AOTCache=*|-XX:ArchiveClassesAtExit=*)
        [ -e "${option#*=}" ] || echo made > "${option#*=}" ;;
    esac
done"""


def found(
    home: Path,
    version: int = 25,
    environment: Mapping[str, str] | None = None,
    conf: Mapping[str, str] | None = None,
    script: str = MAKES,
) -> JavaArchive | None:
    return archive_for(java(home, version, script), environment or {}, conf or {}, home / "spark")


def started(
    home: Path, archive: JavaArchive | None, *options: str, version: int = 25, script: str = MAKES
) -> list[str]:
    """What Java is given by the launcher, where it prints that."""
    with launcher_home(java(home, version, script), archive) as folder:
        command = [folder / "bin" / "java", *options]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.stdout == ""
    return answer.stderr.splitlines()


@pytest.mark.parametrize(
    ("version", "makes", "uses"),
    [
        (25, ["-XX:AOTMode=record", "-XX:AOTConfiguration={}.config"], "AOTCache"),
        (17, ["-XX:ArchiveClassesAtExit={}"], "SharedArchiveFile"),
    ],
)
def test_the_first_start_makes_it_and_the_next_uses_it(
    home: Path, version: int, makes: list[str], uses: str
) -> None:
    first = found(home, version)
    assert first is not None
    assert started(home, first, "Main", version=version) == [
        "-Xlog:disable",
        *(option.format(first.made) for option in makes),
        *ADDED[version],
        "Main",
    ]
    assert {path.name for path in first.archive.parent.iterdir()} == {"spark.aot", "spark.aot.size"}
    second = found(home, version)
    assert second is not None
    assert started(home, second, "Main", version=version) == [
        "-Xlog:disable",
        f"-XX:{uses}={first.archive}",
        *ADDED[version],
        "Main",
    ]


def test_sparks_launcher_gets_none_of_it(home: Path) -> None:
    assert started(home, found(home), LAUNCHER) == [*ADDED[25], LAUNCHER]


def test_of_two_starts_at_once_one_makes_it(home: Path) -> None:
    assert found(home) is not None
    assert found(home) is None


def test_one_that_died_while_it_made_it_is_forgotten(home: Path) -> None:
    first = found(home)
    assert first is not None
    assert first.making is not None
    os.utime(first.making, (0, 0))
    again = found(home)
    assert again is not None
    assert not first.making.exists()


@pytest.mark.parametrize("script", [f"{MAKES}; exit 3", "exit 0"])
def test_a_java_that_fails_or_writes_none_leaves_none_and_its_exit_code(home: Path, script: str) -> None:
    first = found(home, script=script)
    assert first is not None
    started(home, first, "Main", script=script)
    assert list(first.archive.parent.iterdir()) == []


def test_half_an_archive_is_not_used_and_made_again(home: Path) -> None:
    first = found(home)
    assert first is not None
    started(home, first, "Main")
    first.archive.write_bytes(first.archive.read_bytes()[:-1])
    again = found(home)
    assert again is not None
    assert again.made is not None


def test_one_with_which_java_died_is_removed_and_one_that_is_made_is_not(home: Path) -> None:
    first = found(home)
    assert first is not None
    assert not first.forget()
    started(home, first, "Main")
    second = found(home)
    assert second is not None
    assert second.forget()
    assert not second.archive.exists()
    assert not second.forget()


def test_another_java_or_other_jars_have_another_one(home: Path) -> None:
    first = found(home)
    assert first is not None
    started(home, first, "Main")
    other = found(home, 26)
    assert other is not None
    assert other.archive != first.archive
    (home / "spark" / "jars" / "spark-core.jar").write_bytes(b"upgraded")
    upgraded = found(home)
    assert upgraded is not None
    assert upgraded.made is not None


def test_what_nobody_has_used_for_a_month_goes_when_another_is_made(home: Path) -> None:
    first = found(home)
    assert first is not None
    started(home, first, "Main")
    os.utime(first.archive, (0, 0))
    assert found(home, 26) is not None
    assert not first.archive.parent.exists()


def test_a_full_disk_gets_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(1 << 40, 1 << 40, 1 << 30))
    assert found(home) is None


def test_where_nothing_can_be_written_none_is_made(home: Path) -> None:
    (home / "home").write_text("no folder")
    assert found(home) is None


def test_a_folder_of_another_user_is_not_trusted(home: Path) -> None:
    first = found(home)
    assert first is not None
    first.archive.parent.chmod(0o777)
    assert found(home) is None


def test_where_nothing_can_be_written_what_is_there_is_used(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = found(home)
    assert first is not None
    started(home, first, "Main")

    def read_only(*arguments: object, **named: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(java_archive.os, "utime", read_only)
    monkeypatch.setattr(java_archive.tempfile, "mkstemp", read_only)
    second = found(home)
    assert second is not None
    assert second.made is None


@pytest.mark.parametrize(
    ("environment", "conf"),
    [
        ({"KGROUP_JAVA_ARCHIVE": "off"}, {}),
        ({"SPARK_CONF_DIR": "/etc/spark"}, {}),
        ({"JDK_JAVA_OPTIONS": "-Xshare:off"}, {}),
        ({}, {"spark.driver.extraClassPath": "a.jar"}),
        ({}, {"spark.jars.packages": "a:b:1"}),
        ({}, {"spark.driver.extraJavaOptions": "-javaagent:a.jar"}),
        ({}, {"spark.driver.extraJavaOptions": "-Da=b -XX:SharedArchiveFile=mine"}),
    ],
)
def test_with_other_classes_or_an_archive_of_the_users_own_there_is_none(
    home: Path, environment: dict[str, str], conf: dict[str, str]
) -> None:
    assert found(home, environment=environment, conf=conf) is None
