"""The rules about options of each command: each can be broken, and each names options that there are."""

import pytest

from kgroup.cli.lag import checks, spark_options
from kgroup.cli.options import assign, decode, find_coordinator, join, simulate, what_if
from kgroup.cli.shell import options
from kgroup.cli.shell.app import load_command
from kgroup.cli.shell.option_checks import Clash, Needs, OneOf, Rule, check_options, given_options
from kgroup.errors import InputError

TABLES = {
    "assign": assign.RULES,
    "decode": (*decode.RULES, *options.ONE_SOURCE),
    "find-coordinator": find_coordinator.RULES,
    "join": join.RULES,
    "lag-report": (*checks.RULES, *spark_options.ONE_ADDRESS),
    "simulate": (*simulate.RULES, *simulate.OF_A_SCENARIO),
    "what-if": what_if.RULES,
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
    checks.check_options({})
    check_options(simulate.RULES, {"--compare": None, "--seeds": None, "--explain": False})


def test_the_first_rule_that_is_broken_is_the_one_that_is_said() -> None:
    given = {"--trace": "t", "--log-dir": "d", "--compare": "eager"}
    with pytest.raises(InputError, match=r"^--log-dir is for a single run"):
        check_options(simulate.RULES, given)
    with pytest.raises(InputError, match=r"^--compare is for a single seed"):
        check_options(simulate.RULES, {**given, "--seeds": 2})


def test_an_empty_text_asks_for_nothing_but_is_there() -> None:
    check_options(simulate.RULES, {"--compare": "", "--seeds": 2})
    with pytest.raises(InputError, match="leave out --compare"):
        check_options(simulate.RULES, {"--compare": "", "--trace": "t"})
    checks.check_options(checks.given_options(context("lag-report", "--explain", "", "--topic", "t")))


def test_a_sentence_may_name_the_value_and_the_options_that_are_given() -> None:
    given = given_options(context("simulate", "--explain", "-o", "csv"))
    with pytest.raises(InputError, match=r"^--explain is text: leave out -o csv;"):
        check_options(simulate.RULES, given)
    with pytest.raises(InputError, match=r"; not --members and PATH$"):
        check_options(assign.RULES, {"PATH": ["x"], "--input": "", "--members": "3"})


def test_given_is_what_is_not_at_its_default() -> None:
    assert given_options(context("simulate", "--seed", "0", "--rate", "0", "-o", "table")) == {"--rate": 0}


def context(command: str, *words: str) -> object:
    return load_command(command).make_context(command, list(words))
