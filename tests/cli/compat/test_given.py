"""Command lines of kafka-consumer-groups: what is read, and what is refused in which words.

The words are those of the tool of Kafka 4.3.1, in the transcript or tried by hand on it.
"""

import pytest

from kgroup.cli.compat.checks import check
from kgroup.cli.compat.given import ToolUsageError, parse

_WHAT_IT_IS = (
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or"
    " reset consumer group offsets."
)
B = ("--bootstrap-server", "b:1")


def test_values_follow_or_are_glued_and_other_words_are_passed_over() -> None:
    given = parse(
        [
            "--list",
            "x",
            "--group",
            "a",
            "--group=b",
            "--timeout",
            "5",
            "--shift-by",
            "-3",
            "--command-config=",
        ]
    )
    assert given.all("group") == ["a", "b"]
    assert given.one("shift-by") == "-3"
    assert given.one("command-config") == ""
    assert given.has("list") and not given.has("describe")


def test_an_option_that_needs_a_value_takes_the_next_word_whatever_it_is() -> None:
    """So a negative duration is one, and so is an option that was meant for another place."""
    given = parse(["--by-duration", "-PT1H", "--topic", "--to-earliest", "--group", "--"])
    assert given.options == {"by-duration": ["-PT1H"], "topic": ["--to-earliest"], "group": ["--"]}


def test_options_may_begin_with_one_dash_and_end_with_two_alone() -> None:
    given = parse(["-describe", "-group=g", "-", "-verbose", "--", "--bogus"])
    assert given.options == {"describe": [], "group": ["g"], "verbose": []}


def test_a_value_that_may_be_there_is_no_option() -> None:
    assert parse(["--list", "--state", "--type", "classic"]).options == {
        "list": [],
        "state": [],
        "type": ["classic"],
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--bogus", "joptsimple.UnrecognizedOptionException: bogus is not a recognized option"),
        ("--describe -xyz", "joptsimple.UnrecognizedOptionException: x is not a recognized option"),
        ("--desc", "joptsimple.UnrecognizedOptionException: desc is not a recognized option"),
        (
            "--describe --group",
            "joptsimple.OptionMissingRequiredArgumentException: Option group requires an argument",
        ),
        (
            "--list --members",
            "joptsimple.UnavailableOptionException: Option(s) [members] are unavailable given other options"
            " on the command line",
        ),
        (
            "--describe --group x --type",
            "joptsimple.UnavailableOptionException: Option(s) [type] are unavailable given other options"
            " on the command line",
        ),
    ],
)
def test_what_cannot_be_read(line: str, message: str) -> None:
    with pytest.raises(ToolUsageError) as refused:
        parse([*B, *line.split()])
    assert str(refused.value) == f'Exception in thread "main" {message}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--list", 'Missing required argument "[bootstrap-server]"'),
        ("", _WHAT_IT_IS),
        ("-b --list --help", _WHAT_IT_IS),
        (
            "-b",
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets,"
            " --delete-offsets, --validate-regex",
        ),
        (
            "-b --describe --delete --group a",
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets,"
            " --delete-offsets, --validate-regex",
        ),
        ("-b --describe", "Option [describe] takes one of these options: [all-groups], [group]"),
        (
            "-b --describe --group g --members --state",
            "Option [describe] takes at most one of these options: [members], [offsets], [state]",
        ),
        ("-b --describe --group g --state stable", "Option [describe] does not take a value for [state]"),
        ("-b --delete", "Option [delete] takes one of these options: [all-groups], [group]"),
        (
            "-b --delete --group a --topic x",
            "The consumer does not support topic-specific offset deletion from a consumer group.",
        ),
        (
            "-b --delete-offsets --group a",
            "Option [delete-offsets] takes the following options: [topic], [group]",
        ),
        (
            "-b --reset-offsets --group a --execute --dry-run",
            "Option [reset-offsets] only accepts one of [execute] and [dry-run]",
        ),
        (
            "-b --reset-offsets --group a --topic o --to-latest --to-earliest",
            'Option "[to-earliest]" can\'t be used with option "[to-latest]"',
        ),
        (
            "-b --describe --all-groups --group a",
            'Option "[group]" can\'t be used with option "[all-groups]"',
        ),
        ("-b --list --group a", 'Option "[group]" can\'t be used with option "[list]"'),
        ("-b --list --topic a", 'Option "[topic]" can\'t be used with option "[list]"'),
        ("-b --describe --group a --topic t", 'Option "[topic]" can\'t be used with option "[describe]"'),
    ],
)
def test_what_is_refused(line: str, message: str) -> None:
    words = line.replace("-b", " ".join(B), 1).split() if line.startswith("-b") else line.split()
    with pytest.raises(ToolUsageError) as refused:
        check(parse(words))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("--list --all-groups --execute", "list"),
        ("--describe --all-groups --all-topics --to-latest", "describe"),
        ("--reset-offsets --group a --all-topics --topic x --to-latest --dry-run", "reset-offsets"),
    ],
)
def test_what_the_tool_lets_pass(line: str, action: str) -> None:
    assert check(parse([*B, *line.split()])) == action


def test_a_reset_that_says_neither_is_warned_of_before_all_else(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ToolUsageError):
        check(parse([*B, "--reset-offsets"]))
    assert capsys.readouterr().err.startswith(
        "WARN: No action will be performed as the --execute option is missing. "
    )
