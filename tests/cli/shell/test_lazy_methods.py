"""Dataclasses whose methods are compiled at the first call behave as others."""

import dataclasses
import inspect

import pytest

from kgroup.cli.shell.lazy_methods import compile_lazily, compile_now


@pytest.fixture
def lazily(monkeypatch):
    if not hasattr(dataclasses, "_create_fn"):
        pytest.skip("dataclass compiles all methods of a class at once")
    monkeypatch.setattr(dataclasses, "_create_fn", dataclasses._create_fn)
    compile_lazily()


def test_methods_work_and_give_way_to_the_compiled_ones(lazily):
    @dataclasses.dataclass(frozen=True, slots=True, order=True)
    class Base:
        number: int = 1

    @dataclasses.dataclass(frozen=True, slots=True, order=True)
    class Point(Base):
        name: str = "a"

    before = Point.__init__
    one, two = Point(2), Point(2, "a")
    assert Point.__init__ is not before
    assert one == two and hash(one) == hash(two) and one < Point(3)
    assert repr(one).endswith("Point(number=2, name='a')")
    assert dataclasses.replace(one, number=5) == Point(5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.number = 3  # type: ignore[misc]


def test_a_signature_is_there_when_it_is_asked_for(lazily):
    @dataclasses.dataclass
    class Point:
        """A point."""

        number: int = 1

    compile_now(Point)
    assert str(inspect.signature(Point)) == "(number: int = 1) -> None"
