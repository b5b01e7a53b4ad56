"""Kafka's message definitions, from `schemas/`, as what one version of a message holds.

The files are in the format of Kafka's own message definitions. Of that format there is what records have: no
common structs, no floats. Those of requests and responses, which lie there too, kafka-python reads (`wire`).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, get_args, get_type_hints

from kgroup.protocol import schemas
from kgroup.protocol.value_reader import INTEGERS, FieldCodec, StructCodec

_FOREVER: Final = 1 << 15
_EMPTY: Final[dict[str, Any]] = {"string": "", "bytes": b"", "uuid": None} | dict.fromkeys(INTEGERS, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A message: its highest version, which ones are flexible (KIP-482), and its fields as in the file."""

    name: str
    latest_version: int
    flexible_versions: range
    fields: tuple[dict[str, Any], ...]

    def of_version(self, value_class: type, version: int) -> StructCodec:
        """One version of it, whose fields are those of `value_class` under Python's names."""
        is_flexible = version in self.flexible_versions
        return _struct(value_class, self.fields, version, is_flexible=is_flexible)


@cache
def definition(name: str) -> Definition:
    """The message that `schemas/<name>.json` defines."""
    loader = schemas.__loader__  # it also knows the files of a kgroup that is one archive
    assert loader is not None
    assert schemas.__file__ is not None
    # Not by a Path, which takes the `./` off that an archive's loader knows its files by.
    path = schemas.__file__.rpartition("__init__")[0] + f"{name}.json"
    read = json.loads(loader.get_data(path))  # type: ignore[attr-defined]  # every loader of files has it
    return Definition(
        name=read["name"],
        latest_version=_versions(read["validVersions"])[-1],
        flexible_versions=_versions(read["flexibleVersions"]),
        fields=tuple(read["fields"]),
    )


def _versions(text: str) -> range:
    """`0-3`, `2+`, `4` or `none`."""
    if text == "none":
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), _FOREVER)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _struct(
    value_class: type,
    fields: Iterable[dict[str, Any]],
    version: int,
    *,
    is_flexible: bool,
) -> StructCodec:
    hints = get_type_hints(value_class)
    there = (field for field in fields if version in _versions(field["versions"]))
    made = [_field(field, hints, version, is_flexible=is_flexible) for field in there]
    return StructCodec(
        value_class=value_class,
        is_flexible=is_flexible,
        fields=tuple(sorted(made, key=lambda field: -1 if field.tag is None else field.tag)),
    )


def _field(field: dict[str, Any], hints: dict[str, Any], version: int, *, is_flexible: bool) -> FieldCodec:
    name = _python_name(field["name"])
    kind = field["type"]
    is_array = kind.startswith("[]")
    shape = None
    if "fields" in field:
        nested_class = dataclass_in(hints[name])
        assert nested_class is not None, f"{field['name']} has no dataclass for its struct"
        shape = _struct(nested_class, field["fields"], version, is_flexible=is_flexible)
    is_tagged = version in _versions(field.get("taggedVersions", "none"))
    return FieldCodec(
        name=name,
        type_name="" if is_array or shape is not None else kind,
        is_array=is_array,
        element=kind[2:] if is_array and shape is None else "",
        is_nullable=version in _versions(field.get("nullableVersions", "none")),
        tag=field["tag"] if is_tagged else None,
        default=_default(field, shape) if is_tagged else None,
        shape=shape,
    )


def _default(field: dict[str, Any], shape: StructCodec | None) -> Any:
    kind, default = field["type"], field.get("default")
    if default == "null":
        return None
    if kind.startswith("[]"):
        return ()
    if shape is not None:
        return shape.value_class(**{each.name: _empty(each) for each in shape.fields})
    return _EMPTY[kind] if default is None else int(default)


def _empty(field: FieldCodec) -> Any:
    return () if field.is_array else _EMPTY[field.type_name]


def _python_name(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


def dataclass_in(hint: Any) -> type | None:
    """The dataclass in a field's type, as `Endpoint` in `Endpoint | None` or `tuple[Endpoint, ...]`."""
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return hint
    for part in get_args(hint):
        if (nested := dataclass_in(part)) is not None:
            return nested
    return None
