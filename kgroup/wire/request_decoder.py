"""Decoders of high-volume requests, generated from kafka-python's schemas: one function per version.

They read what clients write every day, with as few steps as Python allows: fields of a fixed size together
with the length that follows them, structs that repeat as tuples of a type of ours, and those whose strings
are all empty at once. Whatever else there may be (tagged fields, damage, null where nothing may be null)
they leave to kafka-python's own codec, which reads it or says what is wrong: it stays the truth, and tests
hold the two equal.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter
from struct import Struct, calcsize, unpack_from
from typing import Any, Final
from uuid import UUID

from kgroup.wire.python_source import FIXED_FORMATS, PythonSource, Rows

Decoder = Callable[[bytes, int], Any]
_STRING_BYTES_MAX: Final = 0x7FFF
_VARINT_MORE: Final = 0x80


class NotPlainError(ValueError):
    """Bytes that are for kafka-python's codec to read, or to refuse."""


def compile_decoder(request: Any, version: int, flexible: bool, rows: Rows) -> Decoder:
    """A function of a frame and the position of the body in it, which gives the body.

    Raises NotPlainError, or one of the errors of bytes that are too few.
    """
    return _DecoderSource(version, flexible, rows).function_for(request)


def as_rows(body: Any, fields: Any, version: int, rows: Rows) -> Any:
    """A body that kafka-python has read, with the same tuples in it."""
    for name, field in fields.items():
        if not (field.for_version_q(version) and field.is_struct_array()):
            continue
        items = getattr(body, name)
        row = rows.get(field.type_str)
        if items is None:
            continue
        if row is None:
            for item in items:
                as_rows(item, field.fields, version, rows)
        else:
            setattr(body, name, [row(*(getattr(item, each) for each in _fields(row))) for item in items])
    return body


def _fields(row: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = row._fields
    return names


class _DecoderSource:
    def __init__(self, version: int, flexible: bool, rows: Rows) -> None:
        self._version = version
        self._flexible = flexible
        self._rows = rows
        self._source = PythonSource()
        self._source.names |= {
            "NotPlainError": NotPlainError,
            "new": object.__new__,
            "new_row": tuple.__new__,
            "unpack_from": _unpack_numbers,
            "varint": _varint,
            "uuid": _uuid,
        }
        self._waiting: list[tuple[str, str]] = []  # format and variable of what is to be unpacked
        self._after: list[str] = []  # lines for when it has been

    def function_for(self, request: Any) -> Decoder:
        source = self._source
        source.line("def decode(data, at):")
        source.line("end = len(data)")
        body = self._struct(request._struct, request)
        self._unpack()
        source.line("if at > end: raise NotPlainError")
        source.line(f"return {body}")
        decoder: Decoder = source.function("decode", f"decoder of {request.name} v{self._version}")
        return decoder

    # ---- structs ------------------------------------------------------------------------------

    def _struct(self, struct: Any, kind: Any) -> str:
        values = self._values(struct)
        self._unpack()
        line = self._source.line
        made = self._source.name("struct")
        line(f"{made} = new({self._source.constant('KIND', kind)})")
        line(f"{made}._version = {self._version}")
        line(f"{made}.tags = {made}.unknown_tags = None")
        for name, value in values.items():
            line(f"{made}.{name} = {value}")
        return made

    def _values(self, struct: Any) -> dict[str, str]:
        """The variables that hold the fields of the version, by name."""
        values = {field.name: self._field(field) for field in struct.untagged_fields(self._version)}
        if self._flexible:
            self._await("B", self._source.name("tags"), "if {0}: raise NotPlainError")
        return values

    def _field(self, field: Any, *, is_item: bool = False) -> str:
        # What an array is made of has the array's definition, but an item may never be null.
        nullable = not is_item and field.nullable_for_version_q(self._version)
        if field.is_array():
            return self._array(field, nullable)
        kind = field.type_str
        value = self._source.name(field.name)
        if kind in FIXED_FORMATS:
            self._await(FIXED_FORMATS[kind], value)
        elif kind == "uuid":
            self._await("16s", value, "{0} = uuid({0})")
        elif kind == "string":
            self._sized(value, nullable, "h", "data[at:at + {0}].decode()", _STRING_BYTES_MAX)
        elif kind == "bytes":
            self._sized(value, nullable, "i", "data[at:at + {0}]", None)
        else:
            raise NotImplementedError(f"{field.name} is a {kind}")
        return value

    def _sized(self, value: str, nullable: bool, format_: str, read: str, size_max: int | None) -> None:
        """A field with its size in front; compact ones have one more there, and null is 0."""
        line = self._source.line
        size = self._size(format_)
        if nullable:
            line(f"if {size} < 0: {value} = None")
            line("else:")
        else:
            line(f"if {size} < 0: raise NotPlainError")
        if self._flexible and size_max is not None:
            line(f"if {size} > {size_max}: raise NotPlainError")
        line(f"{value} = {read.format(size)}")
        line(f"at += {size}")
        if nullable:
            self._source.close()

    def _size(self, format_: str) -> str:
        """The variable of the size of what follows, negative for null; everything before it is unpacked."""
        size = self._source.name("size")
        if self._flexible:
            self._await("B", size)
            self._unpack()
            self._source.line(f"if {size} >= {_VARINT_MORE}: {size}, at = varint(data, at - 1)")
            self._source.line(f"{size} -= 1")
        else:
            self._await(format_, size)
            self._unpack()
        return size

    # ---- what repeats -------------------------------------------------------------------------

    def _array(self, field: Any, nullable: bool) -> str:
        line, close = self._source.line, self._source.close
        items = self._source.name(field.name)
        count = self._size("i")
        if nullable:
            line(f"if {count} == -1: {items} = None")
            line(f"elif {count} < 0: raise NotPlainError")  # no items, says kafka-python
        else:
            line(f"if {count} < 0: raise NotPlainError")
        element = field.array_of
        row = self._rows.get(field.type_str) if element.is_struct() else None
        if not element.is_struct() and element.type_str in FIXED_FORMATS:
            format_ = FIXED_FORMATS[element.type_str]
            line(f"else: {items} = unpack_from({format_!r}, {count}, data, at); at += {count} * "
                 f"{calcsize('>' + format_)}")  # fmt: skip
            return items
        line("else:")
        if row is not None and self._at_once(element, items, count, row):
            line("else:")
        line(f"{items} = []")
        line(f"for _ in range({count}):")
        if row is not None:
            item = self._row(element, row)
        elif element.is_struct():
            item = self._struct(element, element.data_class)
        else:
            item = self._field(element, is_item=True)
        self._unpack()
        line(f"{items}.append({item})")
        close()
        if row is not None and self._is_regular(element):
            close()
        close()
        return items

    def _row(self, struct: Any, row: Any) -> str:
        values = self._values(struct)
        self._unpack()
        return self._made_row(struct, row, values)

    def _made_row(self, struct: Any, row: Any, values: Mapping[str, str]) -> str:
        kind = self._source.constant("ROW", row)
        fields = (values.get(name) or repr(struct.fields[name].default) for name in _fields(row))
        return f"new_row({kind}, ({', '.join(fields)},))"

    def _is_regular(self, struct: Any) -> bool:
        """Whether all of them have the same size if their strings are empty."""
        kinds = {field.type_str for field in struct.untagged_fields(self._version) if not field.is_array()}
        arrays = any(field.is_array() for field in struct.untagged_fields(self._version))
        return not arrays and kinds <= {*FIXED_FORMATS, "string"}

    def _at_once(self, struct: Any, items: str, count: str, row: Any) -> bool:
        """Read all structs together if their strings are empty: then each is where it is thought to be."""
        if not self._is_regular(struct):
            return False
        line, close = self._source.line, self._source.close
        formats, values, empty = "", {}, []
        variables = []
        for number, field in enumerate(struct.untagged_fields(self._version)):
            variables.append(self._source.name(field.name))
            if field.type_str == "string":
                formats += "B" if self._flexible else "h"
                empty.append((number, 1 if self._flexible else 0))
                values[field.name] = "''"
            else:
                formats += FIXED_FORMATS[field.type_str]
                values[field.name] = variables[-1]
        if self._flexible:
            empty.append((len(variables), 0))
            variables.append("_")
            formats += "B"
        layout = Struct(f">{formats}")
        block = self._source.name("block")
        line(f"stop = at + {count} * {layout.size}")
        line(
            f"{block} = list({self._source.constant('LAYOUT', layout)}.iter_unpack(data[at:stop])) "
            f"if stop <= end else None"
        )
        condition = f"{block} is not None"
        if empty:
            lengths = self._source.constant("lengths_of", itemgetter(*(number for number, _ in empty)))
            expected = tuple(value for _, value in empty)
            are_empty = self._source.constant("EMPTY", {expected if len(expected) > 1 else expected[0]})
            condition += f" and set(map({lengths}, {block})) <= {are_empty}"
        line(f"if {condition}:")
        made = self._made_row(struct, row, values)
        line(f"{items} = [{made} for {', '.join(variables)}, in {block}]")
        line("at = stop")
        close()
        return True

    # ---- fields of a fixed size ---------------------------------------------------------------

    def _await(self, format_: str, variable: str, *after: str) -> None:
        self._waiting.append((format_, variable))
        self._after += [line.format(variable) for line in after]

    def _unpack(self) -> None:
        """Read all that has been waiting together."""
        if not self._waiting:
            return
        formats = "".join(format_ for format_, _ in self._waiting)
        variables = ", ".join(variable for _, variable in self._waiting)
        layout = self._source.layout(formats)
        self._source.line(f"{variables}, = {layout}.unpack_from(data, at)")
        self._source.line(f"at += {calcsize('>' + formats)}")
        for line in self._after:
            self._source.line(line)
        self._waiting, self._after = [], []


def _unpack_numbers(format_: str, count: int, data: bytes, at: int) -> list[Any]:
    return list(unpack_from(f">{count}{format_}", data, at))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < _VARINT_MORE:
            return number, at
        shift += 7


@lru_cache(maxsize=4096)
def _uuid(raw: bytes) -> UUID | None:
    """The UUID; None for all zeros, which mean no id."""
    return UUID(bytes=raw) if any(raw) else None
