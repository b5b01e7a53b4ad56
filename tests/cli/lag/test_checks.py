"""The rules about options of `lag-report`: each can be broken, and each names options that there are."""

import pytest

from kgroup.cli.lag.checks import _RULES, _Clash, _Needs, check_options
from kgroup.cli.shell.app import load_command
from kgroup.errors import InputError

OPTIONS = {max(parameter.opts, key=len) for parameter in load_command("lag-report").params}


@pytest.mark.parametrize("rule", _RULES, ids=lambda rule: rule.why or "clash")
def test_a_rule_is_about_options_that_there_are(rule: _Needs | _Clash) -> None:
    others = rule.one_of if isinstance(rule, _Needs) else rule.others
    assert rule.options | others <= OPTIONS


@pytest.mark.parametrize("rule", _RULES, ids=lambda rule: rule.why or "clash")
def test_a_rule_that_is_broken_is_said(rule: _Needs | _Clash) -> None:
    given = {min(rule.options)}
    assert rule.problem(set()) is None
    if isinstance(rule, _Clash):
        assert rule.problem(given) is None
        given.add(min(rule.others - rule.options))
    else:
        assert rule.problem(given | {min(rule.one_of)}) is None
    assert rule.problem(given) is not None
    with pytest.raises(InputError):
        check_options(given)


def test_no_options_at_all_are_fine() -> None:
    check_options(set())
