"""Each statement of docs/must_hold.md has a rule that can be broken, and some of them are broken here.

`python -m tests.must_hold` breaks all.
"""

from dataclasses import replace

import pytest

from tests.must_hold.__main__ import main
from tests.must_hold.statements import broken, statements
from tests.mutants.mutant import ROOT, MutantError

BROKEN = list(broken())


def test_each_statement_has_a_broken_rule() -> None:
    have = {statement.text for statement, _ in BROKEN}
    assert [each.text for each in statements() if each.text not in have] == []


@pytest.mark.parametrize("number", range(len(BROKEN)), ids=lambda number: BROKEN[number][1].name)
def test_a_broken_rule_applies_to_the_code_of_now(number: int) -> None:
    statement, mutant = BROKEN[number]
    assert mutant.source() != (ROOT / mutant.file).read_text()
    assert mutant.wrong and mutant.tests == statement.tests


def test_tests_notice_what_they_are_named_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--trust", "--jobs", "2", "--statement", "leads nowhere"]) == 0
    *noticed, last = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in noticed] == ["noticed", "noticed"]
    assert last == "2 of 2 broken rules of 1 statements are noticed"


def test_a_rule_that_no_test_notices_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [(statement, mutant)] = [pair for pair in BROKEN if pair[0].text.startswith("No such group")]
    blind = [(statement, replace(mutant, tests=("tests/test_durations.py",)))]
    monkeypatch.setattr("tests.must_hold.__main__.broken", lambda: blind)
    assert main(["--trust"]) == 1
    assert capsys.readouterr().out.startswith("UNNOTICED No such group")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("statement = 'Patt'\nfile = 'a'\nfind = 'b'\nreplace = 'c'", "its keys are not"),
        (
            "statement = 'Th'\nfile = 'a'\nfind = 'b'\nreplace = 'c'\nwrong = 'd'",
            "statements begin so, not one",
        ),
    ],
)
def test_an_entry_that_is_none_is_told(entry: str, why: str) -> None:
    with pytest.raises(MutantError, match=why):
        list(broken(f"[[broken]]\n{entry}\n"))


def test_a_statement_that_nobody_makes_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--statement", "the moon is made of cheese"]) == 2
    assert "no statement has" in capsys.readouterr().err
