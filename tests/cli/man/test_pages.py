import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from kgroup.cli.man import pages as man
from kgroup.cli.man import roff
from kgroup.cli.shell.app import COMMANDS, EXIT_STATUS, load_command

MAN = Path(__file__).parents[3] / "man"


def test_the_pages_in_man_are_what_the_live_help_says_now():
    written = {path.name: path.read_text(encoding="utf-8") for path in MAN.glob("*.[1-9]")}
    assert written == man.pages(), "run python -m kgroup.cli.man"


def test_pip_installs_each_page_below_its_section():
    settings = tomllib.loads((MAN.parent / "pyproject.toml").read_text(encoding="utf-8"))
    installed = {
        (page.name, folder)
        for folder, patterns in settings["tool"]["setuptools"]["data-files"].items()
        for pattern in patterns
        for page in MAN.parent.glob(pattern)
    }
    assert installed == {(page.name, f"share/man/man{page.suffix[1:]}") for page in MAN.iterdir()}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_on_its_page(name):
    page = man.pages()[f"kgroup-{name}.1"].replace("\\-", "-")
    shown = [parameter for parameter in load_command(name).params if not getattr(parameter, "hidden", False)]
    for parameter in shown:
        assert all(option in page for option in parameter.opts if option.startswith("-"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_page_has_examples_and_every_exit_status(name):
    page = man.pages()[f"kgroup-{name}.1"]
    assert f"$ kgroup {name}".replace("-", "\\-") in page or f"| kgroup {name}".replace("-", "\\-") in page
    assert all(f"\n{status}\n" in page for status in EXIT_STATUS)


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc, which checks man pages, is not installed")
def test_mandoc_finds_nothing_to_warn_of():
    lint = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *sorted(MAN.glob("*.[1-9]"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (lint.returncode, lint.stdout) == (0, "")


def test_what_roff_would_obey_is_shown_as_it_is():
    assert roff.text(".TH is a macro, 'so, too, \\fB") == "\\&.TH is a macro, 'so, too, \\efB"


def test_writing_the_pages_removes_those_of_commands_that_are_gone(tmp_path, monkeypatch):
    (tmp_path / "kgroup-gone.1").write_text("old")
    monkeypatch.setattr("sys.argv", ["man", str(tmp_path)])
    man.main()
    assert {path.name for path in tmp_path.iterdir()} == set(man.pages())
