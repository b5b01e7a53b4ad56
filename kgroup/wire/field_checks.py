"""Fields of a request that its codec lets through and Kafka does not: null where nothing may be null, and
strings that are too long.

Kafka's generated readers raise for both, and the connection closes (`MessageDataGenerator`, 4.3).
"""

from collections.abc import Callable
from typing import Any, Final

_STRING_BYTES_MAX: Final = 0x7FFF
_LETTERS_SAFE: Final = _STRING_BYTES_MAX // 4  # a letter takes up to four bytes

Check = Callable[[Any], None]


def compile_check(fields: Any, version: int) -> Check | None:
    """A function that raises ValueError for a decoded struct with such a field; None if none can have one.

    `fields` are those of kafka-python's schema, by name.
    """
    checks = []
    for name, field in fields.items():
        if not field.for_version_q(version):
            continue
        check = _of_field(field, version)
        if check is not None:
            checks.append((name, check))
    if not checks:
        return None

    def check_struct(struct: Any) -> None:
        for name, check in checks:
            check(getattr(struct, name))

    return check_struct


def _of_field(field: Any, version: int) -> Check | None:
    nullable = field.nullable_for_version_q(version)
    inner: Check | None = None
    if field.is_array():
        element = field.array_of
        inner = (
            compile_check(element.fields, version) if element.is_struct() else _of_value(element, field.name)
        )
        return _array(field.name, nullable, inner)
    if field.is_struct():
        inner = compile_check(field.fields, version)
        # A tagged struct that is not in the request is None, whatever its schema says.
        return _unless_null(inner) if inner is not None else None
    value = _of_value(field, field.name)
    if value is None:
        return None
    return _unless_null(value) if nullable else value


def _of_value(field: Any, name: str) -> Check | None:
    if field.type_str.removeprefix("[]") == "string":
        return _string(name)
    if field.type_str.removeprefix("[]") in ("bytes", "records"):
        return _present(name)
    return None


def _unless_null(check: Check) -> Check:
    def check_value(value: Any) -> None:
        if value is not None:
            check(value)

    return check_value


def _present(name: str) -> Check:
    def check_present(value: Any) -> None:
        if value is None:
            raise ValueError(f"{name} is null")

    return check_present


def _string(name: str) -> Check:
    def check_string(value: str | None) -> None:
        if value is None:
            raise ValueError(f"{name} is null")
        if len(value) > _LETTERS_SAFE and len(value.encode("utf-8", "replace")) > _STRING_BYTES_MAX:
            raise ValueError(f"{name} has more than {_STRING_BYTES_MAX} bytes")

    return check_string


def _array(name: str, nullable: bool, inner: Check | None) -> Check:
    def check_array(items: Any) -> None:
        if items is None:
            if not nullable:
                raise ValueError(f"{name} is null")
        elif inner is not None:
            for item in items:
                inner(item)

    return check_array
