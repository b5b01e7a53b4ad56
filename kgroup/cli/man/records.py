"""The page kgroup-records(7): every record type of the offsets topic, from the schemas that `decode` uses."""

import json
import math
from collections.abc import Iterator
from importlib import resources
from typing import Any, Final

from kgroup.cli.man import roff
from kgroup.protocol import schemas
from kgroup.protocol.records.codec import record_schema
from kgroup.protocol.records.entries import RecordType

NAME: Final = "kgroup-records.7"
_ABOUT: Final = (
    """A record of __consumer_offsets is a key and a value. The key begins with an int16, the record type; the
    value with an int16, its version. A null value is a tombstone: what the key names is gone. Integers are
    big-endian.""",
    """Below are all types that Kafka wrote from 0.10.1 to 4.4.0, with the fields of their keys and values in
    the order of their bytes. Behind a field stands its type, [] for an array, and where it applies: the
    versions that have it, if not all; where it may be null; its tag, if it is written only when it is not at
    its default (KIP-482); and what a version without it means. A version that is called flexible has compact
    lengths and may carry tagged fields.""",
    """Types 9 and 18 were Kafka's for a while and mean nothing now. A type or version that is not below is
    kept by kgroup with its bytes and shown as unknown.""",
)


def records_page() -> str:
    """The page in roff."""
    types = (line for record_type in RecordType for line in _type(record_type))
    return roff.page(
        [
            *roff.head("kgroup-records", "what the records of __consumer_offsets hold", section=7),
            *roff.under("DESCRIPTION", roff.paragraphs(_ABOUT)),
            *roff.under("RECORD TYPES", types),
            *roff.under("SEE ALSO", ["\\fBkgroup\\-decode\\fR(1)"]),
        ],
        "kgroup/protocol/schemas",
    )


def _type(record_type: RecordType) -> Iterator[str]:
    schema = record_schema(record_type)
    name = record_type.name.lower().replace("_", " ").capitalize()
    yield f".SS {int(record_type)}: {roff.text(name)}"
    key = _message(schema.key.name)
    value = _message(schema.value.name, schema.latest_value_version)
    yield from roff.as_is([*key, "", *value])


def _message(name: str, latest: int | None = None) -> Iterator[str]:
    """The fields of a message; of a value, `latest` is the highest version that this type can have."""
    definition = json.loads((resources.files(schemas) / f"{name}.json").read_text(encoding="utf-8"))
    versions = ""
    if latest is not None:
        flexible = definition["flexibleVersions"]
        versions = f"  versions 0-{latest}" if latest else "  version 0"
        versions += f", flexible {flexible}" if _first(flexible) <= latest else ""
    yield name + versions
    yield from _fields(definition["fields"], latest or 0, "  ")


def _first(versions: str) -> float:
    """The lowest of a range like `1`, `1+` or `1-3`; of `none`, one that never comes."""
    return math.inf if versions == "none" else int(versions.rstrip("+").split("-")[0])


def _fields(fields: list[dict[str, Any]], latest: int, indent: str) -> Iterator[str]:
    for field in fields:
        if _first(field["versions"]) <= latest:
            yield f"{indent}{field['name']}  {', '.join(_remarks(field))}"
            yield from _fields(field.get("fields", []), latest, indent + "  ")


def _remarks(field: dict[str, Any]) -> Iterator[str]:
    is_array = field["type"].startswith("[]")
    yield ("[]struct" if is_array else "struct") if "fields" in field else field["type"]
    if field["versions"] != "0+":
        yield f"{'version' if field['versions'].isdecimal() else 'versions'} {field['versions']}"
    if "nullableVersions" in field:
        same = field["nullableVersions"] == field["versions"]
        yield "nullable" if same else f"nullable {field['nullableVersions']}"
    if "tag" in field:
        yield f"tag {field['tag']}"
    if "default" in field:
        yield f"default {field['default']}"
