"""The rules about options of each command: each can be broken, and each names options that there are."""

import pytest

from kgroup.cli import lag_checks, lag_spark_options, options
from kgroup.cli.app import load_command
from kgroup.cli.option_checks import Clash, Needs, OneOf, Rule, check_options, given_options
from kgroup.errors import InputError

TABLES = {
    "decode": options.ONE_SOURCE,
    "lag-report": (*lag_checks.RULES, *lag_spark_options.ONE_ADDRESS),
}
RULES = [(command, rule) for command, rules in TABLES.items() for rule in rules]


def breaking(rule: Rule) -> set[str]:
    """The fewest options that break the rule."""
    match rule:
        case Needs():
            return {min(rule.options)}
        case Clash():
            return {min(rule.options), min(rule.others - rule.options)}
        case OneOf():
            return set(rule.options) if rule.none is None else set()


def keeping(rule: Rule) -> list[set[str]]:
    """Options that the rule has nothing against."""
    match rule:
        case Needs():
            return [set(), {min(rule.options), min(rule.one_of)}]
        case Clash():
            return [set(), {min(rule.options)}]
        case OneOf():
            return [{name} for name in rule.options]


def names(rule: Rule) -> set[str]:
    match rule:
        case Needs():
            return {*rule.options, *rule.one_of}
        case Clash():
            return {*rule.options, *rule.others}
        case OneOf():
            return set(rule.options)


def name_of(value: object) -> str:
    return value if isinstance(value, str) else type(value).__name__


@pytest.mark.parametrize(("command", "rule"), RULES, ids=name_of)
def test_a_rule_is_about_options_that_there_are(command: str, rule: Rule) -> None:
    parameters = load_command(command).params
    known = {max(parameter.opts, key=len) for parameter in parameters}
    known |= {str(parameter.metavar) for parameter in parameters if parameter.param_type_name == "argument"}
    assert names(rule) <= known


@pytest.mark.parametrize(("command", "rule"), RULES, ids=name_of)
def test_a_rule_that_is_broken_is_said(command: str, rule: Rule) -> None:
    for given in keeping(rule):
        assert rule.problem(dict.fromkeys(given, True)) is None
    broken = dict.fromkeys(breaking(rule), True)
    assert rule.problem(broken) is not None
    with pytest.raises(InputError):
        check_options(TABLES[command], broken)


def test_no_options_at_all_are_fine() -> None:
    lag_checks.check_options({})


def test_given_is_what_is_not_at_its_default() -> None:
    assert given_options(context("simulate", "--seed", "0", "--rate", "0", "-o", "table")) == {"--rate": 0}


def context(command: str, *words: str) -> object:
    return load_command(command).make_context(command, list(words))
