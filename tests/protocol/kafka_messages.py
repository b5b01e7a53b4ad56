"""The message definitions as kafka-python reads them: what tests hold our own reading of them against."""

from functools import cache
from typing import Any

from kafka.protocol.api_data import ApiData
from kafka.protocol.schemas import BaseField, StructField

from kgroup.protocol import schemas


class TaggedNullableStruct(StructField):  # type: ignore[misc]  # kafka-python has no types
    """A nullable struct in a tagged field: a 0 for null, a 1 in front of anything else.

    So Kafka writes and reads it (`MessageDataGenerator.generateStructReader`, 4.x), while kafka-python
    3.0 takes the -1 and 1 that stand before an untagged nullable struct, and cannot read or write this one:
    it only knows the definition. An absent one is an empty struct, not null, unless its definition has a
    default. Nested structs have tags of their own.
    """

    @classmethod
    def parse_json(cls, json: dict[str, Any]) -> "TaggedNullableStruct | None":
        """Take tagged nullable structs, leave every other definition to the next field type."""
        if "fields" not in json or "tag" not in json or "nullableVersions" not in json:
            return None
        return None if json["type"].startswith("[]") else cls(json)

    def __init__(self, json: dict[str, Any]) -> None:
        super().__init__({name: value for name, value in json.items() if name != "nullableVersions"})

    def _calculate_default(self, default: str) -> Any:
        return None if default == "null" else self.data_class()


# kafka-python asks each field type in turn whether a definition is its own: this one before StructField.
BaseField.FIELD_TYPES.remove(TaggedNullableStruct)
BaseField.FIELD_TYPES.insert(0, TaggedNullableStruct)


@cache
def message_class(name: str) -> Any:
    """The kafka-python class of the message that `schemas/<name>.json` defines."""
    return type(ApiData)(name, (ApiData,), {"__slots__": ()}, load_json=schemas)


def new_message(struct: Any, version: int, values: dict[str, Any]) -> Any:
    """An object of `struct`, kafka-python's, with `values`; the others are at their defaults.

    Its own constructor cannot take a field called `version`, as ConsumerGroupRegularExpressionValue has.
    """
    message = struct.data_class(version=version)
    for name, value in values.items():
        setattr(message, name, value)
    return message
