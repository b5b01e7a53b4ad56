import pytest

from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.errors import FindingsError


def test_a_line_is_marked_as_kgroups_and_keeps_off_the_results(capsys):
    say("group g: 2 members")
    assert capsys.readouterr() == ("", "kgroup: group g: 2 members\n")


def test_what_a_client_calls_itself_commands_no_terminal(capsys):
    say("client \x1b[31mred\nkgroup: all is well")
    assert capsys.readouterr().err == "kgroup: client \\x1b[31mred\\nkgroup: all is well\n"


@pytest.mark.parametrize(("strict", "problems"), [(False, ["x"]), (True, []), (True, ())])
def test_problems_are_no_failure_unless_they_are_looked_for(strict, problems):
    fail_if_strict(problems, strict=strict)


def test_strict_fails_by_the_number_of_problems():
    with pytest.raises(FindingsError, match="damaged or undecodable places: 2"):
        fail_if_strict(["a", "b"], strict=True)
