"""kgroup started with some of its standard streams closed, and stopped before it has begun."""

import subprocess
import sys
from collections.abc import Sequence

import pytest

from kgroup.__main__ import main

LIVES = "fixtures/4.3.1/lives"


def run_in_shell(words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m kgroup {words}"], capture_output=True, text=True, check=False
    )


def test_results_have_nowhere_to_go() -> None:
    ended = run_in_shell("assign --members 2 --topic orders:4 >&-")
    assert (ended.returncode, ended.stderr) == (1, "kgroup: standard output: Bad file descriptor\n")


def test_results_that_go_into_a_file_need_no_standard_streams(tmp_path) -> None:
    file = tmp_path / "rows.csv"
    words = f"lag-report {LIVES} --group orders-app -o csv --output"
    ended = run_in_shell(f"{words} {file} <&- >&- 2>&-")
    assert ended.returncode == 0
    assert file.read_text() == run_in_shell(f"{words} /dev/stdout").stdout


@pytest.mark.parametrize("words", ["decode -", "assign --input -"])
def test_there_is_nothing_to_read(words: str) -> None:
    ended = run_in_shell(f"{words} <&-")
    why = "kgroup: standard input is closed: nothing can be read from it\n"
    assert (ended.returncode, ended.stderr) == (1, why)


@pytest.mark.parametrize(
    ("words", "status"), [(f"decode {LIVES} --group orders-app", 0), ("decode nowhere", 1)]
)
def test_what_is_said_never_gets_among_the_results(words: str, status: int) -> None:
    deaf, heard = run_in_shell(f"{words} 2>&-"), run_in_shell(words)
    assert (deaf.returncode, deaf.stdout) == (status, heard.stdout)


def test_an_interrupt_while_modules_are_loaded_leaves_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> None:
            if name == "kgroup.cli.shell.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "kgroup.cli.shell.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
