"""Settings of resources: DescribeConfigs of all of them, IncrementalAlterConfigs of groups."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from kafka.protocol.admin.configs import DescribeConfigsResponse, IncrementalAlterConfigsResponse

from kgroup.broker.group_configs import CONFIGS, broker_value, group_config_problem
from kgroup.broker.node import BrokerNode
from kgroup.broker.security.listeners import is_secret
from kgroup.broker.settings import PROPERTIES, BrokerSettings
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required

E = ErrorCode
_TOPIC: Final = 2
_BROKER: Final = 4
_GROUP: Final = 32
_SOURCE_TOPIC: Final = 1
_SOURCE_STATIC_BROKER: Final = 4
_SOURCE_DEFAULT: Final = 5
_SOURCE_GROUP: Final = 8
_TYPES: Final = {"BOOLEAN": 1, "STRING": 2, "INT": 3}
_TYPE_STRING: Final = _TYPES["STRING"]
_SET: Final = 0
_DELETE: Final = 1
_SHOWN: Final = 200  # letters of a name that a message repeats
_LIST_OPERATIONS: Final = {2: "APPEND", 3: "SUBTRACT"}
# What a topic says of itself when nobody has configured it.
_TOPIC_DEFAULTS: Final = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
}


# ---- DescribeConfigs --------------------------------------------------------------------------


def describe_configs(node: BrokerNode, call: Call, now_ms: int) -> None:
    """DescribeConfigs v1 to v4 of topics, brokers and groups."""
    version = call.version
    result = DescribeConfigsResponse.DescribeConfigsResult
    results = []
    for resource in required(call.body.resources):
        message = None
        if resource.resource_type == _GROUP and not resource.resource_name:
            error, configs, message = E.INVALID_REQUEST, [], "Group name must not be empty"
        elif resource.resource_type == _GROUP:
            error, configs = E.NONE, _group_configs(node, call, resource.resource_name)
        else:
            error, values = _configs(node, resource.resource_type, resource.resource_name)
            configs = _shown(version, values, read_only=resource.resource_type == _BROKER)
        names = resource.configuration_keys
        results.append(
            result(
                version=version,
                error_code=error,
                error_message=message or (error.name if error else None),
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=[each for each in configs if names is None or each.name in names],
            )
        )
    node.answer(call, DescribeConfigsResponse(version=version, results=results))


def _shown(version: int, values: Mapping[str, tuple[str, int]], *, read_only: bool) -> list[Any]:
    return [
        DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult(
            version=version,
            name=name,
            value=None if is_secret(name) else value,
            read_only=read_only,
            config_source=source,
            is_sensitive=is_secret(name),
            synonyms=[],
            config_type=_TYPE_STRING,
            documentation=None,
        )
        for name, (value, source) in sorted(values.items())
    ]


def _group_configs(node: BrokerNode, call: Call, group_id: str) -> list[Any]:
    """All that can be set for a group, which need not exist, with where each value comes from."""
    result = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult
    own = node.cluster.spec.group_configs.get(group_id, {})
    shown = []
    for name, config in sorted(CONFIGS.items()):
        of_broker, is_given = broker_value(name, node.cluster.settings)
        origins = []
        if name in own:
            origins.append((name, own[name], _SOURCE_GROUP))
        if is_given:
            origins.append((config.synonym, of_broker, _SOURCE_STATIC_BROKER))
        origins.append((config.synonym or name, config.default, _SOURCE_DEFAULT))
        _, value, source = origins[0]
        synonyms = [
            result.DescribeConfigsSynonym(version=call.version, name=origin, value=text, source=from_)
            for origin, text, from_ in origins
            if call.body.include_synonyms
        ]
        shown.append(
            result(
                version=call.version,
                name=name,
                value=value.strip(),
                read_only=False,
                config_source=source,
                is_sensitive=False,
                synonyms=synonyms,
                config_type=_TYPES[config.rule.kind],
                documentation=None,
            )
        )
    return shown


def _configs(node: BrokerNode, resource_type: int, name: str) -> tuple[ErrorCode, dict[str, tuple[str, int]]]:
    """Values of a resource's settings and where each comes from."""
    if resource_type == _TOPIC:
        topic = node.cluster.topics.get(name)
        if topic is None:
            return E.UNKNOWN_TOPIC_OR_PARTITION, {}
        defaults = {key: (value, _SOURCE_DEFAULT) for key, value in _TOPIC_DEFAULTS.items()}
        return E.NONE, defaults | {key: (value, _SOURCE_TOPIC) for key, value in topic.spec.configs.items()}
    if resource_type == _BROKER:
        if name not in ("", str(node.node_id)):
            return E.INVALID_REQUEST, {}
        return E.NONE, _broker_configs(node.cluster.settings)
    return E.INVALID_REQUEST, {}


def _broker_configs(settings: BrokerSettings) -> dict[str, tuple[str, int]]:
    configs: dict[str, tuple[str, int]] = {}
    for name, rule in PROPERTIES.items():
        holder: Any = settings.group if rule.in_group else settings
        configs[name] = (str(getattr(holder, rule.field) // rule.unit_ms), _SOURCE_DEFAULT)
    configs |= {name: (value, _SOURCE_STATIC_BROKER) for name, value in settings.properties.items()}
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
    if resource.resource_type != _GROUP:
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
