"""Scenario files: TOML, read strictly. Every error names the file, the place in it and the cause."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, Final, NoReturn

from kgroup.errors import InputError, nearest_or_all
from kgroup.input_files import SETTINGS_BYTES_MAX, read_input_file
from kgroup.sim.scenario.actions import parse_fault
from kgroup.sim.scenario.check import check_scenario
from kgroup.sim.scenario.keys import (
    CHAOS_KEYS,
    MEMBER_KEYS,
    MEMBERS_KEYS,
    MEMBERS_MAX,
    NETWORK_KEYS,
    SCENARIO_KEYS,
    TOPIC_KEYS,
    ZOOKEEPER_KEYS,
    Key,
    shown,
)
from kgroup.sim.scenario.scenario import (
    Chaos,
    Fault,
    NetworkSettings,
    Scenario,
    SimMember,
    SimTopic,
    ZookeeperSettings,
)

_SUFFIX: Final = ".toml"
_TABLES: Final = ("topics", "members", "faults", "chaos", "network", "zookeeper", "brokers")


def shipped_names() -> list[str]:
    """The scenarios that come with kgroup, sorted."""
    return sorted(
        path.name.removesuffix(_SUFFIX) for path in _shipped().iterdir() if path.name.endswith(_SUFFIX)
    )


def load_scenario(name_or_path: str) -> Scenario:
    """A shipped scenario by its name, or a file by its path. Raises SourceError or InputError.

    `C1 leaves under sticky` is as good as `c1-leaves-under-sticky`.
    """
    name = name_or_path.lower().replace(" ", "-")
    if name in shipped_names():
        return load_shipped(name)
    path = Path(name_or_path)
    if not path.exists() and path.suffix != _SUFFIX and path.name == name_or_path:
        hint = nearest_or_all(name_or_path, shipped_names())
        raise InputError(f"there is no scenario '{name_or_path}', nor a file of that name: {hint}")
    content = read_input_file(path, kind="scenario", bytes_max=SETTINGS_BYTES_MAX)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from None
    return read_scenario(text, path.stem, str(path))


def load_shipped(name: str) -> Scenario:
    """A scenario that comes with kgroup."""
    text = (_shipped() / (name + _SUFFIX)).read_text(encoding="utf-8")
    return read_scenario(text, name, name)


def read_scenario(text: str, name: str, where: str) -> Scenario:
    """The scenario that the TOML `text` describes. Raises InputError whose message begins with `where`."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also an integer of thousands of digits
        raise InputError(f"{where}: no TOML: {error}") from None
    try:
        scenario = _scenario(tables, name)
        check_scenario(scenario)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return scenario


def _shipped() -> Any:  # importlib's Traversable moved between Python versions
    return resources.files("kgroup.sim") / "scenarios"


def _scenario(tables: Mapping[str, object], name: str) -> Scenario:
    own = {key: value for key, value in tables.items() if key not in _TABLES}
    fields = _fields(own, SCENARIO_KEYS, "", also=_TABLES)
    for needed in ("duration", "topics", "members"):
        if needed not in tables:
            raise InputError(f"there is no '{needed}'")
    topics = tuple(_topics(tables["topics"]))
    everything = tuple(topic.name for topic in topics)
    return Scenario(
        name=name,
        topics=topics,
        members=tuple(_members(tables["members"], everything)),
        faults=tuple(_faults(tables.get("faults", []))),
        chaos=_chaos(tables["chaos"]) if "chaos" in tables else None,
        network=_network(tables.get("network", {})),
        zookeeper=ZookeeperSettings(
            **_fields(_table(tables.get("zookeeper", {}), "zookeeper"), ZOOKEEPER_KEYS, "zookeeper")
        ),
        properties=_properties(tables.get("brokers", {})),
        **fields,
    )


def _topics(value: object) -> Iterator[SimTopic]:
    for name, described in _table(value, "topics").items():
        where = f"topics.{name}"
        fields = described if isinstance(described, dict) else {"partitions": described}
        read = _fields(fields, TOPIC_KEYS, where)
        if "partitions" not in read:
            _fail(where, "there is no 'partitions'")
        yield SimTopic(name=name, **read)


def _members(value: object, everything: tuple[str, ...]) -> Iterator[SimMember]:
    total = 0
    for index, table in enumerate(_list(value, "members"), start=1):
        where = f"members[{index}]"
        read = _fields(_table(table, where), {**MEMBERS_KEYS, **MEMBER_KEYS}, where)
        count, every_ms = read.pop("count", None), read.pop("every_ms", None)
        static = read.pop("static", False)
        if "name" not in read:
            _fail(where, "there is no 'name'")
        if every_ms is not None and (count is None or read.get("start_ms", 0) is None):
            _fail(f"{where}.every", "needs a count, and a start")
        total += count or 1
        if total > MEMBERS_MAX:
            _fail(where, f"more than {MEMBERS_MAX} members in all")
        if "pattern" in read and "topics" in read:
            _fail(f"{where}.pattern", "topics and a pattern exclude each other")
        template = SimMember(**{"topics": () if "pattern" in read else everything, **read})
        for number in range(1, (count or 1) + 1):
            name = template.name if count is None else f"{template.name}{number}"
            later_ms = (every_ms or 0) * (number - 1)
            yield replace(
                template,
                name=name,
                start_ms=None if template.start_ms is None else template.start_ms + later_ms,
                instance_id=name if static else None,
            )


def _faults(value: object) -> Iterator[Fault]:
    for index, line in enumerate(_list(value, "faults"), start=1):
        where = f"faults[{index}]"
        if not isinstance(line, str):
            _fail(where, f"should be text like '10s kill c1', and is {shown(line)}")
        at, _, action = line.strip().partition(" ")
        try:
            yield parse_fault(at, action)
        except InputError as error:
            _fail(where, str(error))


def _chaos(value: object) -> Chaos:
    read = _fields(_table(value, "chaos"), CHAOS_KEYS, "chaos")
    if "mean_interval_ms" not in read:
        _fail("chaos", "there is no 'every'")
    return Chaos(**read)


def _network(value: object) -> NetworkSettings:
    read = _fields(_table(value, "network"), NETWORK_KEYS, "network")
    if "latency" in read:
        read["latency_min_ms"], read["latency_max_ms"] = read.pop("latency")
    return NetworkSettings(**read)


def _properties(value: object) -> dict[str, str]:
    properties = {}
    for name, given in _table(value, "brokers").items():
        if isinstance(given, bool):
            properties[name] = str(given).lower()
        elif isinstance(given, int | str):
            properties[name] = str(given)
        else:
            hint = f'; write "{name}.{next(iter(given))}" = ...' if isinstance(given, dict) and given else ""
            _fail(f"brokers.{name}", f"should be a number, text, true or false{hint}")
    return properties


def _fields(
    table: Mapping[str, object], keys: Mapping[str, Key], where: str, also: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The dataclass fields that this table's keys fill; `also` are keys that others read."""
    read: dict[str, Any] = {}
    for name, value in table.items():
        path = f"{where}.{name}" if where else name
        if name not in keys:
            _fail(path, f"no such key: {nearest_or_all(name, [*keys, *also])}")
        try:
            read[keys[name].field] = keys[name].read(value)
        except InputError as error:
            _fail(path, str(error))
    return read


def _table(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        _fail(where, f"should be a table, and is {shown(value)}")
    return value


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        _fail(where, f"should be a list, and is {shown(value)}")
    return value


def _fail(where: str, why: str) -> NoReturn:
    raise InputError(f"{where}: {why}")
