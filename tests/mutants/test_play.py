"""A bug is planted in a process of its own, the tests are run there, and the work tree stays as it is."""

from dataclasses import replace

import pytest

from tests.mutants.__main__ import main
from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.operators import sample, slips
from tests.mutants.play import Fate, play

VARINT = Mutant(
    package="log",
    name="odd",
    file="kgroup/log/format/varint.py",
    find="raw >>= 7",
    replace="raw >>= 8",
    wrong="long varints lose a bit",
    tests=("tests/log/format/test_varint.py",),
)


def test_a_bug_that_a_test_notices_is_killed_by_it_and_the_file_is_untouched() -> None:
    before = (ROOT / VARINT.file).read_bytes()
    played = play(VARINT, 120)
    assert played.fate is Fate.KILLED
    assert played.by.startswith("tests/log/format/test_varint.py::")
    assert (ROOT / VARINT.file).read_bytes() == before


def test_a_bug_that_no_test_notices_survives() -> None:
    elsewhere = replace(VARINT, tests=("tests/test_durations.py",))
    assert play(elsewhere, 120).fate is Fate.SURVIVED


def test_the_same_seed_draws_the_same_slips() -> None:
    names = [each.name for each in sample("wire", 5, "a")]
    assert names == [each.name for each in sample("wire", 5, "a")]
    assert names != [each.name for each in sample("wire", 5, "b")]


@pytest.mark.parametrize("package", ["coordinator", "log"])
def test_every_slip_changes_its_file_and_compiles(package: str) -> None:
    drawn = sample(package, 25, "any")
    assert len({each.replace for each in drawn}) == len(drawn)
    for slip in drawn:
        assert slip.source() != slip.find


def test_slips_are_of_every_operator() -> None:
    kinds = {each.name.split(" ", 1)[1] for each in slips("coordinator")}
    assert kinds == {
        "a clause less",
        "a statement less",
        "and for or",
        "another comparison",
        "arguments swapped",
        "break",
        "None returned",
        "one more",
        "the condition negated",
        "the opposite",
        "the other sign",
    }


def test_a_list_names_each_with_its_wrong_behaviour(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--package", "coordinator", "--name", "no_sessions*"]) == 0
    assert capsys.readouterr().out == (
        "coordinator/no_sessions_after_a_reload: members that died with the old coordinator keep their"
        " partitions for ever\n"
    )


def test_a_sample_goes_by_the_seed(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for seed in ("a", "a", "b"):
        assert main(["--list", "--package", "broker", "--sample", "5", "--seed", seed]) == 0
        drawn.append(capsys.readouterr().out)
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0].splitlines()) == 5
