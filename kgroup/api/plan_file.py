"""A group described in JSON or YAML, as `kgroup assign --input FILE` takes it.

    topics:
      orders: 6                        # a number of partitions, or:
      payments: {partitions: 2, id: J1XDR5yUTZCgO1FYr6iBSw, racks: [[a, b], [b, c]]}
    members:
      c1: [orders, payments]           # the topics it subscribes to, or:
      c2: {topics: [orders], owned: {orders: [0, 1]}, instance: i2, rack: a, generation: 6}
    generation: 7

`racks` lists, for each partition, the racks of its replicas, null for a broker without one. `owned` is what
a member was assigned last, in `generation`: its own, else the group's. All but topics and members can be
left out. Members stand in the order in which they joined.
"""

import json
from collections.abc import Hashable, Iterable, Mapping
from typing import BinaryIO, NoReturn
from uuid import UUID

from kgroup.assignors.model import NO_GENERATION, Topic
from kgroup.assignors.planning.plan import GroupPlan, PlanMember, new_plan
from kgroup.assignors.planning.steps import PARTITIONS_MAX
from kgroup.errors import InputError, SourceError
from kgroup.input_files import LIST_BYTES_MAX, read_input_file, read_input_stream
from kgroup.protocol.topic_id import parse_topic_id
from kgroup.protocol.topic_partition import TopicPartition

_STDIN = "-"
_INT32_MAX = 2**31 - 1


def read_plan(path: str, stdin: BinaryIO) -> GroupPlan:
    """Read a group from a file, or from `stdin` for `-`.

    Raises SourceError if it cannot be read, InputError that names the member and field at fault.
    """
    document = _parse(path, _read(path, stdin))
    try:
        return _plan(document)
    except InputError as error:
        raise InputError(f"{_shown(path)}: {error}") from None


def _shown(path: str) -> str:
    return "standard input" if path == _STDIN else path


def _read(path: str, stdin: BinaryIO) -> str:
    try:
        if path == _STDIN:
            data = read_input_stream(stdin, kind="group", bytes_max=LIST_BYTES_MAX, named=_shown(path))
        else:
            data = read_input_file(path, kind="group", bytes_max=LIST_BYTES_MAX)
    except OSError as error:
        raise SourceError(f"{_shown(path)}: {error.strerror or error}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{_shown(path)}: byte {error.start} is not UTF-8") from error


def _parse(path: str, text: str) -> object:
    """JSON if it is that, else YAML; a name that stands twice is refused in both."""
    json_error: ValueError | None = None
    try:
        if text.lstrip().startswith("{"):
            try:
                return json.loads(text, object_pairs_hook=_without_repeats)
            except ValueError as error:
                json_error = error
        return _parse_yaml(text)
    except ValueError as error:
        raise InputError(f"{_shown(path)}: {json_error or error}") from error
    except RecursionError:
        raise InputError(f"{_shown(path)}: nested too deeply") from None
    except InputError as error:
        raise InputError(f"{_shown(path)}: {error}") from None


def _without_repeats(pairs: Iterable[tuple[Hashable, object]]) -> dict[Hashable, object]:
    mapping: dict[Hashable, object] = {}
    for name, value in pairs:
        if name in mapping:
            raise InputError(f"'{name}' stands there twice")
        mapping[name] = value
    return mapping


def _parse_yaml(text: str) -> object:
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML without repeated names and without references, which could multiply a small file."""

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                raise ValueError("references (*name) are not read")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
            pairs = [(self.construct_object(key, deep=True), value) for key, value in node.value]
            for name, _ in pairs:
                if not isinstance(name, (str, int)):
                    raise ValueError(f"{name!r} is not a name; write it in quotes")
            return _without_repeats((name, self.construct_object(value, deep=True)) for name, value in pairs)

    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _plan(document: object) -> GroupPlan:
    fields = _mapping(document, "the file", ("topics", "members", "generation"))
    for needed in ("topics", "members"):
        if needed not in fields:
            raise InputError(f"{needed}: missing")
    topics = [_topic(name, value) for name, value in _named(fields["topics"], "topics")]
    generation = _number(fields.get("generation", 0), "generation", _INT32_MAX)
    partitions = {topic.name: topic.partitions for topic in topics}
    members = [_member(name, value, generation) for name, value in _named(fields["members"], "members")]
    for member in members:
        for name in member.topics:
            if name not in partitions:
                _fail(f"members.{member.member_id}.topics", f"there is no topic '{name}'")
    return new_plan(members, topics, generation)


def _topic(name: str, value: object) -> Topic:
    where = f"topics.{name}"
    if isinstance(value, int):
        return Topic(name=name, partitions=_number(value, where, PARTITIONS_MAX))
    fields = _mapping(value, where, ("partitions", "id", "racks"))
    if "partitions" not in fields:
        _fail(f"{where}.partitions", "missing")
    partitions = _number(fields["partitions"], f"{where}.partitions", PARTITIONS_MAX)
    racks = tuple(
        tuple(_optional_text(rack, f"{where}.racks[{i}]") for rack in _list(replicas, f"{where}.racks[{i}]"))
        for i, replicas in enumerate(_list(fields.get("racks", []), f"{where}.racks"))
    )
    if racks and len(racks) != partitions:
        _fail(f"{where}.racks", f"{len(racks)} lists of racks for {partitions} partitions")
    return Topic(name=name, partitions=partitions, replica_racks=racks, topic_id=_topic_id(fields, where))


def _topic_id(fields: Mapping[str, object], where: str) -> UUID | None:
    text = _optional_text(fields.get("id"), f"{where}.id")
    try:
        return None if text is None else parse_topic_id(text)
    except ValueError as error:
        _fail(f"{where}.id", str(error))


def _member(member_id: str, value: object, generation: int) -> PlanMember:
    where = f"members.{member_id}"
    if isinstance(value, list):
        return PlanMember(member_id=member_id, topics=_texts(value, where))
    fields = _mapping(value, where, ("topics", "owned", "instance", "rack", "generation"))
    if "topics" not in fields:
        _fail(f"{where}.topics", "missing")
    owned: list[TopicPartition] = [
        (topic, _number(number, f"{where}.owned.{topic}", _INT32_MAX))
        for topic, numbers in _named(fields.get("owned", {}), f"{where}.owned")
        for number in _list(numbers, f"{where}.owned.{topic}")
    ]
    if len(set(owned)) < len(owned):
        _fail(f"{where}.owned", "a partition appears twice")
    own = fields.get("generation", generation if owned else NO_GENERATION)
    return PlanMember(
        member_id=member_id,
        topics=_texts(fields["topics"], f"{where}.topics"),
        group_instance_id=_optional_text(fields.get("instance"), f"{where}.instance"),
        rack_id=_optional_text(fields.get("rack"), f"{where}.rack"),
        owned=tuple(owned),
        generation=_number(own, f"{where}.generation", _INT32_MAX, least=NO_GENERATION),
    )


def _fail(where: str, why: str) -> NoReturn:
    raise InputError(f"{where}: {why}")


def _mapping(value: object, where: str, allowed: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, dict):
        _fail(where, f"should have fields {', '.join(allowed)}")
    for name in value:
        if name not in allowed:
            _fail(where, f"'{name}' is not one of its fields {', '.join(allowed)}")
    return value


def _named(value: object, where: str) -> list[tuple[str, object]]:
    if not isinstance(value, dict):
        _fail(where, "should be names with values")
    return [(str(name), item) for name, item in value.items()]


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        _fail(where, "should be a list")
    return value


def _number(value: object, where: str, most: int, *, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        _fail(where, f"should be a number from {least} to {most}, and is {value!r}")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    texts = [_optional_text(item, where) for item in _list(value, where)]
    named = tuple(text for text in texts if text)
    if len(named) < len(texts):
        _fail(where, "an empty name")
    if len(set(named)) < len(named):
        _fail(where, "a name appears twice")
    return named


def _optional_text(value: object, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    _fail(where, f"should be text, and is {value!r}")
