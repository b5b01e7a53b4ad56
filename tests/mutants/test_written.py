"""Every mutant that was written by hand still has its place in the code, and says what it is about."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.mutant import PACKAGES, ROOT, Mutant, MutantError
from tests.mutants.written import WRITTEN, written

MUTANTS = [mutant for package in PACKAGES for mutant in written(package)]


def test_every_file_of_mutants_is_of_a_package() -> None:
    assert {path.stem for path in WRITTEN.iterdir()} <= PACKAGES.keys()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.package}/{mutant.name}")
def test_a_mutant_applies_and_compiles(mutant: Mutant) -> None:
    assert mutant.source()
    assert mutant.wrong and all((ROOT / path).exists() for path in mutant.tests)


def mutant(find: str, instead: str) -> Mutant:
    return Mutant(
        package="log",
        name="odd",
        file="kgroup/log/format/varint.py",
        find=find,
        replace=instead,
        wrong="odd",
        tests=("tests/log/format",),
    )


@pytest.mark.parametrize(
    ("find", "instead", "why"),
    [
        ("nowhere to be seen", "", "0 times"),
        ("def ", "", "4 times"),
        ("longest=10)", "longest=10", "line "),
        ("longest=10)", "longest=10,)", "changes no code"),
    ],
)
def test_a_mutant_that_does_not_apply_is_told(find: str, instead: str, why: str) -> None:
    with pytest.raises(MutantError, match=why):
        mutant(find, instead).source()


def test_a_mutant_of_a_decorator_changes_code() -> None:
    mutant_of_cache = replace(
        mutant("@lru_cache(maxsize=_CACHED_KEYS)", "@lru_cache(maxsize=1)"),
        file="kgroup/protocol/records/codec.py",
    )
    assert "@lru_cache(maxsize=1)\ndef " in mutant_of_cache.source()


def test_an_entry_with_a_wrong_key_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.toml").write_text("[odd]\nfile = 'a.py'\nfinds = 'x'\nreplace = 'y'\nwrong = 'z'\n")
    monkeypatch.setattr("tests.mutants.written.WRITTEN", tmp_path)
    with pytest.raises(MutantError, match="log/odd: lacks or does not know find, finds"):
        list(written("log"))
