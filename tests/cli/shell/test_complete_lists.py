"""What a shell is offered where an option takes words of a fixed list."""

import pytest

from kgroup.cli.lag.fail_on import FailOn, _kinds, _statuses
from kgroup.cli.shell.complete_lists import complete_failures
from tests.cli.shell.test_complete_names import offered  # noqa: F401  a fixture


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kgroup lag -o j", ["json", "jsonl"]),
        ("kgroup serve-ctl kill", ["kill-node"]),
        ("kgroup config re", ["remove"]),
        ("kgroup simulate herd", ["herd-effect"]),
        ("kgroup simulate --assignor co", ["cooperative-sticky"]),
        ("kgroup join --assignor r", ["range", "roundrobin"]),
        ("kgroup assign --assignor s", ["sticky", "server-range", "simple"]),
        ("kgroup what-if --assignor uni", ["uniform"]),
        ("kgroup decode --type offset", ["offset-commit"]),
        ("kgroup decode --type em", ["empty-batch"]),
        ("kgroup groups --type s", ["share", "simple", "streams"]),
        ("kgroup stuck --fail-on stuc", ["stuck", "stuck-reconciliation"]),
        ("kgroup lag-report --fail-on ST", ["STOP", "STALL"]),
        ("kgroup stuck --fail-on nothing-li", []),
    ],
)
def test_the_words_that_begin_so(offered, line, words):  # noqa: F811
    assert sorted(offered(line)) == sorted(words)


def test_fail_on_takes_each_word_that_is_offered_and_no_other_is_missing():
    words = [word for word in complete_failures("") if word != "lag="]
    FailOn.parse(words)
    assert {word.lower() for word in words} == {*_kinds(), *_statuses()}
