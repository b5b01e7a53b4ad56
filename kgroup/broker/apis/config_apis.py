"""Settings of resources: DescribeConfigs of all of them, IncrementalAlterConfigs of groups."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

from kafka.protocol.admin.configs import DescribeConfigsResponse, IncrementalAlterConfigsResponse

from kgroup.broker.apis.words import fitting
from kgroup.broker.config_values import whole_number
from kgroup.broker.group_configs import CONFIGS, broker_value, group_config_problem
from kgroup.broker.node import BrokerNode
from kgroup.broker.security.listeners import is_secret
from kgroup.broker.settings import PROPERTIES, BrokerSettings
from kgroup.broker.topic_settings import SOURCE_DEFAULT, SOURCE_STATIC_BROKER, config_kind, topic_configs
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.topic_name import topic_name_problem
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required

E = ErrorCode


class _Kind(IntEnum):
    """What can have settings (`ConfigResource.Type`)."""

    TOPIC = 2
    BROKER = 4
    GROUP = 32


_SOURCE_GROUP: Final = 8
_TYPES: Final = {"BOOLEAN": 1, "STRING": 2, "INT": 3, "LONG": 5, "DOUBLE": 6, "LIST": 7}
_TYPE_STRING: Final = _TYPES["STRING"]
_NO_SUCH_TYPE: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was"
    " sent to an incompatible broker. See the broker logs for more details."
)
_SET: Final = 0
_DELETE: Final = 1
_SHOWN: Final = 200  # letters of a name that a message repeats
_LIST_OPERATIONS: Final = {2: "APPEND", 3: "SUBTRACT"}


# ---- DescribeConfigs --------------------------------------------------------------------------


def describe_configs(node: BrokerNode, call: Call, now_ms: int) -> None:
    """DescribeConfigs v1 to v4 of topics, brokers and groups."""
    version = call.version
    result = DescribeConfigsResponse.DescribeConfigsResult
    results = []
    for resource in required(call.body.resources):
        error, message, configs = _described(node, call, resource.resource_type, resource.resource_name)
        names = resource.configuration_keys
        results.append(
            result(
                version=version,
                error_code=error,
                error_message=fitting(message),
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=[each for each in configs if not names or each.name in names],
            )
        )
    node.answer(call, DescribeConfigsResponse(version=version, results=results))


def _described(node: BrokerNode, call: Call, kind: int, name: str) -> tuple[ErrorCode, str, list[Any]]:
    """A resource's settings, all of them; or an error with a broker's words."""
    match kind:
        case _Kind.TOPIC:
            if problem := topic_name_problem(name):
                return E.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}", []
            topic = node.cluster.topics.get(name)
            if topic is None:
                return E.UNKNOWN_TOPIC_OR_PARTITION, "", []
            return E.NONE, "", _topic_configs(node, call, topic.spec.configs)
        case _Kind.BROKER:
            if name and whole_number(name) is None:
                return E.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}", []
            if name not in ("", str(node.node_id)):
                words = f"Unexpected broker id, expected {node.node_id} or empty string, but received {name}"
                return E.INVALID_REQUEST, words, []
            return E.NONE, "", _shown(call.version, _broker_configs(node.cluster.settings))
        case _Kind.GROUP:
            if not name:
                return E.INVALID_REQUEST, "Group name must not be empty", []
            return E.NONE, "", _group_configs(node, call, name)
        case _:
            return E.INVALID_REQUEST, _NO_SUCH_TYPE, []


def _shown(version: int, values: Mapping[str, tuple[str, int]]) -> list[Any]:
    return [
        DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult(
            version=version,
            name=name,
            value=None if is_secret(name) else value,
            read_only=True,
            config_source=source,
            is_sensitive=is_secret(name),
            synonyms=[],
            config_type=_TYPE_STRING,
            documentation=None,
        )
        for name, (value, source) in sorted(values.items())
    ]


def _topic_configs(node: BrokerNode, call: Call, own: Mapping[str, str]) -> list[Any]:
    """All that a topic can have set, from itself, from its broker's file, or as it is by default."""
    return [
        _config(call, each.name, (each.value, each.source), config_kind(each.name), each.origins)
        for each in topic_configs(own, node.cluster.settings.properties)
    ]


def _group_configs(node: BrokerNode, call: Call, group_id: str) -> list[Any]:
    """All that can be set for a group, which need not exist, with where each value comes from."""
    own = node.cluster.spec.group_configs.get(group_id, {})
    shown = []
    for name, config in sorted(CONFIGS.items()):
        of_broker, is_given = broker_value(name, node.cluster.settings)
        origins = []
        if name in own:
            origins.append((name, own[name], _SOURCE_GROUP))
        if is_given:
            origins.append((config.synonym, of_broker, SOURCE_STATIC_BROKER))
        origins.append((config.synonym or name, config.default, SOURCE_DEFAULT))
        shown.append(_config(call, name, origins[0][1:], config.rule.kind, origins))
    return shown


def _config(
    call: Call, name: str, now: tuple[str, int], kind: str, origins: Sequence[tuple[str, str, int]]
) -> Any:
    """A setting with its value and source; `origins` are all names and places that it could come from."""
    result = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult
    value, source = now
    synonyms = [
        result.DescribeConfigsSynonym(version=call.version, name=origin, value=text, source=from_)
        for origin, text, from_ in origins
        if call.body.include_synonyms
    ]
    return result(
        version=call.version,
        name=name,
        value=value.strip(),
        read_only=False,
        config_source=source,
        is_sensitive=False,
        synonyms=synonyms,
        config_type=_TYPES[kind],
        documentation=None,
    )


def _broker_configs(settings: BrokerSettings) -> dict[str, tuple[str, int]]:
    configs: dict[str, tuple[str, int]] = {}
    for name, rule in PROPERTIES.items():
        holder: Any = settings.group if rule.in_group else settings
        configs[name] = (str(getattr(holder, rule.field) // rule.unit_ms), SOURCE_DEFAULT)
    configs |= {name: (value, SOURCE_STATIC_BROKER) for name, value in settings.properties.items()}
    return configs


# ---- IncrementalAlterConfigs ------------------------------------------------------------------


def incremental_alter_configs(node: BrokerNode, call: Call, now_ms: int) -> None:
    """IncrementalAlterConfigs v0 to v1 of groups; topics and brokers keep what they were made with.

    Each resource is changed as a whole or not at all. What is valid is saved before it is answered.
    """
    resources = required(call.body.resources)
    times = Counter((each.resource_type, each.resource_name) for each in resources)
    changed: dict[str, dict[str, str]] = {}
    answers = []
    for each in resources:
        error, message = E.NONE, None
        if times[each.resource_type, each.resource_name] > 1:
            error, message = E.INVALID_REQUEST, "Each resource must appear at most once."
        else:
            before = node.cluster.spec.group_configs.get(each.resource_name, {})
            error, message, after = _altered(each, before, node.cluster.settings)
            if not error and after != before:
                changed[each.resource_name] = after
        answers.append(
            IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
                version=call.version,
                error_code=error,
                error_message=message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
    if changed and not call.body.validate_only:
        node.cluster.configure_groups(changed)
    node.answer(call, IncrementalAlterConfigsResponse(version=call.version, responses=answers))


def _altered(
    resource: Any, before: Mapping[str, str], settings: BrokerSettings
) -> tuple[ErrorCode, str | None, dict[str, str]]:
    """All that a group would have set after the changes; or an error with its words, in a broker's order."""
    changes = required(resource.configs)
    if len({change.name for change in changes}) < len(changes):
        return E.INVALID_REQUEST, "Error due to duplicate config keys", {}
    unset = [each.name for each in changes if each.value is None and each.config_operation != _DELETE]
    if unset:
        return E.INVALID_REQUEST, f"Null value not supported for : {','.join(unset)}"[:_SHOWN], {}
    if resource.resource_type != _Kind.GROUP:
        return E.INVALID_REQUEST, "kgroup serve changes settings of groups only", {}
    if not resource.resource_name:
        return E.INVALID_REQUEST, "Default group resources are not allowed.", {}
    after = dict(before)
    for change in changes:
        operation, name = change.config_operation, change.name
        if operation in _LIST_OPERATIONS:
            words = (
                f"Can't {_LIST_OPERATIONS[operation]} to key {name[:_SHOWN]} because its type is not LIST."
            )
            return E.INVALID_CONFIG, words, {}
        if operation == _DELETE:
            after.pop(name, None)
        elif operation == _SET:
            after[name] = change.value
        else:
            return E.INVALID_REQUEST, f"Unknown operation {operation}", {}
    problem = group_config_problem(after, settings)
    return (E.INVALID_CONFIG, problem, {}) if problem else (E.NONE, None, after)


HANDLERS: Final = {
    api.DESCRIBE_CONFIGS: describe_configs,
    api.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
}
