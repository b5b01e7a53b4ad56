"""`import kgroup`: cheap, and every public name is there when it is asked for."""

import inspect
import subprocess
import sys

import pytest

import kgroup

HEAVY = ("numpy", "pyarrow", "numba", "kafka", "typer", "rich", "asyncio", "typing")


def test_importing_kgroup_loads_nothing_of_weight():
    program = (
        "import sys; before = set(sys.modules); import kgroup; print(*sorted(set(sys.modules) - before))"
    )
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {_root()!r}); {program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = ended.stdout.split()
    assert "kgroup" in loaded
    assert [name for name in loaded if name.partition(".")[0] in HEAVY] == []
    assert [name for name in loaded if name.startswith("kgroup.")] == ["kgroup.version"]


@pytest.mark.parametrize("name", sorted(kgroup.__all__))
def test_a_public_name_is_loaded_when_it_is_asked_for_and_says_what_it_is(name):
    value = getattr(kgroup, name)
    assert inspect.getdoc(value)
    assert name in dir(kgroup)


def test_every_public_name_has_a_module_and_is_listed_in_order():
    assert list(kgroup._MODULES) == kgroup.__all__ == sorted(kgroup.__all__)


def test_a_name_that_is_none_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'kgroup' has no attribute 'replays'"):
        kgroup.replays  # noqa: B018


def _root() -> str:
    return kgroup.__path__[0].removesuffix("kgroup")
