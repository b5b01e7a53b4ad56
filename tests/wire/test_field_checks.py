"""Null where nothing may be null, and strings that are too long, in every API and version."""

import random
from typing import Any

import pytest

from kgroup.wire.apis import APIS
from kgroup.wire.frames import Api, BadRequestError, read_call
from tests.fuzz.wire import FuzzedCluster, RequestMaker

VERSIONS = [
    pytest.param(each, version, id=f"{each.name} v{version}")
    for each in APIS.values()
    for version in range(each.lowest, each.highest + 1)
]


def slots(struct: Any, fields: Any, version: int) -> list[tuple[Any, str, Any]]:
    """Every field of a request and of the structs in it: its owner, its name, its schema."""
    every = []
    for name, field in fields.items():
        if not field.for_version_q(version) or field.tagged_field_q(version):
            continue
        every.append((struct, name, field))
        value = getattr(struct, name)
        if field.is_array() and field.array_of.is_struct():
            every += [slot for item in value or () for slot in slots(item, field.array_of.fields, version)]
    return every


def full(each: Api, version: int) -> Any:
    """A request in which every array has something."""
    maker = RequestMaker(random.Random(0), FuzzedCluster(random.Random(0)))
    for seed in range(300):
        maker._rng = random.Random(seed)
        request = each.request(version=version)
        maker._fill(request, each.request._struct.fields, version)
        every = slots(request, each.request._struct.fields, version)
        if all(getattr(owner, name) for owner, name, field in every if field.is_array()):
            return request
    raise AssertionError("no such request")


def refusal(request: Any, each: Api) -> str | None:
    request.with_header(1, "tester")
    try:
        read_call(bytes(request.encode(header=True)), 1, "/h", {each.key: each})
    except BadRequestError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("each", "version"), VERSIONS)
def test_null_is_refused_where_the_schema_does_not_allow_it(each: Api, version: int) -> None:
    request = full(each, version)
    assert refusal(request, each) is None
    for owner, name, field in slots(request, each.request._struct.fields, version):
        nullable = field.nullable_for_version_q(version)
        kind = field.type_str
        if not (field.is_array() or kind in ("string", "bytes", "records")):
            continue
        before = getattr(owner, name)
        setattr(owner, name, None)
        if (each.name, version, name) != ("Metadata", 0, "topics"):  # the client's codec makes it empty
            assert (refusal(request, each) is None) == nullable, name
        if field.is_array() and field.array_of.type_str.removeprefix("[]") == "string":
            setattr(owner, name, [None])
            assert refusal(request, each) == f"{each.name} v{version}: {name} is null"
        setattr(owner, name, before)


@pytest.mark.parametrize(("each", "version"), VERSIONS)
def test_strings_are_no_longer_than_java_reads_them(each: Api, version: int) -> None:
    request = full(each, version)
    compact = each.is_flexible(version)  # others cannot say such a length
    for owner, name, field in slots(request, each.request._struct.fields, version):
        if field.type_str != "string" or field.is_array():
            continue
        before = getattr(owner, name)
        setattr(owner, name, "\u20ac" * 10_922)  # 32,766 bytes
        assert refusal(request, each) is None, name
        if compact:
            setattr(owner, name, "\u20ac" * 10_923)
            assert refusal(request, each) == f"{each.name} v{version}: {name} has more than 32767 bytes"
        setattr(owner, name, before)
