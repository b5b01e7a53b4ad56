import shutil
import subprocess
from pathlib import Path

import pytest

from kgroup.cli import man
from kgroup.cli.app import COMMANDS, EXIT_STATUS, load_command
from kgroup.cli.man_scenario import EXAMPLE
from kgroup.cli.roff import escaped
from kgroup.sim.actions import FORMS
from kgroup.sim.scenario_file import read_scenario
from kgroup.sim.scenario_keys import (
    CHAOS_KEYS,
    MEMBER_KEYS,
    MEMBERS_KEYS,
    NETWORK_KEYS,
    SCENARIO_KEYS,
    TOPIC_KEYS,
    ZOOKEEPER_KEYS,
)

MAN = Path(__file__).parents[2] / "man"


def test_the_pages_in_man_are_what_the_live_help_says_now():
    written = {path.name: path.read_text(encoding="utf-8") for path in MAN.iterdir()}
    assert written == man.pages(), "run python -m kgroup.cli.man"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_on_its_page(name):
    page = man.pages()[f"kgroup-{name}.1"].replace("\\-", "-")
    for parameter in load_command(name).params:
        assert all(option in page for option in parameter.opts if option.startswith("-"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_page_has_examples_and_every_exit_status(name):
    page = man.pages()[f"kgroup-{name}.1"]
    assert f"$ kgroup {name}".replace("-", "\\-") in page or f"| kgroup {name}".replace("-", "\\-") in page
    assert all(f"\n{status}\n" in page for status in EXIT_STATUS)


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc, which checks man pages, is not installed")
def test_mandoc_finds_nothing_to_warn_of():
    lint = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *sorted(MAN.iterdir())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (lint.returncode, lint.stdout) == (0, "")


def test_what_roff_would_obey_is_shown_as_it_is():
    assert escaped(".TH is a macro, 'so, too, \\fB") == "\\&.TH is a macro, 'so, too, \\efB"


def test_the_page_of_scenario_files_has_every_key_and_fault_and_an_example_that_can_be_read():
    page = man.pages()["kgroup-scenario.5"].replace("\\-", "-")
    tables = (SCENARIO_KEYS, TOPIC_KEYS, MEMBERS_KEYS, MEMBER_KEYS, CHAOS_KEYS, NETWORK_KEYS, ZOOKEEPER_KEYS)
    for key in (key for table in tables for key in table):
        assert f"\\fB{key}\\fR = " in page
    assert all(f"\\fB{form.pattern(verb)}\\fR" in page for verb, form in FORMS.items())
    scenario = read_scenario(EXAMPLE, "example", "example")
    assert [member.start_ms for member in scenario.members] == [0, 500, 1000]


def test_writing_the_pages_removes_those_of_commands_that_are_gone(tmp_path, monkeypatch):
    (tmp_path / "kgroup-gone.1").write_text("old")
    monkeypatch.setattr("sys.argv", ["man", str(tmp_path)])
    man.main()
    assert {path.name for path in tmp_path.iterdir()} == set(man.pages())
