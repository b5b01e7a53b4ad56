"""Machine code of kernels, loaded and called without numba, whose import takes longer than most scans.

numba makes the code. llvmlite, numba's way to LLVM, links it into this process, which takes a tenth of the
time and half of the memory. A function of numba's takes where to put what it returns, where to put an
exception, and then its arguments as numbers: of an array its owner and its parent (both null here), how many
items it has, the bytes of one, the address of the first, its shape and its strides; of a tuple what is in it.
"""

from collections.abc import Callable
from ctypes import CFUNCTYPE, addressof, c_bool, c_char, c_int32, c_int64
from dataclasses import dataclass
from functools import cache
from struct import Struct
from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np

_WENT_WELL: Final = (0, -2)
"""What numba's functions answer then; the second one says that None is returned, too."""
_C_CONTIGUOUS: Final = 0x1
_WRITEABLE: Final = 0x400
_LAYOUT: Final = 0x503
"""Of NumPy's flags: contiguous (C, Fortran), aligned, writeable. For others numba makes other code."""
_NO_BYTES: Final = c_char * 0
_WORD: Final = 8

Kinds = tuple[int, ...]
"""Equal for arguments of the same types, in numba's sense."""
_INTEGER: Final = -1
_BOOLEAN: Final = -2
_TUPLE: Final = -3
"""And below: with more items."""


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code of one kernel for arguments of certain types."""

    symbol: str
    """The function's name within `image`."""
    triple: str
    """LLVM's name of the kind of machine."""
    returns: str
    """What it returns, as a format of `struct`: q for an int64, ? for a truth value, one after the other."""
    is_tuple: bool
    """Whether it returns a tuple of these, or the only one, or nothing."""
    image: bytes
    """An object file, such as a linker takes."""


def taken_apart(arguments: tuple[Any, ...]) -> tuple[list[int], Kinds]:
    """The arguments as numbers, and their kinds: arrays, integers, truth values, and tuples of these.

    Raises TypeError for anything else.
    """
    numbers: list[int] = []
    kinds: list[int] = []
    _take_apart(arguments, numbers, kinds)
    return numbers, tuple(kinds)


def _take_apart(arguments: tuple[Any, ...], numbers: list[int], kinds: list[int]) -> None:
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            flags, shape, dtype = argument.flags.num, argument.shape, argument.dtype
            if flags & _C_CONTIGUOUS and flags & _WRITEABLE:
                address = addressof(_NO_BYTES.from_buffer(argument.data))
            else:
                address = argument.ctypes.data  # takes five times as long
            numbers += (0, 0, argument.size, dtype.itemsize, address, *shape, *argument.strides)
            kinds += (dtype.num, len(shape), flags & _LAYOUT)
        elif isinstance(argument, tuple):
            kinds.append(_TUPLE - len(argument))
            _take_apart(argument, numbers, kinds)
        elif isinstance(argument, bool | np.bool_):
            numbers.append(bool(argument))
            kinds.append(_BOOLEAN)
        elif isinstance(argument, int | np.integer):
            numbers.append(int(argument))
            kinds.append(_INTEGER)
        else:
            raise TypeError(f"a kernel takes no {type(argument).__name__}")


def loaded(code: Code, arguments: tuple[Any, ...]) -> Callable[[list[int]], Any]:
    """The code, ready to be called with the numbers of arguments of these kinds. It gives up the GIL.

    Called, it raises RuntimeError when the code does not end as it should, which no kernel does.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(code.triple).create_target_machine(codemodel="jitdefault", jit=True)
    # One for each code: two threads that load the same at the same time do not meet.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{code.triple}"'), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.image))
    engine.finalize_object()
    function = CFUNCTYPE(c_int32, c_int64, c_int64, *_types(arguments))(
        engine.get_function_address(code.symbol)
    )
    returned = Struct(code.returns)
    words = -(-returned.size // _WORD)
    room = c_int64 * (words + 1)  # the last is for an exception

    def call(numbers: list[int], _engine: Any = engine) -> Any:  # which owns the code
        answer = room()
        at = addressof(answer)
        status = function(at, at + words * _WORD, *numbers)
        if status not in _WENT_WELL:
            raise RuntimeError(f"the kernel {code.symbol} ended with status {status}")
        values = returned.unpack_from(answer)
        if code.is_tuple:
            return values
        return values[0] if values else None

    return call


def _types(arguments: tuple[Any, ...]) -> list[type[c_bool | c_int64]]:
    types: list[type[c_bool | c_int64]] = []
    for argument in arguments:
        if isinstance(argument, tuple):
            types += _types(argument)
        elif isinstance(argument, bool | np.bool_):
            types.append(c_bool)
        else:
            numbers, _ = taken_apart((argument,))
            types += [c_int64] * len(numbers)
    return types


@cache
def cpu() -> tuple[str, str, str]:
    """LLVM's triple, CPU name and feature list of this machine."""
    return (
        str(llvm.get_process_triple()),
        str(llvm.get_host_cpu_name()),
        str(llvm.get_host_cpu_features().flatten()),
    )
