"""Completion in the shells: the scripts, and what they are told."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kgroup.testing
from kgroup.cli.shell.completion import SHELLS, whole_words
from tests.cli.conftest import Kgroup
from tests.cli.surroundings import member


@pytest.mark.parametrize(
    ("broken", "words", "at"),
    [
        ("kgroup decode --fol", "kgroup decode --fol", 2),
        ("kgroup decode -b kafka : 9092 --gro", "kgroup decode -b kafka:9092 --gro", 4),
        ("kgroup decode -b a : 1,b : 2 --group x", "kgroup decode -b a:1,b:2 --group x", 5),
        ("kgroup decode --format = js", "kgroup decode --format=js", 2),
    ],
)
def test_words_that_bash_broke_are_whole_again(broken: str, words: str, at: int) -> None:
    parts = broken.split(" ")
    assert whole_words(parts, len(parts) - 1) == (words.split(" "), at)


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_its_script(kgroup: Kgroup, shell: str) -> None:
    own = kgroup("--show-completion", shell)
    assert own.status == 0
    assert f"complete_{shell}" in own.out


def test_a_shell_that_is_not_known_is_refused(kgroup: Kgroup) -> None:
    ended = kgroup("--show-completion", "zhs")
    assert (ended.status, ended.err) == (2, "kgroup: --show-completion zhs: did you mean zsh?\n")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_help_of_an_option_stays_on_its_line(
    kgroup: Kgroup, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_KGROUP_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "kgroup lag-report --st")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    lines = kgroup().out.splitlines()
    offered = {name for name in ("--status", "--stuck", "--stream", "--strict") if name in "".join(lines)}
    assert offered == {"--status", "--stuck", "--stream", "--strict"}
    assert len(lines) == len(offered)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on the PATH")
def test_bash_completes_commands_options_and_groups_of_a_cluster() -> None:
    with kgroup.testing.cluster(topics={"orders": 1}) as kafka, member(kafka.bootstrap):
        host, _, port = kafka.bootstrap.rpartition(":")
        script = f"""
        eval "$(kgroup --show-completion bash)"
        offer() {{
            COMP_WORDS=("$@")
            COMP_CWORD=$(($# - 1))
            _kgroup_completion kgroup
            echo "${{COMPREPLY[*]}}"
        }}
        offer kgroup lag-re
        offer kgroup decode --fol
        offer kgroup decode --format = js
        offer kgroup lag-report -b {host} : {port} --group bi
        """
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        said = subprocess.run(
            ["bash", "-c", script],
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
    assert said.stderr == ""
    assert said.stdout.splitlines() == ["lag-report", "--follow", "json jsonl", "billing"]
