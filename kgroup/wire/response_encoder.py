"""Encoders of high-volume responses, generated from kafka-python's schemas: one per version.

They write the bytes that kafka-python's own codec writes, with as few steps as Python allows: all fields of a
fixed size that follow each other at once, structs that repeat from tuples. Tests hold the two equal.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from struct import Struct, pack
from typing import Any, Final
from uuid import UUID

from kgroup.wire.python_source import FIXED_FORMATS, PythonSource, Rows

Encoder = Callable[[Any, int], bytes]
_SIZE: Final = Struct(">i")
_VARINT_MORE: Final = 0x80
_NO_ID: Final = bytes(16)


def compile_encoder(response: Any, version: int, flexible: bool, rows: Rows) -> Encoder:
    """A function of a body and a correlation id, which gives the frame with its length in front.

    The body may be anything that has the schema's fields as attributes.
    """
    return _EncoderSource(version, flexible, rows).function_for(response)


class _EncoderSource:
    def __init__(self, version: int, flexible: bool, rows: Rows) -> None:
        self._version = version
        self._flexible = flexible
        self._rows = rows
        self._source = PythonSource()
        self._source.names |= {
            "join": b"".join,
            "size_of": _SIZE.pack,
            "pack": pack,
            "starmap": starmap,
            "varint": unsigned_varint,
            "id_bytes": _id_bytes,
        }
        self._formats = ""
        self._values: list[str] = []  # what is to be packed, and the formats of it

    def function_for(self, response: Any) -> Encoder:
        source = self._source
        struct = response._struct
        written = self._functions_for_rows(struct)
        source.line("def encode(body, correlation_id):")
        source.line("parts = []")
        source.line("add = parts.append")
        self._pack("i", "correlation_id")
        if self._flexible:
            self._formats += "x"  # no tagged fields in the header
        self._struct(struct, "body", written)
        self._flush()
        source.line("frame = join(parts)")
        source.line("return size_of(len(frame)) + frame")
        encoder: Encoder = source.function("encode", f"encoder of {response.name} v{self._version}")
        return encoder

    # ---- structs ------------------------------------------------------------------------------

    def _struct(self, struct: Any, owner: str, written: Mapping[str, str]) -> None:
        for field in self._fields(struct):
            self._field(field, f"{owner}.{field.name}", written)
        if self._flexible:
            self._formats += "x"  # no tagged fields

    def _fields(self, struct: Any) -> Sequence[Any]:
        if any(field.tagged_field_q(self._version) for field in struct.fields.values()):
            raise NotImplementedError("a response with tagged fields")
        fields: Sequence[Any] = struct.untagged_fields(self._version)
        return fields

    def _field(self, field: Any, value: str, written: Mapping[str, str]) -> None:
        kind = field.type_str
        if field.is_array():
            self._array(field, value, written)
        elif kind in FIXED_FORMATS:
            self._pack(FIXED_FORMATS[kind], value)
        elif kind == "uuid":
            self._pack("16s", f"id_bytes({value})")
        elif field.is_struct() and field.nullable_for_version_q(self._version):
            self._nested(field, value, written)
        elif kind in ("string", "bytes"):
            self._sized(value, "h" if kind == "string" else "i", ".encode()" if kind == "string" else "")
        else:
            raise NotImplementedError(f"{field.name} is a {kind}")

    def _nested(self, struct: Any, value: str, written: Mapping[str, str]) -> None:
        """A struct that may be null: a byte in front says whether it is there (KIP-893)."""
        line, close, name = self._source.line, self._source.close, self._source.name(struct.name)
        line(f"{name} = {value}")
        waiting = self._formats, [*self._values]
        line(f"if {name} is None:")
        self._pack("b", "-1")
        self._flush()
        close()
        line("else:")
        self._formats, self._values = waiting
        self._pack("b", "1")
        self._struct(struct, name, written)
        self._flush()
        close()

    def _sized(self, value: str, format_: str, encoded: str) -> None:
        given, raw = self._source.name("given"), self._source.name("raw")
        self._source.line(f"{given} = {value}")
        self._source.line(f"{raw} = b'' if {given} is None else {given}{encoded}")
        self._size(f"-1 if {given} is None else len({raw})", format_)
        self._source.line(f"add({raw})")

    def _size(self, size: str, format_: str) -> None:
        """Write the size of what follows, together with all that waits; compact ones are one more."""
        if not self._flexible:
            self._pack(format_, size)
            self._flush()
            return
        line, name = self._source.line, self._source.name("size")
        line(f"{name} = ({size}) + 1")
        values = ", ".join(self._values)
        with_size = self._source.layout(self._formats + "B")
        without = self._source.layout(self._formats)
        line(f"add({with_size}.pack({', '.join([*self._values, name])}) if {name} < {_VARINT_MORE} "
             f"else {without}.pack({values}) + varint({name}))")  # fmt: skip
        self._formats, self._values = "", []

    # ---- what repeats -------------------------------------------------------------------------

    def _array(self, field: Any, value: str, written: Mapping[str, str]) -> None:
        line, close = self._source.line, self._source.close
        items = self._source.name(field.name)
        line(f"{items} = {value}")
        self._size(f"-1 if {items} is None else len({items})", "i")
        element = field.array_of
        if not element.is_struct() and element.type_str in FIXED_FORMATS:
            format_ = FIXED_FORMATS[element.type_str]
            line(f"if {items}: add(pack('>%d{format_}' % len({items}), *{items}))")
            return
        if field.is_struct_array() and field.type_str in written:
            line(f"if {items}: add(join({written[field.type_str].format(items)}))")
            return
        item = self._source.name("item")
        line(f"for {item} in {items} or ():")
        if element.is_struct():
            self._struct(element, item, written)
        else:
            self._field(element, item, written)
        self._flush()
        close()

    def _functions_for_rows(self, struct: Any) -> dict[str, str]:
        """Expressions that give the bytes of each tuple of a repeated struct, by the struct's name."""
        written: dict[str, str] = {}
        for field in self._fields(struct):
            if not field.is_struct_array():
                continue
            row = self._rows.get(field.type_str)
            if row is None:
                written |= self._functions_for_rows(field.array_of)
            else:
                written[field.type_str] = self._rows_as_bytes(field.array_of, row)
        return written

    def _rows_as_bytes(self, struct: Any, row: Any) -> str:
        """Tuples of nothing but numbers are packed each at once, and so are those with empty strings."""
        fields = self._fields(struct)
        every: tuple[str, ...] = row._fields
        end = "x" if self._flexible else ""
        if all(field.type_str in FIXED_FORMATS for field in fields):
            layout = self._source.layout("".join(FIXED_FORMATS[field.type_str] for field in fields) + end)
            names = [field.name for field in fields]
            if names == list(every):
                return f"starmap({layout}.pack, {{0}})"
            return f"[{layout}.pack({', '.join(names)}) for {', '.join(every)}, in {{0}}]"
        written = self._source.name("row")
        self._source.line(f"def {written}({', '.join(every)}):")
        self._source.line("parts = []")
        self._source.line("add = parts.append")
        for field in fields:
            self._field(field, field.name, {})
        self._formats += end
        self._flush()
        self._source.line("return join(parts)")
        self._source.close()
        general = f"{written}({', '.join(every)})"
        strings = [field.name for field in fields if field.type_str == "string"]
        if not all(field.type_str in (*FIXED_FORMATS, "string") for field in fields):
            return f"[{general} for {', '.join(every)}, in {{0}}]"
        empty_size = ("B", "1") if self._flexible else ("h", "0")
        formats = "".join(FIXED_FORMATS.get(field.type_str, empty_size[0]) for field in fields) + end
        values = [empty_size[1] if field.name in strings else field.name for field in fields]
        are_empty = " and ".join(f"{name} == ''" for name in strings)
        plain = f"{self._source.layout(formats)}.pack({', '.join(values)})"
        return f"[{plain} if {are_empty} else {general} for {', '.join(every)}, in {{0}}]"

    # ---- fields of a fixed size ---------------------------------------------------------------

    def _pack(self, format_: str, value: str) -> None:
        self._formats += format_
        self._values.append(value)

    def _flush(self) -> None:
        """Write all that has been waiting together."""
        if not self._values:
            if self._formats:
                self._source.line(f"add({bytes(len(self._formats))!r})")
        else:
            self._source.line(f"add({self._source.layout(self._formats)}.pack({', '.join(self._values)}))")
        self._formats, self._values = "", []


def unsigned_varint(number: int) -> bytes:
    """The length or number of something compact (KIP-482)."""
    encoded = bytearray()
    while number >= _VARINT_MORE:
        encoded.append(number & 0x7F | _VARINT_MORE)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _id_bytes(topic_id: UUID | None) -> bytes:
    return _NO_ID if topic_id is None else topic_id.bytes
