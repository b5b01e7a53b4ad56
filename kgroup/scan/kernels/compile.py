"""Functions over arrays, *kernels*: plain Python at first, machine code once there is much to do.

Machine code takes longer to load than Python takes to go through some thousand records, and seconds to make
where it was never made. So kernels run as they are written until the logs that this process reads, or has
found to read, are larger than `Tier.as_python_bytes`. From then on each is machine code at its next call.
Both work on the same arrays, so a reader may begin with one and continue with the other.

As Python a kernel has memoryviews in place of arrays: their items are Python's integers, at a third of the
cost of numpy's. These do not wrap around, so a kernel says where a number may leave int64
(`bytes_at.wrapped`), and a kernel takes no slices of a table.

numba makes the machine code of a kernel at its first call on a machine (`machine_code.py`), for arguments of
these types. It is kept (`code_cache.py`), and from then on loaded without numba (`native.py`), whose import
takes longer than reading 200 MB.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from hashlib import sha256
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

if TYPE_CHECKING:
    from kgroup.scan.kernels.native import Kinds

Function = TypeVar("Function", bound=Callable[..., Any])

_NAME_LETTERS: Final = 16
_CODE_IS_WORTH: Final = 5


@dataclass(slots=True)
class Tier:
    """Whether kernels run as Python or as machine code; the answers are the same.

    `found_bytes` are those of segments that were looked for, `read_bytes` of what readers began to read.
    """

    as_python_bytes: int
    """What a process reads at most without machine code: making it takes seconds.

    A fifth of it where there is code already, whose loading takes as long as Python takes for that.
    """
    found_bytes: int = 0
    read_bytes: int = 0

    @property
    def is_compiled(self) -> bool:
        """Whether kernels are compiled at their next call, if they are not yet."""
        most = max(self.found_bytes, self.read_bytes)
        return most > self.as_python_bytes or (most * _CODE_IS_WORTH > self.as_python_bytes and _is_there())


TIER: Final = Tier(as_python_bytes=1_500_000)
"""Of this process."""


_numbas: Final[dict[Callable[..., Any], Callable[[], Any]]] = {}
"""What makes numba's function of each instruction, helper and kernel, for the kernels that call it."""
_made: Final[dict[Callable[..., Any], Any]] = {}
_kernels: Final[dict[Callable[..., Any], "MachineCode"]] = {}


def instruction(function: Function) -> Function:
    """Mark a function that kernels replace by the one of its name in `machine_code`."""

    def make() -> Any:
        from kgroup.scan.kernels.machine_code import INSTRUCTIONS

        return INSTRUCTIONS[function.__name__]

    _numbas[function] = make
    return function


def helper(function: Function) -> Function:
    """Compile `function` into the kernels that call it."""
    _numbas[function] = lambda: _compiled(function, inline=True)
    return function


def outlined(function: Function) -> Function:
    """Compile `function` for the kernels that call it, which do so seldom: one copy, not inlined."""
    _numbas[function] = lambda: _compiled(function, inline=False)
    return function


def kernel(function: Function) -> Function:
    """A function that Python calls with arrays, integers, truth values and tuples of these.

    It returns one integer or truth value, a tuple of them, or nothing.
    """
    return kernel_of(lambda: function)(function)


def kernel_of(to_compile: Callable[[], Callable[..., Any]]) -> Callable[[Function], Function]:
    """A kernel whose machine code is that of another function, which is asked for when it is compiled."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*arguments: Any) -> Any:
            if TIER.is_compiled:
                return code(*arguments)
            return function(*map(_as_memory, arguments))

        def make() -> Any:
            other = to_compile()
            return _numba_function(other) if other in _numbas else _compiled(other, inline=False)

        code = _kernels[call] = MachineCode(call)
        _numbas[call] = make
        return call  # type: ignore[return-value]  # with the signature of `function`

    return decorate


class MachineCode:
    """A kernel that always runs as machine code."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self._kernel = kernel
        self._loaded: dict[Kinds, Callable[[list[int]], Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """What the kernel answers; the first call with arguments of these kinds loads, or makes, its code."""
        from kgroup.scan.kernels.native import taken_apart

        numbers, kinds = taken_apart(arguments)
        function = self._loaded.get(kinds) or self._load(kinds, arguments)
        return function(numbers)

    def _load(self, kinds: "Kinds", arguments: tuple[Any, ...]) -> Callable[[list[int]], Any]:
        from kgroup.scan.kernels.code_cache import read_code, write_code
        from kgroup.scan.kernels.native import loaded

        name = _file_name(self._kernel, kinds)
        code = read_code(name)
        if code is None:
            from kgroup.scan.kernels.machine_code import code_for

            code = code_for(_numba_function(self._kernel), arguments)
            write_code(name, code)
        function = self._loaded[kinds] = loaded(code, arguments)
        return function


def machine_code(function: Callable[..., Any]) -> MachineCode:
    """The machine code of a kernel, however little there is to do."""
    return _kernels[function]


def _file_name(kernel: Callable[..., Any], kinds: "Kinds") -> str:
    """Its module's source counts, too: the folder stands for those of this package only."""
    module = sys.modules[kernel.__module__]
    digest = sha256(repr(kinds).encode())
    with suppress(OSError, AttributeError):  # of no file
        digest.update(module.__spec__.loader.get_data(module.__file__))  # type: ignore[union-attr]
    return f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}-{digest.hexdigest()[:_NAME_LETTERS]}"


def _is_there() -> bool:
    from kgroup.scan.kernels.code_cache import has_code

    return has_code()


def _numba_function(function: Callable[..., Any]) -> Any:
    """For other kernels to call, and to make code of; not for Python."""
    if function not in _made:
        _made[function] = _numbas[function]()
    return _made[function]


def _compiled(function: Callable[..., Any], *, inline: bool) -> Any:
    from kgroup.scan.kernels.machine_code import compiled

    assert isinstance(function, FunctionType)
    scope = {"__builtins__": __builtins__, "__name__": function.__module__}
    for name in function.__code__.co_names:
        if name in function.__globals__:
            value = function.__globals__[name]
            is_made = isinstance(value, FunctionType) and value in _numbas
            scope[name] = _numba_function(value) if is_made else value
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return compiled(copy, inline=inline)


def _as_memory(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.data
    if isinstance(argument, tuple):
        return type(argument)(*map(_as_memory, argument))  # a named one
    return argument
