import os
import re
import subprocess
import sys

import pytest

from kgroup import __version__
from kgroup.cli.shell import app
from kgroup.cli.shell.app import COMMANDS, TASKS, load_command
from kgroup.cli.shell.usage_error import did_you_mean_one
from kgroup.errors import FindingsError, InputError, SourceError
from kgroup.sim.scenario.actions import FORMS

KGROUP = [sys.executable, "-m", "kgroup"]
HEAVY = {"kafka", "numba", "numpy", "pandas", "pyarrow", "pyspark", "rich", "yaml"}


def raising(error):
    def command():
        raise error

    return command


@pytest.fixture
def ending_with(kgroup, monkeypatch):
    """Run a command that ends in `error`."""

    def run(error):
        command = load_command("find-coordinator")
        command.callback = lambda **_: raising(error)()
        monkeypatch.setattr(app, "load_command", lambda name: command)
        return kgroup("find-coordinator", "g")

    return run


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SourceError("no such log: x.log"), 1),
        (InputError("--since: what day is that"), 2),
        (FindingsError("2 damaged batches"), 3),
        (FileNotFoundError(2, "No such file or directory", "x.log"), 1),
        (OSError(28, "No space left on device"), 1),
    ],
)
def test_an_error_is_one_line_on_standard_error_and_an_exit_status(ending_with, error, status):
    ended = ending_with(error)
    assert ended.status == status
    assert ended.out == ""
    assert ended.err.startswith("kgroup: ")
    assert ended.err.count("\n") == 1


def test_an_error_names_the_file_that_the_system_could_not_open(ending_with):
    ended = ending_with(FileNotFoundError(2, "No such file or directory", "x.log"))
    assert ended.err == "kgroup: x.log: No such file or directory\n"


def test_an_error_of_several_lines_or_with_control_characters_stays_one_harmless_line(ending_with):
    ended = ending_with(SourceError("first\nsecond \x1b[31m"))
    assert ended.err == "kgroup: first second \\x1b[31m\n"


def test_ctrl_c_is_quiet(ending_with):
    ended = ending_with(KeyboardInterrupt())
    assert (ended.status, ended.err) == (130, "")


def test_a_reader_who_leaves_ends_the_command_quietly():
    groups = " ".join(f"group-{i}" for i in range(5000))
    command = f"set -o pipefail; {sys.executable} -m kgroup find-coordinator -o jsonl {groups} | head -1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith('{"group": "group-0"')


def test_version(kgroup):
    ended = kgroup("--version")
    assert (ended.status, ended.out) == (0, f"kgroup {__version__}\n")


def test_a_misspelt_command_is_answered_with_the_nearest(kgroup):
    ended = kgroup("find-coordinater")
    assert ended.status == 2
    assert "; did you mean find-coordinator?" in ended.err


@pytest.mark.parametrize(
    ("given", "known", "hint"),
    [
        ("find", COMMANDS, "; did you mean find-coordinator?"),
        ("coordinator", COMMANDS, "; did you mean find-coordinator?"),
        ("lag_report", COMMANDS, "; did you mean lag-report?"),
        ("LAG", COMMANDS, "; did you mean lag or lag-report?"),
        ("explian", COMMANDS, "; did you mean explain?"),
        ("--gr", ["--group", "--now"], "; did you mean --group?"),
        ("--grupo", ["--group", "--now"], "; did you mean --group?"),
        (
            "--se",
            ["--serve", "--seed", "--seeds", "--session", "--set"],
            "; did you mean --serve or --seed or --seeds?",
        ),
        ("zzz", COMMANDS, ""),
        ("", COMMANDS, ""),
        ("--", ["--group"], ""),
    ],
)
def test_a_name_cut_short_is_completed_and_a_part_or_a_slip_is_found(given, known, hint):
    assert did_you_mean_one(given, known) == hint


def test_a_misspelt_option_is_answered_with_the_nearest(kgroup):
    ended = kgroup("find-coordinator", "--partition", "5")
    assert ended.status == 2
    assert "--partitions" in ended.err


def test_kgroup_alone_shows_its_help(kgroup):
    assert next(iter(TASKS)) + ":\n" in kgroup().err


def test_every_command_stands_under_one_task_of_the_help(kgroup):
    shown = re.findall(r"^  ([a-z-]+)  ", kgroup("--help").out.partition("Lag and trouble:")[2], re.MULTILINE)
    assert sorted(shown) == sorted(COMMANDS)
    assert [name for names in TASKS.values() for name in names] == shown


@pytest.mark.parametrize(
    "name", ["groups", "lag", "stuck", "explain", "history", "commits", "watch", "metrics", "top", "demo"]
)
def test_a_command_for_one_question_has_a_help_of_a_screen(name, kgroup):
    assert len(kgroup(name, "--help").out.splitlines()) <= 45


def test_the_help_of_simulate_is_no_longer_than_60_lines_and_every_fault_of_it_can_be_said(kgroup):
    shown = kgroup("simulate", "--help").out
    assert len(shown.splitlines()) <= 60
    verbs = set(re.findall(r"[a-z-]+", shown.partition("Faults")[2].partition("Arguments")[0])) & set(FORMS)
    assert verbs >= set(FORMS) - {"narrow", "fail-disk", "cut-power", "lose-writes"}


def test_the_help_of_the_whole_report_is_no_longer_than_a_page_and_points_to_the_others(kgroup):
    shown = kgroup("lag-report", "--help").out
    assert len(shown.splitlines()) <= 90
    for name in ("lag", "stuck", "explain", "history", "watch", "metrics"):
        assert f"{name} (" in " ".join(shown.split())


@pytest.mark.parametrize("arguments", [["--help"], ["find-coordinator", "test-group"]])
def test_nothing_heavy_is_imported_for(arguments):
    script = (
        "import sys, kgroup.cli.shell.app as app\n"
        "try: app.main(sys.argv[1:])\n"
        "except SystemExit: print('\\nimported:', *sys.modules)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    imported = ended.stdout.split("imported:")[1].split()
    assert not HEAVY & {name.partition(".")[0] for name in imported}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_command_says_of_itself(name):
    assert load_command(name).help.splitlines()[0] == COMMANDS[name]


def test_every_summary_fits_its_line(kgroup):
    assert "..." not in kgroup("--help").out.partition("Lag and trouble:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_and_every_parameter_has_help(name, kgroup):
    command = load_command(name)
    assert "kgroup " + name in command.epilog
    for parameter in command.params:
        assert parameter.help, f"{name} {parameter.name} has no help"
        assert (
            parameter.is_flag or parameter.metavar
            if parameter.param_type_name == "option"
            else parameter.metavar
        )
    shown = kgroup(name, "--help").out
    assert not re.search(r"<\w+", shown), "a Python type shows in the help"


def test_bash_completes_commands_and_options():
    environment = {**os.environ, "_KGROUP_COMPLETE": "complete_bash"}

    def completed(words: str) -> list[str]:
        ended = subprocess.run(
            KGROUP,
            env={**environment, "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.stderr == ""
        return ended.stdout.split()

    assert "find-coordinator" in completed("kgroup find")
    assert "--partitions" in completed("kgroup find-coordinator --part")
