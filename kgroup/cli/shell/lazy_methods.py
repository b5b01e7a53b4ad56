"""Methods of dataclasses that are compiled when they are first called, not when their class is made.

Up to Python 3.12 `dataclass` compiles each method from its text by itself: six for one that is frozen and has
slots. A command makes some two hundred such classes, and calls a tenth of their methods. From 3.13 on,
`dataclass` compiles all methods of a class at once, and is left as it is.

For a process of ours alone: in somebody's program `dataclasses` is what it is.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

_CREATE: Final = "_create_fn"
_NOW: Final = "compile_now"

_Method = Callable[..., Any]


def compile_lazily() -> None:
    """Have dataclasses made from now on compile their methods at the first call."""
    create = getattr(dataclasses, _CREATE, None)
    if create is not None and not isinstance(create, _Lazily):
        setattr(dataclasses, _CREATE, _Lazily(create))


def compile_now(of: object) -> None:
    """Compile the `__init__` of a dataclass, so that `inspect.signature` sees its arguments."""
    if isinstance(of, type):
        now = getattr(getattr(of, "__init__"), _NOW, None)  # noqa: B009  # mypy mistrusts of.__init__
        if now is not None:
            now(of)


class _Lazily:
    """Stands in for the function that compiles a method."""

    def __init__(self, create: Callable[..., _Method]) -> None:
        self.create = create

    def __call__(self, name: str, args: Sequence[str], body: Sequence[str], **others: Any) -> _Method:
        """A function that gives way to the method, which has the same arguments, when it is called."""
        create = self.create
        made: list[_Method] = []

        def now(owner: type) -> _Method:
            if not made:
                made.append(create(name, args, body, **others))
                made[0].__qualname__ = method.__qualname__
                _replace(owner, name, method, made[0])
            return made[0]

        def method(*given: Any, **named: Any) -> Any:
            return now(type(given[0]))(*given, **named)

        method.__name__ = method.__qualname__ = name
        vars(method)[_NOW] = now
        return method


def _replace(of: type, name: str, there: _Method, by: _Method) -> None:
    """Put a method where the other is, in the class or the one that it has it from."""
    for owner in of.__mro__:
        if vars(owner).get(name) is there:
            type.__setattr__(owner, name, by)
