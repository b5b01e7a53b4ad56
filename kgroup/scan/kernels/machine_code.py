"""What numba makes of kernels, and what it uses for an `@instruction`: loads at any alignment, CRC-32C.

Imported when a kernel is compiled, and not before.
"""

import sys
from collections.abc import Callable
from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, typeof, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numpy.typing import NDArray

from kgroup.scan.kernels.native import Code

# Kernels do not check array bounds, and divide as numpy does. They make no arrays, so nothing in them needs
# numba's reference counts, which would cost two thirds of the time: an atomic write per array access. Python
# calls none of them through numba; making a way in takes a quarter of the time to compile.
_OPTIONS: Final = {
    "error_model": "numpy",
    "boundscheck": False,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
_OF_C: Final = ("memcpy", "memmove", "memset")
"""What machine code may call: it is in every process."""


def compiled(function: Callable[..., Any], *, inline: bool) -> Any:
    """numba's function for this one, which calls nothing but others of numba's."""
    return njit(function, forceinline=inline, **_OPTIONS)


def code_for(function: Any, arguments: tuple[Any, ...]) -> Code:
    """The code of numba's function for arguments of these types.

    Raises TypeError if `native` could not call it: for what it returns, or what it would look for in numba.
    """
    signature = tuple(typeof(_plain(argument)) for argument in arguments)
    function.compile(signature)
    made = function.overloads[signature]
    name = made.fndesc.llvm_func_name
    module = llvm.parse_assembly(function.inspect_llvm(signature))
    elsewhere = [each.name for each in module.functions if each.is_declaration]
    missing = [each for each in elsewhere if not each.startswith("llvm.") and each not in _OF_C]
    if missing:
        raise TypeError(f"the kernel {function.__name__} calls what is not in its code: {', '.join(missing)}")
    triple, cpu, features = target()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu,
        features=features,
        opt=3,
        reloc="static" if triple.startswith("x86") else "default",
        codemodel="jitdefault",
        jit=True,
    )
    returned = made.signature.return_type
    is_tuple = isinstance(returned, types.BaseTuple)
    return Code(
        symbol=name,
        triple=triple,
        returns="".join(map(_format, returned if is_tuple else (returned,))),
        is_tuple=is_tuple,
        image=machine.emit_object(module),
    )


def _plain(argument: Any) -> Any:
    """As `native` passes it: all integers are int64, so a scalar of numpy's is as one of Python's."""
    if isinstance(argument, tuple):
        items = map(_plain, argument)
        return type(argument)(*items) if hasattr(argument, "_fields") else tuple(items)
    if isinstance(argument, bool | np.bool_):
        return bool(argument)
    return int(argument) if isinstance(argument, np.integer) else argument


def _format(returned: Any) -> str:
    if returned == types.int64:
        return "q"
    if returned == types.boolean:
        return "?"
    if returned == types.none:
        return ""
    raise TypeError(f"a kernel returns {returned}, neither int64 nor a truth value")


def target() -> tuple[str, str, str]:
    """LLVM's triple, CPU name and feature list of the code numba makes here."""
    triple, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    return str(triple), str(cpu), str(features)


def has_crc_instruction() -> bool:
    """Whether the CPU that code is made for, not the one that runs Python, has an instruction for CRC-32C."""
    triple, _, features = target()
    return triple.startswith("x86_64") and "+sse4.2" in features.split(",")


def _load(bits: int, *, big_endian: bool = True, signed: bool = True) -> Any:
    """An intrinsic (buffer, position) -> int64 that loads an integer at any alignment."""

    def typed(_context: Any, buffer: Any, _position: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            integer = ir.IntType(bits)
            pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), integer.as_pointer())
            value = builder.load(pointer, align=1)
            if bits > 8 and big_endian == (sys.byteorder == "little"):
                value = builder.bswap(value)
            if bits == 64:
                return value
            return builder.sext(value, ir.IntType(64)) if signed else builder.zext(value, ir.IntType(64))

        return types.int64(buffer, types.int64), codegen

    return intrinsic(typed)


def _store_word() -> Any:
    """An intrinsic (buffer, position, int64) that stores as `word_at` loads."""

    def typed(_context: Any, buffer: Any, _position: Any, _word: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            pointer = builder.gep(array.data, [arguments[1]])
            builder.store(arguments[2], builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(buffer, types.int64, types.int64), codegen

    return intrinsic(typed)


def _crc32_instruction(bits: int) -> Any:
    """An intrinsic for SSE4.2's crc32 over one integer of `bits`: (crc, integer) -> crc, as int64."""
    name = "llvm.x86.sse42.crc32.64.64" if bits == 64 else f"llvm.x86.sse42.crc32.32.{bits}"
    crc_type = ir.IntType(64 if bits == 64 else 32)

    def typed(_context: Any, _crc: Any, _value: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            function_type = ir.FunctionType(crc_type, [crc_type, ir.IntType(bits)])
            function = cgutils.get_or_insert_function(builder.module, function_type, name)
            if bits == 64:
                return builder.call(function, arguments)
            crc = builder.trunc(arguments[0], crc_type)
            value = builder.trunc(arguments[1], ir.IntType(bits))
            return builder.zext(builder.call(function, [crc, value]), ir.IntType(64))

        return types.int64(types.int64, types.int64), codegen

    return intrinsic(typed)


def _same_number(_context: Any, _number: Any) -> Any:
    def codegen(_context: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return types.int64(types.int64), codegen


_crc_of_word = _crc32_instruction(64)
_crc_of_byte = _crc32_instruction(8)
_word_at = _load(64, big_endian=sys.byteorder == "big")
_byte_at = _load(8, signed=False)

INSTRUCTIONS = {
    "byte_at": _byte_at,
    "int16_at": _load(16),
    "int32_at": _load(32),
    "int64_at": _load(64),
    "word_at": _word_at,
    "put_word": _store_word(),
    "wrapped": intrinsic(_same_number),
}
"""Replacements by the name of the function."""


def crc32c_by_instruction(buffer: NDArray[np.uint8], position: int, end: int) -> int:
    """CRC-32C of buffer[position:end], eight bytes at a time. To be compiled."""
    crc = 0xFFFFFFFF
    while position + 8 <= end:
        crc = _crc_of_word(crc, _word_at(buffer, position))
        position += 8
    while position < end:
        crc = _crc_of_byte(crc, _byte_at(buffer, position))
        position += 1
    return crc ^ 0xFFFFFFFF
